"""Figures: drawn, with what they should show."""

import foldglass as fg
import numpy as np
import pytest

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")


def test_a_tree_shows_every_leaf(markov: fg.Class) -> None:
    tree = fg.tree(markov, progress=False)
    axes = fg.plot_tree(tree)
    dots = [line for line in axes.lines if line.get_marker() == "o"]
    heights = sorted(y for line in dots for y in line.get_ydata())
    assert heights == sorted(float(leaf.reward) for leaf in tree.leaves)
    across = [x for line in dots for x in line.get_xdata()]
    assert len(set(across)) == len(tree.leaves), "no two leaves lie on each other"


def test_a_code_shows_every_cell(markov: fg.Class) -> None:
    axes = fg.plot_code(fg.Code.fold(markov))
    assert len(axes.patches) == markov.cells
    with pytest.raises(ValueError, match="2000"):
        fg.plot_code(fg.Code.fold(fg.Class(fg.Task("quasigroup", 7), window=(0, 3))))


def test_rewards_are_drawn_against_temperature(tmp_path) -> None:
    study = fg.Study(
        name="warm",
        classes=[fg.Class(fg.Task("parity", 4))],
        dynamics=[
            dict(kind="cavi", tau=[1e-3, 1e-2, 1e-1], iterations=50, runs=5),
            dict(kind="chain", kernel="metropolis", tau=[1e-3, 1e-2, 1e-1], sweeps=50, runs=5),
        ],
    )
    study.run(tmp_path, progress=False)
    axes = fg.plot_temperature(study.table(tmp_path))
    labels = [text.get_text() for text in axes.get_legend().get_texts()]
    assert sorted(labels) == ["cavi, greedy reward", "chain, reward"] and axes.get_xscale() == "log"
    assert axes.get_ylabel() == "reward"
    solved = fg.plot_temperature(study.table(tmp_path), quantity="solved")
    labels = [text.get_text() for text in solved.get_legend().get_texts()]
    assert sorted(labels) == ["cavi", "chain"] and solved.get_ylabel() == "solved"
    given = {"exact": ([0.1, 1.0], [0.9, 0.5], [0.9, 0.5], [0.9, 0.5])}
    assert np.allclose(fg.plot_temperature(given).lines[0].get_ydata(), [0.9, 0.5])
