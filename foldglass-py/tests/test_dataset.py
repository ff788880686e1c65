"""Rows and their verification: the rows are the command's, and no text earns more than one guess."""

import json
import pickle
import re
import shlex
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import foldglass as fg
import numpy as np
import pytest
from foldglass import verifier

TASK = fg.Task("z:3", [1, 2, 3])


def test_rows_have_their_products_and_chance() -> None:
    task = fg.Task("parity", [3, 4], inputs="markov:9/10")
    drawn = fg.rows(task, n=200, rng=1)
    space = fg.Class(task)
    assert len(drawn) == 200 and {row.length for row in drawn} == {3, 4}
    for row in drawn:
        assert list(row.products) == space.fold(row.input) and row.target == row.products[-1]
        assert row.chance == (Fraction(1, 2) if row.length == 3 else Fraction(41, 50))
        assert row.table == ((0, 1), (1, 0)) and row.inputs == "markov:9/10"
    assert drawn.chance == Fraction(33, 50)
    assert pickle.loads(pickle.dumps(drawn[:3]))[2] == drawn[2]


def test_rows_depend_on_their_number_and_seed_alone() -> None:
    ten = list(fg.rows(TASK, n=10))
    assert ten[4:] == list(fg.rows(TASK, n=6, first=4))
    assert ten != list(fg.rows(TASK, n=10, rng=1))
    assert [row.input for row in ten] != [row.input for row in fg.rows(TASK, n=10, split="test")]
    generator = np.random.default_rng(0)
    assert list(fg.rows(TASK, n=5, rng=generator)) != list(fg.rows(TASK, n=5, rng=generator))
    assert {row.length for row in fg.rows(TASK, 5, n=10)} == {5}


def test_lengths_number_and_seed_may_be_positional() -> None:
    drawn = list(fg.rows(TASK, [1, 3], 20, 7))
    assert drawn == list(fg.rows(fg.Task("z:3", [1, 3]), n=20, rng=7)) == list(fg.rows(TASK, [1, 3], 20, seed=7))
    assert drawn != list(fg.rows(TASK, [1, 3], 20, 8)) and {row.length for row in drawn} == {1, 3}


def test_lengths_keep_the_weights_of_the_task_or_are_refused() -> None:
    weighted = fg.Task("z:3", [1, 2, 3], length_weights=["98", "1", "1"])
    counts = [0, 0, 0, 0]
    for row in fg.rows(weighted, [3, 1], n=400):
        counts[row.length] += 1
    # 4 of length 3 are expected; without weights 200.
    assert counts[2] == 0 and 0 < counts[3] < 20 and counts[1] + counts[3] == 400
    assert list(fg.rows(weighted, [1, 2, 3], n=30)) == list(fg.rows(weighted, n=30)) != list(fg.rows(TASK, n=30))
    with pytest.raises(ValueError, match="no weight for 4.*length_weights"):
        fg.rows(weighted, [1, 4])


def test_rows_of_a_process_reward_are_refused() -> None:
    # Its lengths must not hide it: other lengths make a task of their own.
    for lengths in (None, 2):
        with pytest.raises(ValueError, match='Task.*rewards single steps.*reward="final"'):
            fg.rows(fg.Task("z:3", 2, reward="process"), lengths, n=2)
    space = fg.Class(fg.Task("z:3", 2, reward="process:1,2"))
    with pytest.raises(ValueError, match="a code of.*one of the task"):
        fg.rows(fg.Task("z:3", 2), n=2, code=fg.Code(space, [0] * space.cells))


def test_rows_become_lines_and_dicts(tmp_path) -> None:
    drawn = fg.rows(TASK, n=4, rendering="words")
    drawn.write_jsonl(tmp_path / "rows.jsonl")
    lines = [json.loads(line) for line in (tmp_path / "rows.jsonl").read_text().splitlines()]
    assert [tuple(line["input"]) for line in lines] == [row.input for row in drawn]
    assert lines[0]["chance"] == "1/3" and "code_correct" not in lines[0] and "table" in lines[0]["prompt"]


def test_a_code_tags_its_rows() -> None:
    space = fg.Class(fg.Task("parity", 2))
    always_zero = fg.Code(space, np.zeros(space.cells, dtype=int))
    drawn = fg.rows(fg.Task("parity", 2), n=50, code=always_zero)
    assert all(row.code_answer == 0 and row.code_correct == (row.target == 0) for row in drawn)
    assert 0 < sum(bool(row.code_correct) for row in drawn) < 50
    for other in (fg.Task("parity", 3), fg.Task("parity", 2, inputs="markov:9/10")):
        with pytest.raises(ValueError, match="one of the task, its lengths, its law and its reward"):
            fg.rows(other, n=1, code=always_zero)


def test_mistakes_are_named() -> None:
    with pytest.raises(ValueError, match="'train' or 'test'"):
        fg.rows(TASK, n=1, split="dev")
    with pytest.raises(ValueError, match="symbols, words, words-hidden"):
        fg.rows(TASK, n=1, rendering="word")
    with pytest.raises(ValueError, match="target, label or answer"):
        fg.verify("2", {"question": "?"})


RIGHT = ["2", " 2\n", "answer: 2.", "**2**", "\\boxed{2}", "<answer>2</answer>", "0 1 2", "2 * 1 = 2", "3 - 2", "1->2",
         "($2$)", "0, 1, 2", "2...", "2,", "12 is too many, so 2", "2<|im_end|>"]  # fmt: skip
WRONG = ["12", "20", "2.0", "0.2", "-2", "\u22122", "+2", "02", "2/3", "1/2", "2%", "2e0", "2nd", "s_2", "x2", "1,2", "1-2",
         "2 or 3", "2 3", "\uff12", "\u00b2", "\u0662", "2\u20e3", "2\u0338", "two", "", "\u00bd", "1 \uff12", "None"]  # fmt: skip


@pytest.mark.parametrize("text", RIGHT)
def test_the_last_number_is_the_answer(text: str) -> None:
    assert fg.verify(text, {"target": 2})


@pytest.mark.parametrize("text", WRONG)
def test_what_only_contains_the_answer_is_wrong(text: str) -> None:
    assert not fg.verify(text, {"target": 2})


def test_no_text_has_two_answers() -> None:
    for text in [*RIGHT, *WRONG, "0 1 2 3", "0 or 1 or 2", "{0,1,2}", "012"]:
        assert sum(fg.verify(text, {"target": target}) for target in range(13)) <= 1


def test_answers_may_be_numbers_but_not_truths() -> None:
    row = fg.rows(TASK, n=1)[0]
    assert fg.verify(row.target, row) and fg.verify(np.int64(row.target), row)
    assert not fg.verify(None, row) and not fg.verify(True, {"target": 1}) and not fg.verify("1" * 100_000, row)


def test_trainers_call_the_same_verification() -> None:
    spoken = [[{"role": "assistant", "content": "so 2."}], "2", "12", []]
    assert verifier.reward(spoken, target=[2, 2, 2, 2], prompts=None, completion_ids=None) == [1.0, 1.0, 0.0, 0.0]
    assert verifier.compute_score("foldglass/z:3", "it is 2", "2", extra_info={"index": 0}) == 1.0
    # The prompt ends on a number, which is not an answer.
    scored = verifier.reward_func(["1 * 2", "1 * 2 = 2"], ["1 * 2", "1 * 2"], ["2", "2"])
    assert list(map(float, scored["rewards"])) == [0.0, 1.0]
    assert pickle.loads(pickle.dumps(verifier.reward)) is verifier.reward


def test_the_section_of_the_documentation_runs(run_section, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    names = run_section("Rows and a verifier")
    assert len(names["rows"]) == 1000 and {row.length for row in names["hard"]} == {8}
    assert 0 < len(names["wrong"]) < 100 and len((tmp_path / "rows.jsonl").read_text().splitlines()) == 1000
    # The commands of the section, one after the other in the folder that its code has left.
    (block,) = re.findall(r"^```sh\n(.*?)^```", names["section"], re.DOTALL | re.MULTILINE)
    program = "from foldglass._program import main; raise SystemExit(main())"
    for line in block.splitlines():
        name, *words = shlex.split(line)
        assert name == "foldglass"
        subprocess.run([sys.executable, "-c", program, *words], check=True, capture_output=True)
    files = ["rows/test.jsonl", "rows/tokenizer/tokenizer.json", "questions/train.parquet", "tagged/train.jsonl"]
    assert all((tmp_path / file).stat().st_size > 0 for file in files)
    tagged = [json.loads(line) for line in (tmp_path / "tagged/train.jsonl").read_text().splitlines()]
    assert {row["code_answer"] for row in tagged} == {0} and {row["code_correct"] for row in tagged} == {True, False}


def test_every_section_of_the_page_with_code_is_run_by_a_test() -> None:
    folder = Path(__file__).parent
    page = (folder.parents[1] / "docs/bridges.md").read_text()
    sections = re.split(r"^## ", page, flags=re.MULTILINE)[1:]
    with_code = {section.splitlines()[0] for section in sections if "\n```" in section}
    run = {name for test in folder.rglob("test_*.py") for name in re.findall(r'run_section\("(.+?)"\)', test.read_text())}
    assert with_code == run


def test_blocks_are_of_the_languages_that_are_run() -> None:
    page = (Path(__file__).parents[2] / "docs/bridges.md").read_text()
    blocks = re.findall(r"^```(\w+)$", page, re.MULTILINE)
    assert set(blocks) == {"python", "sh"} and blocks.count("sh") == 1
