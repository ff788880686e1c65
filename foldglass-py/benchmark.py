"""Times calls from Python beside the Rust core and beside NumPy, in turns, and prints a table.

    target/python/bin/python foldglass-py/benchmark.py [ROUNDS]
    target/python/bin/python foldglass-py/benchmark.py --arrays

after `cargo xtask python`. The core's own time is that of `cargo bench -p foldglass`, run between the rounds, so that
all share the machine's noise; ratios are of medians. With `--arrays` only fresh arrays are timed, beside an evaluation, and a
batch on all threads beside a loop: in turns, with their processor time, which a busy machine changes least.
"""

import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

ARRAYS = "--arrays" in sys.argv
if not ARRAYS:
    # One thread on every side.
    os.environ["RAYON_NUM_THREADS"] = "1"
ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "bench/peers"))

import fold  # isort: skip  # holds NumPy to one thread
import foldglass as fg
import numpy as np
from evaluate_numpy import prepare_plain

CASE = "evaluate_untied_0_3_T7"
ROLLOUTS, LENGTH = 8192, 7


def seconds(call, least=0.2) -> float:
    """The median time of a call."""
    call()
    times = []
    end = time.perf_counter() + least
    while time.perf_counter() < end:
        begun = time.perf_counter()
        call()
        times.append(time.perf_counter() - begun)
    return statistics.median(times)


def core(case: str = CASE) -> float:
    """The same in Rust."""
    command = ["cargo", "bench", "--quiet", "-p", "foldglass", "--bench", "core", "--", "--json", case]
    lines = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    return json.loads(lines.splitlines()[0])["median_s"]


def table_of(tables) -> np.ndarray:
    """Arrays pi_t[window.., y, a] as rows in the order of the cells."""
    return np.concatenate([np.asarray(t).reshape(-1, fold.q) for t in tables])


def in_turns(ways, calls: int, rounds: int) -> dict[str, tuple[float, float]]:
    """The processor time and the time of one of several calls in a row, medians of rounds that take turns."""
    clocks = (time.process_time, time.perf_counter)
    times = {name: ([], []) for name in ways}
    for _ in range(rounds):
        for name, way in ways.items():
            begun = [clock() for clock in clocks]
            for _ in range(calls):
                way()
            for kept, clock, begin in zip(times[name], clocks, begun):
                kept.append((clock() - begin) / calls)
    return {name: tuple(map(statistics.median, own)) for name, own in times.items()}


def fresh_arrays() -> None:
    """Prints what arrays cost beside a policy, and a batch beside a loop that keeps its results too."""
    space = fg.Class(fg.Task("quasigroup", 7), window=(0, 3))
    rows = table_of(fold.test_policy(fold.untied_class(0, 3, 7)))
    evaluator, policy = fg.Evaluator(space), fg.Policy(space, rows)
    kept, single = evaluator.evaluate(policy), rows.astype(np.float32)
    batch = np.repeat(rows[None], 64, axis=0)
    room = fg.evaluate_batch(space, batch)
    one, copied = evaluator.evaluate(rows), np.empty_like(rows)
    kept_each = [evaluator.evaluate(rows) for _ in batch]

    def loop() -> None:
        for given, result in zip(batch, kept_each):
            evaluator.evaluate(given, out=result)
            result.visits, result.values

    def loop_of_rewards() -> None:
        for given in batch:
            evaluator.evaluate(given, out=one)

    ways = {
        # The same policy again: an evaluation alone.
        "`evaluate(policy)`": lambda: evaluator.evaluate(policy, out=kept),
        # Reads and writes as much memory, and computes nothing.
        "the same array copied by NumPy": lambda: np.copyto(copied, rows),
        "`evaluate(array)`": lambda: evaluator.evaluate(rows, out=one),
        "`evaluate(array)`, float32": lambda: evaluator.evaluate(single, out=one),
    }
    batches = {
        "64 arrays in a loop, into 64 results": loop,
        f"`evaluate_batch` of 64, {os.cpu_count()} threads": lambda: fg.evaluate_batch(space, batch, out=room),
    }
    rewards = {
        "64 arrays in a loop, rewards alone": loop_of_rewards,
        f"`rewards` of 64, {os.cpu_count()} threads": lambda: fg.rewards(space, batch, out=room[0]),
    }
    print("| from Python, in turns | processor time | time | processor time / the first |\n|---|--:|--:|--:|")
    for times in (in_turns(ways, 500, 20), in_turns(batches, 1, 40), in_turns(rewards, 1, 40)):
        base = next(iter(times.values()))[0]
        for name, (processor, wall) in times.items():
            print(f"| {name} | {1e6 * processor:,.0f} µs | {1e6 * wall:,.0f} µs | {processor / base:.2f} × |")


def main(rounds: int) -> None:
    space = fg.Class(fg.Task("quasigroup", LENGTH), window=(0, 3))
    rows = table_of(fold.test_policy(fold.untied_class(0, 3, LENGTH)))
    policy, evaluator = fg.Policy(space, rows), fg.Evaluator(space)
    kept, single = evaluator.evaluate(policy), rows.astype(np.float32)

    def arrays() -> None:
        evaluator.evaluate(policy, out=kept)
        kept.visits, kept.values

    small = fg.Class(fg.Task("quasigroup", 4), window=(0, 1))
    tables = fold.test_policy(fold.untied_class(0, 1, 4))
    call, read = prepare_plain(0, 1, 4, tables)
    batch = np.broadcast_to(table_of(tables), (1000, *small.shape)).copy()
    assert abs(read(call())[0] - fg.rewards(small, batch[:1])[0]) < 1e-13, "both evaluate the same"

    ways = {
        "core (Rust)": core,
        "`evaluate(policy)`": lambda: seconds(lambda: evaluator.evaluate(policy)),
        "`evaluate(policy)`, visits and values read": lambda: seconds(arrays),
        "`evaluate(array)`": lambda: seconds(lambda: evaluator.evaluate(rows)),
        "`evaluate(array)`, float32": lambda: seconds(lambda: evaluator.evaluate(single)),
        "1,000 small policies, NumPy, one by one": lambda: 1000 * seconds(call),
        "1,000 small policies, `rewards(batch)`, one thread": lambda: seconds(
            lambda: fg.rewards(small, batch)
        ),
        "8,192 rollouts, core (Rust), one thread": lambda: core("rollouts_0_3_T7"),
        "8,192 rollouts, `policy.rollouts`, one thread": lambda: seconds(
            lambda: policy.rollouts(ROLLOUTS, rng=1, threads=1)
        ),
    }
    times: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(rounds):
        for name, way in ways.items():
            times[name].append(way())
    medians = {name: statistics.median(values) for name, values in times.items()}
    base, numpy = medians["core (Rust)"], medians["1,000 small policies, NumPy, one by one"]
    print(f"| from Python, median of {rounds} rounds | time | |\n|---|--:|--:|")
    for name, median in medians.items():
        ratio = f"{numpy / median:.1f} × NumPy" if "1,000" in name else f"{median / base:.2f} × the core"
        if "rollouts" in name:
            ratio = f"{1e-6 * ROLLOUTS * LENGTH / median:.0f} million tokens a second"
        print(f"| {name} | {1e6 * median:,.0f} µs | {ratio} |")


if __name__ == "__main__":
    if ARRAYS:
        fresh_arrays()
    else:
        main(int(sys.argv[1]) if len(sys.argv) > 1 else 5)
