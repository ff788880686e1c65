"""The files of `foldglass dataset` in the libraries that read them."""

import foldglass as fg
import pytest


def written(tmp_path, **flags):
    fg.answer("dataset", task="z:3", lengths=[1, 2, 3], rows=20, out=str(tmp_path / "rows"), progress=False, **flags)
    return tmp_path / "rows"


def test_the_tokenizer_of_symbols_loads(tmp_path) -> None:
    tokenizers = pytest.importorskip("tokenizers")
    made = tokenizers.Tokenizer.from_file(str(written(tmp_path) / "tokenizer" / "tokenizer.json"))
    row = fg.rows(fg.Task("z:3", [1, 2, 3]), n=1)[0]
    ids = made.encode(row.prompt).ids
    assert ids == [*row.input, made.token_to_id("<sep>")] and made.get_vocab_size() == 7
    assert made.decode([0, 2, 1, made.token_to_id("<eos>")]) == "0 2 1"
    assert fg.verify(made.decode([*row.products, made.token_to_id("<eos>")]), row)
    assert made.encode("0 7").ids == [0, made.token_to_id("<unk>")]


def test_frames_read_the_rows_of_verl(tmp_path) -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.read_parquet(written(tmp_path, trainer="verl") / "train.parquet")
    drawn = fg.rows(fg.Task("z:3", [1, 2, 3]), n=20)
    assert list(frame.columns) == ["data_source", "prompt", "ability", "reward_model", "extra_info"]
    for (_, found), row in zip(frame.iterrows(), drawn):
        assert list(found.prompt) == [{"role": "user", "content": row.prompt}]
        assert found.reward_model == {"style": "rule", "ground_truth": str(row.target)}
        assert found.extra_info["index"] == row.index and found.extra_info["chance"] == "1/3"


def test_rows_become_a_frame() -> None:
    pytest.importorskip("pandas")
    frame = fg.rows(fg.Task("z:3", [1, 2, 3]), n=20).to_pandas()
    assert len(frame) == 20 and set(frame.target) <= {0, 1, 2} and "code_answer" not in frame
