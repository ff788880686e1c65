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


def test_a_process_reward_is_refused_by_every_environment() -> None:
    task = fg.Task("z:3", 2, reward="process")
    gymnasium = pytest.importorskip("gymnasium")
    for make in (gymnasium.make, gymnasium.make_vec):
        with pytest.raises(ValueError, match="rewards single steps"):
            make("foldglass.gymnasium:foldglass/Fold-v0", task=task)
    pytest.importorskip("gymnax")
    from foldglass.gymnax import Fold

    with pytest.raises(ValueError, match="rewards single steps"):
        Fold(task)


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


def test_the_vector_environment_is_as_many_environments_of_gymnasium() -> None:
    """Against ``SyncVectorEnv``, which steps and restarts one environment after the other."""
    gymnasium = pytest.importorskip("gymnasium")
    from foldglass.gymnasium import FoldEnv, FoldVectorEnv
    from gymnasium.utils.env_checker import data_equivalence

    ours = FoldVectorEnv(TASK, num_envs=4)
    theirs = gymnasium.vector.SyncVectorEnv([lambda: FoldEnv(TASK)] * 4)
    assert ours.observation_space == theirs.observation_space and ours.action_space == theirs.action_space
    assert ours.metadata["autoreset_mode"] == theirs.metadata["autoreset_mode"]

    def same(ours, theirs) -> None:
        # The truths of "_length" say which environments sent one.
        named = {name: value for name, value in theirs[-1].items() if not name.startswith("_")}
        sent = theirs[-1].get("_length", np.ones(4, dtype=bool))
        assert all(data_equivalence(a, b) for a, b in zip(ours[:-1], theirs[:-1]))
        assert all((ours[-1][name][sent] == value[sent]).all() for name, value in named.items())

    rng = np.random.default_rng(0)
    mask = np.array([False, True, True, False])
    for seed, chosen in [(5, None), ([1, 2, 3, 4], None), ([1, 9, 9, 9], None), (None, None), ([7, None, 8, 9], mask)]:
        options = [None if chosen is None else {"reset_mask": chosen.copy()} for _ in range(2)]
        same(ours.reset(seed=seed, options=options[0]), theirs.reset(seed=seed, options=options[1]))
        for _ in range(40):
            actions = rng.integers(3, size=4)
            same(ours.step(actions), theirs.step(actions))


def test_seeds_and_masks_are_of_each_environment() -> None:
    pytest.importorskip("gymnasium")
    from foldglass.gymnasium import FoldEnv, FoldVectorEnv

    task = fg.Task("z:5", 6)
    envs = FoldVectorEnv(task, num_envs=4)
    one, _ = envs.reset(seed=[1, 2, 3, 4])
    other, _ = envs.reset(seed=[1, 9, 9, 9])
    assert (one[0] == other[0]).all() and (one[1:] != other[1:]).any(axis=1).all()
    assert (other[1] == other[2]).all() and (other[1] == FoldEnv(task).reset(seed=9)[0]).all()
    before = envs.step(np.zeros(4, dtype=int))[0]
    after, _ = envs.reset(options={"reset_mask": np.array([True, False, False, True])})
    assert (after[1:3] == before[1:3]).all() and (after[[0, 3]] != before[[0, 3]]).any(axis=1).all()
    for wrong in (np.zeros(4, dtype=bool), np.ones(3, dtype=bool), np.ones(4)):
        with pytest.raises(ValueError, match="reset_mask"):
            envs.reset(options={"reset_mask": wrong})
    with pytest.raises(ValueError, match="3 seeds for 4 environments"):
        envs.reset(seed=[1, 2, 3])


@pytest.mark.parametrize("inputs, weights", [("product", None), ("uniform", ["7", "1"])])
def test_gymnax_draws_from_the_law(inputs, weights) -> None:
    pytest.importorskip("gymnax")
    import jax
    from foldglass.gymnax import Fold

    law = [["1/2", "1/3", "1/6"], ["1/10", "1/5", "7/10"], ["0", "1/2", "1/2"]] if inputs == "product" else inputs
    task = fg.Task("z:3", [1, 3], inputs=law, length_weights=weights)
    env, count = Fold(task), 20_000
    keys = jax.random.split(jax.random.key(1), count)
    _, states = jax.vmap(env.reset, in_axes=(0, None))(keys, env.default_params)
    space = fg.Class(task)
    policy = fg.Policy(space, np.full(space.shape, 1 / 3))
    expected = {tuple(one["x"]): float(Fraction(one["probability"])) for one in listed(policy)}
    drawn = Counter(tuple(int(s) for s in row if s < 3) for row in np.asarray(states.x))
    # At most 29 degrees of freedom, as above.
    chi = sum((drawn[x] - count * p) ** 2 / (count * p) for x, p in expected.items() if p > 0)
    assert set(drawn) <= {x for x, p in expected.items() if p > 0} and chi < 80


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


def test_reasoning_gym_scores_the_rows_that_are_written(tmp_path) -> None:
    reasoning_gym = pytest.importorskip("reasoning_gym")
    import foldglass.reasoning_gym  # noqa: F401

    flags = {"task": "z:3", "lengths": [1, 2, 3], "rows": 20, "rendering": "words", "progress": False}
    fg.answer("dataset", trainer="reasoning-gym", out=str(tmp_path), **flags)
    entries = [json.loads(line) for line in (tmp_path / "train.jsonl").read_text().splitlines()]
    made = reasoning_gym.create_dataset("foldglass", task="z:3", min_length=1, max_length=3, size=20, seed=0)
    assert len(entries) == 20
    for entry, ours in zip(entries, made):
        score = reasoning_gym.get_score_answer_fn(entry["metadata"]["source_dataset"])
        assert score(f"It is {entry['answer']}.", entry) == 1.0 and score(f"{entry['answer']}0", entry) == 0.0
        # The same entries as those of the dataset, in one shape.
        assert {**entry, "metadata": None} == {**ours, "metadata": None}
        assert json.loads(json.dumps(ours["metadata"])) == entry["metadata"]


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
    for package in ("gymnasium", "gymnax", "reasoning_gym"):
        pytest.importorskip(package)
    names = run_section("Environments")
    ended = names["states"].length == 1
    assert (names["after"][2] == ended).all() and (names["after"][3] == ended).all() and ended.any()
    assert names["score"] == 1.0 and names["terminated"] == (names["info"]["length"] == 1)
