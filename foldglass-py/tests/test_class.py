"""Classes, codes and policies: what they accept, what they say, what survives a pickle."""

import itertools
import pickle
import sys
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction

import foldglass as fg
import numpy as np
import pytest


def brute_force(space: fg.Class, rows: np.ndarray) -> tuple[float, np.ndarray]:
    """J and visits by all inputs and all rollouts, of uniform inputs."""
    reward, visits = 0.0, np.zeros(space.cells)
    for length in space.lengths:
        for x in itertools.product(range(space.q), repeat=length):
            weight = space.q**-length / len(space.lengths)
            target = space.fold(x)[-1]
            ways = [((), weight)]
            for t in range(1, length + 1):
                longer = []
                for tokens, chance in ways:
                    cell = space.route(x, t, tokens)
                    visits[cell] += chance
                    longer += [((*tokens, a), chance * rows[cell, a]) for a in range(space.q)]
                ways = longer
            reward += sum(chance for tokens, chance in ways if tokens[-1] == target)
    return reward, visits


def test_evaluation_is_that_of_all_rollouts() -> None:
    """The routes and folds of the binding; the library's tests do this for every kind of class."""
    space = fg.Class(fg.Task("z:3", [2, 3]), window=(1, 0))
    policy = fg.Policy.dirichlet(space, rng=1)
    found = fg.evaluate(policy)
    reward, visits = brute_force(space, policy.rows)
    assert found.reward == pytest.approx(reward, abs=1e-13)
    np.testing.assert_allclose(found.visits, visits, atol=1e-13)
    values = np.nansum(found.state_value * found.visits)
    np.testing.assert_allclose(values, (found.values * policy.rows).sum(), atol=1e-12)


def test_the_arrays_of_an_evaluation_are_read_only(paper: fg.Class) -> None:
    evaluator = fg.Evaluator(paper)
    found = evaluator.evaluate(fg.Policy.uniform(paper))
    for result in (found, pickle.loads(pickle.dumps(found))):
        for array in (result.visits, result.values):
            with pytest.raises(ValueError, match="read-only"):
                array[0] = 99
    # The evaluator itself still writes over them.
    visits = found.visits
    again = evaluator.evaluate(fg.Code.fold(paper), out=found)
    assert again.visits is visits and visits.sum() == pytest.approx(4)


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: fg.Task("z5", 3), "z:N"),
        (lambda: fg.Task("quasigrup", 4), "quasigroup"),
        (lambda: fg.Task([[0, 1], [0]], 2), "task"),
        (lambda: fg.Task("parity", [3, 3]), "twice"),
        (lambda: fg.Task("parity", 2, inputs="markov:2"), r"\[0, 1\]"),
        (lambda: fg.Task("parity", 2, inputs="gauss"), "markov:K"),
        (lambda: fg.Task("parity", 3, inputs=[["1/2", "1/2"]]), "3 positions"),
        (lambda: fg.Task("file:nowhere.json", 3), "nowhere.json"),
    ],
)
def test_what_is_not_a_task_is_refused_at_once(make, says: str) -> None:
    with pytest.raises((ValueError, OSError), match=says):
        make()


def test_a_batch_is_its_policies_one_by_one(paper: fg.Class) -> None:
    batch = np.random.default_rng(0).dirichlet(np.ones(5), size=(50, paper.cells))
    reward, visits, values = fg.evaluate_batch(paper, batch)
    assert np.array_equal(reward, fg.rewards(paper, batch))
    for number in (0, 17, 49):
        one = fg.evaluate(paper, batch[number])
        assert one.reward == reward[number]
        assert np.array_equal(one.visits, visits[number])
        assert np.array_equal(one.values, values[number])
    assert fg.rewards(paper, batch[:0]).shape == (0,)


def test_a_result_stays_what_it_was_when_the_evaluator_goes_on(paper: fg.Class) -> None:
    evaluator = fg.Evaluator(paper)
    uniform, fold = fg.Policy.uniform(paper), fg.Code.fold(paper)
    first = evaluator.evaluate(uniform)
    second = evaluator.evaluate(fold)
    assert first.visits.sum() == pytest.approx(4) and second.reward == 1.0
    np.testing.assert_array_equal(first.values, fg.evaluate(uniform).values)
    again = evaluator.evaluate(uniform, out=second)
    assert again is second and again.reward == first.reward
    np.testing.assert_array_equal(again.values, first.values)


def test_threads_may_share_an_evaluator(paper: fg.Class) -> None:
    policies = [fg.Policy.dirichlet(paper, rng=seed) for seed in range(200)]
    expected = [fg.evaluate(policy).visits.copy() for policy in policies]
    evaluator = fg.Evaluator(paper)
    switch = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        with ThreadPoolExecutor(4) as threads:
            found = list(threads.map(lambda policy: evaluator.evaluate(policy).visits, policies))
    finally:
        sys.setswitchinterval(switch)
    for ours, theirs in zip(found, expected):
        assert np.array_equal(ours, theirs)


def test_a_code_keeps_its_own_actions(markov: fg.Class) -> None:
    buffer = np.zeros((2, markov.cells), np.int64)
    code = fg.Code(markov, buffer[0])
    buffer[0] = fg.Code.fold(markov).actions
    assert code.actions.sum() == 0 and fg.evaluate(code).reward == pytest.approx(float(code.exact))


def test_scalars_of_numpy_are_numbers(markov: fg.Class, tmp_path) -> None:
    space = fg.Class(fg.Task("parity", np.int64(3)))
    runs = fg.cavi(space, tau=np.float32(0.5), iterations=np.int64(3), runs=np.int64(2), progress=False)
    assert runs.settings["tau"] == 0.5
    dynamics = dict(kind="cavi", tau=np.geomspace(1e-3, 0.1, 3), iterations=3, runs=np.int64(2))
    study = fg.Study("numbers", [space], [dynamics])
    assert study.run(tmp_path, progress=False).runs == 6
    assert fg.enumerate(markov, tolerance=np.float64(0.01), progress=False).trap_count is None
    assert len(fg.free_energy(space, np.float32(1.0), sweeps=100, learning=100, progress=False).points) == 1


def test_a_study_does_the_class_it_was_given(tmp_path, monkeypatch) -> None:
    dynamics = dict(kind="chain", kernel="metropolis", tau=0.1, sweeps=2, runs=1)
    random = fg.Class(fg.Task("random:5:7", 2))
    study = fg.Study("random", [random], [dynamics])
    study.run(tmp_path / "random", progress=False)
    assert fg.collect(tmp_path / "random").records[0]["class"]["square"] == random.square.tolist()
    for name, table in (("a", [[0, 1], [1, 0]]), ("b", [[1, 0], [0, 1]])):
        (tmp_path / name).mkdir()
        (tmp_path / name / "mine.json").write_text(str(table))
    monkeypatch.chdir(tmp_path / "a")
    space = fg.Class(fg.Task("mine.json", 2))
    monkeypatch.chdir(tmp_path / "b")
    fg.Study("file", [space], [dynamics]).run(tmp_path / "file", progress=False)
    assert fg.collect(tmp_path / "file").records[0]["class"]["square"] == [[0, 1], [1, 0]]
    assert fg.density(space, progress=False).space.square.tolist() == [[0, 1], [1, 0]]


def test_any_table_is_a_task() -> None:
    space = fg.Class(fg.Task([[2, 0, 1], [0, 0, 2], [1, 1, 1]], 3))
    assert list(space.fold([0, 0, 2])) == [0, 2, 1]
    assert fg.benign(space, progress=False).theorem == "C"
    for name, q in (("max:3", 3), ("copy:2", 2), ("flipflop", 3), ("t:2", 4)):
        assert fg.Class(fg.Task(name, 2)).q == q
    with pytest.raises(ValueError, match="row 1"):
        fg.Class(fg.Task([[0, 1], [1, 2]], 2))


def test_a_random_square_without_a_seed_is_that_of_seed_0() -> None:
    task = fg.Task("random:4", 3)
    assert task.task == "random:4:0" and "random:4:0" in repr(task)
    assert fg.Task("z:2 * random:3", 2).task == "z:2 * random:3:0"
    assert fg.Task("random:4:7", 3).task == "random:4:7"
    space = fg.Class(task)
    # As the terminal has it, whatever its seed.
    printed = fg.answer("task", task="random:4", seed=8)
    assert printed["table"] == space.square.tolist()


def test_codes_are_exact(paper: fg.Class) -> None:
    code = fg.Code.random(paper, 3)
    assert code.exact.denominator <= paper.denominator == 5**4
    assert float(code.exact) == pytest.approx(fg.evaluate(code).reward, abs=1e-15)
    assert fg.Code.fold(paper).exact == Fraction(1)
    x = [1, 4, 2, 0]
    assert fg.Code.fold(paper).rollout(x) == paper.fold(x)
    both = fg.rewards_exact(paper, [code.actions, fg.Code.fold(paper).actions])
    assert both == [code.exact, Fraction(1)]
    with pytest.raises(ValueError):
        code.actions[0] = 1


def test_what_is_refused_says_what_is_needed(paper: fg.Class) -> None:
    for make, said in [
        (lambda: fg.Class(fg.Task("quasigrup", 4)), "quasigrup"),
        (lambda: fg.Class(fg.Task("z:5", 0)), "lengths=0"),
        (lambda: fg.Class(fg.Task([[0, 1], [0]], 2)), "row 1"),
        (lambda: fg.Class(fg.Task([[0, 1], [1, 2]], 2)), "row 1"),
        (lambda: fg.Class(fg.Task("parity", 2, inputs="markov:2")), "2"),
        (lambda: fg.Class(fg.Task("parity", 2, inputs=[["1/2", "1/3"], ["1/2", "1/2"]])), "sum"),
        (lambda: fg.Code(paper, [0, 1]), "(80,)"),
        (lambda: fg.Code(paper, np.full(80, 5)), "0 to 4"),
        (lambda: fg.Policy(paper, np.full((80, 5), 0.3)), "sums to 1.5"),
        (lambda: fg.Policy(paper, np.zeros((2, 5))), "(80, 5)"),
        (lambda: fg.rewards(paper, np.zeros((3, 80, 4))), "(policies, 80, 5)"),
        (lambda: fg.cavi(paper), "tau"),
        (lambda: fg.cavi(paper, tau=-1.0), "-1"),
        (lambda: fg.chain(paper, tau=0.1, kernel="metropolitan"), "metropolitan"),
        (lambda: fg.answer("parity", width=4), "--width"),
        (lambda: fg.answer("parties"), "parties"),
    ]:
        with pytest.raises(ValueError, match="(?s)") as refusal:
            make()
        assert said in str(refusal.value), refusal.value
    for make in (
        lambda: fg.Task("parity", [2.7]),
        lambda: fg.Task("parity", "34"),
        lambda: fg.Task([[0.9, 1.2], [1.1, 0.5]], 3),
        lambda: fg.Class("parity"),
        lambda: fg.Class(fg.Task("parity", 3), tied="no"),
        lambda: fg.Code(paper, np.full(80, 0.9)),
        lambda: fg.cavi(paper, tau=0.1, iterations=1.9),
        lambda: fg.cavi("parity", 0.1),
        lambda: fg.evaluate(np.zeros(3)),
        lambda: fg.certify([1]),
        lambda: fg.Study("s", [paper], [dict(kind="cavi", start=fg.Code.fold(paper))]),
    ):
        with pytest.raises(TypeError):
            make()
    for make, said in [
        (lambda: fg.cavi(paper, tau=float("nan")), "tau=nan"),
        (lambda: fg.cavi(paper, tau=0.1, seed=-1), "seed=-1"),
        (lambda: fg.cavi(paper, tau=0.1, threads=0), "threads=0"),
        (lambda: fg.Task("parity", -1), "lengths=-1"),
        (lambda: fg.collect(), "directory"),
    ]:
        with pytest.raises(ValueError) as refusal:
            make()
        assert said in str(refusal.value)
    with pytest.raises(MemoryError, match="runs at once"):
        fg.cavi(paper, tau=0.1, runs=10**12)
    with pytest.raises(MemoryError, match="max-memory|max_memory"):
        fg.Evaluator(fg.Class(fg.Task("quasigroup", 8), window=(0, 3), max_memory="1MiB"))


def test_everything_pickles(paper: fg.Class, markov: fg.Class) -> None:
    product = fg.Class(fg.Task("parity", 2, inputs=[["1/3", "2/3"], [0.25, 0.75]]))
    things = [paper, markov, product, fg.Code.random(paper, 0), fg.Policy.dirichlet(paper, rng=0)]
    things += [fg.Task("z:5", [3, 4]), fg.enumerate(markov, progress=False).kinds]
    for thing in things:
        assert pickle.loads(pickle.dumps(thing)) == thing
    found = fg.evaluate(fg.Policy.uniform(paper))
    copy = pickle.loads(pickle.dumps(found))
    assert copy.reward == found.reward and np.array_equal(copy.values, found.values)
    # The exact third is kept, not its nearest float.
    assert fg.Code(product, [0] * product.cells).exact == Fraction(7, 12)


def test_files_are_those_of_the_command_line(paper: fg.Class, tmp_path) -> None:
    code, policy = fg.Code.random(paper, 0), fg.Policy.dirichlet(paper, rng=0)
    code.save(tmp_path / "code.json")
    policy.save(tmp_path / "policy.json")
    assert fg.Code.read(tmp_path / "code.json") == code
    assert fg.Policy.read(tmp_path / "policy.json") == policy
    said = fg.answer("eval", code=tmp_path / "code.json", progress=False)
    assert Fraction(said["reward_exact"]) == code.exact
    said = fg.answer("eval", policy=tmp_path / "policy.json", progress=False)
    assert said["reward"] == fg.evaluate(policy).reward


def test_keys_are_those_of_the_command_line() -> None:
    space = fg.Class(fg.Task("z:3", [2, 3]), window=(1, 1), memory=2)
    keys = space.keys()
    flags = {"task": "z:3", "lengths": [2, 3], "window": [1, 1], "memory": 2, "progress": False}
    for key, cell in zip(keys, fg.answer("cells", **flags)["cells"]):
        assert key["t"] == cell["t"]
        y = cell["y"] if isinstance(cell["y"], list) else [cell["y"]]
        for ours, theirs in ((key["x"], cell["x"]), (key["y"], y)):
            assert [None if s < 0 else s for s in ours.tolist()] == [
                None if s in (None, "SEP") else s for s in theirs
            ]
