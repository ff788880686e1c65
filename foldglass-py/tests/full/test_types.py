"""Types: mypy in strict mode, and the stubs held against the running module."""

import subprocess
import sys

import pytest

pytest.importorskip("mypy")


def run(*words: str) -> str:
    done = subprocess.run([sys.executable, "-m", *words], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_package_is_typed() -> None:
    run("mypy", "--strict", "-p", "foldglass")


def test_the_stubs_are_those_of_the_module() -> None:
    run("mypy.stubtest", "foldglass._native", "--concise")


def test_a_users_script_is_checked(tmp_path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        "import foldglass as fg\n"
        "space = fg.Class(fg.Task('parity', 4))\n"
        "reveal_type(fg.cavi(space, tau=0.1).greedy_exact)\n"
        "reveal_type(fg.certify(fg.Code.fold(space)))\n"
        "reveal_type(fg.certify([fg.Code.fold(space)]))\n"
    )
    said = run("mypy", "--strict", str(script))
    assert 'list[fractions.Fraction]"' in said
    assert 'Verdict"' in said and "list[foldglass._landscape.Verdict]" in said
