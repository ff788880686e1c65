"""Times calls from Python beside the Rust core and beside NumPy, in turns, and prints a table.

    target/python/bin/python foldglass-py/benchmark.py [ROUNDS]

after `cargo xtask python`. The core's own time is that of `cargo bench -p foldglass`, run between the rounds, so that
all share the machine's noise; ratios are of medians.
"""

import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

# One thread on every side.
os.environ["RAYON_NUM_THREADS"] = "1"
ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "bench/peers"))

import fold  # isort: skip  # holds NumPy to one thread
import foldglass as fg
import numpy as np
from evaluate_numpy import prepare_plain

CASE = "evaluate_untied_0_3_T7"


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


def core() -> float:
    """The same in Rust."""
    command = ["cargo", "bench", "--quiet", "-p", "foldglass", "--bench", "core", "--", "--json", CASE]
    line = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    return json.loads(line)["median_s"]


def table_of(tables) -> np.ndarray:
    """Arrays pi_t[window.., y, a] as rows in the order of the cells."""
    return np.concatenate([np.asarray(t).reshape(-1, fold.q) for t in tables])


def main(rounds: int) -> None:
    space = fg.Class(fg.Task("quasigroup", 7), window=(0, 3))
    rows = table_of(fold.test_policy(fold.untied_class(0, 3, 7)))
    policy, evaluator = fg.Policy(space, rows), fg.Evaluator(space)
    kept = evaluator.evaluate(policy)

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
        "1,000 small policies, NumPy, one by one": lambda: 1000 * seconds(call),
        "1,000 small policies, `rewards(batch)`, one thread": lambda: seconds(
            lambda: fg.rewards(small, batch)
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
        print(f"| {name} | {1e6 * median:,.0f} µs | {ratio} |")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 5)
