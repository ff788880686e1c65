"""Says which objective the loss of a trainer has: its expected gradient, exactly, beside those of named conventions.

A loss is evaluated on every batch of rollouts of a small task, and its gradient is averaged with the probabilities of
the batches. That is compared with the exact gradients of policy-gradient losses that differ in the advantage (REINFORCE,
RLOO, GRPO ..), in how tokens and rollouts are averaged, and in the penalty of the distance to a reference.

>>> import foldglass as fg
>>> def loss(logp, old_logp, ref_logp, rewards, mask, group):
...     mean = np.array([rewards[group == number].mean() for number in group])
...     return -((rewards - mean)[:, None] * logp * mask).sum() / mask.sum()
>>> report = check(loss)
>>> report.advantage, report.aggregation
('dr-grpo', 'token-mean')
>>> check(loss, estimator="rloo", convention="token-mean").agrees
False
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import ArrayLike

from ._batches import SAME, Batch, Batches, Derivative, Loss, derivative_of
from ._class import Class, Task
from ._conventions import (
    AGGREGATIONS,
    PENALTIES,
    Advantage,
    Array,
    advantages,
    inputs_of,
    penalty_gradient,
    policy_gradient,
    to_logits,
)
from ._given import of_type, whole

__all__ = ["Match", "OracleReport", "check"]

#: The most batches that are evaluated.
MOST_BATCHES = 200_000


@dataclass(frozen=True)
class Match:
    """How near the loss is to one convention."""

    name: str
    aggregation: str
    #: The length of the difference of the two gradients, relative to that of the convention's.
    distance: float
    #: The cosine of their angle.
    cosine: float
    #: The multiple of the convention's gradient that is nearest.
    factor: float
    #: Whether the gradients of single batches are equal too, up to the factor: REINFORCE and RLOO differ in these alone.
    identical: bool = False

    @property
    def same(self) -> bool:
        """Whether the gradients are equal."""
        return self.distance < SAME

    @property
    def proportional(self) -> bool:
        """Whether one gradient is a positive multiple of the other."""
        return 1 - self.cosine < SAME**2


@dataclass(frozen=True)
class OracleReport:
    """What a loss implements, and how far from every convention it is."""

    #: Conventions, nearest first.
    matches: list[Match]
    #: Penalties, nearest direction first, each times its best coefficient (``factor``); empty where the loss does not depend
    #: on the reference. ``k1`` is found by the value of the loss: its expected gradient is 0.
    penalties: list[Match]
    #: The convention that was named, if one was.
    named: Match | None
    #: The expected gradient of the loss by the logits, one table (cells, q) for each kind of batch.
    gradients: list[Array] = field(repr=False)
    #: The cosine of the angle between the step that the loss takes and the gradient of the expected reward.
    cosine_to_reward: float
    #: The largest derivative by a padded token, which should be 0.
    padding: float
    #: Whether the value or the gradient depends on ``ref_logp``.
    reference: str
    #: Whether the order of rollouts within a group, or of groups, matters.
    ordered: bool
    evaluations: int
    derivatives: str
    about: str

    @property
    def best(self) -> Match | None:
        """The convention whose gradient the loss has, or a positive multiple of it."""
        found = self.matches[0]
        return found if found.same or found.proportional else None

    @property
    def advantage(self) -> str | None:
        """The name of the advantage, where the loss has one of those known."""
        return None if self.best is None else self.best.name

    @property
    def aggregation(self) -> str | None:
        """How tokens and rollouts are averaged, likewise."""
        return None if self.best is None else self.best.aggregation

    @property
    def penalty(self) -> Match | None:
        """The penalty of the distance to the reference; its factor is the coefficient."""
        found = [match for match in self.penalties if match.proportional]
        own = [match for match in found if match.aggregation == self.aggregation]
        return next(iter(own + found), None)

    @property
    def agrees(self) -> bool:
        """Whether the loss has the gradient of the named convention (of any known one where none was named), and no padded
        token has one."""
        match = self.named or self.best
        return match is not None and match.same and self.padding == 0

    def __str__(self) -> str:
        lines = [self.about, f"{self.evaluations} evaluations, {self.derivatives}", ""]
        best = self.best
        if best is None:
            lines.append("The loss has the gradient of none of the known conventions. The nearest:")
        elif best.same:
            lines.append(f"The loss is {best.name}, {best.aggregation}.")
        else:
            lines.append(f"The loss is {best.factor:.6g} times {best.name}, {best.aggregation}.")
        if best is not None and not best.identical:
            lines.append("That holds of its expected gradient; gradients of single batches differ.")
        shown = [match for match in self.matches if match.same] + [m for m in self.matches if not m.same][:5]
        if self.named is not None and self.named not in shown:
            shown.append(self.named)
        lines += ["", *_table(shown, "advantage")]
        if self.named is not None:
            lines.append(f"\nnamed: {self.named.name}, {self.named.aggregation}: {'agrees' if self.agrees else 'DIFFERS'}")
        lines.append(f"\ncosine to the gradient of the expected reward: {self.cosine_to_reward:.6f}")
        lines.append(f"reference: {self.reference}")
        if self.penalty is not None and self.penalty.name == "k1":
            lines.append(f"The loss has {self.penalty.factor:.6g} times k1, whose expected gradient is 0.")
        if self.penalties:
            lines += ["", *_table(self.penalties[:4], "penalty")]
        if self.padding > 0:
            lines.append(f"PADDING: a padded token has a derivative of {self.padding:.3g}; it should have none")
        if self.ordered:
            lines.append("ORDER: the loss depends on the order of rollouts or groups")
        return "\n".join(lines)


def _table(matches: Sequence[Match], head: str) -> list[str]:
    rows = [(head, "aggregation", "distance", "cosine", "factor")]
    rows += [(m.name, m.aggregation, f"{m.distance:.2e}", f"{m.cosine:.9f}", f"{m.factor:.6g}") for m in matches]
    widths = [max(len(row[place]) for row in rows) for place in range(5)]
    return ["  " + "  ".join(entry.ljust(width) for entry, width in zip(row, widths)).rstrip() for row in rows]


def check(
    loss: Loss,
    space: Class | None = None,
    estimator: str | None = None,
    convention: str | None = None,
    *,
    group_size: int | None = None,
    arrays: str | None = None,
    policy: ArrayLike | None = None,
    reference: ArrayLike | None = None,
) -> OracleReport:
    """Compares the expected gradient of a loss with the exact ones of all known conventions.

    Args:
        loss: ``loss(logp, old_logp, ref_logp, rewards, mask, group)``, a scalar to be minimised. Its arrays have
            shape (rollout, token), ``rewards`` and ``group`` (rollout,). ``rewards`` are 0 or 1, ``group`` numbers
            the groups of a batch from 0, the rollouts of a group are neighbours, padded tokens have mask 0.
            ``old_logp`` equals ``logp``: the check is that of an update on its own rollouts.
        space: A small class with several lengths (default z:2, lengths 1 and 2). All rollouts on an input have its
            length, so that a mean over the tokens of a group is the sequence mean here.
        estimator: The advantage that the loss should have, ``"rloo"``, ``"grpo:4"`` or another name of the report;
            ``report.agrees`` says whether it does. ``"grpo"`` is any of ddof 0 or 1 and eps 1e-4, 1e-6, 1e-8 or 0: the
            report names the one that was found.
        convention: How it should average: ``"token-mean"``, ``"sequence-mean"``, ``"sequence-sum"``, ``"constant"``
            or ``"sum"``.
        group_size: The rollouts of a group, in batches of one and of two groups. By default batches are one group of
            4 and two groups of 2: of groups of 2 or 3 the direction of GRPO is that of RLOO, and one group has one
            length.
        arrays: ``"numpy"``, ``"torch"`` or ``"jax"``, what the loss takes; by default it is found out by calling it.
            Derivatives are those of torch or JAX, in double precision; of a NumPy loss they are differences (five
            points, error about 1e-12), which look through everything, also what is meant to be constant.
        policy: The policy of the rollouts, (cells, q), without zeros (default a fixed one without symmetry).
        reference: The reference policy, likewise.

    Returns:
        Which objective the loss has, or how far from each it is.
    """
    if space is None:
        space = Class(Task("z:2", [1, 2]))
    of_type("space", space, Class, 'Class(Task("z:2", [1, 2]))')
    if "reward" in space.spec:
        raise ValueError(f"{space!r} rewards single steps: a class that rewards the last token is needed")
    names, size_named = _estimator(estimator)
    if convention is not None and convention not in AGGREGATIONS:
        raise ValueError(f"convention={convention!r}: {', '.join(AGGREGATIONS)} are known")
    size = group_size if group_size is not None else size_named
    kinds = [(1, 4), (2, 2)] if size is None else [(1, whole("group_size", size, 2)), (2, size)]
    rows, reference_rows = _rows(space, policy, 0), _rows(space, reference, 1)
    listed = inputs_of(space, rows, reference_rows)
    made = [Batches(listed, groups, count) for groups, count in kinds]
    if sum(len(batches) for batches in made) > MOST_BATCHES:
        raise ValueError(
            f"{space!r} has {sum(map(len, made))} different batches of {' and '.join(f'{g} x {c}' for g, c in kinds)} rollouts: "
            f"at most {MOST_BATCHES} are evaluated; take a smaller class, or a smaller group_size"
        )
    derivative, words = derivative_of(loss, arrays, made[0].sample(1)[0])
    reference_use = _reference_use(derivative, made[-1])
    ordered = any(_depends_on_order(derivative, batches) for batches in made)
    if ordered:
        made = [Batches(listed, groups, count, ordered=True) for groups, count in kinds]
        if sum(len(batches) for batches in made) > MOST_BATCHES:
            raise ValueError("the loss depends on the order of rollouts, and there are too many orders: take group_size=2")
    measured = [batches.gradient(derivative, rows, own=True) for batches in made]
    gradients = [one[0] for one in measured]
    evaluations = sum(map(len, made))
    shape = space.shape

    def flat(flow: Callable[[int, int], Array]) -> Array:
        return np.concatenate([to_logits(flow(g, c), rows).ravel() for g, c in kinds])

    found = -np.concatenate([gradient.ravel() for gradient in gradients])
    known = advantages()
    every = [
        _match(found, flat(lambda g, c: policy_gradient(listed, shape, known[a], b, g, c)), a, b)
        for a, b in itertools.product(known, AGGREGATIONS)
    ]
    shown = [batch for batches in made for batch in batches.sample(16)]
    if any(m.same or m.proportional for m in every):
        by_token = _by_token(derivative, shown, reference_use)
        every = [
            replace(m, identical=_is_identical(by_token, shown, known[m.name], m)) if m.same or m.proportional else m
            for m in every
        ]
    exact = flat(lambda g, c: policy_gradient(listed, shape, known["reinforce"], "sequence-sum", g, c))
    penalties: list[Match] = []
    if reference_use == "gradient":
        with_penalty = [batches.gradient(derivative, rows, own=False)[0] for batches in made]
        evaluations += sum(map(len, made))
        added = np.concatenate([(one - two).ravel() for one, two in zip(with_penalty, gradients)])
        penalties = [
            _scaled(added, flat(lambda g, c: penalty_gradient(listed, shape, a, b, g, c)), a, b)
            for a, b in itertools.product([*PENALTIES, "k1 in the reward"], AGGREGATIONS)
        ]
    if reference_use == "value":
        by_reference = _joined(_slope_by_reference(derivative, batch, batch.ref_logp) for batch in shown)
        penalties = [
            _scaled(-by_reference, _joined(_token_weights(batch, b) for batch in shown), "k1", b) for b in AGGREGATIONS
        ]
    named = None
    if names is not None or convention is not None:
        fits = [m for m in every if (names is None or m.name in names) and convention in (None, m.aggregation)]
        named = min(fits, key=lambda match: match.distance)
    lengths = ",".join(map(str, space.lengths))
    return OracleReport(
        # Distances that differ by rounding are equal: the order of the conventions decides.
        matches=sorted(every, key=lambda m: (not m.identical, not m.same, not m.proportional, round(m.distance, 9))),
        penalties=sorted(penalties, key=lambda m: -m.cosine),
        named=named,
        gradients=gradients,
        cosine_to_reward=_match(found, exact, "", "").cosine,
        padding=max(one[1] for one in measured),
        reference=_REFERENCE[reference_use],
        ordered=ordered,
        evaluations=evaluations,
        derivatives=words,
        about=f"{space.q} symbols, lengths {lengths}; all batches of "
        + " and of ".join(f"{g} x {c}" for g, c in kinds)
        + " rollouts, each with its probability",
    )


_REFERENCE = {
    "none": "the loss does not depend on ref_logp",
    "value": "the value depends on ref_logp and the gradient does not",
    "gradient": "the gradient depends on ref_logp",
}


def _estimator(text: str | None) -> tuple[list[str] | None, int | None]:
    """The advantages that a name stands for and the size of their groups; ``grpo:4`` is as ``foldglass eval --estimator``
    has it, and ``grpo`` without its numbers is any of them."""
    if text is None:
        return None, None
    name, _, size = text.partition(":")
    known = list(advantages())
    names = [one for one in known if one.startswith("grpo ")] if name == "grpo" else [one for one in known if one == name]
    if not names or (size and not size.isdecimal()):
        raise ValueError(f"estimator={text!r}: {', '.join(['grpo', *known])} are known, with :G for groups of G")
    return names, int(size) if size else None


def _rows(space: Class, given: ArrayLike | None, seed: int) -> Array:
    """The rows of a policy that was given, or of a fixed one without any symmetry."""
    rows: Array = np.exp(np.random.default_rng(seed).normal(size=space.shape)) if given is None else np.array(given, float)
    if rows.shape != space.shape or not (rows > 0).all():
        raise ValueError(f"a policy of shape {rows.shape}: positive rows of shape {space.shape} are needed")
    rows /= rows.sum(axis=1, keepdims=True)
    return rows


def _match(found: Array, wanted: Array, name: str, aggregation: str) -> Match:
    size, inner = np.linalg.norm(wanted), float(found @ wanted)
    length = float(np.linalg.norm(found))
    cosine = inner / (size * length) if size > 0 and length > 0 else 0.0
    distance = float(np.linalg.norm(found - wanted)) / float(size) if size > 0 else math.inf
    return Match(name, aggregation, distance, float(cosine), inner / float(size**2) if size > 0 else 0.0)


def _scaled(found: Array, wanted: Array, name: str, aggregation: str) -> Match:
    """The same for the nearest multiple of what is wanted, whose coefficient is not known."""
    match = _match(found, wanted, name, aggregation)
    rest = np.linalg.norm(found - match.factor * wanted) / np.linalg.norm(found)
    return replace(match, distance=float(rest))


def _reference_use(derivative: Derivative, batches: Batches) -> str:
    use = "none"
    for batch in batches.sample(16):
        (value, by_logp), (other, by_other) = derivative(batch, batch.logp), derivative(batch, batch.ref_logp)
        if np.abs(by_logp - by_other).max() > SAME:
            return "gradient"
        if abs(value - other) > SAME:
            use = "value"
    return use


def _joined(tables: Iterable[Array]) -> Array:
    return np.concatenate([table.ravel() for table in tables])


def _lengths(batch: Batch) -> list[int]:
    return [int(length) for length in batch.mask.sum(axis=1)]


def _token_weights(batch: Batch, aggregation: str) -> Array:
    """The weight of each token of a batch."""
    lengths = _lengths(batch)
    weigh, (count, longest) = AGGREGATIONS[aggregation], batch.mask.shape
    weights: Array = np.array([weigh(T, count, sum(lengths), longest) for T in lengths])[:, None] * batch.mask
    return weights


def _slope_by_reference(derivative: Derivative, batch: Batch, ref_logp: Array) -> Array:
    """The derivative of the value by ``ref_logp``, by differences (two points: k1 is linear)."""
    step, found = 1e-3, np.zeros_like(ref_logp)
    for place in np.ndindex(found.shape):
        for sign in (1, -1):
            moved = ref_logp.copy()
            moved[place] += sign * step
            found[place] += sign * derivative(batch, moved)[0] / (2 * step)
    return found


def _by_token(derivative: Derivative, shown: list[Batch], reference_use: str) -> list[tuple[Array, ...]]:
    """The derivative by each token of some batches, where the reference is the policy itself; and the same without k1.

    There k2, k3 and the penalties in the reward have the derivative 0. That of k1 is its coefficient, whatever the
    rewards are, and minus the derivative of the value by ``ref_logp``.
    """
    found: list[tuple[Array, ...]] = []
    for batch in shown:
        by_logp = derivative(batch, batch.logp)[1]
        if reference_use == "none":
            found.append((by_logp,))
        else:
            found.append((by_logp, by_logp + _slope_by_reference(derivative, batch, batch.logp)))
    return found


def _is_identical(by_token: list[tuple[Array, ...]], shown: list[Batch], advantage: Advantage, match: Match) -> bool:
    """Whether the derivatives by each token are those of a convention, times the factor of the match."""
    factor = 1.0 if match.same else match.factor
    for batch, candidates in zip(shown, by_token):
        groups, count = int(batch.group.max()) + 1, len(batch.rewards)
        own = [int(batch.rewards[batch.group == number].sum()) for number in batch.group]
        size, all_ = count // groups, int(batch.rewards.sum())
        of_rollouts = [advantage(int(r), k, all_, size, groups) for r, k in zip(batch.rewards, own)]
        wanted = -factor * np.array(of_rollouts)[:, None] * _token_weights(batch, match.aggregation)
        if min(np.abs(found - wanted).max() for found in candidates) > SAME * max(1.0, abs(factor)):
            return False
    return True


def _depends_on_order(derivative: Derivative, batches: Batches) -> bool:
    rng = np.random.default_rng(3)
    for batch in batches.sample(16):
        moved, order = batch.shuffled(rng)
        one, other = derivative(batch, batch.ref_logp)[1], derivative(moved, moved.ref_logp)[1]
        if np.abs(one[order] - other).max() > SAME:
            return True
    return False
