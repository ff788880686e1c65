"""Calls the commands of ``foldglass`` for their answers: the same words, numbers and errors."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from . import _native
from ._class import Class, Code, Policy
from ._given import plain
from ._progress import Interrupted, ProgressLike, listener


def answer(command: str, *arguments: str, progress: ProgressLike = True, **flags: Any) -> dict[str, Any]:
    """Runs any command of ``foldglass`` in this process and gives the object that ``--json`` prints.

    Args:
        command: The command, such as ``"enumerate"``.
        arguments: Arguments as the shell has them.
        progress: Whether a bar is shown, or a function that is given each :class:`Progress`.
        flags: The flags of the command as keywords, without the leading dashes and with underscores: ``max_codes=1000``
            is ``--max-codes 1000``. ``docs/reference.md`` and ``foldglass COMMAND --help`` list them with their accepted
            values; one that the command does not have is an error, which names the nearest. ``True`` is a flag without a
            value (``tied=True``), a list is several values (``lengths=[3, 4]``), and ``None`` or ``False`` leaves the flag out.

    Returns:
        The object that ``--json`` prints.

    >>> answer("enumerate", task="parity", lengths=6, inputs="markov:9/10", progress=False)["traps"]
    '160'
    """
    return ask(command, [*arguments, *flags_of(flags)], progress)


def ask(command: str, arguments: Iterable[str], progress: ProgressLike) -> dict[str, Any]:
    """The answer to a command line."""
    hears = listener(progress)
    try:
        text = _native.answer([command, *arguments], hears)
    except KeyboardInterrupt as stop:
        partial = getattr(stop, "partial", None)
        raise Interrupted(
            str(stop) or "interrupted", None if partial is None else json.loads(partial)
        ) from stop
    finally:
        hears.close()
    answered: dict[str, Any] = json.loads(text)
    return answered


def flags_of(flags: Mapping[str, Any]) -> list[str]:
    """Keywords as flags."""
    words: list[str] = []
    for name, value in flags.items():
        flag = "--" + name.strip("_").replace("_", "-")
        if value is None or value is False:
            continue
        if value is True:
            words.append(flag)
        else:
            words.append(f"{flag}={_word(value)}")
    return words


def _word(value: Any) -> str:
    value = plain("a flag", value)
    if isinstance(value, (list, tuple)):
        return ",".join(_word(one) for one in value)
    return repr(value) if isinstance(value, float) else str(value)


@contextmanager
def folder() -> Iterator[Path]:
    """A place for the files of one call."""
    with tempfile.TemporaryDirectory(prefix="foldglass-") as path:
        yield Path(path)


def on_class(
    command: str, space: Class, progress: ProgressLike, *arguments: str, **flags: Any
) -> dict[str, Any]:
    """The answer to a command about a class."""
    with folder() as place:
        return ask(command, [*space.flags(place), *arguments, *flags_of(flags)], progress)


def write_codes(codes: Iterable[Code], path: Path) -> Path:
    """Writes codes of one class to a file."""
    listed = list(codes)
    first = listed[0].space
    for code in listed:
        if code.space != first:
            raise ValueError(f"a code of {code.space!r} among those of {first!r}: one class at a time")
    actions = [{"actions": code.actions.tolist()} for code in listed]
    path.write_text(json.dumps({"class": first.spec, "codes": actions}))
    return path


def write_table(table: Code | Policy, path: Path) -> Path:
    """Writes a code or a policy to a file."""
    path.write_text(json.dumps(table.form()))
    return path


def drawing(code: Code) -> str:
    """The drawing of a code as SVG."""
    with folder() as place:
        out = place / "code.svg"
        ask("draw", ["--code", str(write_table(code, place / "code.json")), f"--svg={out}"], False)
        return out.read_text()
