"""Environments, each held to its own library; rewards to the fold."""

import itertools
import json
from collections import Counter
from fractions import Fraction

import foldglass as fg
import numpy as np
import pytest

TASK = fg.Task("z:3", [1, 2, 3])


def test_gymnasium_checks_the_environment() -> None:
    gymnasium = pytest.importorskip("gymnasium")
    from gymnasium.utils.env_checker import check_env

    env = gymnasium.make("foldglass.gymnasium:foldglass/Fold-v0", task=TASK)
    check_env(env.unwrapped, skip_render_check=True)
    with pytest.raises(ValueError, match="from 0 to 2"):
        env.reset(seed=0)
        env.unwrapped.step(3)


def test_gymnasium_pays_for_the_fold_at_the_last_step() -> None:
    gymnasium = pytest.importorskip("gymnasium")
    env = gymnasium.make("foldglass.gymnasium:foldglass/Fold-v0", task=TASK)
    space = fg.Class(TASK)
    for seed in range(30):
        seen, info = env.reset(seed=seed)
        x = [int(symbol) for symbol in seen[:3] if symbol < 3]
        products = space.fold(x)
        wrong = seed % 2
        tokens = [*products[:-1], (products[-1] + wrong) % 3]
        steps = [env.step(token) for token in tokens]
        assert [step[1] for step in steps] == [0.0] * (len(x) - 1) + [1.0 - wrong]
        assert [step[2] for step in steps] == [False] * (len(x) - 1) + [True]
        assert steps[-1][0][3 : 3 + len(x)].tolist() == tokens and info["target"] == products[-1]
        again, _ = env.reset(seed=seed)
        assert (again == seen).all()


def test_the_vector_environment_plays_many_rollouts() -> None:
    gymnasium = pytest.importorskip("gymnasium")
    envs = gymnasium.make_vec("foldglass.gymnasium:foldglass/Fold-v0", num_envs=16, task=TASK)
    seen, info = envs.reset(seed=0)
    assert envs.observation_space.contains(seen)
    ended, paid, rollouts = np.zeros(16, dtype=bool), 0.0, 0
    for _ in range(60):
        before, started = info, ended
        _, rewards, ended, truncated, info = envs.step(before["target"])
        # A rollout that had ended begins anew, and its action counts for nothing.
        assert not (ended & started).any() and not truncated.any() and (rewards == ended).all()
        paid, rollouts = paid + rewards.sum(), rollouts + ended.sum()
    assert paid == rollouts > 100


def test_gymnax_agrees_with_the_fold_and_the_law() -> None:
    pytest.importorskip("gymnax")
    import foldglass.gymnax as fold_gymnax
    import gymnax
    import jax
    import jax.numpy as jnp

    task = fg.Task("z:3", [1, 3], inputs="markov:7/10")
    env, params = gymnax.make("Fold-foldglass", task=task)
    count = 20_000
    keys = jax.random.split(jax.random.key(0), count)
    seen, states = jax.vmap(env.reset, in_axes=(0, None))(keys, params)
    space = fg.Class(task)
    drawn = Counter(tuple(int(s) for s in row[:3] if s < 3) for row in np.asarray(seen))
    policy = fg.Policy(space, np.full(space.shape, 1 / 3))
    expected = {
        x: float(Fraction(p)) for x, p in ((tuple(one["x"]), one["probability"]) for one in listed(policy))
    }
    chi = sum((drawn[x] - count * p) ** 2 / (count * p) for x, p in expected.items())
    # 30 inputs: a chi-square of 29 degrees exceeds 80 with a probability of 1e-6.
    assert set(drawn) <= set(expected) and chi < 80
    for x, target, length in zip(np.asarray(seen)[:100], states.target[:100], states.length[:100]):
        assert space.fold([int(s) for s in x[:length]])[-1] == target

    def step(carry, key):
        state = carry
        _, state, reward, terminated, truncated, info = env.step(key, state, state.target, params)
        return state, (reward, terminated, truncated)

    rewards, terminated, truncated = jax.lax.scan(step, jax.tree.map(lambda a: a[0], states), keys[:300])[1]
    assert jnp.array_equal(rewards, terminated.astype(rewards.dtype)) and terminated.sum() > 100
    assert not truncated.any() and fold_gymnax.Fold(task).num_actions == 3


def listed(policy):
    from foldglass._commands import ask, folder, write_table

    with folder() as place:
        path = write_table(policy, place / "policy.json")
        return ask("eval", ["--policy", str(path), "--per-input"], False)["per_input"]


def test_reasoning_gym_scores_the_entry_alone() -> None:
    reasoning_gym = pytest.importorskip("reasoning_gym")
    import foldglass.reasoning_gym  # noqa: F401

    data = reasoning_gym.create_dataset("foldglass", task="quasigroup", min_length=2, max_length=4, size=300, seed=3)
    space = fg.Class(fg.Task("quasigroup", [2, 3, 4]))
    assert len(list(data)) == 300 and data[299] == data[299]
    for entry in itertools.islice(data, 50):
        assert entry["answer"] == str(space.fold(entry["metadata"]["input"])[-1])
        assert json.dumps(entry["metadata"]["table"]) == json.dumps(space.square.tolist())
        assert data.score_answer(entry["answer"], entry) == 1.0
        # The score of the base class pays for answers that contain the right one.
        assert data.score_answer("0 1 2 3 4 and so on", entry) == float(entry["answer"] == "4")
        assert data.score_answer(entry["answer"] + "0", entry) == data.score_answer(None, entry) == 0.0
        # A dataset of the default settings scores the same entry: nothing but the entry is read.
        other = reasoning_gym.get_score_answer_fn("foldglass")
        assert other(f"so {entry['answer']}.", entry) == 1.0


def test_the_curriculum_of_reasoning_gym_raises_the_length() -> None:
    pytest.importorskip("reasoning_gym")
    from foldglass.reasoning_gym import FoldConfig, FoldCurriculum, FoldDataset

    curriculum = FoldCurriculum()
    assert curriculum.generate_configuration({"seed": 0, "size": 9}).max_length == 1
    curriculum.increment_attr_level("length")
    config = curriculum.generate_configuration({"seed": 0, "size": 40})
    assert (config.min_length, config.max_length) == (1, 2)
    assert {entry["metadata"]["length"] for entry in FoldDataset(config)} == {1, 2}
    with pytest.raises(AssertionError, match="min_length"):
        FoldDataset(FoldConfig(min_length=3, max_length=2))


def test_the_section_of_the_documentation_runs(run_section) -> None:
    pytest.importorskip("gymnasium")
    pytest.importorskip("reasoning_gym")
    names = run_section("Environments")
    assert names["score"] == 1.0 and names["terminated"] == (names["info"]["length"] == 1)
