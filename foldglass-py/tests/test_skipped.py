"""A package that is missing: a failure in CI, a line in a list elsewhere."""

import os
import subprocess
import sys
from pathlib import Path

TESTS = """
import pytest


def test_needs_a_package():
    pytest.importorskip("no_such_package")


def test_needs_nothing():
    pass
"""


def run(folder: Path, **variables: str) -> tuple[int, str]:
    own = {key: value for key, value in os.environ.items() if not key.startswith("FOLDGLASS_")}
    words = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-q", "--rootdir", str(folder), str(folder)]
    done = subprocess.run(words, env=own | variables, capture_output=True, text=True)
    return done.returncode, done.stdout


def test_a_missing_package_fails_in_ci_and_is_listed_elsewhere(tmp_path) -> None:
    folder = tmp_path / "tests"
    folder.mkdir()
    (folder / "conftest.py").write_text((Path(__file__).parent / "conftest.py").read_text())
    (folder / "test_function.py").write_text(TESTS)
    (folder / "test_module.py").write_text("import pytest\npytest.importorskip('no_such_package')\n")
    skipped = tmp_path / "skipped"
    code, said = run(folder, FOLDGLASS_SKIPPED=str(skipped))
    assert code == 0 and "1 passed, 2 skipped" in said
    listed = skipped.read_text().splitlines()
    assert len(listed) == 2 and all("no_such_package" in line for line in listed)
    (folder / "test_module.py").unlink()
    code, said = run(folder, FOLDGLASS_CI="1")
    assert code == 1 and "1 failed, 1 passed" in said and "no_such_package" in said
    (folder / "test_function.py").write_text("import pytest\npytest.importorskip('no_such_package')\n")
    code, said = run(folder, FOLDGLASS_CI="1")
    assert code == 2 and "no_such_package" in said
