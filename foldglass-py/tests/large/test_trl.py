"""The example with TRL: the table that is read back is the model's policy, and GRPO trains it."""

import itertools
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("trl")

import foldglass as fg  # noqa: E402


@pytest.fixture(scope="module")
def example() -> dict:
    path = Path(__file__).parents[2] / "examples/trl_grpo.py"
    names: dict = {"__name__": "example"}
    exec(compile(path.read_text(), str(path), "exec"), names)
    return names


def test_the_table_read_back_has_the_reward_of_the_model(example) -> None:
    """Against the model itself, asked for every input and every answer."""
    torch.manual_seed(3)
    model, space = example["make_model"](), example["SPACE"]
    with torch.no_grad():
        model.lm_head.weight *= 20
    reward = 0.0
    for length in space.lengths:
        for x in itertools.product(range(space.q), repeat=length):
            for answer in itertools.product(range(space.q), repeat=length):
                if answer[-1] != space.fold(x)[-1]:
                    continue
                asked = [[*x, example["SEP"], *answer[:t]] for t in range(length)]
                rows = example["next_symbols"](model, asked)
                chance = rows[torch.arange(length), list(answer)].prod().item()
                reward += chance / (3 * space.q**length)
    found = fg.evaluate(space, example["read_back"](model, space))
    assert found.reward == pytest.approx(reward, abs=1e-6)
    assert abs(reward - 1 / 3) > 1e-3, "the policy is not the uniform one"


def test_prompts_are_those_of_the_rows_and_the_tokenizer_that_foldglass_writes(example, tmp_path) -> None:
    from transformers import AutoTokenizer

    fg.answer("dataset", task="z:3", lengths=[1, 2, 3], rows=5, trainer="trl", out=str(tmp_path), progress=False)
    tokenizer = AutoTokenizer.from_pretrained(tmp_path / "tokenizer")
    for row in fg.rows(fg.Task("z:3", [1, 2, 3]), n=5):
        assert tokenizer(row.prompt)["input_ids"] == [*row.input, example["SEP"]]
    special = [tokenizer.pad_token_id, tokenizer.eos_token_id, tokenizer.sep_token_id, tokenizer.unk_token_id]
    assert special == [example[name] for name in ("PAD", "EOS", "SEP", "UNK")]
    assert len(tokenizer) == example["make_model"]().config.vocab_size


def test_grpo_raises_the_exact_reward(example, capsys) -> None:
    found = example["main"](steps=26)
    assert len(found["exact"]) == len(found["sampled"]) == 26
    assert found["exact"][-1] > found["exact"][0] + 0.1
    assert "standard error" in capsys.readouterr().out


def test_the_page_on_trl_runs(run_section, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    names = run_section("TRL")
    assert names["trainer"].state.global_step == 2
