"""The bridge to PyTorch: exact objectives under autograd, compile and vmap."""

import warnings
from pathlib import Path

import foldglass as fg
import numpy as np
import pytest

torch = pytest.importorskip("torch")

import foldglass.torch as fgt  # noqa: E402

SPACE = fg.Class(fg.Task("z:3", [1, 2, 3]))
DEVICES = ["cpu", *(["cuda"] if torch.cuda.is_available() else [])]


def logits(*lead: int, kind=torch.float64):
    generator = torch.Generator().manual_seed(0)
    table = torch.randn(*lead, *SPACE.shape, generator=generator, dtype=torch.float64)
    return table.to(kind).requires_grad_()


def exact(table) -> tuple[float, np.ndarray]:
    """J and its gradient in the logits, by NumPy."""
    rows = np.exp(table.detach().double().numpy())
    rows /= rows.sum(-1, keepdims=True)
    found = fg.evaluate(SPACE, rows)
    return found.reward, rows * (found.values - (rows * found.values).sum(-1, keepdims=True))


@pytest.mark.parametrize("kind", [torch.float64, torch.float32, torch.bfloat16])
def test_the_reward_and_its_gradient_are_exact(kind) -> None:
    table = logits(kind=kind)
    reward = fgt.reward(SPACE, table)
    reward.backward()
    expected, gradient = exact(table)
    assert reward.dtype == table.grad.dtype == kind
    # Double inside: what comes back is the exact number, rounded once.
    precision = 1e-12 if kind == torch.float64 else torch.finfo(kind).eps
    assert reward.item() == pytest.approx(expected, rel=precision)
    np.testing.assert_allclose(table.grad.double().numpy(), gradient, rtol=precision, atol=1e-15)


@pytest.mark.parametrize("objective", [None, "pass@4", "maxrl:8", "grpo-std"])
def test_gradients_are_those_of_differences(objective) -> None:
    assert torch.autograd.gradcheck(lambda given: fgt.reward(SPACE, given, objective), logits(2, 2))


def test_a_second_derivative_is_refused() -> None:
    table = logits()
    (gradient,) = torch.autograd.grad(fgt.reward(SPACE, table), table, create_graph=True)
    # As a part of something else, where the missing term would not be seen.
    with pytest.raises(RuntimeError, match="a first derivative only"):
        (gradient.square().sum() + table.square().sum()).backward()
    with pytest.raises(RuntimeError, match="a first derivative only"):
        torch.func.jacrev(torch.func.jacrev(lambda given: fgt.reward(SPACE, given)))(logits().detach())


@pytest.mark.parametrize("backend", ["eager", "aot_eager", "inductor"])
def test_it_works_in_one_compiled_graph(backend: str) -> None:
    def loss(table):
        return -fgt.reward(SPACE, 2.0 * table, "pass@2").mean() + table.square().mean()

    torch.compiler.reset()
    compiled = torch.compile(loss, backend=backend, fullgraph=True)
    for lead in ((), (3,), (3, 2)):
        ours, plain = logits(*lead, kind=torch.float32), logits(*lead, kind=torch.float32)
        found, expected = compiled(ours), loss(plain)
        found.backward()
        expected.backward()
        assert found.item() == pytest.approx(expected.item(), rel=1e-6)
        torch.testing.assert_close(ours.grad, plain.grad)


@pytest.mark.parametrize("backend", ["eager", "aot_eager", "inductor"])
def test_a_second_derivative_is_refused_in_a_compiled_graph_too(backend: str) -> None:
    torch.compiler.reset()
    compiled = torch.compile(lambda given: fgt.reward(SPACE, given), backend=backend, fullgraph=True)
    table = logits()
    (gradient,) = torch.autograd.grad(compiled(table), table, create_graph=True)
    # By backward(): of no compiled function does PyTorch notice it in torch.autograd.grad with its inputs named.
    with pytest.raises(RuntimeError, match="a first derivative only|does not currently support double backward"):
        (gradient.square().sum() + table.square().sum()).backward()


@pytest.mark.parametrize("device", DEVICES)
def test_results_stay_on_the_device_of_the_logits(device: str) -> None:
    table = logits(2).detach().to(device).requires_grad_()
    reward = fgt.reward(SPACE, table)
    reward.sum().backward()
    assert reward.device == table.grad.device == table.device
    for number in (0, 1):
        expected, gradient = exact(table[number].cpu())
        assert reward[number].item() == pytest.approx(expected, rel=1e-12)
        np.testing.assert_allclose(table.grad[number].cpu().numpy(), gradient, rtol=1e-12, atol=1e-15)
    rows = torch.softmax(table, -1)
    np.testing.assert_allclose(fg.rewards(SPACE, rows), reward.detach().cpu().numpy(), rtol=1e-12)


def test_it_works_under_vmap() -> None:
    table = logits(4, 2).detach()
    plain = fgt.reward(SPACE, table)
    assert plain.shape == (4, 2)

    def one(given):
        return fgt.reward(SPACE, given)

    for axis in (0, 1):
        mapped = torch.func.vmap(one, in_dims=axis, out_dims=axis)(table)
        torch.testing.assert_close(mapped, plain, rtol=0, atol=0)
    gradients = torch.func.vmap(torch.func.vmap(torch.func.grad(one)))(table)
    np.testing.assert_allclose(gradients[3, 1].numpy(), exact(table[3, 1])[1], rtol=1e-12, atol=1e-15)
    assert fgt.reward(SPACE, table[:0]).shape == (0, 2)


def test_what_is_refused_says_what_is_needed() -> None:
    with pytest.raises(ValueError, match=r"logits of shape \(3,\).*\(\.\.\., 21, 3\)"):
        fgt.reward(SPACE, torch.zeros(3))
    with pytest.raises(TypeError, match="torch.int64"):
        fgt.reward(SPACE, torch.zeros(SPACE.shape, dtype=torch.int64))
    with pytest.raises(ValueError, match="pass@K"):
        fgt.reward(SPACE, torch.zeros(SPACE.shape), "pass")


def test_the_operator_is_one_of_pytorch() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.library.opcheck(torch.ops.foldglass.objective, (logits(2).detach(), SPACE._key, "pass@2"))


def test_tensors_are_policies() -> None:
    rows = torch.softmax(logits(kind=torch.float32), -1)
    double = rows.detach().double()
    expected = fg.evaluate(SPACE, double / double.sum(1, keepdim=True)).reward
    # With a gradient, of other strides, and as a batch.
    assert fg.evaluate(SPACE, rows).reward == expected
    assert fg.evaluate(SPACE, rows.detach().T.contiguous().T).reward == expected
    assert fg.rewards(SPACE, rows[None].expand(3, -1, -1)).tolist() == [expected] * 3
    half = fg.evaluate(SPACE, rows.bfloat16()).reward
    assert half == pytest.approx(expected, abs=1e-2)


def test_the_example_learns() -> None:
    path = Path(__file__).parents[2] / "examples/torch_network.py"
    names: dict = {"__name__": "example"}
    exec(compile(path.read_text(), str(path), "exec"), names)
    found = names["main"]()
    assert found["maxrl:16"][-1] > 0.99 and found["J"][-1] > 0.6
    assert found["J"][0] == found["maxrl:16"][0] < 0.4
    page = (Path(__file__).parents[3] / "docs/bridges.md").read_text()
    assert f"trained on J ends at {found['J'][-1]:.4f} (PyTorch, seed 0, {len(found['J']) - 1} steps)" in page
    assert f"on `maxrl:16` at {found['maxrl:16'][-1]:.4f}." in page


def test_the_page_on_pytorch_runs(run_section) -> None:
    assert run_section("PyTorch")["rewards"].min() > 0.9
