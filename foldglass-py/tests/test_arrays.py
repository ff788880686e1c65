"""Arrays as policies: any precision, any strides, any library; batches, and memory that is used again."""

import time

import foldglass as fg
import numpy as np
import pytest


@pytest.fixture
def rows(paper: fg.Class) -> np.ndarray:
    return np.random.default_rng(0).dirichlet(np.ones(paper.q), size=paper.cells)


class ByDlpack:
    """An array that other libraries read by DLPack alone."""

    def __init__(self, array: np.ndarray) -> None:
        self.array = array

    def __dlpack__(self, **settings):
        return self.array.__dlpack__(**settings)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


class OnDevice(ByDlpack):
    """An array on a GPU, which its library copies to the CPU where it is asked to."""

    def __init__(self, array: np.ndarray, copies: bool = True) -> None:
        super().__init__(array)
        self.copies = copies

    def __dlpack__(self, *, dl_device=None, **settings):
        if not self.copies or tuple(dl_device or ()) != (1, 0):
            raise BufferError("on another device")
        return self.array.__dlpack__(**settings)

    def __dlpack_device__(self):
        return (2, 0)


class Explicit(OnDevice):
    """The same, of a library that refuses an implicit copy."""

    def __array__(self, dtype=None, copy=None):
        raise TypeError("implicit conversion")


class ByArray:
    """An array that other libraries read by ``__array__`` alone."""

    def __init__(self, array: np.ndarray) -> None:
        self.array = array

    def __array__(self, dtype=None, copy=None):
        return np.asarray(self.array, dtype=dtype)


def test_rows_of_less_precision_are_scaled_to_the_sum_one(paper: fg.Class, rows: np.ndarray) -> None:
    exact = fg.evaluate(paper, rows).reward
    for kind, tolerance in ((np.float32, 1e-6), (np.float16, 1e-2)):
        given = rows.astype(kind)
        assert np.abs(given.astype(float).sum(1) - 1).max() > 1e-9, "float64 would be refused"
        policy = fg.Policy(paper, given)
        wide = given.astype(float)
        np.testing.assert_array_equal(policy.rows, wide * (1 / wide.sum(1, keepdims=True)))
        found = fg.evaluate(paper, given)
        assert found.reward == fg.evaluate(policy).reward == pytest.approx(exact, abs=tolerance)
        np.testing.assert_array_equal(found.policy.rows, policy.rows)
    softmax = np.exp(rows.astype(np.float32))
    softmax /= softmax.sum(1, keepdims=True)
    assert fg.rewards(paper, softmax[None]).shape == (1,)


def test_double_rows_are_scaled_beyond_rounding_alone(paper: fg.Class, rows: np.ndarray) -> None:
    np.testing.assert_array_equal(fg.Policy(paper, rows).rows, rows)
    off = rows.copy()
    off[7] *= 1 + 1e-10
    np.testing.assert_allclose(fg.Policy(paper, off).rows[7], rows[7], rtol=1e-15)
    again = fg.Policy(paper, fg.Policy(paper, off).rows).rows
    np.testing.assert_array_equal(again, fg.Policy(paper, off).rows)


def test_any_strides_and_any_array_are_the_same_policy(paper: fg.Class, rows: np.ndarray) -> None:
    reward = fg.evaluate(paper, rows).reward
    wide = np.zeros((2 * paper.cells, 3 * paper.q))
    wide[::2, ::3] = rows
    for same in (
        np.asfortranarray(rows),
        rows[::-1].copy()[::-1],
        wide[::2, ::3],
        rows.astype(">f8"),
        rows.astype(np.longdouble),
        rows.tolist(),
        ByDlpack(rows),
        OnDevice(rows),
        Explicit(rows),
        ByArray(rows),
    ):
        assert fg.evaluate(paper, same).reward == reward
        assert fg.Policy(paper, same) == fg.Policy(paper, rows)
    with pytest.raises(TypeError, match=r"on the device \(2, 0\).*copy"):
        fg.evaluate(paper, OnDevice(rows, copies=False))
    code = fg.Code.fold(paper)
    hot = np.eye(paper.q, dtype=np.int8)[code.actions]
    assert fg.evaluate(paper, hot).reward == 1.0


def test_a_row_beyond_the_tolerance_is_refused_with_a_remedy(paper: fg.Class, rows: np.ndarray) -> None:
    off = rows.copy()
    off[3] *= 1 + 1e-7
    with pytest.raises(ValueError, match=r"cell 3 sums to 1.0000001.*, 1.0e-7 above 1.*1e-9.*rows.sum\(-1, keep"):
        fg.evaluate(paper, off)
    single = rows.astype(np.float32)
    single[3] *= 0.999
    with pytest.raises(ValueError, match="cell 3 sums to 0.999.*, 1.0e-3 below 1.*1e-5"):
        fg.Policy(paper, single)
    batch = np.stack([rows, off])
    with pytest.raises(ValueError, match="policy 1 of the batch: the row of cell 3"):
        fg.rewards(paper, batch)
    off[3, 1] = np.nan
    with pytest.raises(ValueError, match="cell 3 gives action 1 the probability NaN"):
        fg.evaluate(paper, off)
    off[3] = [-1e-7, 1 + 1e-7, 0, 0, 0]
    with pytest.raises(ValueError, match="cell 3 gives action 0"):
        fg.evaluate(paper, off.astype(np.float32))
    for wrong in (rows.astype(complex), rows.astype(str), np.full(paper.shape, None)):
        with pytest.raises(TypeError, match="probabilities"):
            fg.evaluate(paper, wrong)


def test_a_result_from_an_array_stays_what_it_was(paper: fg.Class, rows: np.ndarray) -> None:
    evaluator = fg.Evaluator(paper)
    given = rows.copy()
    first = evaluator.evaluate(given)
    given[:] = 0.2
    second = evaluator.evaluate(given)
    expected = fg.evaluate(fg.Policy(paper, rows))
    assert first.policy == expected.policy and first.reward == expected.reward
    np.testing.assert_array_equal(first.state_value, expected.state_value)
    values = second.values
    third = evaluator.evaluate(rows, out=second)
    assert third.values is values and third.policy == expected.policy
    np.testing.assert_array_equal(values, expected.values)
    # A refused array leaves the result.
    with pytest.raises(ValueError):
        evaluator.evaluate(np.zeros(paper.shape), out=third)
    np.testing.assert_array_equal(third.values, expected.values)
    other = fg.evaluate(fg.Code.fold(fg.Class(fg.Task("parity", 3))))
    with pytest.raises(ValueError, match="out is of"):
        evaluator.evaluate(rows, out=other)


def test_values_are_the_derivative_of_the_reward(paper: fg.Class, rows: np.ndarray) -> None:
    """The gradient in the logits by the formula of the documentation, against differences."""
    values = fg.evaluate(paper, rows).values
    gradient = rows * (values - (rows * values).sum(-1, keepdims=True))
    logits = np.log(rows)
    for cell, action in ((0, 0), (17, 3), (79, 4)):
        step = np.zeros(paper.shape)
        step[cell, action] = 1e-5
        both = [np.exp(logits + sign * step) for sign in (1, -1)]
        up, down = (fg.evaluate(paper, table / table.sum(1, keepdims=True)).reward for table in both)
        assert (up - down) / 2e-5 == pytest.approx(gradient[cell, action], rel=1e-5)


def test_a_batch_is_written_where_it_is_asked_to(paper: fg.Class) -> None:
    batch = np.random.default_rng(1).dirichlet(np.ones(5), size=(9, paper.cells))
    found = fg.evaluate_batch(paper, batch)
    again = fg.evaluate_batch(paper, batch[::-1], out=tuple(np.empty_like(part) for part in found))
    for ours, theirs in zip(again, found):
        np.testing.assert_array_equal(ours, theirs[::-1])
    kept = np.empty(9)
    assert fg.rewards(paper, batch.astype(np.float32), out=kept) is kept
    np.testing.assert_allclose(kept, found[0], atol=1e-6)
    for wrong in (np.empty(8), np.empty(9, np.float32), np.empty(18)[::2], found[0].tolist()):
        with pytest.raises(ValueError, match=r"rewards must be a contiguous.*\(9,\)"):
            fg.rewards(paper, batch, out=wrong)


def test_objectives_have_their_derivatives(paper: fg.Class, tmp_path) -> None:
    batch = np.random.default_rng(1).dirichlet(np.ones(5), size=(3, paper.cells))
    rewards, _, values = fg.evaluate_batch(paper, batch)
    for name, offset in ((None, 0.0), ("pass@1", 0.0), ("maxrl:1", -1.0)):
        found, derivative = fg.objective_batch(paper, batch, name)
        np.testing.assert_allclose(found, rewards + offset, rtol=1e-13)
        np.testing.assert_allclose(derivative, values, rtol=1e-11, atol=1e-15)
    room = (np.empty(3), np.empty(batch.shape))
    for name in (None, "pass@2"):
        found, derivative = fg.objective_batch(paper, batch, name)
        again = fg.objective_batch(paper, batch, name, out=room)
        assert again[0] is room[0] and again[1] is room[1]
        np.testing.assert_array_equal(again[0], found)
        np.testing.assert_array_equal(again[1], derivative)
    with pytest.raises(ValueError, match=r"derivatives must be a contiguous.*\(3, 80, 5\)"):
        fg.objective_batch(paper, batch, out=(room[0], room[1][:2]))
    fg.Policy(paper, batch[2]).save(tmp_path / "policy.json")
    said = fg.answer("eval", policy=tmp_path / "policy.json", objective="pass@2", progress=False)
    assert found[2] == said["objective"] and derivative[2].tolist() == said["objective_values"]
    with pytest.raises(ValueError, match="pass@K, maxrl:K"):
        fg.objective_batch(paper, batch, "pass")
    wide = fg.Class(fg.Task("parity", 30))
    with pytest.raises(ValueError, match="has 1073741824: at most 10000000"):
        fg.objective_batch(wide, np.full((1, *wide.shape), 0.5), "pass@2")


def test_a_long_batch_hears_ctrl_c(interrupt) -> None:
    space = fg.Class(fg.Task("parity", 17))
    batch = np.full((2000, *space.shape), 0.5)
    interrupt(0.3)
    begun = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        fg.objective_batch(space, batch, "grpo-std")
    assert time.monotonic() - begun < 10


def test_the_page_on_arrays_runs(run_section) -> None:
    names = run_section("Arrays")
    assert names["gradient"].shape == names["space"].shape
    np.testing.assert_array_equal(names["values"][62], names["found"].values)
    assert names["rewards"][62] == names["found"].reward
    assert (names["value"] > names["rewards"][[63, 62]]).all()
