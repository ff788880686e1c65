"""Times the census of correlated parity in NumPy, in two styles: optima, local maxima and traps.

The inputs are bits, x_1 uniform, each later one the same as the last with probability 9/10, and the fold is
their parity. A code has one bit for each cell: x_1 at the first step, (x_t, y_{t-1}) at the others, as cell
2 x + y of the step. Rewards are integers, at most 2 10^(T-1). A local maximum is a code below the optimum
that no single change raises, a trap one from which no path of neutral changes leads to a raise. Barriers,
which the library's census has too, are left out here.

plain: J of all codes input by input, every code against all its single changes, a flood from the codes
that can be raised through the neutral changes of local maxima.

expert: no reward depends on the names of tokens, so cell 0 of every step but the last is held at 0, and a
code stands for 2^(T-1). J is one matrix product, of what arrives in the middle of the steps and what is
earned from there; its numbers are exact in the float type taken. Single changes are tried on what is left
after the last step. At T = 6 a product for each change of all codes was 2.5 times slower.
"""

import argparse
import json
import re
import sys
import time

import fold
import numpy as np

SAME, OTHER = 9, 1

# Local maxima and traps.
KNOWN = {4: (648, 8), 5: (14656, 32)}


def flood(codes, neighbours, J, free):
    """Those of the codes from which no neutral changes lead to one marked in `free`.

    `neighbours(codes)` gives, cell by cell, the codes with that cell changed.
    """
    while len(codes):
        reached = np.zeros(len(codes), dtype=bool)
        for changed in neighbours(codes):
            reached |= free[changed] & (J[changed] == J[codes])
        if not reached.any():
            break
        free[codes[reached]] = True
        codes = codes[~reached]
    return codes


def census_plain(T):
    """The numbers of optima, local maxima and traps."""
    first = [0] + [2 + 4 * t for t in range(T - 1)]
    cells = first[-1] + 4
    codes = np.arange(1 << cells)
    J = np.zeros(len(codes), dtype=np.int64)
    for number in range(1 << T):
        x = [number >> t & 1 for t in range(T)]
        weight = 1
        for before, now in zip(x, x[1:]):
            weight *= SAME if before == now else OTHER
        y = codes >> x[0] & 1
        for t in range(1, T):
            y = codes >> (first[t] + 2 * x[t] + y) & 1
        J += weight * (y == sum(x) % 2)
    highest = np.ones(len(codes), dtype=bool)
    for cell in range(cells):
        highest &= J[codes ^ 1 << cell] <= J
    optimal = J == 2 * (SAME + OTHER) ** (T - 1)
    maxima = np.flatnonzero(highest & ~optimal)
    neighbours = lambda codes: (codes ^ 1 << cell for cell in range(cells))
    traps = flood(maxima, neighbours, J, ~highest)
    return int(optimal.sum()), len(maxima), len(traps)


# The expert's codes of an inner step: cells 1, 2 and 3 in three bits, cell 0 is held at 0.
HELD = np.arange(0, 16, 2)


def swapped(c):
    """Codes of four cells in which the other token is read."""
    return (c & 5) << 1 | (c & 10) >> 1


def passage(codes, dtype):
    """M[(x, y), c, (x', a)]: the weight of a step from x to x' where its code c emits a at (x', y)."""
    emitted = codes[:, None, None] >> np.array([[0, 1], [2, 3]]) & 1  # [c, x', y]
    kept = np.array([[SAME, OTHER], [OTHER, SAME]], dtype)
    M = np.einsum("xz,czya->xycza", kept, np.eye(2, dtype=dtype)[emitted])
    return M.reshape(4, len(codes), 4)


def arrivals(steps, dtype):
    """F[c, (s, x, y)]: the weight of being there after the first steps, for each code c of them."""
    F = np.zeros((2, 2, 2, 2), dtype)
    F[:, 0, 0, 0] = F[0, 1, 1, 0] = F[1, 1, 1, 1] = 1
    M = passage(HELD, dtype).reshape(4, 32)
    for _ in range(steps - 1):
        F = (F.reshape(-1, 4) @ M).reshape(-1, 2, 8, 2, 2).transpose(2, 0, 1, 3, 4).copy()
        F[..., 1, :] = F[..., ::-1, 1, :].copy()  # s' = s + x'
    return F.reshape(-1, 8)


def earnings(steps, dtype):
    """G[c, (s, x, y)]: what the last steps earn from there, for each code c of them."""
    G = np.zeros((1, 2, 2, 2), dtype)
    G[0, [0, 1], :, [0, 1]] = 1
    for codes in [np.arange(16)] + [HELD] * (steps - 1):
        M = passage(codes, dtype).transpose(2, 1, 0).reshape(4, -1)
        G[:, :, 1] = G[:, ::-1, 1].copy()  # s' = s + x'
        G = (G.reshape(-1, 4) @ M).reshape(len(G), 2, -1, 4).transpose(0, 2, 1, 3).reshape(-1, 2, 2, 2)
    return G.reshape(-1, 8)


def census_expert(T):
    """The numbers of optima, local maxima and traps."""
    whole = 2 * (SAME + OTHER) ** (T - 1)
    dtype = np.float32 if whole < 1 << 24 else np.float64
    half = T // 2
    J = (earnings(T - half, dtype) @ arrivals(half, dtype).T).reshape(-1)
    first = [0] + [1 + 3 * t for t in range(T - 1)]
    cells = first[-1] + 4
    # How one step's code changes where the other token is read: cell 0 is put right again.
    read = swapped(HELD)
    read = (read ^ 15 * (read & 1)) >> 1 ^ HELD >> 1
    read_last = swapped(np.arange(16)) ^ np.arange(16)

    def renamed(codes, t):
        """The codes with cell 0 of step t changed."""
        wrong = np.ones_like(codes)
        codes = codes ^ (7 if t else 1) << first[t]
        for at in first[t + 1 : -1]:
            c = codes >> at & 7
            codes = codes ^ wrong * read[c] << at
            wrong = wrong & c
        return codes ^ wrong * read_last[codes >> first[-1]] << first[-1]

    def neighbours(codes):
        yield from (codes ^ 1 << cell for cell in range(cells))
        yield from (renamed(codes, t) for t in range(T - 1))

    # The last step, and with it most codes, at once; then cell by cell what is left.
    highest = np.ones(len(J), dtype=bool)
    for cell in range(first[-1], cells):
        J_cell, highest_cell = J.reshape(-1, 2, 1 << cell), highest.reshape(-1, 2, 1 << cell)
        highest_cell[:, 0] &= J_cell[:, 0] >= J_cell[:, 1]
        highest_cell[:, 1] &= J_cell[:, 1] >= J_cell[:, 0]
    codes = np.flatnonzero(highest)
    for cell in range(first[-1]):
        codes = codes[J[codes ^ 1 << cell] <= J[codes]]
    for t in range(T - 1):
        codes = codes[J[renamed(codes, t)] <= J[codes]]
    free = np.ones(len(J), dtype=bool)
    free[codes] = False
    optimal = J[codes] == whole
    maxima = codes[~optimal]
    traps = flood(maxima, neighbours, J, free)
    names = 1 << T - 1
    return names * int(optimal.sum()), names * len(maxima), names * len(traps)


STYLES = {"plain": census_plain, "expert": census_expert}
LONGEST = {"plain": 6, "expert": 8}  # for the memory of a usual machine


def check(style, census):
    """Compares the counts with known ones; the optima are the fold with every name of its tokens."""
    for T, (maxima, traps) in KNOWN.items():
        found = census(T)
        print(f"{style} T={T}: {found[1]} local maxima, {found[2]} traps", file=sys.stderr)
        if found != (1 << T - 1, maxima, traps):
            sys.exit(f"{style} T={T}: {found} instead of {(1 << T - 1, maxima, traps)}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--case", default="census_T6")
    parser.add_argument("--style", choices=tuple(STYLES), default="expert")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--seconds", type=float, default=0.1, help="length of one round")
    parser.add_argument("--check", action="store_true", help="compare both styles with known counts")
    args = parser.parse_args()
    if args.check:
        for style, census in STYLES.items():
            check(style, census)
        return
    match = re.fullmatch(r"census_T(\d+)", args.case)
    if match is None or not 2 <= int(match[1]) <= LONGEST[args.style]:
        sys.exit(f"--case {args.case}: expected census_TN with N from 2 to {LONGEST[args.style]}")
    T = int(match[1])
    census = STYLES[args.style]
    start = time.perf_counter()
    _, maxima, traps = census(T)
    seconds = time.perf_counter() - start
    # A census longer than all rounds together is taken once.
    if seconds < args.rounds * args.seconds:
        seconds = fold.seconds_per_call(lambda: census(T), args.rounds, args.seconds)
    line = {
        "peer": "numpy",
        "version": np.__version__,
        "style": args.style,
        "case": args.case,
        "median_s": seconds,
        "local_maxima": maxima,
        "traps": traps,
    }
    print(json.dumps(line))


if __name__ == "__main__":
    main()
