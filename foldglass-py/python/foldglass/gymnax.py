"""The task as a gymnax environment (1.0 and later): plain jax.numpy, for ``jit``, ``vmap`` and ``scan``.

    env = foldglass.gymnax.Fold(fg.Task("z:3", [1, 2, 3]))
    obs, state = env.reset(key)
    obs, state, reward, terminated, truncated, info = env.step(key, state, action)

Observations, actions and rewards are those of :mod:`foldglass.gymnasium`. Inputs are drawn by JAX with the probabilities of the law
rounded to floats. ``gymnax.make("Fold-foldglass", task=..)`` makes one after ``import foldglass.gymnax``.

The extra ``gymnax`` brings gymnax.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import gymnax
import jax
import jax.numpy as jnp
import numpy as np
from flax import struct
from gymnax.environments import environment, spaces
from numpy.typing import NDArray

from ._class import Class, Task, refuse_process
from ._given import of_type

__all__ = ["EnvParams", "EnvState", "Fold"]


@struct.dataclass
class EnvState(environment.EnvState):
    """A rollout in progress: symbols and tokens padded by q, the length and the target."""

    x: jax.Array
    y: jax.Array
    length: jax.Array
    target: jax.Array
    time: jax.Array


@struct.dataclass
class EnvParams(environment.EnvParams):
    """A rollout ends by itself after T steps, long before this."""

    max_steps_in_episode: int = 1_000_000


def _law(spec: dict[str, Any], longest: int) -> NDArray[np.float64]:
    """The probability of x_t given x_(t-1), of shape (T, q, q); at t = 1 all rows are equal."""
    q, inputs = len(spec["square"]), spec["inputs"]
    law = np.full((longest, q, q), 1 / q)
    if "markov" in inputs:
        repeat = Fraction(inputs["markov"])
        law[1:] = float((1 - repeat) / (q - 1))
        law[1:, range(q), range(q)] = float(repeat)
    elif inputs != "uniform":
        law[:] = np.array([[float(Fraction(p)) for p in row] for row in inputs["product"]])[:longest, None, :]
    return law


class Fold(environment.Environment[EnvState, EnvParams]):
    """Iterated multiplication, one token per step."""

    def __init__(self, task: Task) -> None:
        super().__init__()
        of_type("task", task, Task, 'Task("z:3", [1, 2, 3])')
        refuse_process(task)
        spec = Class(task, tied=True).spec
        self.q, self.longest = len(spec["square"]), max(spec["lengths"])
        self._square = np.array(spec["square"], dtype=np.int32)
        self._lengths = np.array(spec["lengths"], dtype=np.int32)
        weights = [float(Fraction(one)) for one in spec.get("length_weights", [1] * len(self._lengths))]
        with np.errstate(divide="ignore"):
            self._log_lengths = np.log(weights)
            self._log_law = np.log(_law(spec, self.longest))

    @property
    def default_params(self) -> EnvParams:
        return EnvParams()

    def reset_env(self, key: jax.Array, params: EnvParams) -> tuple[jax.Array, EnvState]:
        of_length, of_input = jax.random.split(key)
        length = jnp.asarray(self._lengths)[jax.random.categorical(of_length, jnp.asarray(self._log_lengths))]
        square = jnp.asarray(self._square)

        def draw(carry: tuple[jax.Array, jax.Array], given: Any) -> tuple[tuple[jax.Array, jax.Array], Any]:
            (before, product), (t, own, law) = carry, given
            x = jax.random.categorical(own, law[before]).astype(jnp.int32)
            product = jnp.where(t == 0, x, jnp.where(t < length, square[product, x], product))
            return (x, product), jnp.where(t < length, x, self.q)

        steps = (jnp.arange(self.longest), jax.random.split(of_input, self.longest), jnp.asarray(self._log_law))
        (_, target), x = jax.lax.scan(draw, (jnp.int32(0), jnp.int32(0)), steps)
        y = jnp.full(self.longest, self.q, dtype=jnp.int32)
        state = EnvState(x=x.astype(jnp.int32), y=y, length=length, target=target, time=jnp.int32(0))
        return self.get_obs(state), state

    def step_env(
        self, key: jax.Array, state: EnvState, action: Any, params: EnvParams
    ) -> tuple[jax.Array, EnvState, jax.Array, jax.Array, dict[Any, Any]]:
        token = jnp.asarray(action, dtype=jnp.int32)
        state = state.replace(y=state.y.at[state.time].set(token), time=state.time + 1)
        ended = self.is_terminated(state, params)
        reward = (ended & (token == state.target)).astype(jnp.float32)
        return self.get_obs(state), state, reward, ended, {"discount": self.discount(state, params)}

    def get_obs(self, state: EnvState, params: EnvParams | None = None, key: jax.Array | None = None) -> jax.Array:
        return jnp.concatenate([state.x, state.y])

    def is_terminated(self, state: EnvState, params: EnvParams) -> jax.Array:
        return state.time >= state.length

    @property
    def name(self) -> str:
        return "Fold-foldglass"

    @property
    def num_actions(self) -> int:
        return self.q

    def action_space(self, params: EnvParams | None = None) -> spaces.Discrete:
        return spaces.Discrete(self.q)

    def observation_space(self, params: EnvParams | None = None) -> spaces.Box:
        return spaces.Box(0, self.q, (2 * self.longest,), dtype=jnp.int32)


gymnax.register("Fold-foldglass", Fold)
