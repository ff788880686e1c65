"""What the tests share: small classes, a signal that arrives a moment later, and what a missing package means."""

import os
import re
import signal
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import foldglass as fg
import pytest


def judged(report):
    """With ``FOLDGLASS_CI`` set, as ``.ci/run`` does, what would be skipped fails; elsewhere it is listed in
    ``FOLDGLASS_SKIPPED``, which ``cargo xtask test`` prints at its end."""
    if not report.skipped or hasattr(report, "wasxfail"):
        return report
    reason = report.longrepr[-1] if isinstance(report.longrepr, tuple) else report.longrepr
    line = f"{report.nodeid}: {reason}"
    if os.environ.get("FOLDGLASS_CI"):
        report.outcome = "failed"
        report.longrepr = f"{line}; with FOLDGLASS_CI set nothing is skipped"
    elif skipped := os.environ.get("FOLDGLASS_SKIPPED"):
        with open(skipped, "a") as file:
            file.write(f"{line}\n")
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector):
    return judged((yield))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    return judged((yield))


@pytest.fixture
def markov() -> fg.Class:
    """Correlated parity, which has traps."""
    return fg.Class(fg.Task("parity", 4, inputs="markov:9/10"))


@pytest.fixture
def paper() -> fg.Class:
    """The paper's square."""
    return fg.Class(fg.Task("quasigroup", 4))


@pytest.fixture
def interrupt() -> Iterator[Callable[[float], None]]:
    """Sends this process Ctrl-C after so many seconds."""
    timers: list[threading.Timer] = []

    def after(seconds: float) -> None:
        timer = threading.Timer(seconds, os.kill, (os.getpid(), signal.SIGINT))
        timers.append(timer)
        timer.start()

    yield after
    for timer in timers:
        timer.cancel()


@pytest.fixture
def run_section() -> Callable[[str], dict[str, Any]]:
    """Runs the Python code of a section of ``docs/bridges.md`` and gives the names that it leaves."""
    page = (Path(__file__).parents[2] / "docs/bridges.md").read_text()

    def run(title: str) -> dict[str, Any]:
        section = page.split(f"\n## {title}\n")[1].split("\n## ")[0]
        names: dict[str, Any] = {"section": section}
        for code in re.findall(r"^```python\n(.*?)^```", section, re.DOTALL | re.MULTILINE):
            exec(code, names)
        return names

    return run
