"""Runs of RLVR and chains: the numbers of the command line, the same bits however they are stopped."""

import inspect
import multiprocessing
import pickle
import time
from collections.abc import Callable
from fractions import Fraction

import foldglass as fg
import numpy as np
import pytest

FLAGS = {"task": "quasigroup", "lengths": 4, "progress": False}


def test_cavi_is_that_of_the_command_line(paper: fg.Class) -> None:
    runs = fg.cavi(paper, tau=1e-10, iterations=300, runs=11, seed=5, record_every=100, progress=False)
    said = fg.answer("cavi", tau=1e-10, iterations=300, runs=11, seed=5, keep_code=True, **FLAGS)["runs"]
    assert runs.greedy_exact == [Fraction(run["greedy_exact"]) for run in said]
    assert runs.reward.tolist() == [run["expected_reward"] for run in said]
    assert runs.residual.tolist() == [run["residual"] for run in said]
    assert runs.codes.tolist() == [run["greedy"] for run in said]
    assert runs.trace.shape == (11, 3) and np.all(np.isfinite(runs.trace))
    last = runs.policies[-1]
    assert fg.evaluate(last).reward == pytest.approx(runs.reward[-1], abs=1e-14)
    assert last.greedy() == runs.code(10)
    assert len(runs.policies[2:5]) == 3


def test_chains_are_those_of_the_command_line(paper: fg.Class, tmp_path) -> None:
    chains = fg.chain(paper, tau=0.01, sweeps=40, runs=9, seed=2, keep_code=True, progress=False)
    record = tmp_path / "record.jsonl"
    flags = {"tau": 0.01, "sweeps": 40, "runs": 9, "seed": 2, "kernel": "metropolis", "record": record}
    said = fg.answer("chain", **flags, **FLAGS)["chains"]
    assert chains.exact == [Fraction(chain["reward_exact"]) for chain in said]
    import json

    lines = [json.loads(line) for line in record.read_text().splitlines()]
    assert chains.reward_numerators.tolist() == [[int(n) for n in line["rewards"]] for line in lines]
    assert chains.code_trajectory.shape == (9, 40, 80)
    for chain, draw in ((0, 0), (3, 17), (8, 39)):
        code = fg.Code(paper, chains.code_trajectory[chain, draw])
        assert code.exact * chains.denominator == chains.reward_numerators[chain, draw]


@pytest.mark.parametrize("threads", [1, 3])
def test_runs_go_on_to_the_same_bits(paper: fg.Class, threads: int) -> None:
    settings = {"tau": 1e-3, "runs": 10, "seed": 1, "record_every": 7, "progress": False}
    whole = fg.cavi(paper, iterations=210, **settings)
    part = fg.cavi(paper, iterations=70, threads=threads, keep_policy=True, **settings)
    copy = pickle.loads(pickle.dumps(part))
    for begun in (part, copy):
        more = begun.resume(140, progress=False)
        assert np.array_equal(more.trace, whole.trace)
        assert more.greedy_exact == whole.greedy_exact and more.entropy.tolist() == whole.entropy.tolist()
        assert np.array_equal(more.policies[4].rows, whole.policies[4].rows)
        assert more.policy_trajectory.shape == (10, 30, 80, 5)
        assert np.array_equal(more.policy_trajectory[:, -1], np.stack([p.rows for p in whole.policies]))
    assert part.trace.shape == (10, 10), "what was there stays"

    settings = {"tau": 0.02, "runs": 5, "record_every": 5, "keep_code": True, "progress": False}
    whole_chain = fg.chain(paper, sweeps=60, **settings)
    more_chain = fg.chain(paper, sweeps=25, threads=threads, **settings).resume(35, progress=False)
    assert np.array_equal(more_chain.reward_numerators, whole_chain.reward_numerators)
    assert np.array_equal(more_chain.code_trajectory, whole_chain.code_trajectory)
    assert more_chain.exact == whole_chain.exact and np.array_equal(more_chain.codes, whole_chain.codes)


def test_runs_in_parts_are_those_of_one_call(paper: fg.Class) -> None:
    settings = {"tau": 1e-10, "iterations": 60, "seed": 3, "progress": False}
    whole = fg.cavi(paper, runs=20, **settings)
    parts = [fg.cavi(paper, runs=7, first=0, **settings), fg.cavi(paper, runs=13, first=7, **settings)]
    assert whole.reward.tolist() == [r for part in parts for r in part.reward.tolist()]


def test_starts_priors_ladders_and_stops(paper: fg.Class) -> None:
    fold = fg.Code.fold(paper)
    chains = fg.chain(paper, tau=0.0, sweeps=50, runs=2, start=fold, progress=False)
    assert chains.exact == [1, 1]
    ladder = fg.chain(paper, ladder=[0, 1e-3, 1e-2], sweeps=30, runs=2, progress=False)
    assert ladder.reward.shape == (2, 30)
    stopped = fg.chain(paper, tau=0.0, sweeps=4000, runs=4, stop_when_stationary=20, progress=False)
    assert stopped.reward.shape[1] < 4000
    assert np.array_equal(stopped.reward[:, -1], stopped.final_reward)
    runs = fg.cavi(paper, tau=1e-10, iterations=9, runs=2, start=fold, progress=False)
    assert runs.greedy_exact == [1, 1]
    prior = fg.Policy.dirichlet(paper, 5.0, rng=0)
    held = fg.cavi(paper, tau=1e6, iterations=400, runs=1, prior=prior, progress=False)
    np.testing.assert_allclose(held.policies[0].rows, prior.rows, atol=1e-6)
    early = fg.cavi(paper, tau=0.1, iterations=5000, runs=3, stop_at_convergence=1e-9, progress=False)
    assert early.residual.max() <= 1e-9
    gradient = fg.cavi(paper, tau=0.01, iterations=30, runs=2, rule="gradient", step=5.0, progress=False)
    assert gradient.reward.shape == (2,)
    sampled = fg.chain(paper, tau=0.05, sweeps=50, runs=2, keep_marginals=True, progress=False)
    np.testing.assert_allclose(sampled.marginals.sum(axis=1), 1.0)


def test_ctrl_c_is_heard_within_a_second_and_loses_nothing(interrupt: Callable[[float], None]) -> None:
    space = fg.Class(fg.Task("quasigroup", 7), window=(0, 3))
    settings = {"tau": 1e-10, "iterations": 1_000_000, "runs": 8, "progress": False}
    interrupt(0.5)
    begun = time.monotonic()
    with pytest.raises(KeyboardInterrupt) as stop:
        fg.cavi(space, **settings)
    assert time.monotonic() - begun < 1.5
    assert isinstance(stop.value, fg.Interrupted)
    partial = stop.value.partial
    assert 0 < partial.done < 1_000_000 and not partial.finished
    interrupt(0.5)
    returned = fg.cavi(space, on_interrupt="return", **settings)
    assert 0 < returned.done < 1_000_000 and returned.reward.shape == (8,)
    # A command that takes long hears it too.
    interrupt(0.5)
    begun = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        fg.enumerate(fg.Class(fg.Task("parity", 12, inputs="markov:9/10")), progress=False)
    assert time.monotonic() - begun < 1.5


def test_progress_is_told_and_may_stop(paper: fg.Class) -> None:
    heard: list[fg.Progress] = []
    fg.cavi(paper, tau=1e-3, iterations=40_000, runs=16, progress=heard.append)
    assert heard and heard[-1].unit == "steps" and 0 < heard[-1].share <= 1

    class Enough(Exception):
        pass

    def stop(_: fg.Progress) -> None:
        raise Enough

    with pytest.raises(Enough):
        fg.chain(paper, tau=1e-3, sweeps=10_000_000, runs=8, progress=stop)


def _rewards(seed: int) -> list[float]:
    space = fg.Class(fg.Task("quasigroup", 4))
    batch = np.full((64, *space.shape), 0.2)
    runs = fg.cavi(space, tau=1e-10, iterations=20, runs=2, seed=seed, progress=False)
    return [*runs.reward.tolist(), float(fg.rewards(space, batch).sum())]


@pytest.mark.parametrize("how", ["spawn", "fork"])
def test_other_processes_give_the_same(how: str) -> None:
    here = [_rewards(0), _rewards(1)]
    with multiprocessing.get_context(how).Pool(2) as pool:
        assert pool.map_async(_rewards, [0, 1]).get(timeout=60) == here


def test_runs_that_end_as_planned_do_not_go_on(paper: fg.Class) -> None:
    runs = fg.cavi(paper, tau=1e-3, iterations=5, runs=1, quench="2,1e-13", progress=False)
    with pytest.raises(ValueError, match="quench"):
        runs.resume(5)
    chains = fg.chain(paper, tau=1e-3, sweeps=5, runs=1, keep_marginals=True, progress=False)
    with pytest.raises(ValueError, match="marginals"):
        chains.resume(5)
    with pytest.raises(ValueError, match="-5"):
        fg.cavi(paper, tau=1e-3, iterations=5, runs=1, progress=False).resume(-5)


#: Keywords that are not settings of the method: how many runs, from which streams, and how they are done.
OURS = {"space", "runs", "seed", "first", "threads", "progress", "on_interrupt"}


@pytest.mark.parametrize(("function", "kind", "always"), [(fg.cavi, "cavi", {"keep_code"}), (fg.reinforce, "reinforce", {"keep_code"}), (fg.chain, "chain", set())])
def test_keywords_are_the_settings_of_studies_and_of_the_command_line(function, kind, always) -> None:
    # `codes` always has the greedy codes.
    listed = fg._native.settings(kind)
    parameters = inspect.signature(function).parameters
    assert set(parameters) - OURS == {name for name, *_ in listed} - always
    for name, _, default, _ in listed:
        stated = parameters[name].default if name in parameters else None
        assert stated in (None, False, inspect.Parameter.empty) or str(stated) == default or (name, stated) == ("record_every", 1)


def test_earlier_spellings_are_accepted_and_mean_the_same(paper: fg.Class) -> None:
    old = fg.chain(paper, tau=0.1, sweeps=20, chains=2, thin=5, keep=("reward", "code"), marginals=True, progress=False)
    new = fg.chain(
        paper, tau=0.1, sweeps=20, runs=2, record_every=5, keep_code=True, keep_marginals=True, progress=False
    )
    assert (old.code_trajectory == new.code_trajectory).all() and (old.marginals == new.marginals).all()
    rules = [{"rule": "gradient", "step": 0.5}, {"rule": "gradient:0.5"}]
    by_rule = [fg.cavi(paper, tau=0.1, iterations=5, trace_every=1, progress=False, **rule) for rule in rules]
    assert (by_rule[0].trace == by_rule[1].trace).all()
    damped = [fg.cavi(paper, tau=0.1, iterations=5, rule=rule, progress=False) for rule in ("damped", "cavi")]
    assert (damped[0].reward == damped[1].reward).all()
    with pytest.raises(TypeError, match="one of them"):
        fg.chain(paper, tau=0.1, runs=1, chains=1)
    with pytest.raises(ValueError, match="gradient:STEP"):
        fg.cavi(paper, tau=0.1, rule="adam")
