"""Sampled gradients, objectives and single inputs: the arrays of the binding."""

import itertools

import foldglass as fg
import numpy as np
import pytest


def test_the_variance_of_reinforce_is_that_of_all_rollouts() -> None:
    space = fg.Class(fg.Task("z:3", 2))
    policy = fg.Policy.dirichlet(space, rng=3)
    rows = policy.rows
    mean, square = np.zeros(space.shape), np.zeros(space.shape)
    for x in itertools.product(range(3), repeat=2):
        for y in itertools.product(range(3), repeat=2):
            score, chance = np.zeros(space.shape), 1 / 9
            for t in (1, 2):
                cell = space.route(x, t, y[: t - 1])
                chance *= rows[cell, y[t - 1]]
                score[cell] -= rows[cell]
                score[cell, y[t - 1]] += 1
            if y[-1] == space.fold(x)[-1]:
                mean += chance * score
                square += chance * score**2
    found = fg.estimator(policy, "reinforce", batch=7)
    np.testing.assert_allclose(found.mean, mean, atol=1e-14)
    np.testing.assert_allclose(found.variance, (square - mean**2) / 7, atol=1e-14)
    assert found.snr == pytest.approx(found.signal / found.variance.sum())
    assert fg.estimator(policy, "grpo:4").variance_by in ("replicas", "tree")
    with pytest.raises(ValueError, match="rloo:2 or more"):
        fg.estimator(policy, "rloo:1")


def test_single_inputs_have_their_success_and_objectives_average_it() -> None:
    space = fg.Class(fg.Task("parity", [1, 3]))
    policy = fg.Policy.dirichlet(space, rng=1)
    found = fg.per_input(policy)
    assert found.inputs.shape == (10, 3) and (found.inputs[:2, 1:] == -1).all()
    assert found.probability.sum() == pytest.approx(1)
    assert (found.probability * found.success).sum() == pytest.approx(fg.evaluate(policy).reward)
    expected = (found.probability * (1 - (1 - found.success) ** 4)).sum()
    assert fg.pass_at_k(policy, 4) == pytest.approx(expected)
    objective = fg.objective(policy, "maxrl:1")
    assert objective.value == pytest.approx(fg.evaluate(policy).reward - 1)
    np.testing.assert_allclose(objective.values, fg.evaluate(policy).values, atol=1e-13)


def test_runs_take_an_objective_and_chains_a_prior() -> None:
    space = fg.Class(fg.Task("parity", 3))
    runs = fg.cavi(
        space, tau=0.0, iterations=5, rule="gradient", step=1.0, objective="pass@4", keep_policy=True,
        progress=False,
    )
    assert runs.reward.shape == (1,)
    prior = np.tile([1e-9, 1 - 1e-9], (space.cells, 1))
    chains = fg.chain(space, tau=1e3, sweeps=20, prior=prior, keep_code=True, progress=False)
    assert (chains.codes[0] == 1).all()
