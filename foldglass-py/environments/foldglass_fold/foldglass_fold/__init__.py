"""Iterated quasigroup multiplication as a taskset of verifiers v1."""

from __future__ import annotations

from collections.abc import Iterator

import foldglass as fg
import verifiers.v1 as vf

__all__ = ["FoldTaskset"]


class FoldData(vf.TaskData):
    """One input, as :class:`foldglass.Row` has it."""

    #: Task, seed, split and number of the row. Verifiers has the field since 0.4 only.
    id: str
    input: list[int]
    products: list[int]
    target: int
    length: int
    #: The success of the best constant guess on inputs of this length, such as "1/3".
    chance: str


class FoldTask(vf.Task[FoldData]):
    """Asks for the product of an input."""

    @property
    def key(self) -> str:
        # Rows are drawn with replacement: two may ask the same question.
        return self.data.id

    @vf.reward(weight=1.0)
    async def correct(self, trace: vf.Trace) -> float:
        """1 if the last number of the reply is the target."""
        return float(fg.verify(trace.last_reply, {"target": self.data.target}))


class FoldConfig(vf.TasksetConfig):
    """Which rows are asked about."""

    #: A name that foldglass knows: z:3, quasigroup, s:3 ..
    task_name: str = "z:3"
    #: The law of the inputs: uniform, markov:9/10 ..
    inputs: str = "uniform"
    lengths: list[int] = [1, 2, 3]
    rows: int = 1000
    seed: int = 0
    #: "train" or "test".
    split: str = "train"
    #: Whether the question shows the table.
    show_table: bool = True


class FoldTaskset(vf.Taskset[FoldTask, FoldConfig]):
    """Rows of one task, in the order of their numbers."""

    def load(self) -> Iterator[FoldTask]:
        config = self.config
        drawn = fg.rows(
            fg.Task(config.task_name, config.lengths, inputs=config.inputs),
            n=config.rows,
            rng=config.seed,
            split=config.split,
            rendering="words" if config.show_table else "words-hidden",
        )
        for row in drawn:
            data = FoldData(
                id=f"{config.task_name}/{config.seed}/{row.split}/{row.index}",
                prompt=row.prompt,
                input=list(row.input),
                products=list(row.products),
                target=row.target,
                length=row.length,
                chance=str(row.chance),
            )
            yield FoldTask(data, config.task)
