"""Studies: the bytes of the command line, however they are run and killed."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import foldglass as fg
import pytest

STUDY = """
name = "killed"
seed = 7
[[class]]
task = "quasigroup"
lengths = 6
[[class]]
task = "parity"
lengths = [3, 4]
tied = true
[[dynamics]]
kind = "cavi"
tau = [1e-10, 1e-3]
iterations = 4000
runs = 24
[[dynamics]]
kind = "chain"
kernel = "metropolis"
tau = 1e-2
sweeps = 400
runs = 9
keep_code = true
"""


def program(*words: object, check: bool = True) -> subprocess.CompletedProcess:
    command = [str(Path(sys.executable).with_name("foldglass")), *map(str, words)]
    return subprocess.run(command, check=check, capture_output=True, text=True)


@pytest.fixture(scope="module")
def study_file(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("study") / "killed.toml"
    path.write_text(STUDY)
    return path


@pytest.fixture(scope="module")
def expected(study_file: Path, tmp_path_factory) -> bytes:
    """The table of `foldglass run` and `foldglass collect`."""
    out = tmp_path_factory.mktemp("cli") / "out"
    program("run", study_file, "--out", out)
    program("collect", out, "--out", out / "table.jsonl")
    return (out / "table.jsonl").read_bytes()


def table(study: fg.Study, out: Path) -> bytes:
    study.table(out).write(out / "python.jsonl")
    return (out / "python.jsonl").read_bytes()


def test_a_study_here_has_the_bytes_of_the_command_line(study_file, expected, tmp_path) -> None:
    study = fg.Study.read(study_file)
    done = study.run(tmp_path / "a", threads=2, progress=False)
    assert done.finished and (done.done_before, done.done_now) == (0, 114)
    assert table(study, tmp_path / "a") == expected
    again = study.run(tmp_path / "a", progress=False)
    assert (again.done_before, again.done_now) == (114, 0)
    for number in (1, 2, 3):
        study.run(tmp_path / "b", shard=(number, 3), progress=False)
    assert table(study, tmp_path / "b") == expected


def test_tickets_are_done_anywhere(study_file, expected, tmp_path) -> None:
    import pickle

    study = fg.Study.read(study_file)
    handout = fg._native.Handout(study._native, tmp_path / "c")
    with pytest.raises(fg.LockedError):
        study.run(tmp_path / "c", progress=False)
    tickets = handout.tickets()
    for ticket in reversed(tickets):
        lines = pickle.loads(pickle.dumps(fg.Ticket(study._native, *ticket))).run()
        assert handout.record(lines) > 0
        assert handout.record(lines) == 0, "what is recorded is not recorded again"
    with pytest.raises(ValueError, match="damaged"):
        handout.record(lines.replace(b"quasigroup", b"quasigruop"))
    handout.close()
    assert study.units(tmp_path / "c") == []
    assert table(study, tmp_path / "c") == expected


def test_a_study_that_is_killed_goes_on(study_file, expected, tmp_path) -> None:
    out = tmp_path / "d"
    script = f"import foldglass as fg; fg.Study.read({str(study_file)!r}).run({str(out)!r}, threads=1)"
    for name in ("SIGKILL", "SIGINT"):
        process = subprocess.Popen([sys.executable, "-c", script], stderr=subprocess.PIPE)
        deadline = time.monotonic() + 30
        records = out / "records.jsonl"
        before = records.stat().st_size if records.exists() else 0
        while process.poll() is None and time.monotonic() < deadline:
            if records.exists() and records.stat().st_size > before:
                break
            time.sleep(0.01)
        os.kill(process.pid, getattr(signal, name))
        _, said = process.communicate(timeout=30)
        if name == "SIGINT" and process.returncode:
            assert b"KeyboardInterrupt" in said
    study = fg.Study.read(study_file)
    assert study.run(out, progress=False).finished
    assert table(study, out) == expected


def test_errors_of_a_study_name_the_line(tmp_path) -> None:
    path = tmp_path / "bad.toml"
    path.write_text(STUDY.replace("iterations = 4000", "iterations = -1"))
    with pytest.raises(ValueError, match="iterations"):
        fg.Study.read(path).run(tmp_path / "e", progress=False)
    with pytest.raises(ValueError, match="on='cloud'"):
        fg.Study.from_toml(STUDY).run(tmp_path / "e", on="cloud", progress=False)
    with pytest.raises(ValueError, match="shard"):
        fg.Study.from_toml(STUDY).run(tmp_path / "e", shard=(3, 2), progress=False)


def test_a_study_has_a_directory_of_its_name(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    dynamics = dict(kind="chain", kernel="metropolis", tau=0.1, sweeps=2, runs=2)
    study = fg.Study("named", [fg.Class(fg.Task("parity", 2))], [dynamics])
    assert study.run(progress=False).out == Path("named") and len(study.table()) == 2
    assert study.units() == [] and (tmp_path / "named/records.jsonl").exists()
    with pytest.raises(ValueError, match="out=''"):
        study.run("", progress=False)


def test_the_program_is_on_the_path() -> None:
    assert program("--version").stdout.split()[1] == fg.__version__
    failed = program("parity", "--width", "4", check=False)
    assert failed.returncode == 2 and "--width" in failed.stderr
    piped = program("parity", "--length", "8", "--json").stdout
    import json

    assert json.loads(piped)["command"] == "parity"
