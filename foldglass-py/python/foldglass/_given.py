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


def _ragged(rows: Any) -> str:
    """Which row is the first that is longer or shorter than row 0, where rows can be counted."""
    sizes = [len(row) if hasattr(row, "__len__") else 0 for row in rows]
    other = next((n for n, size in enumerate(sizes) if size != sizes[0]), None)
    if other is None:
        return ""
    entries = "entry" if sizes[other] == 1 else "entries"
    return f"row {other} has {sizes[other]} {entries}, row 0 has {sizes[0]}: "


def wholes(name: str, value: Any) -> NDArray[np.int64]:
    """An array of whole numbers, a copy.

    >>> wholes("task", [[0, 1], [0]])
    Traceback (most recent call last):
    ValueError: task: row 1 has 1 entry, row 0 has 2: every row needs as many entries as the others
    """
    try:
        array = np.array(value)
    except ValueError:
        raise ValueError(f"{name}: {_ragged(value)}every row needs as many entries as the others") from None
    if array.dtype.kind not in "iu" and array.size:
        raise TypeError(f"{name} of type {array.dtype}: whole numbers are needed")
    return np.ascontiguousarray(array, dtype=np.int64)


#: By dtype, how far the sum of a row may be from 1: half precision has that of 10 or 7 bits.
_TOLERANCE = {"float64": 1e-9, "float32": 1e-5, "float16": 1e-2, "bfloat16": 1e-2}

#: The types that are taken as they are. A dtype is found at once, where its name takes a microsecond.
_TAKEN = {np.dtype(name): _TOLERANCE[name] for name in ("float64", "float32")}


def probabilities(name: str, value: Any) -> tuple[NDArray[Any], float]:
    """Numbers of NumPy, PyTorch, JAX or any array by ``__array__`` or DLPack, on any device and of any strides: a
    contiguous array of double or single precision, with how far the sum of a row may be from 1.

    >>> array, tolerance = probabilities("rows", np.ones((2, 3), np.float32)[::-1])
    >>> array.dtype.name, array.flags.c_contiguous, tolerance
    ('float32', True, 1e-05)
    """
    if type(value) is np.ndarray:
        taken = _TAKEN.get(value.dtype)
        if taken is not None:
            return np.ascontiguousarray(value), taken
        tolerance = _TOLERANCE.get(value.dtype.name, 0.0)
    else:
        value, tolerance = _as_numpy(name, value)
    kind = value.dtype
    if tolerance and kind.itemsize >= 4 and kind.isnative:
        return np.ascontiguousarray(value), tolerance
    if kind.name == "bfloat16" or kind.kind in "fiub":
        wide = np.float32 if kind.itemsize == 2 and tolerance else np.float64
        return np.ascontiguousarray(value, dtype=wide), tolerance or _TOLERANCE["float64"]
    raise TypeError(f"{name} of type {kind}: probabilities are needed, of float64, float32 or half precision")


def _as_numpy(name: str, value: Any) -> tuple[NDArray[Any], float]:
    """The same numbers as an array of NumPy, with the tolerance of the type that they had."""
    if hasattr(value, "detach"):
        # A tensor of PyTorch, which refuses to convert what has a gradient, lies elsewhere or is bfloat16.
        tensor = value.detach().cpu()
        precision = str(tensor.dtype).removeprefix("torch.")
        tensor = tensor.float() if precision == "bfloat16" else tensor
        return tensor.numpy(), _TOLERANCE.get(precision, 0.0)
    array: NDArray[Any]
    try:
        if hasattr(value, "__dlpack__") and not hasattr(value, "__array__"):
            array = np.from_dlpack(_OnCpu(value))
        else:
            array = np.asarray(value)
    except TypeError:
        # CuPy refuses ``__array__``: what is copied from a device has to be asked for.
        if not hasattr(value, "__dlpack__"):
            raise
        array = np.from_dlpack(_OnCpu(value))
    return array, _TOLERANCE.get(array.dtype.name, 0.0)


class _OnCpu:
    """An array by DLPack, copied to the CPU by its own library if it lies elsewhere."""

    CPU = (1, 0)

    def __init__(self, value: Any) -> None:
        self.value = value

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.CPU

    def __dlpack__(self, **settings: Any) -> Any:
        device = tuple(map(int, self.value.__dlpack_device__()))
        if device[0] == self.CPU[0]:
            return self.value.__dlpack__(**settings)
        try:
            return self.value.__dlpack__(**{**settings, "dl_device": self.CPU})
        except (TypeError, BufferError, ValueError) as error:
            raise TypeError(
                f"an array on the device {device} of DLPack, which its library does not copy to the CPU: pass a copy there"
            ) from error


def room(name: str, given: Any, shape: tuple[int, ...]) -> NDArray[np.float64]:
    """The array that a result is written to: the one that was given, or a fresh one."""
    if given is None:
        return np.empty(shape)
    fits = isinstance(given, np.ndarray) and given.dtype == np.float64 and given.shape == shape
    if not fits or not (given.flags.c_contiguous and given.flags.writeable):
        raise ValueError(f"out: {name} must be a contiguous, writeable array of float64 of shape {shape}")
    array: NDArray[np.float64] = given
    return array


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
