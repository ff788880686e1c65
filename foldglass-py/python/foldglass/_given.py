"""What callers give, as the engines take it: NumPy's scalars as numbers, and nothing cut off silently."""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np
from numpy.typing import NDArray


def whole(name: str, value: Any, least: int = 0) -> int:
    """A whole number of at least so much.

    >>> whole("runs", np.int64(3), 1)
    3
    """
    needed = f"a whole number of at least {least} is needed"
    if isinstance(value, (bool, np.bool_)):
        raise TypeError(f"{name}={value!r}: {needed}")
    try:
        number = operator.index(value)
    except TypeError:
        raise TypeError(f"{name}={value!r}: {needed}") from None
    if number < least:
        raise ValueError(f"{name}={number}: {needed}")
    return number


def wholes(name: str, value: Any) -> NDArray[np.int64]:
    """An array of whole numbers, a copy."""
    array = np.array(value)
    if array.dtype.kind not in "iu" and array.size:
        raise TypeError(f"{name} of type {array.dtype}: whole numbers are needed")
    return np.ascontiguousarray(array, dtype=np.int64)


def plain(name: str, value: Any) -> Any:
    """A setting as files have it: numbers, text, lists and tables of them."""
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError(f"{name}={value}: a finite number is needed")
    if isinstance(value, (list, tuple)):
        return [plain(name, one) for one in value]
    if isinstance(value, dict):
        return {key: plain(f"{name}.{key}", one) for key, one in value.items()}
    return value


def of_type(name: str, value: Any, kind: type, example: str) -> None:
    """Refuses what is of another type."""
    if not isinstance(value, kind):
        raise TypeError(f"{name} is a {type(value).__name__}: a {kind.__name__} is needed, such as {example}")
