"""Draws docs/pictures/learned.svg, the curves of docs/learned-and-lost.md, from the records in results/."""

import json
from pathlib import Path

ROOT = Path(__file__).parents[2]
PANELS = [
    ("learned-and-lost-shared.jsonl", "lost-shared", "quasigroup", "quasigroup, layout shared-causal"),
    ("learned-and-lost-shared.jsonl", "lost-shared", "s:3", "S_3, layout shared-causal"),
    ("curves-learned-and-lost.jsonl", "lost-causal", "quasigroup", "quasigroup, layout causal-fixed"),
    ("curves-learned-and-lost.jsonl", "lost-causal", "s:3", "S_3, layout causal-fixed"),
]
CHANCE = {"quasigroup": 1 / 5, "s:3": 1 / 6}
WIDE, HIGH, LEFT, TOP, GAP = 330, 150, 52, 30, 62
STEPS = 12000


def points(file, records, task):
    """The (step, accuracy seen by the gate) of every network, by its seed."""
    curves = {}
    for line in (ROOT / "results" / file).read_text().splitlines():
        point = json.loads(line)
        if point["kind"] == "point" and (point["records"], point["task"]) == (records, task):
            if point.get("gate") is not None:
                curves.setdefault(point["seed"], []).append((point["step"], point["gate"]))
    return curves


def panel(number, file, records, task, title):
    left, top = LEFT + (number % 2) * (WIDE + GAP), TOP + (number // 2) * (HIGH + GAP)

    def place(step, accuracy):
        return f"{left + WIDE * step / STEPS:.1f},{top + HIGH * (1 - accuracy):.1f}"

    curves = points(file, records, task)
    parts = [f'<text x="{left}" y="{top - 10}" font-weight="bold">{title}: {len(curves)} networks</text>']
    for accuracy in (0, 0.5, 1):
        y = top + HIGH * (1 - accuracy)
        parts.append(f'<line x1="{left}" y1="{y}" x2="{left + WIDE}" y2="{y}" stroke="#e4e4e4"/>')
        parts.append(f'<text x="{left - 6}" y="{y + 4}" text-anchor="end">{accuracy:g}</text>')
    y = top + HIGH * (1 - CHANCE[task])
    parts.append(f'<line x1="{left}" y1="{y:.1f}" x2="{left + WIDE}" y2="{y:.1f}" stroke="#888" stroke-dasharray="4 3"/>')
    parts.append(f'<text x="{left + WIDE}" y="{y + 14:.1f}" text-anchor="end" fill="#666">chance</text>')
    for step in (0, 4000, 8000, 12000):
        x = left + WIDE * step / STEPS
        parts.append(f'<text x="{x:.1f}" y="{top + HIGH + 16}" text-anchor="middle">{step:,}</text>')
    for curve in curves.values():
        line = " ".join(place(step, gate) for step, gate in sorted(curve))
        parts.append(f'<polyline points="{line}" fill="none" stroke="#0072b2" stroke-opacity="0.65" stroke-width="1.4"/>')
    return parts


def main():
    width, height = LEFT + 2 * WIDE + GAP + 24, TOP + 2 * (HIGH + GAP) - 14
    title = "Accuracy at the lengths trained, against the step: 32 networks learn and most lose it again"
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        f'font-family="sans-serif" font-size="12" fill="#222">\n<title>{title}</title>\n<rect width="{width}" height="{height}" fill="#fff"/>'
    ]
    for number, one in enumerate(PANELS):
        parts += panel(number, *one)
    parts.append(f'<text x="{LEFT + WIDE + GAP / 2}" y="{height - 6}" text-anchor="middle" fill="#666">step of training</text>')
    for row in range(2):
        y = TOP + row * (HIGH + GAP) + HIGH / 2
        parts.append(f'<text transform="translate(12 {y}) rotate(-90)" text-anchor="middle" fill="#666">accuracy</text>')
    parts.append("</svg>\n")
    (Path(__file__).parent / "learned.svg").write_text("\n".join(parts))


main()
