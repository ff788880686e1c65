"""Exact evaluation of policies: J, visits, values (paper, App. A)."""

from __future__ import annotations

import threading
import weakref
from typing import Any, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import _native
from ._class import Class, Code, Policy
from ._frames import Framed


class Evaluation(Framed):
    """What a policy does, over all inputs. Arrays are read when they are asked for."""

    def __init__(self, policy: Policy, evaluator: Evaluator) -> None:
        self.policy = policy
        self.reward: float = 0.0
        self._evaluator: Evaluator | None = evaluator
        self._visits: NDArray[np.float64] | None = None
        self._values: NDArray[np.float64] | None = None

    @property
    def space(self) -> Class:
        """The class."""
        return self.policy.space

    @property
    def visits(self) -> NDArray[np.float64]:
        """d(c), how often a rollout consults each cell: (cells,), read-only."""
        self._read()
        assert self._visits is not None
        return self._visits

    @property
    def values(self) -> NDArray[np.float64]:
        """d(c) Q(c, a), the derivative of J by each probability: (cells, q), read-only."""
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
            arrays = (self._visits, self._values)
            for array in arrays:
                array.setflags(write=True)
            evaluator._native.visits_into(self._visits)
            evaluator._native.values_into(self._values)
            self._freeze()
            self._evaluator = None

    def _freeze(self) -> None:
        """Makes the arrays read-only: they are kept, and a caller's change would be the result."""
        for array in (self._visits, self._values):
            if array is not None:
                array.setflags(write=False)

    def __getstate__(self) -> dict[str, Any]:
        self._read()
        return dict(self.__dict__)

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._freeze()

    def __repr__(self) -> str:
        return f"Evaluation(reward={self.reward:.17g}, {self.space!r})"


class Evaluator:
    """Evaluates policies of a class; takes its memory once. Threads that share one wait for each other.

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
        """J, visits and values of a policy: a :class:`Policy` costs what the engine costs, an array
        the conversion besides. With ``out`` the arrays of an earlier result are written over."""
        given = policy_of(self.space, policy)
        with self._lock:
            last = self._last() if self._last is not None else None
            if last is not None and last is not out:
                last._read()
            result = Evaluation(given, self) if out is None else out
            result.policy = given
            result._evaluator = self
            result.reward = self._native.evaluate(given._native)
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

    >>> from foldglass import Task
    >>> space = Class(Task("parity", 3))
    >>> evaluate(Code.fold(space)).reward
    1.0
    >>> evaluate(space, np.full(space.shape, 0.5)).reward
    0.5
    """
    if isinstance(policy, Class):
        if rows is None:
            raise ValueError("evaluate(policy), or evaluate(space, rows)")
        policy = policy_of(policy, rows)
    elif rows is not None:
        raise TypeError("evaluate(policy), or evaluate(space, rows)")
    if not isinstance(policy, (Policy, Code)):
        kind = type(policy).__name__
        raise TypeError(f"a {kind}: evaluate(policy) takes a Policy or a Code, evaluate(space, rows) an array")
    space = policy.space
    known: dict[Class, Evaluator] | None = getattr(_evaluators, "known", None)
    if known is None:
        known = _evaluators.known = {}
    evaluator = known.pop(space, None) or Evaluator(space)
    known[space] = evaluator
    while len(known) > _KEPT:
        del known[next(iter(known))]
    return evaluator.evaluate(policy)


def rewards(space: Class, batch: ArrayLike) -> NDArray[np.float64]:
    """J of every policy of a batch of shape (policies, cells, q), on all cores.

    >>> from foldglass import Task
    >>> space = Class(Task("parity", 3))
    >>> rewards(space, np.full((4, *space.shape), 0.5)).tolist()
    [0.5, 0.5, 0.5, 0.5]
    """
    return _native.evaluate_batch(space._native, _batch(batch))[0]


def evaluate_batch(
    space: Class, batch: ArrayLike
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Rewards (policies,), visits (policies, cells) and values (policies, cells, q) of a batch."""
    reward, visits, values = _native.evaluate_batch(space._native, _batch(batch), True)
    assert visits is not None and values is not None
    return reward, visits, values


def _batch(batch: ArrayLike) -> NDArray[np.float64]:
    array = np.ascontiguousarray(batch, dtype=np.float64)
    if array.ndim != 3:
        raise ValueError(f"a batch of shape {array.shape}: (policies, cells, q) is needed")
    return array
