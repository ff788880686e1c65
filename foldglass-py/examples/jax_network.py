"""Trains a network that writes the logits of a policy's table, by exact gradients of two objectives, in JAX.

    python examples/jax_network.py [OBJECTIVE ..]

Nothing is sampled: each step takes the gradient over all inputs and all rollouts. From the same weights, J and maxrl:16
(or the objectives given: J, pass@K, maxrl:K, grpo-std) are maximised in turn, and J is printed for both.
"""

from __future__ import annotations

import sys

import foldglass as fg
import foldglass.jax as fgj
import jax
import jax.numpy as jnp
import numpy as np


def features(space: fg.Class) -> jax.Array:
    """What each cell shows a network: its step, its symbols and the token before, one-hot; none is a symbol too."""
    keys = space.keys()
    columns = np.column_stack([keys["t"], keys["x"], keys["y"] + 1])
    return jnp.concatenate([jax.nn.one_hot(column, column.max() + 1) for column in columns.T], 1)


def train(space: fg.Class, objective: str | None, steps: int = 400) -> list[float]:
    """J before every step; the last is that of the trained network."""
    seen = features(space)
    first, second = jax.random.split(jax.random.key(0))
    weights = {
        "in": 0.3 * jax.random.normal(first, (seen.shape[1], 64)),
        "out": 0.1 * jax.random.normal(second, (64, space.q)),
    }

    def network(weights):
        return jnp.tanh(seen @ weights["in"]) @ weights["out"]

    @jax.jit
    def step(weights, moments, n):
        """One step of Adam up the gradient."""
        gradient = jax.grad(lambda w: fgj.reward(space, network(w), objective))(weights)
        mean = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, moments[0], gradient)
        square = jax.tree.map(lambda m, g: 0.999 * m + 0.001 * g * g, moments[1], gradient)

        def moved(weight, m, s):
            return weight + 1e-2 * (m / (1 - 0.9**n)) / (jnp.sqrt(s / (1 - 0.999**n)) + 1e-8)

        return jax.tree.map(moved, weights, mean, square), (mean, square)

    zeros = jax.tree.map(jnp.zeros_like, weights)
    moments = (zeros, zeros)
    rewards = []
    for n in range(steps + 1):
        rewards.append(fg.evaluate(space, jax.nn.softmax(network(weights))).reward)
        weights, moments = step(weights, moments, n + 1.0)
    return rewards


def main(*objectives: str) -> dict[str, list[float]]:
    space = fg.Class(fg.Task("z:3", [1, 2, 3]))
    found = {name: train(space, None if name == "J" else name) for name in objectives or ("J", "maxrl:16")}
    print("step  " + "  ".join(f"{name:>8}" for name in found))
    for step in range(0, 401, 80):
        print(f"{step:4}  " + "  ".join(f"{rewards[step]:8.4f}" for rewards in found.values()))
    return found


if __name__ == "__main__":
    main(*sys.argv[1:])
