"""Rows and their verification: the rows are the command's, and no text earns more than one guess."""

import json
import pickle
from fractions import Fraction

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
    with pytest.raises(ValueError, match="one of the task and its lengths"):
        fg.rows(fg.Task("parity", 3), n=1, code=always_zero)


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
