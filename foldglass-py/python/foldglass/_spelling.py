"""Accepts earlier spellings of keywords."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")


def renamed(
    **earlier: str | tuple[str, Callable[[Any], Any]],
) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """A function that takes keywords in earlier spellings too: ``old="new"``, or ``old=("new", value)``
    where the value is written otherwise."""

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        @functools.wraps(function)
        def call(*args: P.args, **keywords: P.kwargs) -> R:
            for old in earlier.keys() & keywords.keys():
                to = earlier[old]
                new, convert = to if isinstance(to, tuple) else (to, None)
                if new in keywords:
                    raise TypeError(f"{function.__name__}: {old} and {new} are one keyword: leave one of them out")
                value = keywords.pop(old)
                keywords[new] = value if convert is None else convert(value)
            return function(*args, **keywords)

        return call

    return decorate


def keeps(name: str, *others: str) -> Callable[[Any], bool]:
    """What ``keep=("code",)`` is: whether a thing is among those that are kept."""

    def among(keep: Any) -> bool:
        kept = [keep] if isinstance(keep, str) else list(keep)
        if any(one not in (name, *others) for one in kept):
            raise ValueError(f"keep={kept}: it is keep_{name}=True now")
        return name in kept

    return among
