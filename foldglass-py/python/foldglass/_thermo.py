"""Thermodynamics: densities of states, free energies (paper, section 3 and App. F)."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ._class import Class
from ._commands import flags_of, folder, on_class
from ._frames import Framed
from ._native import FoldglassError, answer
from ._progress import Interrupted, ProgressLike, listener


@dataclass(frozen=True)
class Density(Framed):
    """How many codes have which reward, exactly."""

    space: Class
    rewards: list[Fraction]
    counts: list[int] = field(repr=False)

    @property
    def codes(self) -> int:
        """The number of all codes."""
        return sum(self.counts)

    @property
    def optimal(self) -> int:
        """The number of codes of reward 1."""
        return self.counts[-1] if self.rewards and self.rewards[-1] == 1 else 0

    def _weights(self, beta: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        betas = np.atleast_1d(np.asarray(beta, dtype=float))
        rewards = np.array([float(reward) for reward in self.rewards])
        logs = np.array([_log(count) for count in self.counts])
        return logs[None, :] + betas[:, None] * rewards[None, :], rewards

    def log_z(self, beta: ArrayLike) -> NDArray[np.float64]:
        """ln Z at inverse temperatures."""
        terms, _ = self._weights(beta)
        top = terms.max(axis=1)
        sums: NDArray[np.float64] = top + np.log(np.exp(terms - top[:, None]).sum(axis=1))
        return sums

    def mean_reward(self, beta: ArrayLike) -> NDArray[np.float64]:
        """The Gibbs mean of the reward at inverse temperatures.

        >>> from foldglass import Task
        >>> found = density(Class(Task("parity", 4)), progress=False)
        >>> bool(abs(found.mean_reward(0.0)[0] - 0.5) < 1e-12)
        True
        """
        terms, rewards = self._weights(beta)
        weights = np.exp(terms - terms.max(axis=1, keepdims=True))
        means: NDArray[np.float64] = weights @ rewards / weights.sum(axis=1)
        return means

    def free_energy(self, beta: ArrayLike) -> NDArray[np.float64]:
        """F = -ln Z / beta."""
        energies: NDArray[np.float64] = -self.log_z(beta) / np.atleast_1d(np.asarray(beta, dtype=float))
        return energies

    def entropy(self, beta: ArrayLike) -> NDArray[np.float64]:
        """ln Z - beta <J>, in nats."""
        betas = np.atleast_1d(np.asarray(beta, dtype=float))
        nats: NDArray[np.float64] = self.log_z(beta) - betas * self.mean_reward(beta)
        return nats

    def columns(self) -> dict[str, Any]:
        return {"reward": self.rewards, "count": self.counts}


def _log(count: int) -> float:
    """ln of a number of any size."""
    if count < 2**1000:
        return math.log(count)
    shift = count.bit_length() - 64
    return math.log(count >> shift) + shift * math.log(2.0)


def density(space: Class, *, threads: int | None = None, progress: ProgressLike = True) -> Density:
    """Counts how many codes of an untied class have which reward.

    Args:
        space: An untied class.
        threads: Threads to compute with; the result does not depend on them (default all).
        progress: Whether a bar is shown, or a function that is given each :class:`Progress`.

    Returns:
        The rewards that codes have, and how many codes have each.

    >>> from foldglass import Task
    >>> found = density(Class(Task("parity", 3)), progress=False)
    >>> list(zip(map(str, found.rewards), found.counts))
    [('0', 4), ('1/4', 32), ('3/8', 64), ('1/2', 824), ('5/8', 64), ('3/4', 32), ('1', 4)]
    """
    found = on_class("density", space, progress, **{"threads": threads})
    bands = found["density_of_states"]
    rewards = [Fraction(band["reward"]) for band in bands]
    return Density(space, rewards, [int(band["count"]) for band in bands])


@dataclass(frozen=True)
class FreeEnergy(Framed):
    """Free energies of codes beside RLVR's losses, a row a temperature; errors are half 95 %
    intervals. A temperature that the samples do not settle is refused: its numbers are missing and
    ``refused`` says why."""

    space: Class
    points: list[dict[str, Any]] = field(repr=False)

    @property
    def refused(self) -> list[str | None]:
        """Why a temperature is refused; none where it is not."""
        return [point.get("refused") for point in self.points]

    def __getitem__(self, name: str) -> NDArray[np.float64]:
        """A column as numbers, NaN where there is none."""
        return np.array([np.nan if p.get(name) is None else p[name] for p in self.points], dtype=float)

    def columns(self) -> dict[str, Any]:
        names: dict[str, None] = {}
        for point in self.points:
            names.update(dict.fromkeys(point))
        return {
            name: [point.get(name) for point in self.points] if name == "refused" else self[name]
            for name in names
        }


def free_energy(
    space: Class,
    tau: float | Sequence[float],
    *,
    replicas: int = 8,
    learning: int = 50_000,
    sweeps: int = 100_000,
    runs: int = 16,
    iterations: int = 2000,
    samples: int = 10_000,
    seed: int = 0,
    threads: int | None = None,
    progress: ProgressLike = True,
) -> FreeEnergy:
    """Estimates ln Z and the mean reward of any class, and sets RLVR's loss beside the free energy.

    Args:
        space: The class, of any size.
        tau: One temperature above 0, or several.
        replicas: Independent replicas, at least 4: half start at random codes, half at reward 1.
        learning: Sweeps in which a replica learns the weights of the rewards.
        sweeps: Sweeps of a replica with these weights.
        runs: Runs of CAVI at each temperature, of which the lowest loss counts.
        iterations: Iterations of each of them.
        samples: Codes that are drawn for the reward of a tied class, where it has too many to sum over.
        seed: The seed of everything random.
        threads: Threads to compute with; the result does not depend on them (default all).
        progress: Whether a bar is shown, or a function that is given each :class:`Progress`.

    Returns:
        For each temperature ln Z, the mean reward and the losses of RLVR, with errors.
    """
    flags = {
        "tau": np.atleast_1d(np.asarray(tau, dtype=float)).tolist(),
        "replicas": replicas,
        "learning": learning,
        "sweeps": sweeps,
        "runs": runs,
        "iterations": iterations,
        "samples": samples,
        "seed": seed,
        "threads": threads,
    }
    hears = listener(progress)
    with folder() as place:
        try:
            text = answer(["free-energy", *space.flags(place), *flags_of(flags)], hears)
        except FoldglassError as refused:
            # Some temperature is refused: what holds and why the rest does not is all reported.
            if getattr(refused, "partial", None) is None:
                raise
            text = refused.partial  # type: ignore[attr-defined]
        except KeyboardInterrupt as stop:
            raise Interrupted(str(stop) or "interrupted", None) from stop
        finally:
            hears.close()
    return FreeEnergy(space, json.loads(text)["points"])
