"""Defines what the peers' dynamics share: their settings, their checks, their command line.

cavi   one iteration of tabular RLVR: the exact dQ at the old policy, a random share of the cells, and
       for these pi += damping (softmax(dQ / tau) - pi), from pi = u / sum u.
runs   RUNS runs of cavi side by side, on the window (0,0); the time is that of one iteration of one run.
chain  one zero-temperature Metropolis sweep: the steps in a random order, and at each step for all its
       cells at once an action proposed uniformly over all q and taken if J does not fall. Weights are
       counts of inputs, exact in float64, so that ties are ties. After step i was swept, alpha is
       valid up to it and beta down to it: on the way to step j only the messages between are renewed.

reinforce  one update of sampled training on the window (0,0): BATCH inputs, one rollout on each, the reward minus its
       mean over the batch times the derivative of the log-probabilities, averaged, added to the logits times RATE.

Random numbers are each peer's own. Import `fold` before numpy and jax.
"""

import argparse
import json
import sys

import fold
import numpy as np
from fold import B, q

TAU = 1e-13
SHARE = 0.3
DAMPING = 0.3
WARM_UP = 200

RUNS = 400

BATCH = 512
RATE = 1e-3


class Dynamics:
    """A run in progress, as every peer builds it: `prepare(p, f, T, seed)` returns one.

    `step` is one iteration or sweep, what is timed. `save` and `load` take the run back to where it was.
    `read` gives the policy as tables [window.., y, a] (cavi), or the last sweep's J, as a count of
    inputs, and the code as tables [window.., y] (chain). `runs` is the number of runs that a step moves; of several, `read`
    gives a list of policies.
    """

    def __init__(self, step, save, load, read, runs=1):
        self.step, self.save, self.load, self.read, self.runs = step, save, load, read, runs


def initial_policy(steps, rng):
    """u / sum u for every cell, as tables [window.., y, a]."""
    tables = [rng.random(step.shape + (q,)) for step in steps]
    return [table / table.sum(-1, keepdims=True) for table in tables]


def initial_code(steps, rng):
    """A uniformly random action for every cell, as tables [window.., y]."""
    return [rng.integers(0, q, step.shape) for step in steps]


def rewarded(steps, code):
    """The number of inputs that earn the reward, by the rollout of each."""
    T = len(steps)
    x = np.arange(q**T)[:, None] // q ** np.arange(T - 1, -1, -1) % q
    s, y = x[:, 0], None
    for t in range(1, T):
        s = B[s, x[:, t]]
    for step, table in zip(steps, code):
        window = [x[:, position - 1] for position in step.positions]
        y = table[tuple(window + [y] * step.has_y)]
    return int(np.sum(y == s))


def check_cavi(name, prepare):
    """After 300 iterations greedy codes must be far above chance (0.2), and near the library's 0.76."""
    steps = fold.untied_class(0, 3, 7)
    for seed in (1, 2, 3):
        run = prepare(0, 3, 7, seed)
        for _ in range(300):
            run.step()
        policy = run.read()
        off = max(float(np.max(np.abs(table.sum(-1) - 1))) for table in policy)
        reward = rewarded(steps, [table.argmax(-1) for table in policy]) / q**7
        print(f"{name} seed {seed}: greedy reward {reward:.3f}", file=sys.stderr)
        if not (0.6 < reward < 0.95 and off < 1e-9):
            sys.exit(f"{name} seed {seed}: greedy reward {reward}, rows off by {off:.1e}")


def check_runs(name, prepare):
    """From one policy of each run, iterations must lead where exact ones lead that move the same cells; codes must stall."""
    steps = fold.untied_class(0, 0, 8)
    run = prepare(0, 0, 8, 1)
    before = run.read()
    run.step()
    for old, new in list(zip(before, run.read()))[:5]:
        _, _, dQ = fold.reference(steps, old)
        for pi, after, dq in zip(old, new, dQ):
            weights = np.exp((dq - dq.max(-1, keepdims=True)) / TAU)
            moved = pi + DAMPING * (weights / weights.sum(-1, keepdims=True) - pi)
            # A rounding of dQ is a thousandth of TAU.
            still, there = np.abs(after - pi).max(-1) < 1e-12, np.abs(after - moved).max(-1) < 1e-2
            if not np.all(still | there):
                sys.exit(f"{name}: a row is neither the old one nor the one that an iteration makes")
    for _ in range(1500):
        run.step()
    rewards = [rewarded(steps, [table.argmax(-1) for table in policy]) / q**8 for policy in run.read()]
    print(f"{name}: mean greedy reward {np.mean(rewards):.3f} of {len(rewards)} runs", file=sys.stderr)
    if not (len(rewards) == RUNS and 0.3 < np.mean(rewards) < 0.95):
        sys.exit(f"{name}: mean greedy reward {np.mean(rewards)} of {len(rewards)} runs")


def check_chain(name, prepare):
    """J must never fall, must rise, and must be the reward of the code."""
    for p, f, T, sweeps in [(0, 1, 3, 50), (0, 2, 5, 50), (0, 3, 7, 200)]:
        steps = fold.untied_class(p, f, T)
        run = prepare(p, f, T, 1)
        last = first = rewarded(steps, run.read()[1])
        for _ in range(sweeps):
            run.step()
            J, code = run.read()
            if J < last or J != rewarded(steps, code):
                sys.exit(f"{name} ({p},{f}) T={T}: J {J} after {last}, by rollouts {rewarded(steps, code)}")
            last = J
        print(f"{name} ({p},{f}) T={T}: J {first / q**T:.3f} -> {last / q**T:.3f}", file=sys.stderr)
        if not last / q**T > 0.5:
            sys.exit(f"{name} ({p},{f}) T={T}: J {last / q**T} after {sweeps} sweeps")


def check_reinforce(name, prepare):
    """The mean of many updates from one policy must be the exact gradient, and training must solve a short task."""
    steps = fold.untied_class(0, 0, 2)
    run = prepare(0, 0, 2, 1, 1.0)
    start, policy = run.save(), run.read()
    _, _, dQ = fold.reference(steps, policy)
    exact = [pi * (dq - (pi * dq).sum(-1, keepdims=True)) for pi, dq in zip(policy, dQ)]
    updates, changes = 2000, []
    for _ in range(updates):
        run.load(start)
        run.step()
        changes.append(np.asarray(run.save()) - np.asarray(start))
    exact = np.concatenate([table.reshape(-1, q) for table in exact])
    mean, error = np.mean(changes, 0), np.std(changes, 0) / updates**0.5
    # The baseline contains the sample itself.
    off = float(np.max(np.abs(mean - (1 - 1 / BATCH) * exact) / error))
    run = prepare(0, 0, 2, 2, 5.0)
    for _ in range(1000):
        run.step()
    reward = rewarded(steps, [table.argmax(-1) for table in run.read()]) / q**2
    print(f"{name}: gradient off by {off:.1f} standard errors at most, greedy reward {reward:.3f}", file=sys.stderr)
    if not (off < 5 and reward > 0.75):
        sys.exit(f"{name}: gradient off by {off} standard errors, greedy reward {reward}")


CHECKS = {"cavi": check_cavi, "runs": check_runs, "chain": check_chain, "reinforce": check_reinforce}


def main(peer, version, kinds):
    """Runs one peer's command line; `kinds` maps a kind, then a style, to its `prepare`."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--case", default="cavi_0_3_T7")
    parser.add_argument("--style", choices=("plain", "expert"), default="expert")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--seconds", type=float, default=0.1, help="length of one round")
    parser.add_argument("--check", action="store_true", help="check both styles of all kinds")
    args = parser.parse_args()
    if args.check:
        for kind, styles in kinds.items():
            for style, prepare in styles.items():
                CHECKS[kind](f"{kind} {style}", prepare)
        return
    kind, p, f, T = fold.parse_case(args.case)
    if kind not in kinds:
        sys.exit(f"--case {args.case}: {peer} knows {', '.join(kinds)}")
    run = kinds[kind][args.style](p, f, T, 1)
    for _ in range(WARM_UP):
        run.step()
    warm = run.save()
    line = {
        "peer": peer,
        "version": version,
        "style": args.style,
        "case": args.case,
        # From the same state every round: ever smaller probabilities would reach subnormal products.
        "median_s": fold.seconds_per_call(run.step, args.rounds, args.seconds, lambda: run.load(warm)) / run.runs,
    }
    print(json.dumps(line))
