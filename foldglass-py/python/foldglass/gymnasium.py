"""The task as a Gymnasium environment: one token per step, the reward at the last.

    env = gymnasium.make("foldglass.gymnasium:foldglass/Fold-v0", task=fg.Task("z:3", [1, 2, 3]))
    envs = gymnasium.make_vec("foldglass.gymnasium:foldglass/Fold-v0", num_envs=64, task=fg.Task("z:3", [1, 2, 3]))

An observation is x_1 .. x_T followed by y_1 .. y_(t-1), each padded to the longest length by q, which stands for no symbol.
Action y_t is a symbol. The reward is 1 if y_T is the target, and 0 at every step before.

The extra ``gymnasium`` brings Gymnasium.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import gymnasium
import numpy as np
from gymnasium.utils import seeding
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray

from ._class import Class, Task, refuse_process
from ._dataset import Row, rows
from ._given import of_type, whole

__all__ = ["FoldEnv", "FoldVectorEnv"]

#: Inputs that are drawn at once: the fewest after a seed, and the most.
_BLOCKS = (16, 1024)


class _Inputs:
    """The inputs of one environment, in the order that its seed has them in."""

    def __init__(self, task: Task) -> None:
        self.task = task
        self.seed_with(0)

    def seed_with(self, seed: int) -> None:
        """Begins anew."""
        self._seed, self._first = seed, 0
        self._drawn: Iterator[Row] = iter(())

    def next(self) -> Row:
        """The next one. A reset asks for one input, so blocks begin small; each is as long as all before."""
        row = next(self._drawn, None)
        if row is None:
            n = min(max(self._first, _BLOCKS[0]), _BLOCKS[1])
            self._drawn = iter(rows(self.task, n=n, rng=self._seed, first=self._first))
            self._first += n
            row = next(self._drawn)
        return row


class _Rollouts:
    """Several rollouts in progress, as arrays."""

    def __init__(self, task: Task, count: int) -> None:
        of_type("task", task, Task, 'Task("z:3", [1, 2, 3])')
        refuse_process(task)
        self.q, self.longest = Class(task, tied=True).q, max(task.lengths)
        self.space = gymnasium.spaces.MultiDiscrete(np.full(2 * self.longest, self.q + 1))
        self.seen = np.full((count, 2 * self.longest), self.q, dtype=np.int64)
        self.steps, self.lengths, self.targets = np.zeros((3, count), dtype=np.int64)
        self._inputs = [_Inputs(task) for _ in range(count)]

    def seed_with(self, number: int, rng: np.random.Generator) -> None:
        """Gives one of them the inputs of another seed."""
        self._inputs[number].seed_with(int(rng.integers(2**63)))

    def start(self, which: Iterable[int]) -> None:
        """Gives some of them their next input."""
        for number in which:
            row = self._inputs[number].next()
            self.seen[number] = self.q
            self.seen[number, : row.length] = row.input
            self.steps[number], self.lengths[number], self.targets[number] = 0, row.length, row.target

    def emit(self, which: NDArray[np.intp], tokens: NDArray[np.int64]) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """Emits a token in some of them: rewards, and which have ended."""
        if ((tokens < 0) | (tokens >= self.q)).any():
            raise ValueError(f"action {tokens.tolist()}: a symbol from 0 to {self.q - 1} is needed")
        self.seen[which, self.longest + self.steps[which]] = tokens
        self.steps[which] += 1
        ended = self.steps[which] >= self.lengths[which]
        return (ended & (tokens == self.targets[which])).astype(np.float64), ended


class FoldEnv(gymnasium.Env[NDArray[np.int64], np.int64]):
    """One rollout at a time."""

    metadata: dict[str, Any] = {"render_modes": []}

    def __init__(self, task: Task, render_mode: str | None = None) -> None:
        self._rollouts = _Rollouts(task, 1)
        self.render_mode = render_mode
        self.observation_space = self._rollouts.space
        self.action_space = gymnasium.spaces.Discrete(self._rollouts.q)
        self._which, self._ended, self._seeded = np.arange(1), True, False

    def _info(self) -> dict[str, Any]:
        return {"length": int(self._rollouts.lengths[0]), "target": int(self._rollouts.targets[0])}

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[np.int64], dict[str, Any]]:
        super().reset(seed=seed)
        if seed is not None or not self._seeded:
            self._rollouts.seed_with(0, self.np_random)
            self._seeded = True
        self._rollouts.start([0])
        self._ended = False
        return self._rollouts.seen[0].copy(), self._info()

    def step(self, action: Any) -> tuple[NDArray[np.int64], float, bool, bool, dict[str, Any]]:
        if self._ended:
            raise gymnasium.error.ResetNeeded("the rollout has ended: call reset() before step()")
        reward, ended = self._rollouts.emit(self._which, np.array([int(action)]))
        self._ended = bool(ended[0])
        return self._rollouts.seen[0].copy(), float(reward[0]), self._ended, False, self._info()


class FoldVectorEnv(VectorEnv[NDArray[np.int64], NDArray[np.int64], NDArray[Any]]):
    """Many rollouts at once. One that has ended starts again at the next step, whose action counts for nothing.

    Number i of a reset with ``seed=s`` is :class:`FoldEnv` with ``seed=s + i``; a list has a seed for each. Those outside
    ``options["reset_mask"]`` go on as they were.
    """

    metadata: dict[str, Any] = {"render_modes": [], "autoreset_mode": AutoresetMode.NEXT_STEP}

    def __init__(self, task: Task, num_envs: int = 1, render_mode: str | None = None) -> None:
        self.num_envs = whole("num_envs", num_envs, 1)
        self._rollouts = _Rollouts(task, self.num_envs)
        self.render_mode = render_mode
        self.single_observation_space = self._rollouts.space
        self.single_action_space = gymnasium.spaces.Discrete(self._rollouts.q)
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)
        self.action_space = batch_space(self.single_action_space, self.num_envs)
        self._ended, self._seeded = np.ones(self.num_envs, dtype=bool), np.zeros(self.num_envs, dtype=bool)

    def _info(self) -> dict[str, Any]:
        return {"length": self._rollouts.lengths.copy(), "target": self._rollouts.targets.copy()}

    def reset(
        self, *, seed: int | Sequence[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[np.int64], dict[str, Any]]:
        seeds = self._seeds(seed)
        which = np.flatnonzero(self._mask(options))
        for number in which.tolist():
            if seeds[number] is not None:
                self._rollouts.seed_with(number, seeding.np_random(seeds[number])[0])
            elif not self._seeded[number]:
                self._rollouts.seed_with(number, self.np_random)
        self._seeded[which], self._ended[which] = True, False
        self._rollouts.start(which)
        return self._rollouts.seen.copy(), self._info()

    def _seeds(self, seed: int | Sequence[int | None] | None) -> list[int | None]:
        """The seed of each environment."""
        if seed is None:
            return [None] * self.num_envs
        if isinstance(seed, (int, np.integer)):
            return [int(seed) + number for number in range(self.num_envs)]
        seeds = [None if one is None else int(one) for one in seed]
        if len(seeds) != self.num_envs:
            raise ValueError(f"{len(seeds)} seeds for {self.num_envs} environments: one number, or one for each, is needed")
        return seeds

    def _mask(self, options: dict[str, Any] | None) -> NDArray[np.bool_]:
        """Which environments are reset."""
        if options is None or "reset_mask" not in options:
            return np.ones(self.num_envs, dtype=bool)
        mask = np.asarray(options["reset_mask"])
        if mask.dtype != bool or mask.shape != (self.num_envs,) or not mask.any():
            raise ValueError(
                f"reset_mask of type {mask.dtype} and shape {mask.shape}: an array of {self.num_envs} truth values, "
                "of which one is true, is needed"
            )
        return mask

    def step(
        self, actions: Any
    ) -> tuple[NDArray[np.int64], NDArray[Any], NDArray[Any], NDArray[Any], dict[str, Any]]:
        rewards, ended = np.zeros(self.num_envs), np.zeros(self.num_envs, dtype=bool)
        again, going = np.flatnonzero(self._ended), np.flatnonzero(~self._ended)
        self._rollouts.start(again)
        rewards[going], ended[going] = self._rollouts.emit(going, np.asarray(actions, dtype=np.int64)[going])
        self._ended = ended
        return self._rollouts.seen.copy(), rewards, ended.copy(), np.zeros(self.num_envs, dtype=bool), self._info()


gymnasium.register(
    id="foldglass/Fold-v0",
    entry_point="foldglass.gymnasium:FoldEnv",
    vector_entry_point="foldglass.gymnasium:FoldVectorEnv",
)
