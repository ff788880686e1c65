"""Tables in pandas, polars, DuckDB, xarray and ArviZ: the same values everywhere."""

import math
from fractions import Fraction

import foldglass as fg
import numpy as np
import pytest

pandas = pytest.importorskip("pandas")
polars = pytest.importorskip("polars")
xarray = pytest.importorskip("xarray")
duckdb = pytest.importorskip("duckdb")
arviz = pytest.importorskip("arviz")


@pytest.fixture(scope="module")
def records(tmp_path_factory):
    study = fg.Study(
        name="frames",
        seed=2**63 + 5,
        classes=[fg.Class(fg.Task("parity", [3, 4])), fg.Class(fg.Task("quasigroup", 3), tied=True)],
        dynamics=[
            dict(kind="cavi", tau=[1e-3, 1e-1], iterations=20, runs=3, keep_code=True),
            dict(kind="chain", kernel="metropolis", tau=1e-2, sweeps=30, runs=4, keep_code=True),
        ],
    )
    out = tmp_path_factory.mktemp("frames")
    study.run(out, progress=False)
    return study.table(out)


def test_pandas_polars_and_duckdb_read_the_same(records, tmp_path) -> None:
    path = tmp_path / "table.parquet"
    records.write(path)
    frame, table = records.to_pandas(), records.to_polars()
    read = duckdb.sql(f"select * from '{path}'").fetchall()
    assert list(frame.columns) == table.columns and len(frame) == len(table) == len(read) == 20
    for number, name in enumerate(table.columns):
        for row in range(len(frame)):
            ours, theirs, third = table[name][row], frame[name].iloc[row], read[row][number]
            if isinstance(ours, polars.Series):
                assert ours.to_list() == list(theirs) == third
            elif ours is None:
                assert third is None and (theirs is None or theirs is pandas.NA or theirs != theirs)
            else:
                assert ours == theirs == third, name
    assert (frame["run"] - 5).min() == -5, "differences of columns do not wrap"
    assert frame["lengths"].iloc[0].tolist() == [3, 4]


def test_records_are_those_of_their_frame(records) -> None:
    frame = records.to_pandas()
    for record, (_, row) in zip(records.records, frame.iterrows()):
        assert record["id"] == row["id"] and record["run"] == row["run"]
        key = "greedy_reward" if record["kind"] == "cavi" else "reward"
        assert record["result"][key] == row[key]
    assert records.to_xarray().sizes["row"] == len(records)
    points = records.summary()
    assert {p["method"] for p in points} == {"cavi", "chain"}


def test_results_are_frames(paper: fg.Class, markov: fg.Class) -> None:
    runs = fg.cavi(paper, tau=1e-3, iterations=30, runs=3, record_every=10, progress=False)
    frame, table = runs.to_pandas(), runs.to_polars()
    assert frame["greedy_exact"].tolist() == runs.greedy_exact
    assert [Fraction(text) for text in table["greedy_exact"]] == runs.greedy_exact
    data = runs.to_xarray()
    assert data["trace"].dims == ("run", "draw") and data.attrs["tau"] == 1e-3
    chains = fg.chain(paper, tau=0.1, sweeps=20, runs=2, record_every=5, keep_code=True, progress=False)
    data = chains.to_xarray()
    assert dict(data.sizes) == {"chain": 2, "draw": 4, "cell": 80}
    assert data["draw"].values.tolist() == [5, 10, 15, 20] and data.attrs["denominator"] == "625"
    for thing in (fg.enumerate(markov, progress=False), fg.density(markov, progress=False)):
        assert len(thing.to_pandas()) == len(thing.to_polars()) == thing.to_xarray().sizes["row"]
    cells = fg.evaluate(fg.Policy.uniform(paper)).to_pandas()
    assert len(cells) == 80 and cells["visits"].sum() == pytest.approx(4)


@pytest.mark.parametrize("tau", [0.04, 0.08, 0.15, 0.3])
def test_arviz_gives_the_same_sizes(tau: float) -> None:
    """Effective sizes: ArviZ's and ours within 5 % on chains at four temperatures."""
    space = fg.Class(fg.Task("parity", 5))
    chains = fg.chain(space, tau=tau, sweeps=40_000, runs=4, seed=1, progress=False)
    data = chains.to_arviz()
    theirs = float(arviz.ess(data, var_names=["reward"])["reward"])
    ours = chains.diagnostics()
    assert ours.effective_size == pytest.approx(theirs, rel=0.05), (ours, theirs)
    rhat = float(arviz.rhat(data, var_names=["reward"])["reward"])
    assert ours.rhat == pytest.approx(rhat, abs=1e-3)
    assert math.isfinite(ours.autocorrelation_time) and ours.autocorrelation_time > 0
    assert np.isfinite(ours.mean) and ours.error > 0


def test_a_fleet_is_a_frame() -> None:
    fleet = fg.train("z:3", models=2, quick=True, steps=20, backend="cpu", progress=False)
    frame = fleet.to_pandas()
    assert frame["seed"].tolist() == [0, 1] and "greedy_1" in frame


def test_an_estimate_is_a_frame_with_a_row_per_cell_and_token() -> None:
    space = fg.Class(fg.Task("z:3", 2))
    found = fg.estimator(fg.Policy.dirichlet(space, rng=3), "reinforce", batch=7)
    assert found.to_pandas().shape == (space.cells * 3, 5)
