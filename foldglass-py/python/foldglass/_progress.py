"""Progress of long calls: a bar in notebooks and terminals, a callable, or nothing."""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, Union

#: What ``progress`` takes: whether to show a bar, or what to call with a :class:`Progress`.
ProgressLike = Union[bool, Callable[["Progress"], object]]

#: Shorter computations show nothing.
PATIENCE = 1.0


@dataclass(frozen=True)
class Progress:
    """How far a computation is: ``done`` of ``all`` (where known) ``unit``.

    >>> Progress("", "sweeps", 50, 200).share
    0.25
    """

    stage: str
    unit: str
    done: int
    all: int | None = None
    known: float | None = None

    @property
    def share(self) -> float | None:
        """The share of the work that is done, where that is known."""
        if self.known is not None:
            return self.known
        return self.done / self.all if self.all else None

    def __str__(self) -> str:
        count = f"{self.done:,} {self.unit}" if not self.all else f"{self.done:,} of {self.all:,} {self.unit}"
        return f"{self.stage}: {count}" if self.stage else count


class Listener(Protocol):
    """What the extension tells of progress."""

    def hear(
        self, stage: str, unit: str, done: int, all: int | None, share: float | None, /
    ) -> object: ...

    def notice(self, text: str, /) -> object: ...

    def close(self) -> None: ...


class _Calls:
    """Hands progress to a callable."""

    def __init__(self, call: Callable[[Progress], object]) -> None:
        self._call = call

    def hear(
        self, stage: str, unit: str, done: int, all: int | None, share: float | None, /
    ) -> object:
        return self._call(Progress(stage, unit, done, all, share))

    def notice(self, text: str, /) -> object:
        warnings.warn(text, stacklevel=2)
        return None

    def close(self) -> None:
        pass


class _Bar(_Calls):
    """A line that is written anew: in a notebook by its display, in a terminal on stderr."""

    def __init__(self) -> None:
        super().__init__(self._show)
        self._begun = time.monotonic()
        self._last = 0.0
        self._shown = False
        self._display = _display()

    def _show(self, progress: Progress) -> None:
        now = time.monotonic()
        if now - self._begun < PATIENCE or now - self._last < 0.1:
            return
        self._last = now
        text = str(progress)
        share = progress.share
        if share is not None:
            filled = round(30 * min(max(share, 0.0), 1.0))
            text = f"[{'#' * filled}{'.' * (30 - filled)}] {text}"
            passed = now - self._begun
            if share > 0.02 and passed > 3.0:
                text += f", about {_span(passed * (1 - share) / share)} left"
        self._write(text)

    def _write(self, text: str) -> None:
        if self._display is not None:
            self._display(text, self._shown)
        elif sys.stderr.isatty():
            print(f"\r\x1b[2K{text}", end="", file=sys.stderr, flush=True)
        else:
            return
        self._shown = True

    def close(self) -> None:
        if not self._shown:
            return
        if self._display is not None:
            self._display("", True)
        else:
            print("\r\x1b[2K", end="", file=sys.stderr, flush=True)


def _span(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    if seconds < 5400:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"


def _display() -> Callable[[str, bool], None] | None:
    """Writes a line into the output of a notebook's cell, where this is one."""
    if "IPython" not in sys.modules:
        return None
    from IPython import get_ipython
    from IPython.display import display

    shell = get_ipython()
    if shell is None or shell.__class__.__name__ != "ZMQInteractiveShell":
        return None
    handle: list[object] = []

    def write(text: str, _: bool) -> None:
        data = {"text/plain": text}
        if not handle:
            handle.append(display(data, raw=True, display_id=True))  # type: ignore[no-untyped-call,unused-ignore]
        else:
            handle[0].update(data, raw=True)  # type: ignore[attr-defined,unused-ignore]

    return write


def listener(progress: ProgressLike) -> Listener:
    """What hears of the progress of a call."""
    if progress is True:
        return _Bar()
    if progress is False or progress is None:
        return _Calls(lambda _: None)
    return _Calls(progress)


class Interrupted(KeyboardInterrupt):
    """Ctrl-C during a long call; what was finished until then is ``partial``."""

    def __init__(self, message: str, partial: object) -> None:
        super().__init__(message)
        self.partial = partial

    def __reduce__(self) -> tuple[Any, ...]:
        return Interrupted, (str(self), self.partial)
