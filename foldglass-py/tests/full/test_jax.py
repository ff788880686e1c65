"""The bridge to JAX: exact objectives under grad, jit and vmap."""

from pathlib import Path

import foldglass as fg
import numpy as np
import pytest

jax = pytest.importorskip("jax")
import jax.numpy as jnp  # noqa: E402
from jax.test_util import check_grads  # noqa: E402

import foldglass.jax as fgj  # noqa: E402

SPACE = fg.Class(fg.Task("z:3", [1, 2, 3]))


def logits(*lead: int) -> np.ndarray:
    return np.random.default_rng(0).normal(size=(*lead, *SPACE.shape))


def exact(table: np.ndarray) -> tuple[float, np.ndarray]:
    """J and its gradient in the logits, by NumPy."""
    rows = np.exp(table)
    rows /= rows.sum(-1, keepdims=True)
    found = fg.evaluate(SPACE, rows)
    return found.reward, rows * (found.values - (rows * found.values).sum(-1, keepdims=True))


def test_the_reward_and_its_gradient_are_exact() -> None:
    table = logits()
    reward, gradient = jax.value_and_grad(lambda given: fgj.reward(SPACE, given))(jnp.asarray(table))
    expected, derivative = exact(table)
    # Single precision outside, double inside: what comes back is the exact number, rounded once.
    assert reward.dtype == gradient.dtype == jnp.float32
    rounded = table.astype(np.float32).astype(float)
    assert float(reward) == np.float32(exact(rounded)[0])
    np.testing.assert_array_equal(np.asarray(gradient), exact(rounded)[1].astype(np.float32))
    assert float(reward) == pytest.approx(expected, abs=1e-6)
    np.testing.assert_allclose(gradient, derivative, atol=1e-6)


@pytest.mark.parametrize("objective", [None, "pass@4", "maxrl:8", "grpo-std"])
def test_gradients_are_those_of_differences(objective) -> None:
    with jax.experimental.enable_x64() if hasattr(jax.experimental, "enable_x64") else jax.enable_x64(True):
        given = jnp.asarray(logits(2))
        check_grads(lambda x: fgj.reward(SPACE, x, objective), (given,), order=1, modes=["rev"])
        assert fgj.reward(SPACE, given, objective).dtype == jnp.float64


@pytest.mark.parametrize("device", {one.platform: one for one in [*jax.devices("cpu"), *jax.devices()]}.values(), ids=str)
def test_it_works_on_every_kind_of_device_here(device) -> None:
    table = jax.device_put(jnp.asarray(logits(2)), device)
    reward, gradient = jax.jit(jax.vmap(jax.value_and_grad(lambda given: fgj.reward(SPACE, given))))(table)
    assert reward.devices() == gradient.devices() == {device}
    expected, derivative = exact(np.asarray(table[1]).astype(float))
    assert float(reward[1]) == np.float32(expected)
    np.testing.assert_array_equal(np.asarray(gradient[1]), derivative.astype(np.float32))
    rows = jax.nn.softmax(table)
    np.testing.assert_allclose(fg.rewards(SPACE, rows), np.asarray(reward), atol=1e-6)


def test_it_works_under_jit_and_vmap() -> None:
    table = jnp.asarray(logits(4, 2))
    plain = fgj.reward(SPACE, table)
    assert plain.shape == (4, 2)

    def one(given):
        return fgj.reward(SPACE, given)

    both = jax.jit(jax.vmap(jax.vmap(one)))
    np.testing.assert_array_equal(both(table), plain)
    gradients = jax.jit(jax.vmap(jax.vmap(jax.grad(one))))(table)
    whole = jax.grad(lambda given: fgj.reward(SPACE, given).sum())(table)
    np.testing.assert_allclose(gradients, whole, atol=1e-7)
    np.testing.assert_allclose(gradients[3, 1], exact(logits(4, 2)[3, 1])[1], atol=1e-6)
    assert fgj.reward(SPACE, table[:0]).shape == (0, 2)
    half = fgj.reward(SPACE, table.astype(jnp.bfloat16))
    assert half.dtype == jnp.bfloat16


def test_a_wide_batch_does_not_wait_for_itself() -> None:
    space = fg.Class(fg.Task("quasigroup", 7), window=(0, 3))
    step = jax.jit(jax.value_and_grad(lambda given: fgj.reward(space, given).mean()))
    table = jnp.zeros((8, *space.shape))
    for _ in range(3):
        reward, gradient = step(table)
        table = table + gradient
    assert float(reward) >= 0.2


def test_what_is_refused_says_what_is_needed() -> None:
    with pytest.raises(ValueError, match=r"logits of shape \(3,\).*\(\.\.\., 21, 3\)"):
        fgj.reward(SPACE, jnp.zeros(3))
    with pytest.raises(TypeError, match="int32"):
        fgj.reward(SPACE, jnp.zeros(SPACE.shape, int))
    with pytest.raises(ValueError, match="pass@K"):
        jax.jit(lambda given: fgj.reward(SPACE, given, "pass"))(jnp.zeros(SPACE.shape))


def test_arrays_of_jax_are_policies() -> None:
    rows = jax.nn.softmax(jnp.asarray(logits()))
    double = np.asarray(rows).astype(float)
    expected = fg.evaluate(SPACE, double / double.sum(1, keepdims=True)).reward
    assert fg.evaluate(SPACE, rows).reward == expected
    assert fg.evaluate(SPACE, rows.T.copy().T).reward == expected
    half = fg.evaluate(SPACE, rows.astype(jnp.bfloat16)).reward
    assert half == pytest.approx(expected, abs=1e-2)


def test_the_example_learns() -> None:
    path = Path(__file__).parents[2] / "examples/jax_network.py"
    names: dict = {"__name__": "example"}
    exec(compile(path.read_text(), str(path), "exec"), names)
    found = names["main"]()
    assert found["maxrl:16"][-1] > 0.99 and found["J"][-1] > 0.6
    assert found["J"][0] == found["maxrl:16"][0] < 0.4


def test_the_page_on_jax_runs(run_section) -> None:
    assert run_section("JAX")["rewards"].min() > 0.9
