"""Exact evaluation of policies: J, visits, values (paper, App. A)."""

from __future__ import annotations

import threading
import weakref
from typing import Any, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import _native
from ._class import Class, Code, Policy, check_policy_shape
from ._frames import Framed
from ._given import probabilities, room


class Evaluation(Framed):
    """What a policy does, over all inputs. Arrays are read when they are asked for."""

    def __init__(self, space: Class) -> None:
        self.space = space
        self.reward: float = 0.0
        self._policy: Policy | None = None
        # The evaluators from which visits and values, and the rows, are still to be read.
        self._evaluator: Evaluator | None = None
        self._rows_in: Evaluator | None = None
        self._rows: NDArray[np.float64] | None = None
        self._visits: NDArray[np.float64] | None = None
        self._values: NDArray[np.float64] | None = None

    @property
    def policy(self) -> Policy:
        """The policy."""
        if self._policy is None:
            self._read_rows()
            assert self._rows is not None
            self._policy = Policy(self.space, self._rows)
        return self._policy

    @property
    def visits(self) -> NDArray[np.float64]:
        """d(c), how often a rollout consults each cell: (cells,), read-only."""
        self._read()
        assert self._visits is not None
        return self._visits

    @property
    def values(self) -> NDArray[np.float64]:
        """dJ/dpi(a|c) = d(c) Q(c, a), the derivative of J by each probability: (cells, q), read-only.

        The gradient in the logits of a softmax is ``rows * (values - (rows * values).sum(-1, keepdims=True))``."""
        self._read()
        assert self._values is not None
        return self._values

    @property
    def state_value(self) -> NDArray[np.float64]:
        """V(c), the reward to expect where a cell is consulted; NaN where none is: (cells,)."""
        earned = (self.values * self.policy.rows).sum(axis=1)
        visits = self.visits
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(visits > 0, earned / visits, np.nan)

    def columns(self) -> dict[str, Any]:
        keys = self.space.keys()
        columns: dict[str, Any] = {"cell": np.arange(self.space.cells)}
        columns["t"] = keys["t"]
        for name in ("x", "y"):
            for place in range(keys[name].shape[1]):
                columns[f"{name}{place}"] = keys[name][:, place]
        columns["visits"] = self.visits
        columns["state_value"] = self.state_value
        for action in range(self.space.q):
            columns[f"value_{action}"] = self.values[:, action]
        return columns

    def _about(self) -> dict[str, Any]:
        return {"reward": self.reward, "class": self.space.spec}

    def _read(self) -> None:
        """Reads the arrays, before the evaluator does another policy."""
        evaluator = self._evaluator
        if evaluator is None:
            return
        with evaluator._lock:
            # Another thread may have read them while this one waited.
            if self._evaluator is None:
                return
            if self._visits is None or self._values is None:
                self._visits = np.empty(self.space.cells)
                self._values = np.empty(self.space.shape)
            self._freeze(False)
            evaluator._native.visits_into(self._visits)
            evaluator._native.values_into(self._values)
            self._freeze()
            self._evaluator = None

    def _read_rows(self) -> None:
        """Reads the policy's table where it came as an array, before the evaluator does another."""
        evaluator = self._rows_in
        if evaluator is None:
            return
        with evaluator._lock:
            if self._rows_in is None:
                return
            if self._rows is None:
                self._rows = np.empty(self.space.shape)
            evaluator._native.rows_into(self._rows)
            self._rows_in = None

    def _freeze(self, frozen: bool = True) -> None:
        """Makes the arrays read-only: they are kept, and a caller's change would be the result."""
        for array in (self._visits, self._values):
            if array is not None:
                array.setflags(write=not frozen)

    def __getstate__(self) -> dict[str, Any]:
        self._read()
        self._read_rows()
        return dict(self.__dict__)

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._freeze()

    def __repr__(self) -> str:
        return f"Evaluation(reward={self.reward:.17g}, {self.space!r})"


class Evaluator:
    """Evaluates policies of a class; takes its memory once. Threads that share one wait for each other.

    Args:
        space: The class.

    >>> from foldglass import Task
    >>> space = Class(Task("quasigroup", 4))
    >>> evaluator = Evaluator(space)
    >>> result = evaluator.evaluate(Policy.uniform(space))
    >>> round(result.reward, 12), result.visits.shape, result.values.shape
    (0.2, (80,), (80, 5))
    """

    def __init__(self, space: Class) -> None:
        self.space = space
        self._native = _native.Evaluator(space._native)
        self._last: weakref.ref[Evaluation] | None = None
        self._lock = threading.RLock()

    def __reduce__(self) -> tuple[Any, ...]:
        return Evaluator, (self.space,)

    def evaluate(self, policy: Policy | Code | ArrayLike, out: Evaluation | None = None) -> Evaluation:
        """J, visits and values of a policy or of an array (cells, q). With ``out`` an earlier result and its arrays are
        written over, and no memory is taken.

        Args:
            policy: A policy or code of the class, or an array.
            out: An earlier result.

        Returns:
            The result; ``out`` itself where it is given.
        """
        if out is not None and out.space is not self.space and out.space != self.space:
            raise ValueError(f"out is of {out.space!r}, not of {self.space!r}")
        known: Policy | None = None
        if isinstance(policy, (Policy, Code)):
            known = policy_of(self.space, policy)
        else:
            rows, tolerance = probabilities("a policy", policy)
            check_policy_shape(self.space, rows)
        with self._lock:
            last = self._last() if self._last is not None else None
            if last is not None and last is not out:
                last._read()
                last._read_rows()
            result = Evaluation(self.space) if out is None else out
            if known is None:
                result.reward = self._native.evaluate_rows(rows, tolerance)
            else:
                result.reward = self._native.evaluate(known._native)
            result._policy = known
            result._evaluator = self
            result._rows_in = self if known is None else None
            if last is not result:
                self._last = weakref.ref(result)
        return result

    def rewards(self, batch: ArrayLike) -> NDArray[np.float64]:
        """J of every policy of a batch (policies, cells, q), on all cores."""
        return rewards(self.space, batch)


def policy_of(space: Class, given: Policy | Code | ArrayLike) -> Policy:
    """What was given, as a policy of the class."""
    if isinstance(given, Code):
        given = given.policy
    if isinstance(given, Policy):
        if given.space is not space and given.space != space:
            raise ValueError(f"the policy is of {given.space!r}, not of {space!r}")
        return given
    return Policy(space, given)


#: Evaluators that a thread keeps: as many classes as one works on in turn.
_KEPT = 4
_evaluators = threading.local()


@overload
def evaluate(policy: Policy | Code) -> Evaluation: ...
@overload
def evaluate(policy: Class, rows: ArrayLike) -> Evaluation: ...
def evaluate(policy: Policy | Code | Class, rows: ArrayLike | None = None) -> Evaluation:
    """Evaluates a policy, a code, or an array as a policy of a class, exactly.

    Args:
        policy: A policy or code, or the class that ``rows`` are a policy of.
        rows: A table of probabilities of shape (cells, q), of NumPy, PyTorch, JAX or lists.

    Returns:
        J, the visits of cells, and dJ/dpi.

    >>> from foldglass import Task
    >>> space = Class(Task("parity", 3))
    >>> evaluate(Code.fold(space)).reward
    1.0
    >>> evaluate(space, np.full(space.shape, 0.5)).reward
    0.5
    """
    given: Any = policy
    if isinstance(policy, Class):
        if rows is None:
            raise ValueError("evaluate(policy), or evaluate(space, rows)")
        space, given = policy, rows
    elif rows is not None:
        raise TypeError("evaluate(policy), or evaluate(space, rows)")
    elif isinstance(policy, (Policy, Code)):
        space = policy.space
    else:
        kind = type(policy).__name__
        raise TypeError(f"a {kind}: evaluate(policy) takes a Policy or a Code, evaluate(space, rows) an array")
    known: dict[Class, Evaluator] | None = getattr(_evaluators, "known", None)
    if known is None:
        known = _evaluators.known = {}
    evaluator = known.pop(space, None) or Evaluator(space)
    known[space] = evaluator
    while len(known) > _KEPT:
        del known[next(iter(known))]
    return evaluator.evaluate(given)


def rewards(
    space: Class, batch: ArrayLike, *, out: NDArray[np.float64] | None = None
) -> NDArray[np.float64]:
    """J of every policy of a batch of shape (policies, cells, q), on all cores; written to ``out`` where it is given.

    Args:
        space: The class.
        batch: Tables of probabilities, of shape (policies, cells, q); any array.
        out: An array of float64 that the result is written to.

    Returns:
        J of each policy, of shape (policies,).

    >>> from foldglass import Task
    >>> space = Class(Task("parity", 3))
    >>> rewards(space, np.full((4, *space.shape), 0.5)).tolist()
    [0.5, 0.5, 0.5, 0.5]
    """
    array, tolerance = _batch(batch)
    reward = room("rewards", out, (len(array),))
    _native.evaluate_batch(space._native, array, tolerance, reward)
    return reward


#: Rewards, visits and values of a batch.
Evaluated = tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]


def evaluate_batch(space: Class, batch: ArrayLike, *, out: Evaluated | None = None) -> Evaluated:
    """Rewards (policies,), visits (policies, cells) and values (policies, cells, q) of a batch, on all cores. The
    values are dJ/dpi. ``out`` is an earlier result of the same shapes, which is written over.

    Args:
        space: The class.
        batch: Tables of probabilities, of shape (policies, cells, q); any array.
        out: An earlier result of the same shapes, which is written over.

    Returns:
        Rewards (policies,), visits (policies, cells) and values (policies, cells, q); values are dJ/dpi.

    >>> from foldglass import Task
    >>> space = Class(Task("parity", 3))
    >>> found = evaluate_batch(space, np.full((4, *space.shape), 0.5))
    >>> again = evaluate_batch(space, np.full((4, *space.shape), 0.5), out=found)
    >>> again[2] is found[2]
    True
    """
    array, tolerance = _batch(batch)
    given = (None, None, None) if out is None else out
    count, cells = len(array), space.cells
    reward = room("rewards", given[0], (count,))
    visits = room("visits", given[1], (count, cells))
    values = room("values", given[2], (count, cells, space.q))
    _native.evaluate_batch(space._native, array, tolerance, reward, visits, values)
    return reward, visits, values


#: Values of an objective and their derivatives.
Objectives = tuple[NDArray[np.float64], NDArray[np.float64]]


def objective_batch(
    space: Class, batch: ArrayLike, objective: str | None = None, *, out: Objectives | None = None
) -> Objectives:
    """An objective of every policy of a batch, (policies,), and its derivative by every probability, (policies, cells,
    q), both exact, on all cores.

    ``objective`` is a mean over inputs of a function of p, the probability that a rollout on the input succeeds:
    ``pass@K``, ``maxrl:K`` or ``grpo-std`` as in ``foldglass eval --objective``; None is J, the mean of p itself.

    Args:
        space: The class.
        batch: Tables of probabilities, of shape (policies, cells, q); any array.
        objective: ``"pass@K"``, ``"maxrl:K"`` or ``"grpo-std"``, a mean over inputs of a function of p, the
            probability that a rollout on the input succeeds; None is J, the mean of p itself.
        out: An earlier result of the same shapes, which is written over.

    Returns:
        The objective (policies,) and its derivative by every probability (policies, cells, q).

    >>> from foldglass import Task
    >>> space = Class(Task("parity", 3))
    >>> value, values = objective_batch(space, np.full((1, *space.shape), 0.5), "pass@2")
    >>> value.tolist(), values.shape
    ([0.75], (1, 10, 2))
    """
    array, tolerance = _batch(batch)
    given = (None, None) if out is None else out
    value = room("values of the objective", given[0], (len(array),))
    values = room("derivatives", given[1], (len(array), *space.shape))
    if objective is None:
        _native.evaluate_batch(space._native, array, tolerance, value, None, values)
    else:
        _native.objective_batch(space._native, array, tolerance, objective, value, values)
    return value, values


def check_logits(space: Class, shape: tuple[int, ...]) -> None:
    """Refuses logits of another shape."""
    if tuple(shape[-2:]) != space.shape:
        raise ValueError(f"logits of shape {tuple(shape)}: this class needs (..., {space.cells}, {space.q})")


def _batch(batch: ArrayLike) -> tuple[NDArray[Any], float]:
    array, tolerance = probabilities("a batch", batch)
    if array.ndim != 3:
        raise ValueError(f"a batch of shape {array.shape}: (policies, cells, q) is needed")
    return array, tolerance
