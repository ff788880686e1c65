"""Rows of a task for trainers, and the verification of answers to them."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, overload

import numpy as np

from ._class import Class, Code, Task, refuse_process
from ._commands import ask, flags_of, folder, write_table
from ._frames import Framed
from ._given import of_type, whole
from ._spelling import renamed
from .verifier import is_correct


@dataclass(frozen=True)
class Row:
    """One input of a task, with its target and all that is known of it."""

    index: int
    split: str
    #: The symbols x_1 .. x_T.
    input: tuple[int, ...]
    #: The products s_1 .. s_T.
    products: tuple[int, ...]
    #: The last product, which is the answer.
    target: int
    length: int
    #: The probability that the best constant guess is right on inputs of this length.
    chance: Fraction
    prompt: str
    #: The multiplication table.
    table: tuple[tuple[int, ...], ...]
    #: The law of the inputs, in words.
    inputs: str
    #: The last token that the code emits, and whether it is the target; none without a code.
    code_answer: int | None = None
    code_correct: bool | None = None


class Rows(Sequence[Row], Framed):
    """Rows of one task, with the chance level over all its lengths."""

    def __init__(self, rows: Iterable[Row], chance: Fraction) -> None:
        self._rows = list(rows)
        #: The probability that the best constant guess is right, over all lengths.
        self.chance = chance

    @overload
    def __getitem__(self, place: int) -> Row: ...
    @overload
    def __getitem__(self, place: slice) -> Rows: ...
    def __getitem__(self, place: int | slice) -> Row | Rows:
        if isinstance(place, slice):
            return Rows(self._rows[place], self.chance)
        return self._rows[place]

    def __len__(self) -> int:
        return len(self._rows)

    def __iter__(self) -> Iterator[Row]:
        return iter(self._rows)

    def __repr__(self) -> str:
        return f"Rows({len(self)} rows, best constant guess {self.chance})"

    def columns(self) -> dict[str, Any]:
        names = [name for name in Row.__dataclass_fields__ if not name.startswith("code_")]
        if any(row.code_answer is not None for row in self._rows):
            names += ["code_answer", "code_correct"]
        return {name: [getattr(row, name) for row in self._rows] for name in names}

    def dicts(self) -> list[dict[str, Any]]:
        """The rows as JSON has them: fractions are text such as ``1/3``."""
        columns = self.columns()
        columns["chance"] = [f"{one.numerator}/{one.denominator}" for one in columns["chance"]]
        return [dict(zip(columns, values)) for values in zip(*columns.values())]

    def write_jsonl(self, path: str | os.PathLike[str]) -> None:
        """Writes one line of JSON per row."""
        with open(path, "w", encoding="utf-8") as file:
            file.writelines(json.dumps(row) + "\n" for row in self.dicts())


@renamed(seed="rng")
def rows(
    task: Task,
    lengths: int | Iterable[int] | None = None,
    n: int = 1000,
    rng: int | np.random.Generator = 0,
    *,
    first: int = 0,
    split: str = "train",
    rendering: str = "symbols",
    code: Code | None = None,
) -> Rows:
    """Draws ``n`` inputs of a task from its law, with their products and targets.

    Row number i is the same in every call with one ``rng``. ``foldglass dataset`` writes the same rows for trainers.

    Args:
        task: The task that the inputs are of, whose reward is that of the last token: a row has one target.
        lengths: Lengths in place of the task's. Those of a task with ``length_weights`` keep their weights, and no others
            are accepted.
        n: The number of rows.
        rng: A seed, or a generator that one is drawn from. ``seed=`` is the same keyword.
        first: The number of the first row.
        split: ``"train"``, or ``"test"`` for other rows of the same law.
        rendering: The prompts: ``"symbols"``, ``"words"`` (the question shows the table) or ``"words-hidden"``.
        code: A code of the task, which each row then has the answer of.

    Returns:
        The rows, in the order of their numbers.

    >>> drawn = rows(Task("z:3", [1, 2, 3]), n=1000, rng=0)
    >>> drawn[0].input, drawn[0].products, drawn[0].target, drawn[0].chance
    ((2, 2), (2, 1), 1, Fraction(1, 3))
    >>> verify("the answer is 1", drawn[0])
    True
    """
    of_type("task", task, Task, 'Task("z:3", [1, 2, 3])')
    refuse_process(task)
    if lengths is not None:
        task = _of_lengths(task, lengths)
    if split not in ("train", "test"):
        raise ValueError(f"split={split!r}: 'train' or 'test' is needed")
    seed = int(rng.integers(2**63)) if isinstance(rng, np.random.Generator) else whole("rng", rng)
    counts = {"rows": 0, "test_rows": 0, ("rows" if split == "train" else "test_rows"): whole("n", n)}
    with folder() as place:
        if code is not None:
            given = ["--code", str(write_table(code, place / "code.json"))]
            posed = Class(task, tied=True).spec
            stated = ("square", "lengths", "inputs", "length_weights", "reward")
            if any(code.space.spec.get(name) != posed.get(name) for name in stated):
                raise ValueError(f"a code of {code.space!r}: one of the task, its lengths, its law and its reward is needed")
        else:
            given = Class(task, tied=True).flags(place)
        flags = flags_of({**counts, "first": whole("first", first), "seed": seed, "rendering": rendering})
        found = ask("dataset", [*given, *flags], False)
    table = tuple(tuple(row) for row in found["class"]["square"])
    law = found["class"]["inputs"]
    words = law if isinstance(law, str) else f"markov:{law['markov']}" if "markov" in law else "product"
    made = (_row(one, table, words) for one in found["dataset"])
    return Rows(made, Fraction(found["chance"]))


def _of_lengths(task: Task, lengths: int | Iterable[int]) -> Task:
    """The task with other lengths. Weights stay with the lengths that they are of."""
    other = Task(task.task, lengths, inputs=task.inputs)
    if task.length_weights is None:
        return other
    weights = dict(zip(task.lengths, task.length_weights))
    unknown = [length for length in other.lengths if length not in weights]
    if unknown:
        raise ValueError(
            f"lengths={other.lengths}: the task has no weight for {', '.join(map(str, unknown))}; "
            "pass a Task with these lengths and their length_weights"
        )
    return Task(task.task, other.lengths, inputs=task.inputs, length_weights=[weights[n] for n in other.lengths])


def _row(one: Mapping[str, Any], table: tuple[tuple[int, ...], ...], inputs: str) -> Row:
    fields = dict(one)
    fields["input"], fields["products"] = tuple(fields["input"]), tuple(fields["products"])
    fields["chance"] = Fraction(fields["chance"])
    return Row(**fields, table=table, inputs=inputs)


def verify(answer: str | int | None, row: Row | Mapping[str, Any]) -> bool:
    """Whether an answer is the target of a row: exact match on the last number of a text, never a substring.

    ``row`` is a :class:`Row`, or a mapping with ``target``, ``label`` or ``answer``, as files have it.
    :mod:`foldglass.verifier` says which word of a text counts.

    Args:
        answer: The text of an answer, or a number.
        row: A :class:`Row`, or a mapping with ``target``, ``label`` or ``answer``, as files have it.

    Returns:
        Whether it is the target.

    >>> verify("12", {"target": 2}), verify("2.", {"target": 2}), verify(2, {"answer": "2"})
    (False, True, True)
    """
    if isinstance(row, Row):
        target: Any = row.target
    else:
        named = [name for name in ("target", "label", "answer") if name in row]
        if not named:
            raise ValueError(f"a row with {', '.join(row)}: one with target, label or answer is needed")
        target = row[named[0]]
    if isinstance(answer, (int, np.integer)):
        return not isinstance(answer, bool) and str(int(answer)) == str(target)
    return is_correct(answer, target)
