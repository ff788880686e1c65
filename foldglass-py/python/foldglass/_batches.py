"""Lists every batch of rollouts of a small task, and differentiates a loss on each."""

from __future__ import annotations

import itertools
import math
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._conventions import Array, Input, to_logits

#: ``loss(logp, old_logp, ref_logp, rewards, mask, group)``: arrays (rollout, token), rewards and group (rollout,).
Loss = Callable[..., Any]

#: Gradients closer than this, relative to their size, are the same: far above rounding and the error of differences, far
#: below what tells two conventions apart (1e-6 and 1e-4 added to a deviation differ by 1e-4).
SAME = 1e-7

#: What a padded token has for its log-probability: a loss that forgets the mask is found out.
PADDING = -3.0


@dataclass(frozen=True)
class Batch:
    """The arrays of one batch, and the cells and tokens behind them."""

    weight: float
    cells: NDArray[np.int64]
    tokens: NDArray[np.int64]
    logp: Array
    ref_logp: Array
    rewards: Array
    mask: Array
    group: NDArray[np.int64]

    def shuffled(self, rng: np.random.Generator) -> tuple[Batch, NDArray[np.int64]]:
        """The same with its groups, and the rollouts within each, in another order."""
        groups = rng.permutation(self.group.max() + 1)
        order = np.concatenate([rng.permutation(np.flatnonzero(self.group == number)) for number in groups])
        names = ("cells", "tokens", "logp", "ref_logp", "rewards", "mask")
        moved = {name: getattr(self, name)[order] for name in names}
        return replace(self, **moved, group=np.sort(self.group)), order


class Batches:
    """All batches of some groups of rollouts; those that differ by an order are one, unless ``ordered``."""

    def __init__(self, listed: list[Input], groups: int, size: int, ordered: bool = False) -> None:
        self.listed, self.groups, self.size, self.ordered = listed, groups, size, ordered
        self.longest = max(one.length for one in listed)
        choose = itertools.product if ordered else itertools.combinations_with_replacement
        self._choose: Callable[..., Iterator[tuple[Any, ...]]] = (
            (lambda things, n: itertools.product(things, repeat=n)) if choose is itertools.product else choose
        )

    def __len__(self) -> int:
        count = (lambda n, k: n**k) if self.ordered else (lambda n, k: math.comb(n + k - 1, k))
        return count(sum(count(len(one.rewards), self.size) for one in self.listed), self.groups)

    def _orders(self, chosen: tuple[Any, ...]) -> int:
        if self.ordered:
            return 1
        repeated = math.prod(math.factorial(chosen.count(one)) for one in set(chosen))
        return math.factorial(len(chosen)) // repeated

    def __iter__(self) -> Iterator[Batch]:
        every = [
            (number, rollouts)
            for number, one in enumerate(self.listed)
            for rollouts in self._choose(range(len(one.rewards)), self.size)
        ]
        for chosen in self._choose(every, self.groups):
            yield self._batch(chosen)

    def _batch(self, chosen: tuple[tuple[int, tuple[int, ...]], ...]) -> Batch:
        weight = float(self._orders(chosen))
        shape = (self.groups * self.size, self.longest)
        cells, tokens = np.zeros(shape, dtype=np.int64), np.zeros(shape, dtype=np.int64)
        logp, ref_logp, mask = np.full(shape, PADDING), np.full(shape, PADDING), np.zeros(shape)
        rewards = np.zeros(shape[0])
        for number, (which, rollouts) in enumerate(chosen):
            one, which_rollouts = self.listed[which], list(rollouts)
            rows = slice(number * self.size, (number + 1) * self.size)
            cells[rows, : one.length] = one.cells[which_rollouts]
            tokens[rows, : one.length] = one.tokens[which_rollouts]
            logp[rows, : one.length] = one.log_probs[which_rollouts]
            ref_logp[rows, : one.length] = one.ref_log_probs[which_rollouts]
            mask[rows, : one.length] = 1
            rewards[rows] = one.rewards[which_rollouts]
            weight *= float(one.probability) * self._orders(rollouts) * math.exp(logp[rows, : one.length].sum())
        group = np.repeat(np.arange(self.groups), self.size)
        return Batch(weight, cells, tokens, logp, ref_logp, rewards, mask, group)

    def sample(self, count: int) -> list[Batch]:
        """Some batches of mixed rewards and lengths, the same in every call."""
        rng = np.random.default_rng(2)
        made = []
        for _ in range(count):
            which = [int(number) for number in rng.permutation(len(self.listed))[: self.groups]]
            pick = [tuple(int(k) for k in rng.integers(len(self.listed[n].rewards), size=self.size)) for n in which]
            made.append(self._batch(tuple(zip(which, pick))))
        return made

    def gradient(self, derivative: Derivative, policy: Array, *, own: bool) -> tuple[Array, float]:
        """The expected gradient by the logits, the reference being the policy itself or another; and the largest
        derivative by a padded token."""
        flow, padding = np.zeros_like(policy), 0.0
        for batch in self:
            by_logp = derivative(batch, batch.logp if own else batch.ref_logp)[1]
            padding = max(padding, float(np.abs(by_logp[batch.mask == 0]).max(initial=0.0)))
            np.add.at(flow, (batch.cells, batch.tokens), batch.weight * by_logp * batch.mask)
        return to_logits(flow, policy), padding if padding > SAME else 0.0


#: The value of the loss of a batch and its derivative by ``logp``, given ``ref_logp``.
Derivative = Callable[[Batch, Array], tuple[float, Array]]


def derivative_of(loss: Loss, arrays: str | None, batch: Batch) -> tuple[Derivative, str]:
    """The derivative of a loss, and how it is taken."""
    known = {"numpy": _by_differences, "torch": _by_torch, "jax": _by_jax}
    if arrays is not None:
        if arrays not in known:
            raise ValueError(f"arrays={arrays!r}: {', '.join(known)} are known")
        return known[arrays](loss)
    try:
        returned = loss(batch.logp, batch.logp, batch.ref_logp, batch.rewards, batch.mask, batch.group)
    except Exception as error:
        for library, by in (("torch", _by_torch), ("jax", _by_jax)):
            if library not in sys.modules:
                continue
            try:
                derivative, words = by(loss)
                derivative(batch, batch.ref_logp)
            except Exception:
                continue
            return derivative, words
        raise TypeError(
            f"the loss fails on arrays of NumPy ({type(error).__name__}: {error}) and on those of PyTorch and JAX as far as they "
            'are imported; arrays="numpy", "torch" or "jax" says what it takes, and shows its own error'
        ) from error
    kind = type(returned).__module__.split(".")[0]
    return known["torch" if kind == "torch" else "jax" if kind in ("jax", "jaxlib") else "numpy"](loss)


def _by_differences(loss: Loss) -> tuple[Derivative, str]:
    step = 1e-3

    def derivative(batch: Batch, ref_logp: Array) -> tuple[float, Array]:
        def value(logp: Array) -> float:
            return float(loss(logp, batch.logp.copy(), ref_logp.copy(), batch.rewards, batch.mask, batch.group))

        by_logp = np.zeros_like(batch.logp)
        for place in np.ndindex(by_logp.shape):
            for steps, factor in ((-2, 1), (-1, -8), (1, 8), (2, -1)):
                moved = batch.logp.copy()
                moved[place] += steps * step
                by_logp[place] += factor * value(moved) / (12 * step)
        return value(batch.logp.copy()), by_logp

    return derivative, "derivatives by differences (NumPy, five points)"


def _by_torch(loss: Loss) -> tuple[Derivative, str]:
    import torch

    def derivative(batch: Batch, ref_logp: Array) -> tuple[float, Array]:
        logp = torch.tensor(batch.logp, requires_grad=True)
        rest = [torch.tensor(one) for one in (batch.logp, ref_logp, batch.rewards, batch.mask, batch.group)]
        value = loss(logp, *rest)
        if not value.requires_grad:
            return float(value), np.zeros_like(batch.logp)
        (by_logp,) = torch.autograd.grad(value, logp, allow_unused=True)
        return float(value.detach()), np.zeros_like(batch.logp) if by_logp is None else by_logp.numpy()

    return derivative, "derivatives by torch"


def _by_jax(loss: Loss) -> tuple[Derivative, str]:
    import jax
    import jax.experimental

    gradient = jax.jit(jax.value_and_grad(loss))
    # JAX before 0.8 has it in jax.experimental alone.
    enable_x64 = jax.enable_x64 if hasattr(jax, "enable_x64") else jax.experimental.enable_x64

    def derivative(batch: Batch, ref_logp: Array) -> tuple[float, Array]:
        with enable_x64(True):
            value, by_logp = gradient(batch.logp, batch.logp, ref_logp, batch.rewards, batch.mask, batch.group)
            return float(value), np.asarray(by_logp)

    return derivative, "derivatives by JAX"
