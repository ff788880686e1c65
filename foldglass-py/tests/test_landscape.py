"""Enumeration, certificates, escapes, trees, gauges: the bindings, and one result against another."""

import itertools
import json
from fractions import Fraction
from pathlib import Path

import foldglass as fg
import numpy as np
import pytest
from foldglass import checker


def test_a_census_and_a_density_have_the_numbers_of_all_codes() -> None:
    space = fg.Class(fg.Task("parity", 3, inputs="markov:3/4"))
    codes = np.array(list(itertools.product(range(2), repeat=space.cells)))
    rewards = fg.rewards_exact(space, codes)
    census = fg.enumerate(space, progress=False)
    density = fg.density(space, progress=False)
    assert census.codes == density.codes == len(codes) == 2**10
    assert census.optima == density.optimal == sum(r == 1 for r in rewards)
    assert dict(zip(density.rewards, density.counts)) == {r: rewards.count(r) for r in set(rewards)}
    assert density.log_z(0.0)[0] == pytest.approx(np.log(len(codes)), abs=1e-12)


def test_traps_are_certified_and_their_certificates_checked(markov: fg.Class, tmp_path) -> None:
    census = fg.enumerate(markov, progress=False)
    trap = census.traps[0]
    assert trap.reward == Fraction(9, 10) and trap.barrier == Fraction(1, 25)
    verdicts = fg.certify([trap.code, fg.Code.fold(markov)], barrier=True, progress=False)
    assert [v.verdict for v in verdicts] == ["certified", "optimal"]
    assert verdicts[0].barrier == trap.barrier and verdicts[0].barrier_is == "exact"
    verdicts[0].save(tmp_path / "verdict.json")
    assert fg.check(tmp_path / "verdict.json", progress=False)[0]["holds"]
    # A trap that is none.
    lie = json.loads((tmp_path / "verdict.json").read_text())
    lie["verdicts"][0]["actions"][0] ^= 1
    (tmp_path / "lie.json").write_text(json.dumps(lie))
    with pytest.raises(fg.FoldglassError):
        fg.check(tmp_path / "lie.json", progress=False)
    assert fg.certify([], progress=False) == []


def test_a_tree_has_the_traps_of_the_census(markov: fg.Class) -> None:
    tree = fg.tree(markov, progress=False)
    census = fg.enumerate(markov, progress=False)
    traps = [leaf for leaf in tree.leaves if leaf.reward < 1]
    assert len(traps) == census.trap_count
    assert {leaf.barrier for leaf in traps} == {kind.barrier for kind in census.kinds}
    assert all(leaf.code.exact == leaf.reward for leaf in tree.leaves)
    graph = tree.to_networkx()
    roots = [node for node in graph if graph.in_degree(node) == 0]
    assert len(roots) == 1 and graph.number_of_nodes() == len(tree.leaves) + len(tree.saddles)
    assert tree.svg().startswith("<svg") or "<svg" in tree.svg()[:300]


def test_a_path_leads_up_and_never_down(paper: fg.Class) -> None:
    start = fg.Code.random(paper, 0)
    path = fg.escape(start)
    rewards = fg.rewards_exact(paper, path.codes())
    assert rewards[0] == start.exact and rewards[-1] == path.reward == 1
    assert all(a <= b for a, b in zip(rewards, rewards[1:]))
    assert [move.reward for move in path.moves] == rewards[1:]
    assert fg.check(path, progress=False)[0]["holds"]
    policy = fg.Policy.dirichlet(paper, rng=1)
    assert fg.escape(policy).end.exact == 1
    tied = fg.Class(fg.Task("parity", 3), tied=True)
    with pytest.raises(ValueError, match="tied"):
        fg.escape(fg.Code.random(tied, 0))
    assert fg.escape(fg.Code.random(tied, 0), search=True).outcome in ("optimum", "raised", "stuck")


def test_relabelled_codes_are_one(paper: fg.Class) -> None:
    code = fg.Code.random(paper, 4)
    renamed = fg.gauge(code, relabel="random", seed=9).relabelled
    assert renamed is not None and renamed != code and renamed.exact == code.exact
    found = fg.gauge(code, renamed)
    assert found.agreement == 1 and found.between is not None
    assert found.canonical == fg.gauge(renamed).canonical
    assert found.orbit * found.stabiliser == found.relabellings
    again = fg.gauge(code, relabel=found.between).relabelled
    assert again == renamed


def test_a_code_is_taken_apart_and_drawn(markov: fg.Class) -> None:
    trap = fg.enumerate(markov, progress=False).trap_codes[0]
    found = fg.inspect(trap)
    assert len(found["ignored"][0]["positions"]) % 2 == 0
    assert "<svg" in trap.svg()[:300]


def test_a_free_energy_is_a_number_or_refused() -> None:
    space = fg.Class(fg.Task("parity", 4))
    found = fg.free_energy(space, [0.5], sweeps=2_000, learning=1_000, progress=False)
    assert found.refused == [None] and found["log_z"][0] > np.log(2**space.cells)
    short = fg.free_energy(space, [0.02], sweeps=200, learning=100, progress=False)
    assert short.refused[0] is not None and np.isnan(short["log_z"][0])


def test_benign_classes_are_named_with_their_theorem() -> None:
    correlated = fg.Class(fg.Task("parity", 6, inputs="markov:9/10"))
    found = fg.benign(correlated, progress=False)
    assert (found.answer, found.theorem, found.traps) == ("traps", "A", 160)
    assert found.code is not None and found.code.exact == Fraction(9, 10)
    assert fg.certify(found.code, progress=False).verdict == "certified"
    wide = fg.benign(fg.Class(fg.Task("quasigroup", [3, 4, 5]), window=(2, 1)), progress=False)
    assert (wide.answer, wide.theorem, wide.code) == ("benign", "C", None)
    falling = fg.Class(fg.Task("parity", [1, 2, 3], length_weights=[4, 2, 1]))
    assert fg.benign(falling, progress=False).answer == "benign"


def test_small_tied_classes_are_counted() -> None:
    found = fg.benign(fg.Class(fg.Task("z:3", 3), tied=True), progress=False)
    assert (found.answer, found.theorem, found.traps, found.census_codes) == ("traps", None, 63, 3**12)
    assert found.code is not None and fg.certify(found.code, progress=False).verdict == "certified"


def test_where_nothing_is_known_quenches_bound_the_share_of_traps() -> None:
    space = fg.Class(fg.Task("parity", 20), memory=2)
    found = fg.benign(space, seed=1, progress=False)
    assert (found.answer, found.theorem, found.traps, found.code) == ("unknown", None, None, None)
    assert (found.quenches, found.certified) == (500, 0)
    assert found.optimal is not None and found.undecided is not None and found.upper_95 is not None
    assert found.optimal + found.undecided == 500
    assert found.upper_95 >= 1 - 0.05 ** (1 / 500) - 1e-12
    assert found.why.startswith("The theorem needs a memory of 1 token")


def test_process_rewards_make_traps_that_both_checkers_accept(tmp_path: Path) -> None:
    space = fg.Class(fg.Task("parity", 3, reward="process:1,1,3"))
    assert space.spec["reward"] == {"process": ["1/5", "1/5", "3/5"]}
    found = fg.benign(space, progress=False)
    assert (found.answer, found.theorem) == ("traps", "B")
    assert found.code is not None and found.code.exact < 1
    path = tmp_path / "verdict.json"
    fg.certify(found.code, progress=False).save(path)
    assert checker.main([str(path)]) == 0


@pytest.mark.parametrize("task", ["parity", "max:2"])
def test_the_checker_reads_what_the_program_writes(task: str, tmp_path: Path) -> None:
    space = fg.Class(fg.Task(task, 3), window=(1, 0))
    path = tmp_path / "path.json"
    fg.escape(fg.Code(space, [0] * space.cells)).save(path)
    assert checker.main([str(path)]) == 0
    path.write_text(path.read_text().replace('"to":1', '"to":0', 1))
    assert checker.main([str(path)]) == 1
