"""Studies: many runs, recorded so that they outlive any interruption, here or on Ray."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from . import _native
from ._class import Class, _stated
from ._frames import Framed
from ._given import plain
from ._progress import Interrupted, Listener, ProgressLike, listener

if TYPE_CHECKING:
    import pandas
    import polars

PathLike = os.PathLike[str]


@dataclass(frozen=True)
class Executed:
    """What a call of :meth:`Study.run` came to."""

    out: Path
    runs: int
    done_before: int
    done_now: int
    finished: bool


class Records(Framed):
    """The records of a study, in its order."""

    def __init__(self, directories: Sequence[Path]) -> None:
        if not directories:
            raise ValueError("no directory: name one or several that a study was run in")
        self._directories: list[str | PathLike] = list(directories)
        lines, missing = _native.gather(self._directories)
        #: A record a run, as the files have them.
        self.records: list[dict[str, Any]] = [json.loads(line) for line in lines.splitlines()]
        #: Runs that have no record yet.
        self.missing = int(missing)

    def write(self, path: str | PathLike) -> None:
        """Writes the table of ``foldglass collect``, to the byte: ``.parquet``, ``.csv``, ``.jsonl``."""
        _native.write_table(self._directories, path)

    def _parquet(self) -> Any:
        import pyarrow.parquet

        with tempfile.TemporaryDirectory(prefix="foldglass-") as place:
            path = Path(place) / "table.parquet"
            self.write(path)
            return pyarrow.parquet.read_table(path)

    def to_pandas(self) -> pandas.DataFrame:
        """The table, with nullable types."""
        import pandas

        table = self._parquet()
        kinds = {
            "int64": pandas.Int64Dtype(),
            "uint64": pandas.UInt64Dtype(),
            "double": pandas.Float64Dtype(),
            "bool": pandas.BooleanDtype(),
            "string": pandas.StringDtype(),
        }
        frame: pandas.DataFrame = table.to_pandas(types_mapper=lambda kind: kinds.get(str(kind)))
        metadata = table.schema.metadata or {}
        frame.attrs.update({k.decode(): v.decode() for k, v in metadata.items()})
        return frame

    def to_polars(self) -> polars.DataFrame:
        """The table."""
        import polars

        return polars.DataFrame(polars.from_arrow(self._parquet()))

    def columns(self) -> dict[str, Any]:
        columns: dict[str, Any] = self._parquet().to_pydict()
        return columns

    def summary(self, quantity: str | None = None) -> list[dict[str, Any]]:
        """Means with intervals, runs at 1, quantiles: a point each, as ``foldglass summary``."""
        points: list[dict[str, Any]] = json.loads(_native.summarize(self._directories, quantity))
        return points

    def __len__(self) -> int:
        return len(self.records)

    def __repr__(self) -> str:
        return f"Records({len(self)} runs, {self.missing} missing)"


class Study:
    """Classes x dynamics x parameters x run numbers.

    Built from a file or its text, or in Python: ``classes`` are :class:`Class` objects or the keys
    of a ``[[class]]`` table, ``dynamics`` those of ``[[dynamics]]`` (docs/studies.md); a list of
    temperatures is a point each, and ``grid=dict(..)`` makes every combination one.

    Args:
        name: The name, which is also that of its directory.
        classes: :class:`Class` objects, or the keys of a ``[[class]]`` table.
        dynamics: The keys of ``[[dynamics]]`` tables.
        seed: The seed of everything random.
        base: Where files that it names are found.

    >>> from foldglass import Task
    >>> study = Study(
    ...     name="warm",
    ...     classes=[Class(Task("parity", 4))],
    ...     dynamics=[dict(kind="chain", kernel="metropolis", tau=[1e-3, 1e-2], sweeps=50, runs=3)],
    ... )
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as out:
    ...     done = study.run(out, progress=False)
    ...     done.runs, done.finished, len(study.table(out))
    (6, True, 6)
    """

    def __init__(
        self,
        name: str,
        classes: Iterable[Class | Mapping[str, Any]],
        dynamics: Iterable[Mapping[str, Any]],
        *,
        seed: int = 0,
        base: str | PathLike = ".",
    ) -> None:
        lines = [f"name = {_toml(name)}", f"seed = {int(seed)}"]
        for one in classes:
            lines += ["", "[[class]]", *_table(_words(one))]
        for keys in dynamics:
            lines += ["", "[[dynamics]]", *_table(keys)]
        self._native = _native.Study("\n".join(lines) + "\n", int(seed), os.path.abspath(base))

    @classmethod
    def from_toml(cls, text: str, *, seed: int = 0, base: str | PathLike = ".") -> Study:
        """From the text of a study file; files that it names are found from ``base``.

        Args:
            text: The text.
            seed: The seed of everything random.
            base: The directory.

        Returns:
            The study.
        """
        made = cls.__new__(cls)
        made._native = _native.Study(text, int(seed), os.path.abspath(base))
        return made

    @classmethod
    def read(cls, path: str | PathLike, *, seed: int = 0) -> Study:
        """From a study file.

        Args:
            path: The file.
            seed: The seed of everything random.

        Returns:
            The study.
        """
        place = Path(path)
        try:
            return cls.from_toml(place.read_text(), seed=seed, base=place.parent)
        except ValueError as error:
            raise ValueError(f"{path}: {error}") from None

    @property
    def name(self) -> str:
        """Its name."""
        return self._native.name

    @property
    def toml(self) -> str:
        """The text of the study file."""
        return self._native.text

    def save(self, path: str | PathLike) -> None:
        """Writes the study file, which ``foldglass run`` and ``foldglass slurm`` read."""
        Path(path).write_text(self.toml)

    def run(
        self,
        out: str | PathLike | None = None,
        *,
        on: Literal["local", "ray"] = "local",
        shard: tuple[int, int] = (1, 1),
        threads: int | None = None,
        checkpoint_every: float = 30.0,
        max_memory: str | None = None,
        progress: ProgressLike = True,
    ) -> Executed:
        """Does the runs that ``out`` (the study's name where it is left out, as on the command line) has no
        record of: on the threads of this machine, or as tasks of
        a Ray cluster (of the one that is initialised, else as ``ray.init()`` finds it).

        Finished runs are on disk at once; Ctrl-C, a kill or a lost node costs no finished run, and the
        same call goes on. Records and tables are those of ``foldglass run``.

        Args:
            out: The directory of the records.
            on: ``"local"`` or ``"ray"``.
            shard: ``(i, n)``: only the i-th of n shares of the runs.
            threads: Threads to compute with; the result does not depend on them (default all).
            checkpoint_every: Seconds between two checkpoints.
            max_memory: Refuse to start what needs more memory than this, such as ``"4GiB"``.
            progress: Whether a bar is shown, or a function that is given each :class:`Progress`.

        Returns:
            How many runs there are and how many were done.
        """
        place = self._place(out)
        hears = listener(progress)
        try:
            if on == "ray":
                return self._on_ray(place, max_memory, hears)
            if on != "local":
                raise ValueError(f"on={on!r}: 'local' or 'ray'")
            runs, before, now, finished = self._native.run(
                place, shard, threads, checkpoint_every, max_memory, hears
            )
        except KeyboardInterrupt as stop:
            raise _interrupted(stop, place) from stop
        finally:
            hears.close()
        return Executed(place, runs, before, now, finished)

    def _place(self, out: str | PathLike | None) -> Path:
        if out is not None and not os.fspath(out):
            raise ValueError("out='': the name of a directory is needed")
        return Path(self.name if out is None else out)

    def units(self, out: str | PathLike | None = None) -> list[Ticket]:
        """What is not done in a directory: small tickets that can be pickled and done anywhere."""
        handout = _native.Handout(self._native, self._place(out))
        try:
            return [Ticket(self._native, *ticket) for ticket in handout.tickets()]
        finally:
            handout.close()

    def _on_ray(self, out: Path, max_memory: str | None, hears: Listener) -> Executed:
        import ray

        if not ray.is_initialized():
            ray.init()
        handout = _native.Handout(self._native, out, max_memory)
        try:
            before, runs = handout.finished(), handout.runs()
            task = ray.remote(num_cpus=1, max_retries=-1)(_redeem)
            shared = ray.put(self._native)
            waiting = {}
            for ticket in handout.tickets():
                waiting[task.remote(shared, ticket, max_memory)] = ticket
            now = 0
            while waiting:
                ready, _ = ray.wait(list(waiting), num_returns=1, timeout=0.5)
                for reference in ready:
                    del waiting[reference]
                    now += handout.record(ray.get(reference))
                hears.hear("", "runs", before + now, runs, None)
        finally:
            handout.close()
        return Executed(out, runs, before, now, before + now == runs)

    def table(self, *out: str | PathLike) -> Records:
        """The records of this study in one or several directories; in that of its name where none is
        named."""
        return Records([self._place(one) for one in out or (None,)])

    def __reduce__(self) -> tuple[Any, ...]:
        return _restore, (self._native,)

    def __repr__(self) -> str:
        return f"Study({self.name!r})"


def _restore(native: _native.Study) -> Study:
    made = Study.__new__(Study)
    made._native = native
    return made


def _redeem(study: _native.Study, ticket: tuple[int, int, int, int], max_memory: str | None) -> bytes:
    """Does a ticket on a worker."""
    return _native.redeem(study, ticket, max_memory)


@dataclass(frozen=True)
class Ticket:
    """Runs of a study that go together; :meth:`run` does them wherever it is called and gives the
    lines of their records."""

    study: _native.Study
    series: int
    point: int
    first: int
    end: int

    def run(self) -> bytes:
        """Does the runs; touches no file."""
        return _native.redeem(self.study, (self.series, self.point, self.first, self.end))


def collect(*out: str | PathLike) -> Records:
    """The records of directories of one study.

    Args:
        out: The directories.

    Returns:
        The records of all of them, as one table.
    """
    return Records([Path(one) for one in out])


def _interrupted(stop: KeyboardInterrupt, out: Path) -> Interrupted:
    return Interrupted(f"interrupted: finished runs are in {out}, and the same call goes on", None)


def _words(one: Class | Mapping[str, Any]) -> Mapping[str, Any]:
    if isinstance(one, Mapping):
        return one
    if not isinstance(one, Class) or one._name is None:
        raise ValueError(
            "a class of a study needs a task with a name: save the table as JSON and write "
            'Task("file:PATH", ..)'
        )
    spec = one.spec
    words = {
        "task": one._name,
        "lengths": one.lengths,
        "window": list(one.window),
        "tied": one.tied,
        "memory": spec["memory"],
    }
    inputs = spec["inputs"]
    if isinstance(inputs, dict):
        if "markov" not in inputs:
            raise ValueError('a product law of a study stands in a file: inputs="product:FILE"')
        words["inputs"] = f"markov:{inputs['markov']}"
    return {**words, **_stated(spec)}


def _table(keys: Mapping[str, Any]) -> list[str]:
    return [f"{key} = {_toml(value)}" for key, value in keys.items() if value is not None]


def _toml(value: Any) -> str:
    value = plain("a setting", value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(_toml(one) for one in value) + "]"
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{key} = {_toml(one)}" for key, one in value.items()) + " }"
    if isinstance(value, float):
        return repr(value)
    if isinstance(value, int):
        return str(value)
    if not isinstance(value, (str, os.PathLike)):
        raise TypeError(f"a {type(value).__name__} cannot stand in a study: write a number, text or a file's name")
    # A JSON string is a TOML string.
    return json.dumps(os.fspath(value))
