"""Computes the exact expected gradients of named losses on a small class, by formulas.

A batch has B groups of G rollouts, each group on one input drawn from the law. A rollout i has the reward r_i, the
score S_i = sum_t grad log pi(y_t) and the advantage A_i, a function of r_i and of the numbers of successes of the
groups. Given an input x with success p and gradient g = grad p, E[S | r = 1] p = g and E[S | r = 0] (1 - p) = -g, so

    E[A_1 S_1 | x_1 .. x_B] = g_1 E[A(1, k + 1, K_2 ..) - A(0, k, K_2 ..)],  k ~ Bin(G - 1, p_1), K_j ~ Bin(G, p_j).

How tokens and rollouts are averaged multiplies it by a weight that depends on the lengths alone.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from ._class import Class, Policy
from ._commands import ask, folder, write_table

Array = NDArray[np.float64]

#: A(r, K of the own group, K of the batch, G, B).
Advantage = Callable[[int, int, int, int, int], float]


@dataclass(frozen=True)
class Input:
    """One input with all its rollouts: tokens and cells (rollout, step), log-probabilities, rewards."""

    x: tuple[int, ...]
    probability: Fraction
    tokens: NDArray[np.int64]
    cells: NDArray[np.int64]
    log_probs: Array
    ref_log_probs: Array
    rewards: Array

    @property
    def length(self) -> int:
        """T."""
        return len(self.x)

    @property
    def weights(self) -> Array:
        """The probability of each rollout."""
        found: Array = np.exp(self.log_probs.sum(axis=1))
        return found

    @property
    def success(self) -> float:
        """p(x)."""
        return float(self.weights @ self.rewards)

    def flow(self, factors: Array, shape: tuple[int, int]) -> Array:
        """The sum over rollouts and steps of a factor (rollout, step) at the cell and token consulted there."""
        table = np.zeros(shape)
        np.add.at(table, (self.cells, self.tokens), factors)
        return table


def inputs_of(space: Class, policy: Array, reference: Array) -> list[Input]:
    """Every input that occurs, with its probability and all its rollouts under a policy."""
    with folder() as place:
        path = write_table(Policy(space, policy), place / "policy.json")
        listed = ask("eval", ["--policy", str(path), "--per-input"], False)["per_input"]
    found = []
    for one in listed:
        x = one["x"]
        tokens = np.array(list(itertools.product(range(space.q), repeat=len(x))), dtype=np.int64)
        cells = np.array(
            [[space.route(x, t + 1, y[:t].tolist()) for t in range(len(x))] for y in tokens], dtype=np.int64
        )
        found.append(
            Input(
                tuple(x),
                Fraction(one["probability"]),
                tokens,
                cells,
                np.log(policy)[cells, tokens],
                np.log(reference)[cells, tokens],
                (tokens[:, -1] == space.fold(x)[-1]).astype(float),
            )
        )
    return found


def to_logits(flow: Array, policy: Array) -> Array:
    """Sums over cells and tokens of factors of grad log pi, as a derivative by the logits."""
    found: Array = flow - policy * flow.sum(axis=1, keepdims=True)
    return found


def _deviation(successes: int, count: int, ddof: int) -> float:
    return math.sqrt(successes * (count - successes) / (count * (count - ddof)))


def _grpo(ddof: int, eps: float, of: str) -> Advantage:
    """(r - mean) / (standard deviation + eps); ``of`` says over what each is taken."""
    mean_of, deviation_of = {"group": ("g", "g"), "mixed": ("g", "b"), "batch": ("b", "b")}[of]

    def advantage(r: int, own: int, all_: int, size: int, groups: int) -> float:
        count = size * groups
        mean = own / size if mean_of == "g" else all_ / count
        # Rewards that are all equal have no deviation: 0, decided by whole numbers.
        silent = own in (0, size) if deviation_of == "g" else all_ in (0, count)
        if silent or r == mean:
            return 0.0
        deviation = _deviation(own, size, ddof) if deviation_of == "g" else _deviation(all_, count, ddof)
        return (r - mean) / (deviation + eps)

    return advantage


def advantages() -> dict[str, Advantage]:
    """The advantages by name."""
    named: dict[str, Advantage] = {
        "reinforce": lambda r, own, all_, size, groups: r,
        "rloo": lambda r, own, all_, size, groups: r - (own - r) / (size - 1),
        "dr-grpo": lambda r, own, all_, size, groups: r - own / size,
        "batch-mean": lambda r, own, all_, size, groups: r - all_ / (size * groups),
        "maxrl, order G": lambda r, own, all_, size, groups: r * size / own if own else 0.0,
        "maxrl, order G - 1": lambda r, own, all_, size, groups: r * size / own - 1 if own else 0.0,
    }
    for ddof, eps in itertools.product((1, 0), (1e-4, 1e-6, 1e-8, 0.0)):
        words = f"(ddof {ddof}, eps {eps:g})"
        named[f"grpo {words}"] = _grpo(ddof, eps, "group")
        named[f"group mean, batch deviation {words}"] = _grpo(ddof, eps, "mixed")
        named[f"whitened batch {words}"] = _grpo(ddof, eps, "batch")
    return named


#: The weight of one token of a rollout of length T, in a batch of n rollouts whose lengths sum to L, the longest of
#: the task being M.
AGGREGATIONS: dict[str, Callable[[int, int, int, int], float]] = {
    "token-mean": lambda T, n, L, M: 1 / L,
    "sequence-mean": lambda T, n, L, M: 1 / (n * T),
    "sequence-sum": lambda T, n, L, M: 1 / n,
    "constant": lambda T, n, L, M: 1 / (n * M),
    "sum": lambda T, n, L, M: 1.0,
}


def _binomial(n: int, p: float) -> list[float]:
    return [math.comb(n, k) * p**k * (1 - p) ** (n - k) for k in range(n + 1)]


def slope(advantage: Advantage, successes: tuple[float, ...], size: int) -> float:
    """E[A(1, k + 1, ..) - A(0, k, ..)] for the first of several inputs with these successes."""
    groups = len(successes)
    others = [_binomial(size, p) for p in successes[1:]]
    total = 0.0
    for k, weight in enumerate(_binomial(size - 1, successes[0])):
        for counts in itertools.product(range(size + 1), repeat=groups - 1):
            chance = weight * math.prod(law[count] for law, count in zip(others, counts))
            rest = sum(counts)
            won = advantage(1, k + 1, k + 1 + rest, size, groups)
            total += chance * (won - advantage(0, k, k + rest, size, groups))
    return total


def expected(
    listed: list[Input],
    flows: list[Array],
    weight: Callable[[tuple[int, ...]], float] | None,
    aggregation: str,
    groups: int,
    size: int,
) -> Array:
    """The sum over batches of inputs: probability, times a weight of their numbers, times the aggregation's weight of a
    token of the first, times the first's flow; then over the places that the first may have."""
    longest = max(one.length for one in listed)
    count = groups * size
    total = np.zeros_like(flows[0])
    for numbers in itertools.product(range(len(listed)), repeat=groups):
        chosen = [listed[number] for number in numbers]
        tokens = size * sum(one.length for one in chosen)
        share = float(math.prod(one.probability for one in chosen)) * count
        share *= AGGREGATIONS[aggregation](chosen[0].length, count, tokens, longest)
        share *= 1.0 if weight is None else weight(numbers)
        total += share * flows[numbers[0]]
    return total


def policy_gradient(
    listed: list[Input], shape: tuple[int, int], advantage: Advantage, aggregation: str, groups: int, size: int
) -> Array:
    """The flow of the expected gradient of the objective, by cells and tokens."""
    flows = [one.flow((one.weights * one.rewards)[:, None] * np.ones(one.length), shape) for one in listed]
    successes = [one.success for one in listed]
    known: dict[tuple[float, ...], float] = {}

    def weight(numbers: tuple[int, ...]) -> float:
        key = tuple(successes[number] for number in numbers)
        if key not in known:
            known[key] = slope(advantage, key, size)
        return known[key]

    return expected(listed, flows, weight, aggregation, groups, size)


#: The derivative by log pi of a token's penalty, from d = log pi - log pi_ref.
PENALTIES: dict[str, Callable[[Array], Array]] = {
    "k2": lambda d: d,
    "k3": lambda d: 1 - np.exp(-d),
    "abs": np.sign,
}


def penalty_gradient(
    listed: list[Input], shape: tuple[int, int], penalty: str, aggregation: str, groups: int, size: int
) -> Array:
    """The flow of the expected gradient of a penalty of the distance to the reference.

    ``k1 in the reward`` is the derivative of the Kullback-Leibler divergence of whole rollouts, by REINFORCE.
    """
    flows = []
    for one in listed:
        d = one.log_probs - one.ref_log_probs
        factors = d.sum(axis=1, keepdims=True) * np.ones_like(d) if penalty == "k1 in the reward" else PENALTIES[penalty](d)
        flows.append(one.flow(one.weights[:, None] * factors, shape))
    return expected(listed, flows, None, aggregation, groups, size)
