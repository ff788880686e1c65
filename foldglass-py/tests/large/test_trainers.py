"""The oracle on the losses of TRL and verl, and the rows in TRL's and verifiers' own loaders."""

import asyncio
import importlib.util
import sys
from pathlib import Path

import foldglass as fg
import pytest

PACKAGE = Path(__file__).parents[2]


def example(name: str):
    spec = importlib.util.spec_from_file_location(name, PACKAGE / "examples" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_a_loss_in_torch_is_recognised() -> None:
    torch = pytest.importorskip("torch")

    def loss(logp, old_logp, ref_logp, rewards, mask, group):
        others = torch.stack([(rewards * ((group == g).double())).sum() for g in group]) - rewards
        size = torch.stack([(group == g).sum() for g in group]) - 1
        ratio = torch.exp(logp - logp.detach())
        return -((rewards - others / size)[:, None] * ratio * mask).sum() / mask.sum()

    report = fg.oracle.check(loss)
    assert (report.advantage, report.aggregation) == ("rloo", "token-mean") and report.agrees
    assert report.derivatives == "derivatives by torch"


@pytest.mark.parametrize(
    "loss_type, aggregation, factor",
    [
        ("grpo", "sequence-mean", 1),
        ("sapo", "sequence-mean", 1),
        ("bnpo", "token-mean", 1),
        ("dapo", "token-mean", 1),
        ("vespo", "token-mean", 1),
        ("cispo", "token-mean", 0.2),
        ("dr_grpo", "constant", 1),
        ("luspo", "sequence-sum", 1),
    ],
)
def test_the_loss_types_of_trl_are_told_apart(loss_type: str, aggregation: str, factor: float) -> None:
    pytest.importorskip("trl")
    report = example("check_trl").check(loss_type)
    assert (report.advantage, report.aggregation) == ("grpo (ddof 1, eps 0.0001)", aggregation)
    assert report.best.identical and report.best.factor == pytest.approx(factor, rel=1e-6)
    assert report.agrees == (factor == 1) and report.padding == 0 and not report.ordered


@pytest.mark.parametrize(
    "scale_rewards, advantage",
    [("batch", "group mean, batch deviation (ddof 1, eps 0.0001)"), ("none", "dr-grpo")],
)
def test_the_advantages_of_trl_are_told_apart(scale_rewards: str, advantage: str) -> None:
    pytest.importorskip("trl")
    report = example("check_trl").check("dapo", scale_rewards=scale_rewards)
    assert report.agrees and (report.advantage, report.aggregation) == (advantage, "token-mean")


@pytest.mark.parametrize(
    "loss_type, corrected, penalty, aggregation",
    [
        ("grpo", True, "k2", "sequence-mean"),
        ("grpo", False, "k3", "sequence-mean"),
        ("dapo", True, "k2", "token-mean"),
        ("cispo", True, "k2", "token-mean"),
    ],
)
def test_the_penalty_of_trl_has_the_gradient_of_k2_unless_its_correction_is_off(
    loss_type: str, corrected: bool, penalty: str, aggregation: str
) -> None:
    pytest.importorskip("trl")
    report = example("check_trl").check(loss_type, beta=0.04, use_bias_correction_kl=corrected)
    assert (report.penalty.name, report.penalty.aggregation) == (penalty, aggregation)
    # Of cispo too, whose other part is 0.2 times as large.
    assert report.penalty.factor == pytest.approx(0.04)
    assert report.best.factor == pytest.approx(0.2 if loss_type == "cispo" else 1, rel=1e-6)


@pytest.mark.parametrize(
    "mode, aggregation",
    [
        ("token-mean", "token-mean"),
        ("token-sum", "sum"),
        ("seq-mean-token-sum", "sequence-sum"),
        ("seq-mean-token-mean", "sequence-mean"),
        ("seq-mean-token-sum-norm", "constant"),
    ],
)
def test_the_aggregations_of_verl_are_told_apart(mode: str, aggregation: str) -> None:
    pytest.importorskip("verl")
    report = example("check_verl").check(mode)
    assert (report.advantage, report.aggregation) == ("grpo (ddof 1, eps 1e-06)", aggregation)
    assert report.agrees and report.best.identical


@pytest.mark.parametrize(
    "advantage, known",
    [
        ("grpo_vectorized", "grpo (ddof 1, eps 1e-06)"),
        ("rloo", "rloo"),
        ("rloo_vectorized", "rloo"),
        ("opo", "dr-grpo"),
        ("reinforce_plus_plus_baseline", None),
    ],
)
def test_the_advantages_of_verl_are_told_apart(advantage: str, known: str | None) -> None:
    pytest.importorskip("verl")
    report = example("check_verl").check("token-mean", advantage)
    assert report.advantage == known
    assert (report.best is None) == (known is None)
    if known is not None:
        assert report.aggregation == "token-mean" and report.agrees and report.best.identical


@pytest.mark.parametrize(
    "penalty, gradient", [("k1", "k1"), ("k2", "k2"), ("k3", "k3"), ("k1+", "k2"), ("k3+", "k2"), ("abs", "abs")]
)
def test_the_penalties_of_verl_are_told_apart(penalty: str, gradient: str) -> None:
    pytest.importorskip("verl")
    report = example("check_verl").check("token-mean", "rloo", penalty)
    assert report.advantage == "rloo" and report.best.identical
    assert (report.penalty.name, report.penalty.aggregation) == (gradient, "token-mean")
    assert report.penalty.factor == pytest.approx(0.1)


def test_verifiers_loads_and_scores_the_taskset(monkeypatch) -> None:
    pytest.importorskip("verifiers")
    if sys.version_info < (3, 11):
        pytest.skip("verifiers needs Python 3.11")
    import verifiers.v1 as vf
    from verifiers.v1.utils.loaders import taskset_class

    monkeypatch.syspath_prepend(str(PACKAGE / "environments" / "foldglass_fold"))
    kind = taskset_class("foldglass-fold")
    config = vf.taskset_config_type("foldglass-fold")(id="foldglass-fold", task_name="z:3", lengths=[1, 2], rows=20)
    tasks = list(kind(config))
    drawn = fg.rows(fg.Task("z:3", [1, 2]), n=20, rendering="words")
    assert [task.data.target for task in tasks] == [row.target for row in drawn]
    assert [task.data.prompt for task in tasks] == [row.prompt for row in drawn]
    assert len({task.key for task in tasks}) == 20

    class Reply:
        def __init__(self, text: str) -> None:
            self.last_reply = text

    for task in tasks:
        assert asyncio.run(task.correct(Reply(f"It is {task.data.target}."))) == 1.0
        assert asyncio.run(task.correct(Reply(f"{task.data.target}0"))) == 0.0
