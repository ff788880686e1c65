"""The oracle on the losses of TRL and verl, and the rows in TRL's and verifiers' own loaders."""

import asyncio
import importlib.util
import subprocess
import sys
import zipfile
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


@pytest.mark.parametrize("loss_type, aggregation", [("grpo", "sequence-mean"), ("luspo", "sequence-sum")])
def test_the_level_of_importance_sampling_changes_nothing_on_own_rollouts(loss_type: str, aggregation: str) -> None:
    pytest.importorskip("trl")
    report = example("check_trl").check(loss_type, importance_sampling_level="sequence")
    assert report.aggregation == aggregation and report.agrees and report.best.identical


def test_the_committed_outputs_are_of_the_versions_that_are_tested() -> None:
    trl, verl = pytest.importorskip("trl"), pytest.importorskip("verl")
    for name, library, version in (("trl", "TRL", trl.__version__), ("verl", "verl", verl.__version__)):
        with (PACKAGE.parent / f"results/oracle-{name}.txt").open() as file:
            assert file.readline().startswith(f"{library} {version}, torch {torch_version()}")


def torch_version() -> str:
    import torch

    return torch.__version__.split("+")[0]


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


@pytest.mark.parametrize("rendering", ["symbols", "words"])
def test_verl_reads_every_row_and_scores_it(rendering: str, tmp_path) -> None:
    pytest.importorskip("verl")
    from omegaconf import OmegaConf
    from transformers import AutoTokenizer
    from verl.trainer.ppo.reward import get_custom_reward_fn
    from verl.utils.dataset.rl_dataset import RLHFDataset

    out = {"symbols": tmp_path / "symbols", "words": tmp_path / "words"}
    for name, folder in out.items():
        flags = {"task": "z:3", "lengths": [1, 2, 3], "rows": 20, "trainer": "verl", "rendering": name}
        fg.answer("dataset", out=str(folder), progress=False, **flags)
    tokenizer = AutoTokenizer.from_pretrained(out["symbols"] / "tokenizer")
    settings = OmegaConf.create({"cache_dir": str(tmp_path), "max_prompt_length": 500})
    # A prompt that the tokenizer's template cannot render is left out by verl, with a line of output.
    data = RLHFDataset(str(out[rendering] / "train.parquet"), tokenizer, settings)
    drawn = fg.rows(fg.Task("z:3", [1, 2, 3]), n=20, rendering=rendering)
    assert len(data) == len(drawn)
    reward = {"custom_reward_function": {"path": fg.verifier.__file__, "name": "compute_score"}}
    score = get_custom_reward_fn(OmegaConf.create({"reward": reward}))
    for item, row in zip(data, drawn):
        assert item["raw_prompt"] == [{"role": "user", "content": row.prompt}]
        ids = tokenizer.apply_chat_template(item["raw_prompt"], add_generation_prompt=True, return_dict=False)
        assert ids == [*row.input, tokenizer.sep_token_id] or rendering == "words"
        asked = {"data_source": item["data_source"], "extra_info": item["extra_info"]}
        truth = item["reward_model"]["ground_truth"]
        assert score(solution_str=f"so it is {row.target}.", ground_truth=truth, **asked) == 1.0
        assert score(solution_str=f"{row.target}0", ground_truth=truth, **asked) == 0.0


def test_the_page_on_verl_runs(run_section, tmp_path, monkeypatch) -> None:
    pytest.importorskip("verl")
    monkeypatch.chdir(tmp_path)
    names = run_section("verl")
    assert len(names["data"]) == 20 and names["paid"] == 1.0


def test_the_page_on_openrlhf_runs(run_section, tmp_path, monkeypatch) -> None:
    pytest.importorskip("openrlhf")
    monkeypatch.chdir(tmp_path)
    names = run_section("OpenRLHF")
    drawn = fg.rows(fg.Task("z:3", [1, 2, 3]), n=20)
    assert names["data"].prompts == [row.prompt for row in drawn]
    assert names["data"].labels == [str(row.target) for row in drawn]
    assert names["scored"]["rewards"].tolist() == [1.0]


@pytest.fixture(scope="module")
def taskset(tmp_path_factory) -> Path:
    """A folder with ``foldglass-fold``, installed from its wheel."""
    pytest.importorskip("verifiers")
    if sys.version_info < (3, 11):
        pytest.skip("verifiers needs Python 3.11")
    folder = tmp_path_factory.mktemp("taskset")
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet"]
    source = PACKAGE / "environments" / "foldglass_fold"
    subprocess.run([*pip, "wheel", "--no-deps", "--wheel-dir", str(folder), str(source)], check=True)
    (wheel,) = folder.glob("*.whl")
    subprocess.run([*pip, "install", "--no-deps", "--target", str(folder / "site"), str(wheel)], check=True)
    return folder


def test_the_wheel_of_the_taskset_is_the_package_with_its_licences(taskset) -> None:
    (wheel,) = taskset.glob("*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    assert wheel.name == f"foldglass_fold-{fg.__version__}-py3-none-any.whl"
    files = {name.split("/", 1)[1] for name in names}
    licences = {"licenses/LICENSE-APACHE", "licenses/LICENSE-MIT"}
    assert files == {"__init__.py", "METADATA", "WHEEL", "RECORD", *licences}
    metadata = (taskset / "site").glob("*.dist-info/METADATA")
    assert f"Requires-Dist: foldglass=={fg.__version__}" in next(metadata).read_text()


def test_verifiers_loads_and_scores_the_taskset(taskset, monkeypatch, run_section) -> None:
    monkeypatch.syspath_prepend(str(taskset / "site"))
    tasks = run_section("verifiers")["tasks"]
    assert Path(sys.modules["foldglass_fold"].__file__).is_relative_to(taskset)
    drawn = fg.rows(fg.Task("z:3", [1, 2]), n=20, rendering="words")
    assert [task.data.target for task in tasks] == [row.target for row in drawn]
    assert [task.data.prompt for task in tasks] == [row.prompt for row in drawn]
    assert len({task.key for task in tasks}) == 20 and tasks[3].key == "z:3/0/train/3"
    for task in tasks:
        assert scored(task, f"It is {task.data.target}.") == 1.0
        assert scored(task, f"{task.data.target}0") == 0.0


def scored(task, reply: str) -> float:
    """The reward that verifiers records for a reply."""
    import verifiers.v1 as vf

    trace = vf.Trace(
        task=vf.TraceTask(type=type(task).__name__, data=task.data),
        agent=vf.AgentInfo(config=vf.AgentConfig()),
        nodes=[vf.MessageNode(message=vf.AssistantMessage(content=reply), sampled=True)],
    )
    asyncio.run(task.score(trace))
    assert list(trace.rewards) == ["correct"]
    return trace.rewards["correct"].value
