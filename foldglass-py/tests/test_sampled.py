"""Rollouts and sampled training: arrays that agree with the class, the numbers of the command line."""

import pickle
from fractions import Fraction

import foldglass as fg
import numpy as np
import pytest


def test_rollouts_agree_with_the_class_and_the_policy() -> None:
    space = fg.Class(fg.Task("z:3", [2, 4], inputs="markov:1/2"), window=(0, 1))
    policy = fg.Policy.dirichlet(space, 0.5, rng=1)
    drawn = policy.rollouts(2000, rng=3)
    assert (drawn.inputs == space.sample_inputs(2000, rng=3)).all()
    assert drawn.tokens.shape == drawn.cells.shape == drawn.log_probs.shape == (2000, 4)
    assert set(drawn.lengths) == {2, 4} and (drawn.mask.sum(1) == drawn.lengths).all()
    for table in (drawn.inputs, drawn.tokens, drawn.cells):
        assert ((table == -1) == ~drawn.mask).all()
    chosen = policy.rows[drawn.cells, drawn.tokens]
    assert (drawn.log_probs[drawn.mask] == np.log(chosen[drawn.mask])).all()
    assert (drawn.log_probs[~drawn.mask] == 0).all()
    for row in range(50):
        length = drawn.lengths[row]
        x, y = drawn.inputs[row, :length].tolist(), drawn.tokens[row, :length].tolist()
        assert [space.route(x, t + 1, y) for t in range(length)] == drawn.cells[row, :length].tolist()
        assert drawn.rewards[row] == (y[-1] == space.fold(x)[-1])
    reward = fg.evaluate(policy).reward
    assert abs(drawn.rewards.mean() - reward) < 5 * np.sqrt(reward * (1 - reward) / 2000)


def test_rollouts_do_not_depend_on_threads_and_take_a_seed_or_a_generator(paper: fg.Class) -> None:
    policy = fg.Policy.uniform(paper)
    one, two = (policy.rollouts(3000, rng=5, threads=threads) for threads in (1, 2))
    assert (one.tokens == two.tokens).all() and (one.inputs == two.inputs).all()
    assert (policy.rollouts(3000, rng=6).tokens != one.tokens).any()
    generators = (np.random.default_rng(1) for _ in range(2))
    first, second = (paper.sample_inputs(10, rng=generator) for generator in generators)
    assert (first == second).all() and paper.sample_inputs(0).shape == (0, 4)
    for bad in (-1, 1.5):
        with pytest.raises((TypeError, ValueError), match="n="):
            policy.rollouts(bad)  # type: ignore[arg-type]


def test_groups_of_rollouts_share_inputs_and_estimate_the_exact_gradient() -> None:
    space = fg.Class(fg.Task("z:3", [1, 2]))
    policy = fg.Policy.dirichlet(space, 1.0, rng=4)
    drawn = policy.rollouts(20_000, rng=2, group=4)
    assert drawn.group == 4 and len(drawn) == 80_000
    assert (drawn.inputs[::4] == space.sample_inputs(20_000, rng=2)).all()
    assert (drawn.inputs[::4] == drawn.inputs[3::4]).all() and (drawn.tokens[::4] != drawn.tokens[3::4]).any()
    # A user's own RLOO: the mean of A_i times the sum of the scores, beside the exact mean and variance.
    rewards = drawn.rewards.reshape(-1, 4)
    advantages = (4 * rewards - rewards.sum(1, keepdims=True)).ravel() / 3
    scores = np.zeros((len(drawn), *policy.rows.shape))
    for t in range(2):
        rows = np.flatnonzero(drawn.mask[:, t])
        cells, tokens = drawn.cells[rows, t], drawn.tokens[rows, t]
        scores[rows, cells, tokens] += 1
        scores[rows, cells] -= policy.rows[cells]
    groups = (advantages[:, None, None] * scores).reshape(-1, 4, *policy.rows.shape).mean(1)
    exact = fg.estimator(policy, "rloo:4", batch=len(groups), progress=False)
    assert (np.abs(groups.mean(0) - exact.mean) <= 5 * np.sqrt(exact.variance) + 1e-12).all()
    variance = groups.var(0) / len(groups)
    # Of rare components the sampled variance is noisy; of all together it is not.
    assert np.isclose(variance.sum(), exact.variance.sum(), rtol=0.05)
    assert np.allclose(variance, exact.variance, rtol=0.15, atol=0.02 * exact.variance.max())


def test_rollouts_on_given_inputs() -> None:
    space = fg.Class(fg.Task("parity", [1, 3]))
    policy = fg.Policy.uniform(space)
    inputs = [[0, 1, 1], [1, -1, -1]]
    drawn = policy.rollouts(inputs=inputs, group=2, rng=1)
    assert drawn.inputs[::2].tolist() == inputs and drawn.lengths.tolist() == [3, 3, 1, 1]
    codes = fg.Code.fold(space).policy.rollouts(inputs=np.array(inputs), group=3)
    assert codes.rewards.tolist() == [1.0] * 6
    for wrong, says in [([[0, 2, 1]], "symbol 2"), ([[0, 1, -1]], "length 2"), ([[0, 1]], "shape")]:
        with pytest.raises(ValueError, match=says):
            policy.rollouts(inputs=wrong)
    with pytest.raises(ValueError, match="leave n out"):
        policy.rollouts(3, inputs=inputs)
    with pytest.raises(ValueError, match="give n"):
        policy.rollouts()
    with pytest.raises(ValueError, match="group"):
        policy.rollouts(3, group=0)


def test_reinforce_is_that_of_the_command_line_and_resumes_to_the_same_bits(paper: fg.Class) -> None:
    settings = dict(batch=32, learning_rate=2.0, seed=5, optimizer="adam", tau=0.01, convention="occupancy")
    runs = fg.reinforce(paper, "grpo:4", updates=40, runs=3, record_every=10, progress=False, **settings)
    flags = {"task": "quasigroup", "lengths": 4, "estimator": "grpo:4", "updates": 40, "runs": 3, "progress": False}
    said = fg.answer("reinforce", **flags, **settings)["runs"]
    assert runs.reward.tolist() == [run["expected_reward"] for run in said]
    assert runs.greedy_exact == [Fraction(run["greedy_exact"]) for run in said]
    assert runs.trace.shape == runs.greedy_trace.shape == (3, 4)
    assert fg.evaluate(runs.policies[1]).reward == pytest.approx(runs.reward[1], abs=1e-14)
    half = fg.reinforce(paper, "grpo:4", updates=20, runs=3, record_every=10, progress=False, **settings)
    more = pickle.loads(pickle.dumps(half)).resume(20, progress=False)
    assert more.reward.tolist() == runs.reward.tolist() and (more.trace == runs.trace).all()
    start = fg.reinforce(paper, "rloo:2", updates=0, learning_rate=1.0, start=fg.Policy.uniform(paper), progress=False)
    assert start.reward[0] == pytest.approx(0.2)
    with pytest.raises(ValueError, match="rloo:1"):
        fg.reinforce(paper, "rloo:1", learning_rate=1.0, progress=False)
    with pytest.raises(ValueError, match="learning_rate"):
        fg.reinforce(paper, "rloo:2", progress=False)


def test_reinforce_takes_objectives_that_groups_estimate(paper: fg.Class) -> None:
    settings = dict(batch=16, updates=5, learning_rate=1.0, progress=False)
    runs = fg.reinforce(paper, "rloo:4", objective="pass@3", **settings)
    said = fg.answer("reinforce", task="quasigroup", lengths=4, estimator="rloo:4", objective="pass@3", **settings)["runs"]
    assert runs.reward.tolist() == [run["expected_reward"] for run in said]
    assert said[0]["objective"] == pytest.approx(fg.objective(runs.policies[0], "pass@3").value, abs=1e-12)
    with pytest.raises(ValueError, match="rloo:5"):
        fg.reinforce(paper, "rloo:4", objective="pass@5", **settings)
