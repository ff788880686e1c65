"""Draws docs/pictures/peers.svg, the plot of BENCHMARKS.md, from the first table of that page."""

import math
import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
NAMES = {
    "untied_0_3_T7": "one evaluation, window (0,3), T = 7",
    "cavi_0_3_T7": "one iteration of RLVR",
    "chain_0_3_T7": "one sweep of Monte Carlo",
    "census_T6": "all 4,194,304 codes of parity, T = 6",
}
SECONDS = {"ns": 1e-9, "µs": 1e-6, "ms": 1e-3, "s": 1.0}
LEFT, RIGHT, BAR, LABEL = 190, 700, 18, 790
LOW, HIGH = 1e-5, 1e1


def rows(text):
    """The (case, program, seconds, time as printed) of every line of the first table."""
    case = None
    for line in text.split("| benchmark |")[0].splitlines():
        found = re.match(r"\| (?:`(\w+)`)? ?\| ([^|]+) \| ([\d.]+) (ns|µs|ms|s) \(", line)
        if found:
            case = found[1] or case
            yield case, found[2].strip(), float(found[3]) * SECONDS[found[4]], f"{found[3]} {found[4]}"


def place(seconds):
    share = math.log(seconds / LOW) / math.log(HIGH / LOW)
    return LEFT + share * (RIGHT - LEFT)


def draw(table):
    parts, y = [], 14
    for case, title in NAMES.items():
        y += 24
        parts.append(f'<text x="12" y="{y}" font-weight="bold">{title}</text>')
        y += 8
        for _, program, seconds, printed in (row for row in table if row[0] == case):
            colour = "#1f6f9f" if program == "foldglass" else "#c9c9c9"
            end = place(seconds)
            parts.append(f'<text x="{LEFT - 8}" y="{y + 13}" text-anchor="end">{program}</text>')
            parts.append(f'<rect x="{LEFT}" y="{y}" width="{end - LEFT:.1f}" height="{BAR - 4}" fill="{colour}"/>')
            parts.append(f'<text x="{end + 6:.1f}" y="{y + 12}">{printed}</text>')
            y += BAR
    axis = []
    for power in range(-5, 2, 2):
        x = place(10.0**power)
        label = {-5: "10 µs", -3: "1 ms", -1: "0.1 s", 1: "10 s"}[power]
        axis.append(f'<line x1="{x:.1f}" y1="20" x2="{x:.1f}" y2="{y + 6}" stroke="#e4e4e4"/>')
        axis.append(f'<text x="{x:.1f}" y="{y + 22}" text-anchor="middle" fill="#666">{label}</text>')
    height = y + 34
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {LABEL} {height}" width="{LABEL}" height="{height}" '
        'font-family="sans-serif" font-size="12" fill="#222">\n<title>Times of foldglass, NumPy and JAX, logarithmic</title>\n'
        f'<rect width="{LABEL}" height="{height}" fill="#fff"/>'
    )
    return "\n".join([head, *axis, *parts, "</svg>\n"])


if __name__ == "__main__":
    table = list(rows((ROOT / "BENCHMARKS.md").read_text()))
    missing = set(NAMES) - {row[0] for row in table}
    if missing:
        raise SystemExit(f"BENCHMARKS.md has no line of {', '.join(sorted(missing))}")
    (ROOT / "docs" / "pictures" / "peers.svg").write_text(draw(table))
