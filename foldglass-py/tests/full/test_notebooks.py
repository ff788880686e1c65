"""The notebooks: executed from the first cell to the last, with small outputs."""

from pathlib import Path

import pytest

nbformat = pytest.importorskip("nbformat")
nbclient = pytest.importorskip("nbclient")
pytest.importorskip("ipykernel")

NOTEBOOKS = sorted((Path(__file__).parents[2] / "notebooks").glob("*.ipynb"))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs(path: Path, tmp_path: Path) -> None:
    assert path.stat().st_size < 100_000, "outputs are committed small"
    book = nbformat.read(path, as_version=4)
    resources = {"metadata": {"path": str(tmp_path)}}
    nbclient.NotebookClient(book, timeout=300, kernel_name="python3", resources=resources).execute()
    before = [cell for cell in nbformat.read(path, as_version=4).cells if cell.cell_type == "code"]
    now = [cell for cell in book.cells if cell.cell_type == "code"]
    for committed, fresh in zip(before, now):
        # What is printed comes in as many pieces as the machine is slow.
        said = "".join(out.get("text", "") for out in committed.outputs if out.output_type == "stream")
        says = "".join(out.get("text", "") for out in fresh.outputs if out.output_type == "stream")
        assert said == says, "what is printed is what is committed"


def test_all_six_are_there() -> None:
    assert len(NOTEBOOKS) == 6
