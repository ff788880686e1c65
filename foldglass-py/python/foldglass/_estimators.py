"""Sampled policy gradients, exactly: their mean and variance, and objectives of the success of single inputs."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import _native
from ._class import Class, Code, Policy
from ._frames import Framed
from ._progress import ProgressLike, listener


@dataclass(frozen=True)
class Estimate(Framed):
    """The mean and the variance of a policy-gradient estimator in the logits, arrays (cells, q).

    ``mean_by`` and ``variance_by`` say how they were computed: ``evaluation``, ``replicas``, ``tree`` and
    ``inputs`` are exact; ``sampled`` is an estimate from drawn inputs, with 95 % ``intervals`` by name.
    """

    policy: Policy = field(repr=False)
    name: str
    batch: int
    gradient: NDArray[np.float64] = field(repr=False)
    mean: NDArray[np.float64] = field(repr=False)
    variance: NDArray[np.float64] = field(repr=False)
    signal: float
    bias: float
    cosine: float | None
    total_variance: float
    snr: float | None
    mean_by: str
    variance_by: str
    intervals: dict[str, tuple[float, float]] = field(default_factory=dict)
    inputs_drawn: int | None = None

    def slope(self, p: ArrayLike) -> NDArray[np.float64]:
        """f'(p) at successes p: the mean of the estimator is the gradient of E_x f(p(x)) (of ``batch-mean``, 1 - 1/B
        of it).

        >>> from foldglass import Task
        >>> found = estimator(Policy.uniform(Class(Task("parity", 1))), "grpo:4", batch=1)
        >>> found.slope([0.0, 0.5, 1.0]).round(2).tolist()
        [1.5, 1.4, 1.5]
        """
        given = np.asarray(p, dtype=np.float64)
        if not ((given >= 0) & (given <= 1)).all():
            raise ValueError("p: successes are probabilities from 0 to 1")
        return np.array(_native.estimator_slope(self.name, given.ravel().tolist())).reshape(given.shape)

    def columns(self) -> dict[str, Any]:
        cells, q = self.mean.shape
        return {
            "cell": np.repeat(np.arange(cells), q),
            "action": np.tile(np.arange(q), cells),
            "gradient": self.gradient.ravel(),
            "mean": self.mean.ravel(),
            "variance": self.variance.ravel(),
        }

    def _about(self) -> dict[str, Any]:
        return {"estimator": self.name, "batch": self.batch, "class": self.policy.space.spec}


@dataclass(frozen=True)
class Objective:
    """E_x f(p(x)) and its derivative by the rows of the policy, (cells, q).

    ``by`` says how it was computed; an ``interval`` is there where inputs were drawn.
    """

    name: str
    value: float
    values: NDArray[np.float64] = field(repr=False)
    by: str
    interval: tuple[float, float] | None = None


@dataclass(frozen=True)
class Successes(Framed):
    """Every input (inputs, longest length), filled up by -1, its probability and its success p(x)."""

    space: Class
    inputs: NDArray[np.int16] = field(repr=False)
    probability: NDArray[np.float64] = field(repr=False)
    success: NDArray[np.float64] = field(repr=False)

    def columns(self) -> dict[str, Any]:
        columns: dict[str, Any] = {f"x{i + 1}": self.inputs[:, i] for i in range(self.inputs.shape[1])}
        columns["probability"] = self.probability
        columns["success"] = self.success
        return columns

    def _about(self) -> dict[str, Any]:
        return {"class": self.space.spec}


def _policy(given: Policy | Code) -> Policy:
    return given.policy if isinstance(given, Code) else given


def estimator(
    policy: Policy | Code, name: str, batch: int = 512, *, seed: int = 0, progress: ProgressLike = True
) -> Estimate:
    """The exact mean and variance of a sampled policy gradient on ``batch`` inputs: ``reinforce``,
    ``batch-mean``, ``rloo:G``, ``grpo:G`` or ``dr-grpo:G`` with G rollouts per input.

    Args:
        policy: The policy or code.
        name: ``"reinforce"``, ``"batch-mean"``, ``"rloo:G"``, ``"grpo:G"`` or ``"dr-grpo:G"``, with G rollouts per
            input.
        batch: The inputs of an update.
        seed: The seed of what is sampled where the variance has no formula.
        progress: Whether a bar is shown, or a function that is given each :class:`Progress`.

    Returns:
        Signal, bias and variance of the gradient, by cells and actions.

    >>> from foldglass import Task
    >>> policy = Policy.uniform(Class(Task("parity", 1)))
    >>> found = estimator(policy, "reinforce", batch=4)
    >>> found.signal, found.total_variance, found.variance_by
    (0.0625, 0.046875, 'evaluation')
    """
    given = _policy(policy)
    hears = listener(progress)
    try:
        found = _native.estimator(given._native, name, batch, seed, hears)
    finally:
        hears.close()
    return Estimate(policy=given, name=name, batch=batch, **found)


def objective(
    policy: Policy | Code, name: str, *, seed: int = 0, progress: ProgressLike = True
) -> Objective:
    """The mean over inputs of a function of their success: ``pass@K``, ``maxrl:K`` or ``grpo-std``.

    Args:
        policy: The policy or code.
        name: ``"pass@K"``, ``"maxrl:K"`` or ``"grpo-std"``.
        seed: The seed of the inputs that are sampled where they are too many to list.
        progress: Whether a bar is shown, or a function that is given each :class:`Progress`.

    Returns:
        The value, its derivative by every probability, and how it was found.

    >>> from foldglass import Task
    >>> objective(Policy.uniform(Class(Task("parity", 3))), "pass@2").value
    0.75
    """
    given = _policy(policy)
    hears = listener(progress)
    try:
        value, values, by, interval = _native.objective(given._native, name, seed, hears)
    finally:
        hears.close()
    return Objective(name, value, values, by, interval)


def pass_at_k(policy: Policy | Code, k: int) -> float:
    """The probability that one of k rollouts on an input succeeds.

    Args:
        policy: The policy or code.
        k: The number of rollouts on an input.

    Returns:
        The mean over inputs of 1 - (1 - p)^k.

    >>> from foldglass import Task
    >>> pass_at_k(Policy.uniform(Class(Task("parity", 3))), 3)
    0.875
    """
    return objective(policy, f"pass@{k}").value


def per_input(policy: Policy | Code) -> Successes:
    """The success p(x) of every input that can occur, to 10 million of them.

    Args:
        policy: The policy or code.

    Returns:
        The inputs with their probabilities and successes.

    >>> from foldglass import Task
    >>> found = per_input(Policy.uniform(Class(Task("parity", 2))))
    >>> found.inputs.tolist(), found.success.tolist()
    ([[0, 0], [0, 1], [1, 0], [1, 1]], [0.5, 0.5, 0.5, 0.5])
    """
    given = _policy(policy)
    return Successes(given.space, *_native.per_input(given._native))
