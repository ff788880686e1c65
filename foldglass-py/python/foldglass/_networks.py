"""Fleets of the paper's transformer: trained, distilled, read back (paper, sections 5 and G)."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._class import Class, Code, Task
from ._commands import ask, flags_of, folder, write_table
from ._frames import Framed
from ._progress import ProgressLike
from ._spelling import renamed

PathLike = os.PathLike[str]


def read_weights(path: str | PathLike) -> dict[str, NDArray[np.float32]]:
    """The tensors of a safetensors file that ``foldglass`` wrote."""
    content = Path(path).read_bytes()
    size = int.from_bytes(content[:8], "little")
    head = json.loads(content[8 : 8 + size])
    tensors: dict[str, NDArray[np.float32]] = {}
    for name, entry in head.items():
        if name == "__metadata__":
            continue
        begin, end = entry["data_offsets"]
        data = np.frombuffer(content, dtype="<f4", count=(end - begin) // 4, offset=8 + size + begin)
        tensors[name] = data.reshape(entry["shape"]).copy()
    return tensors


@dataclass(frozen=True)
class Curves(Framed):
    """Points of training curves, a row a model and step."""

    points: list[dict[str, Any]]

    def columns(self) -> dict[str, Any]:
        names = [name for name in (self.points[0] if self.points else {}) if name != "check"]
        return {name: [point.get(name) for point in self.points] for name in names}

    def __len__(self) -> int:
        return len(self.points)


class Fleet(Framed):
    """Networks that were trained: what each came to, its curve and its weights."""

    def __init__(self, answer: dict[str, Any], directory: Path, keeps: bool) -> None:
        self.answer = answer
        #: Where the files of the run are.
        self.directory = directory
        self._owned = None if keeps else directory

    @property
    def models(self) -> list[dict[str, Any]]:
        """What each network came to."""
        models: list[dict[str, Any]] = self.answer.get("models") or self.answer.get("networks") or []
        return models

    @property
    def back_end(self) -> str:
        """What computed: ``cpu``, ``cuda-bf16`` or ``cuda-tf32``."""
        return str(self.answer["back_end"])

    @property
    def curves(self) -> Curves:
        """The curves, as they were recorded."""
        path = next(iter(sorted(self.directory.glob("*.jsonl"))), None)
        lines = [] if path is None else path.read_text().splitlines()
        return Curves([json.loads(line) for line in lines])

    def weights_path(self, model: int, *, best: bool = False) -> Path:
        """The safetensors file of a network; with ``best`` of its best gate (``keep="best"``)."""
        of = self.models[model]["best"] if best else self.models[model]
        return Path(of["weights"])

    def weights(self, model: int, *, best: bool = False) -> dict[str, NDArray[np.float32]]:
        """The tensors of a network; with ``best`` those of its best gate (``keep="best"``)."""
        return read_weights(self.weights_path(model, best=best))

    def columns(self) -> dict[str, Any]:
        rows = []
        for model in self.models:
            row = {k: v for k, v in model.items() if not isinstance(v, (dict, list))}
            row.update({f"greedy_{n}": v for n, v in enumerate(model.get("greedy", []), start=1)})
            row.update(model.get("last") or {})
            rows.append(row)
        names: dict[str, None] = {}
        for row in rows:
            names.update(dict.fromkeys(row))
        return {name: [row.get(name) for row in rows] for name in names}

    def __len__(self) -> int:
        return len(self.models)

    def __repr__(self) -> str:
        return f"Fleet({len(self)} networks, {self.back_end})"

    def __del__(self) -> None:
        owned: Path | None = getattr(self, "_owned", None)
        if owned is not None:
            shutil.rmtree(owned, ignore_errors=True)


def _fleet(
    command: str, words: list[str], flags: dict[str, Any], out: str | PathLike | None, progress: ProgressLike
) -> Fleet:
    directory = Path(tempfile.mkdtemp(prefix="foldglass-") if out is None else out)
    keeps = out is not None
    try:
        places = {"out": directory, "weights": directory / "weights"}
        answer = ask(command, [*words, *flags_of({**flags, **places})], progress)
    except BaseException:
        if not keeps:
            shutil.rmtree(directory, ignore_errors=True)
        raise
    return Fleet(answer, directory, keeps)


@renamed(models="runs")
def train(
    tasks: str | Sequence[str] | None = None,
    *,
    runs: int = 1,
    entropy: float | Sequence[float] | None = None,
    out: str | PathLike | None = None,
    seed: int = 0,
    threads: int | None = None,
    progress: ProgressLike = True,
    **flags: Any,
) -> Fleet:
    """Trains fleets of the paper's transformer by REINFORCE.

    Every flag of ``foldglass train`` is a keyword: ``quick=True`` for a small network that learns in
    seconds on a CPU, ``steps``, ``batch``, ``lengths``, ``method="grpo:8,0.2,1"``, ``layout``,
    ``backend`` and so on. With ``out`` the run is kept there, and the same call goes on after a stop.
    """
    listed = [tasks] if isinstance(tasks, str) else list(tasks or [])
    words = [f"--task={task}" for task in listed]
    own = {"runs": runs, "entropy": entropy, "seed": seed, "threads": threads}
    return _fleet("train", words, {**own, **flags}, out, progress)


@renamed(networks="runs")
def distill(
    what: Class | Code,
    *,
    runs: int = 3,
    out: str | PathLike | None = None,
    seed: int = 0,
    threads: int | None = None,
    progress: ProgressLike = True,
    **flags: Any,
) -> Fleet:
    """Distils codes into networks: random codes of a class, or one code into all of them.

    Every flag of ``foldglass distill`` is a keyword (``steps``, ``batch``, ``target``, ``width``, ..).
    """
    own = {"runs": runs, "seed": seed, "threads": threads}
    with folder() as place:
        if isinstance(what, Code):
            words = ["--code", str(write_table(what, place / "code.json"))]
        else:
            words = what.flags(place)
        return _fleet("distill", words, {**own, **flags}, out, progress)


@dataclass(frozen=True)
class ReadBack:
    """A network read as a code."""

    code: Code
    answer: dict[str, Any]

    @property
    def reward(self) -> Fraction:
        """The reward of the code."""
        return self.code.exact


def read_back(
    weights: str | PathLike, space: Class | Task, *, progress: ProgressLike = True, **flags: Any
) -> ReadBack:
    """Reads a trained network back as a code of a class: what it emits in each cell, most often."""
    of = space if isinstance(space, Class) else Class(space)
    with folder() as place:
        out = place / "code.json"
        words = [*of.flags(place), "--weights", os.fspath(weights), *flags_of({**flags, "out": out})]
        answer = ask("read-back", words, progress)
        code = Code(of, json.loads(out.read_text())["actions"])
    return ReadBack(code, answer)
