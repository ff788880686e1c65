"""What the tests share: small classes, and a signal that arrives a moment later."""

import os
import signal
import threading
from collections.abc import Callable, Iterator

import foldglass as fg
import pytest


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
