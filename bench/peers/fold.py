"""Defines what every peer shares: the task, the untied class, the test policy, the reference, the timing.

Letters follow the paper: q symbols, T steps, inputs x, state s (s_1 = x_1, s_t = B[s_{t-1}, x_t]),
tokens y, a cell c = (t, x_{t-p} .. x_{t+f}, y_{t-1}), J the expected reward, d(c) the probability
that a rollout consults c, dQ(c, a) = dJ / dpi_c(a).

Import this module before numpy and jax: it is what holds them to one thread.
"""

import os

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[_name] = "1"
os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false"
os.environ["JAX_PLATFORMS"] = "cpu"
if hasattr(os, "sched_setaffinity"):
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})

import argparse
import json
import math
import re
import statistics
import sys
import time
from dataclasses import dataclass

import numpy as np

# The paper's 5x5 quasigroup.
B = np.array(
    [
        [1, 3, 4, 0, 2],
        [3, 1, 0, 2, 4],
        [4, 2, 3, 1, 0],
        [2, 0, 1, 4, 3],
        [0, 4, 2, 3, 1],
    ]
)
q = len(B)
undo = np.argsort(B, axis=0)  # undo[B[s, x], x] = s


@dataclass(frozen=True)
class Step:
    """The cells of one step, in cell order: window digits (oldest most significant), then y_{t-1}."""

    t: int
    positions: tuple[int, ...]  # the input positions that the window reads, oldest first
    has_y: bool
    first: int  # index of the step's first cell

    @property
    def shape(self):
        """One axis per window digit, then y_{t-1} where there is one."""
        return (q,) * (len(self.positions) + self.has_y)

    @property
    def count(self):
        return q ** len(self.shape)


def require(p, f, T):
    """Stops unless the peers have this window."""
    if p != 0 or not 1 <= f < T:
        sys.exit(f"window ({p},{f}) at T={T}: the peers evaluate p = 0 and 1 <= f < T")


def untied_class(p, f, T):
    """The steps of the untied class with window (p, f) on inputs of length T."""
    steps, first = [], 0
    for t in range(1, T + 1):
        step = Step(t, tuple(range(max(1, t - p), min(T, t + f) + 1)), t > 1, first)
        steps.append(step)
        first += step.count
    return steps


def test_policy(steps):
    """The policy that every program compared here rebuilds from integers; pi_t[window.., y, a].

    Entry k = cell * q + a has the weight 1 + (2654435761 (k + 1) mod 2^32) / 2^32, and a row is its
    weights over their sum, added in the order of a.
    """
    policy = []
    for step in steps:
        k = np.arange(step.first * q, (step.first + step.count) * q, dtype=np.uint64)
        raw = 1.0 + (np.uint64(2654435761) * (k + np.uint64(1)) % np.uint64(2**32)) / 2.0**32
        raw = raw.reshape(step.shape + (q,))
        total = raw[..., 0].copy()
        for a in range(1, q):
            total += raw[..., a]
        policy.append(raw / total[..., None])
    return policy


def checksum(dQ):
    """sum_k ((k mod 7) + 1) dQ_k / K over the K entries in cell order, from arrays [window.., y, a]."""
    flat = np.concatenate([np.asarray(step).reshape(-1) for step in dQ])
    return float(np.sum((np.arange(len(flat)) % 7 + 1) * flat) / len(flat))


def reference(steps, policy):
    """J, d and dQ input by input (all q^T at once): a chain over y alone, with no state and no window."""
    T = len(steps)
    inputs = q**T
    x = np.arange(inputs)[:, None] // q ** np.arange(T - 1, -1, -1) % q
    s = x[:, 0]
    for t in range(1, T):
        s = B[s, x[:, t]]
    # rows[t][i, y]: the cell within its step that input i consults when the last token is y.
    rows = []
    for step in steps:
        window = np.zeros(inputs, dtype=int)
        for position in step.positions:
            window = window * q + x[:, position - 1]
        rows.append(window[:, None] * q + np.arange(q) if step.has_y else window[:, None])
    flat = [pi.reshape(-1, q) for pi in policy]
    before = [np.ones((inputs, 1))]
    for t in range(T - 1):
        before.append(np.einsum("iy,iya->ia", before[t], flat[t][rows[t]]))
    after = [None] * T
    after[T - 1] = np.eye(q)[s]
    for t in range(T - 1, 0, -1):
        after[t - 1] = np.einsum("iya,ia->iy", flat[t][rows[t]], after[t])
    d, dQ = [], []
    for step, pi, row, u, v in zip(steps, policy, rows, before, after):
        d_t, dQ_t = np.zeros(step.count), np.zeros((step.count, q))
        np.add.at(d_t, row, u / inputs)
        np.add.at(dQ_t, row, u[:, :, None] * v[:, None, :] / inputs)
        d.append(d_t.reshape(step.shape))
        dQ.append(dQ_t.reshape(pi.shape))
    return float(np.sum(policy[-1] * dQ[-1])), d, dQ


def plain(p, f, T, policy):
    """The policy as arrays pi_t[x_t, w, y, a], w = (x_{t+1}, ..) in one axis, and the reader of results."""
    require(p, f, T)
    steps = untied_class(p, f, T)
    pi = [table.reshape((q, -1) + table.shape[len(s.positions) :]) for s, table in zip(steps, policy)]

    def read(result):
        J, d, dQ = result
        d = [np.asarray(d_t).reshape(step.shape) for step, d_t in zip(steps, d)]
        dQ = [np.asarray(dQ_t).reshape(step.shape + (q,)) for step, dQ_t in zip(steps, dQ)]
        return float(J), d, dQ

    return pi, read


class Block:
    """One step of a (0, f) class, laid out so that both passes are batches of q x q^2 x q^2 products.

    The window is (x_t, r, v): v the symbol x_{t+f} that nothing before step t depends on (absent in
    the last f steps, where it has one value), r what lies between. With s = s_{t-1}, s' = B[s, x_t]:

        A[r, s', (x_t, y)]   weight of arriving with s, x_t, r, y   (v counts q times, at the end)
        pi[r, (x_t, y), (v, a)]
        forward   g = A pi         g[r, s', (v, a)],  the next step's A after a permutation
        backward  h = pi b         b[r, (v, a), s'],  the weighted reward to go, summed over later inputs
        gradient  dQ = A^T b^T     dQ[r, (x_t, y), (v, a)]

    Weights count inputs: `scale` = q^-(inputs seen) makes A a probability, and b starts from q^-T.
    At t = 1 there is no y and s' = x_1, so that A is the identity.
    """

    def __init__(self, step, f, T):
        self.step = step
        self.v = q if step.t + f <= T else 1
        self.r = q ** len(step.positions) // (q * self.v)
        self.scale = float(q) ** -max(step.positions)

    def split(self, table):
        """An array [window.., y, a] or [window.., y] as this layout's matrix, or as [r, (x_t, y), v]."""
        y, a = (q,) * self.step.has_y, table.shape[len(self.step.shape) :]
        table = np.moveaxis(table.reshape((q, self.r, self.v) + y + a), (1, 2), (0, 2 + len(y)))
        return np.ascontiguousarray(table).reshape(self.r, q ** (1 + len(y)), -1)

    def join(self, matrix):
        """The inverse of `split`."""
        y = (q,) * self.step.has_y
        a = (q,) * (matrix.size > self.step.count)
        matrix = np.asarray(matrix).reshape((self.r, q) + y + (self.v,) + a)
        return np.moveaxis(matrix, (0, 2 + len(y)), (1, 2)).reshape(self.step.shape + a)


def blocks(p, f, T):
    """The blocks of the untied (0, f) class, and the permutations between one step and the next.

    forward[t] makes the A of step t (t >= 2) out of the g of step t-1, and backward[t] the b of step
    t-1 (at t = 2, dQ itself) out of the h of step t; both are indices into the flat source.
    """
    require(p, f, T)
    steps = [Block(step, f, T) for step in untied_class(p, f, T)]
    forward, backward = {}, {}
    for last, block in zip(steps, steps[1:]):
        r, s, x, y = np.ogrid[: block.r, :q, :q, :q]  # s is s_t here: A's axes
        digits = x * block.r + r  # (x_t, r) of this step is (r, v) of the one before
        g = ((digits // last.v * q + undo[s, x]) * last.v + digits % last.v) * q + y
        h = ((r * q + x) * q + y) * q + s
        t = block.step.t
        forward[t] = g.reshape(block.r, q, q * q)
        to_b = np.empty(h.size, dtype=int)
        to_b[g.reshape(-1)] = h.reshape(-1)
        to_b = to_b.reshape(last.r, q, last.v * q)  # [r, s', (v, a)]
        backward[t] = to_b if t == 2 else np.ascontiguousarray(to_b.transpose(0, 2, 1))
    return steps, forward, backward


def joined(blocks):
    """An empty buffer with a row of q entries for every cell, and its steps as [r, (x_t, y), (v, a)]."""
    rows = np.empty((sum(block.step.count for block in blocks), q))
    steps = [rows[b.step.first : b.step.first + b.step.count] for b in blocks]
    return rows, [step.reshape(b.r, q ** (1 + b.step.has_y), b.v * q) for b, step in zip(blocks, steps)]


def seconds_per_call(call, rounds, seconds, before_round=lambda: None):
    """The median time of a call over laps of about a millisecond, as the library's benchmark takes it.

    Laps that short lie mostly between two interruptions: a median of them withstands other load on the
    machine, and does so alike on both sides.
    """
    call()
    start = time.perf_counter()
    call()
    calls = math.ceil(1e-3 / (time.perf_counter() - start))
    times = []
    for _ in range(rounds):
        before_round()
        end = time.perf_counter() + seconds
        while (start := time.perf_counter()) < end:
            for _ in range(calls):
                call()
            times.append((time.perf_counter() - start) / calls)
    return statistics.median(times)


def parse_case(name):
    """`untied_0_3_T7` is ("untied", 0, 3, 7): the kind of work, then p, f and T."""
    match = re.fullmatch(r"([a-z]+)_(\d+)_(\d+)_T(\d+)", name)
    if match is None:
        sys.exit(f"--case {name}: expected KIND_P_F_TN, such as untied_0_3_T7")
    return match[1], int(match[2]), int(match[3]), int(match[4])


def check_evaluation(style, prepare):
    """Compares one style of evaluation with the reference on small classes and on the timed one."""
    for p, f, T in [(0, 1, 3), (0, 2, 3), (0, 1, 4), (0, 2, 5), (0, 3, 7)]:
        steps = untied_class(p, f, T)
        policy = test_policy(steps)
        call, read = prepare(p, f, T, policy)
        J, d, dQ = read(call())
        J_ref, d_ref, dQ_ref = reference(steps, policy)
        worst = abs(J - J_ref)
        for ours, theirs in zip(d + dQ, d_ref + dQ_ref, strict=True):
            if ours.shape != theirs.shape:
                sys.exit(f"{style} ({p},{f}) T={T}: shape {ours.shape} instead of {theirs.shape}")
            worst = max(worst, float(np.max(np.abs(ours - theirs) / np.max(theirs))))
        print(f"{style} ({p},{f}) T={T}: largest relative difference {worst:.1e}", file=sys.stderr)
        if not worst <= 1e-12:
            sys.exit(f"{style} ({p},{f}) T={T}: differs by {worst:.1e}, more than 1e-12")


def main(peer, version, kinds):
    """Runs one peer's command line.

    `kinds` maps a kind of work, then a style ("plain": what a user writes first, "expert": the fastest
    found), to prepare(p, f, T, policy) -> (call, read): `call()` is what is timed, and `read(call())`
    gives (J, d, dQ) as NumPy values in cell order. `dynamics` has the kinds that change a policy or code.
    """
    parser = argparse.ArgumentParser()
    parser.add_argument("--case", default="untied_0_3_T7")
    parser.add_argument("--style", choices=("plain", "expert"), default="expert")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--seconds", type=float, default=0.1, help="length of one round")
    parser.add_argument("--check", action="store_true", help="compare both styles with the reference")
    args = parser.parse_args()
    if args.check:
        for style, prepare in kinds["untied"].items():
            check_evaluation(style, prepare)
        return
    kind, p, f, T = parse_case(args.case)
    if kind not in kinds:
        sys.exit(f"--case {args.case}: {peer} knows {', '.join(kinds)}")
    call, read = kinds[kind][args.style](p, f, T, test_policy(untied_class(p, f, T)))
    J, _, dQ = read(call())
    line = {
        "peer": peer,
        "version": version,
        "style": args.style,
        "case": args.case,
        "median_s": seconds_per_call(call, args.rounds, args.seconds),
        "J": J,
        "checksum_dq": checksum(dQ),
    }
    print(json.dumps(line))
