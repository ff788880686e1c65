"""Results as columns: for pandas, polars and xarray."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import pandas
    import polars
    import xarray


class Framed:
    """Something with columns."""

    def columns(self) -> dict[str, Any]:
        """The columns by name: arrays or lists of one length."""
        raise NotImplementedError

    def _about(self) -> dict[str, Any]:
        """What made it, for the attributes of a frame."""
        return {}

    def to_pandas(self) -> pandas.DataFrame:
        """A ``pandas.DataFrame``, a row a run, trap, point or cell."""
        import pandas

        frame = pandas.DataFrame(dict(self.columns()))
        frame.attrs.update(self._about())
        return frame

    def to_polars(self) -> polars.DataFrame:
        """A ``polars.DataFrame``. Exact fractions are text such as ``9/10``."""
        import polars

        return polars.DataFrame({name: _plain(values) for name, values in self.columns().items()})

    def to_xarray(self) -> xarray.Dataset:
        """An ``xarray.Dataset`` over ``row``."""
        import xarray

        columns = self.columns()
        data = {name: ("row", _array(values)) for name, values in columns.items()}
        return xarray.Dataset(data, attrs=plain_attributes(self._about()))


def _plain(values: Any) -> Any:
    """Values as polars has types for them: what is wider than its integers is text."""
    from fractions import Fraction

    if isinstance(values, np.ndarray):
        return values
    wide = any(isinstance(v, int) and abs(v) >= 2**63 for v in values)

    def one(value: Any) -> Any:
        if isinstance(value, Fraction):
            return f"{value.numerator}/{value.denominator}"
        if wide and isinstance(value, int):
            return str(value)
        return value

    return [one(value) for value in values]


def _array(values: Any) -> np.ndarray[Any, Any]:
    if isinstance(values, np.ndarray):
        return values
    # A list in an entry, such as several lengths, is text.
    plain = [json.dumps(v) if isinstance(v, (list, tuple)) else v for v in _plain(values)]
    return np.array(plain, dtype=None if all(v is not None for v in plain) else object)


def plain_attributes(about: Mapping[str, Any]) -> dict[str, Any]:
    """Attributes that files of arrays can hold: numbers and text."""

    def one(value: Any) -> Any:
        plain = isinstance(value, (int, float, str)) and not isinstance(value, bool)
        return value if plain else json.dumps(value)

    return {name: one(value) for name, value in about.items() if value is not None}
