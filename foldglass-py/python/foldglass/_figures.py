"""Figures by matplotlib, with the look of the report: the colours mean the same everywhere."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ._class import Code
from ._landscape import Tree
from ._study import Records

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Colours that stay apart in print, in grey and for the colour-blind (Okabe and Ito).
BLUE, VERMILION, BLACK, GREY = "#0072b2", "#d55e00", "#000000", "#444444"
_LOOKS = [
    (BLUE, "o"),
    (VERMILION, "s"),
    (BLACK, "^"),
    ("#009e73", "D"),
    ("#cc79a7", "v"),
    ("#e69f00", "p"),
    ("#56b4e9", "*"),
]
#: Tokens of a code, light to dark, so that they differ in grey too.
_TOKENS = ["#f7f7f7", BLUE, "#e69f00", "#009e73", VERMILION, "#cc79a7", "#56b4e9", GREY]


def _axes(ax: Axes | None, size: tuple[float, float]) -> Axes:
    import matplotlib.pyplot as plt

    if ax is not None:
        return ax
    _, made = plt.subplots(figsize=size, layout="constrained")
    return made


def _plain(ax: Axes) -> None:
    ax.spines[["top", "right"]].set_visible(False)
    ax.tick_params(direction="out", length=3)


def plot_temperature(
    data: Records | Mapping[str, Sequence[Sequence[float]]],
    *,
    quantity: str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Reward against temperature with 95 % intervals, one line per method and class.

    Args:
        data: The records of a study whose dynamics have several ``tau``, or a mapping from labels to (taus, means,
            lows, highs).
        quantity: A result of the runs, or ``"solved"``, the share of runs at exactly 1; by default the reward by
            which each method is judged, and where those differ each line is labelled with its own (of chains
            ``reward`` is that of the last code).
        ax: The axes to draw on (default new ones).

    Returns:
        The axes.
    """
    axes = _axes(ax, (5.0, 3.4))
    series: dict[str, list[list[float]]] = {}
    if isinstance(data, Records):
        points = data.summary(quantity)
        classes = {point["class"] for point in points}
        quantities = {point["quantity"] for point in points}
        for point in points:
            tau = point["parameters"].get("tau")
            if tau is None:
                continue
            others = {k: v for k, v in point["parameters"].items() if k != "tau"}
            own = [point["quantity"].replace("_", " ")] if len(quantities) > 1 else []
            parts = [point["method"], *own, *(f"{name} = {value}" for name, value in others.items())]
            label = ", ".join(parts if len(classes) == 1 else [*parts, point["class"]])
            series.setdefault(label, []).append(
                [float(tau), point["mean"], point["low"], point["high"]]
            )
        if not series:
            raise ValueError("no dynamics of these records has a temperature tau for its parameter")
        rows = {label: np.array(sorted(found), dtype=float).T for label, found in series.items()}
        name = quantities.pop() if len(quantities) == 1 else "reward"
    else:
        name = quantity or "reward"
        rows = {label: np.array(columns, dtype=float) for label, columns in data.items()}
    for number, (label, (tau, mean, low, high)) in enumerate(rows.items()):
        colour, marker = _LOOKS[number % len(_LOOKS)]
        errors = [np.maximum(mean - low, 0), np.maximum(high - mean, 0)]
        axes.errorbar(
            tau, mean, yerr=errors, color=colour, marker=marker, ms=4.5, lw=1.2, capsize=2, label=label
        )
    axes.set_xscale("log")
    axes.set_xlabel(r"temperature $\tau$")
    axes.set_ylabel(name.replace("_", " "))
    axes.legend(frameon=False, fontsize=8)
    _plain(axes)
    return axes


def plot_tree(tree: Tree, *, ax: Axes | None = None) -> Axes:
    """The disconnectivity graph: reward upwards, optima in blue, traps in vermilion.

    Args:
        tree: The tree.
        ax: The axes to draw on (default new ones).

    Returns:
        The axes.
    """
    axes = _axes(ax, (5.0, 3.6))
    saddles = {saddle.id: saddle for saddle in tree.saddles}
    leaves = {leaf.id: leaf for leaf in tree.leaves}
    children = {child for saddle in tree.saddles for child in saddle.children}
    roots = [node for node in [*saddles, *leaves] if node not in children]
    places: dict[int, float] = {}

    def place(root: int) -> None:
        # By an explicit stack: trees of many levels are deeper than Python's.
        stack = [(root, False)]
        while stack:
            node, back = stack.pop()
            if node in leaves:
                places[node] = float(sum(one in leaves for one in places))
            elif back:
                places[node] = float(np.mean([places[child] for child in saddles[node].children]))
            else:
                stack.append((node, True))
                kids = sorted(saddles[node].children, key=lambda one: one in leaves)
                stack.extend((child, False) for child in reversed(kids))

    for root in roots:
        place(root)
    for saddle in tree.saddles:
        top = float(saddle.reward)
        xs = [places[child] for child in saddle.children]
        axes.plot([min(xs), max(xs)], [top, top], color=GREY, lw=0.9)
        for child, x in zip(saddle.children, xs):
            of = leaves.get(child)
            reward = float(of.reward if of is not None else saddles[child].reward)
            optimal = of is not None and of.reward == 1
            colour = GREY if of is None else BLUE if optimal else VERMILION
            axes.plot([x, x], [top, reward], color=colour, lw=1.4 if of is not None else 0.9)
    for label, colour, optimal in (("optimum", BLUE, True), ("trap", VERMILION, False)):
        ends = [leaf for leaf in tree.leaves if (leaf.reward == 1) is optimal]
        if ends:
            at = [places[leaf.id] for leaf in ends]
            axes.plot(at, [float(leaf.reward) for leaf in ends], "o", ms=3.5, color=colour, label=label)
    axes.set_xticks([])
    axes.set_ylabel(r"reward $J$")
    axes.legend(frameon=False, fontsize=8, loc="best")
    _plain(axes)
    axes.spines["bottom"].set_visible(False)
    return axes


def plot_code(code: Code, *, ax: Axes | None = None) -> Axes:
    """A code as a table a step: the window across (below each column), the tokens before down (left of
    each row), the action as colour and number.

    Args:
        code: The code.
        ax: The axes to draw on (default new ones).

    Returns:
        The axes.
    """
    from matplotlib.patches import Rectangle

    space, keys = code.space, code.space.keys()
    if space.cells > 2000:
        raise ValueError(f"{space.cells} cells: a drawing has at most 2000")
    steps = sorted(set(keys["t"].tolist()))
    blocks: list[dict[str, Any]] = []
    for t in steps:
        cells = np.flatnonzero(keys["t"] == t)
        windows = sorted({tuple(keys["x"][cell]) for cell in cells})
        histories = sorted({tuple(keys["y"][cell]) for cell in cells})
        blocks.append({"t": t, "cells": cells, "windows": windows, "histories": histories})
    width = sum(len(block["windows"]) + 1 for block in blocks)
    height = max(len(block["histories"]) for block in blocks)
    axes = _axes(ax, (min(0.32 * width + 0.6, 16.0), min(0.32 * height + 1.1, 12.0)))
    left = 0
    for block in blocks:
        for cell in block["cells"]:
            x = left + block["windows"].index(tuple(keys["x"][cell]))
            y = block["histories"].index(tuple(keys["y"][cell]))
            action = int(code.actions[cell])
            colour = _TOKENS[action % len(_TOKENS)]
            axes.add_patch(Rectangle((x, y), 1, 1, facecolor=colour, edgecolor="white", lw=0.8))
            dark = action % len(_TOKENS) in (1, 4, 7)
            if space.cells <= 600:
                axes.text(
                    x + 0.5, y + 0.5, str(action), ha="center", va="center", fontsize=7,
                    color="white" if dark else "black",
                )  # fmt: skip
        if 1 < len(block["histories"]) <= 8:
            for number, history in enumerate(block["histories"]):
                text = "".join("·" if s < 0 else str(s) for s in history)
                axes.text(left - 0.12, number + 0.5, text, ha="right", va="center", fontsize=6, color=GREY)
        middle = left + len(block["windows"]) / 2
        axes.text(middle, -0.35, f"t = {block['t']}" if block["t"] >= 0 else "all t", ha="center", fontsize=8)
        for number, window in enumerate(block["windows"]):
            if len(block["windows"]) <= 5:
                text = "".join("·" if s < 0 else str(s) for s in window)
                place = len(block["histories"]) + 0.15
                axes.text(left + number + 0.5, place, text, ha="center", va="top", fontsize=6, color=GREY)
        left += len(block["windows"]) + 1
    axes.set_xlim(-0.2, left - 0.8)
    axes.set_ylim(height + 0.7, -0.9)
    axes.set_aspect("equal")
    axes.set_axis_off()
    axes.set_title(f"J = {code.exact}", fontsize=9)
    return axes
