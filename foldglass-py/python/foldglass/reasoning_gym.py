"""The task as a dataset of reasoning-gym, registered as ``foldglass`` when this module is imported.

    import reasoning_gym, foldglass.reasoning_gym
    data = reasoning_gym.create_dataset("foldglass", task="z:3", min_length=1, max_length=3, size=100, seed=0)
    data.score_answer("the answer is 2", data[0])

An answer scores 1 or 0, by :func:`foldglass.verify`: the score of the base class pays for answers that contain the right
one. Scoring reads the entry alone. The curriculum raises the length.

The extra ``reasoning-gym`` brings reasoning-gym.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from reasoning_gym.coaching import BaseCurriculum, RangeAttributeDefinition
from reasoning_gym.factory import DATASETS, ProceduralDataset, register_dataset

from ._class import Task
from ._dataset import Rows, rows, verify

__all__ = ["FoldConfig", "FoldCurriculum", "FoldDataset"]

DATASET_NAME = "foldglass"

#: Entries that are made at once.
_BLOCK = 256


@dataclass
class FoldConfig:
    """Which task, which lengths, and how it is asked."""

    task: str = "z:3"
    inputs: str = "uniform"
    min_length: int = 1
    max_length: int = 3
    show_table: bool = True
    seed: int | None = None
    size: int = 500

    def validate(self) -> None:
        """Refuses what is not a task."""
        assert self.size > 0, "size must be at least 1"
        assert 1 <= self.min_length <= self.max_length, "1 <= min_length <= max_length is needed"
        self.posed()

    def posed(self) -> Task:
        """The task."""
        return Task(self.task, range(self.min_length, self.max_length + 1), inputs=self.inputs)


class FoldDataset(ProceduralDataset):
    """Questions about iterated multiplication."""

    def __init__(self, config: FoldConfig) -> None:
        super().__init__(config=config, seed=config.seed, size=config.size)
        self._blocks: dict[int, Rows] = {}

    def __getitem__(self, idx: int) -> dict[str, Any]:
        if not 0 <= idx < self.size:
            raise IndexError(f"entry {idx} of {self.size}")
        block, place = divmod(idx, _BLOCK)
        if block not in self._blocks:
            rendering = "words" if self.config.show_table else "words-hidden"
            # One block at a time: a dataset is read in order.
            self._blocks = {
                block: rows(self.config.posed(), n=_BLOCK, rng=self.seed, first=block * _BLOCK, rendering=rendering)
            }
        made = self._blocks[block][place : place + 1].dicts()[0]
        question = made.pop("prompt")
        difficulty = {"length": (self.config.min_length, self.config.max_length)}
        about = {"source_dataset": DATASET_NAME, "source_index": idx, "difficulty": difficulty}
        return {"question": question, "answer": str(made["target"]), "metadata": {**about, **made}}

    def score_answer(self, answer: str | None, entry: dict[str, Any]) -> float:
        """1 if the last number of the answer is that of the entry, else 0."""
        return float(verify(answer, {"answer": entry["answer"]}))


class FoldCurriculum(BaseCurriculum):
    """Longer inputs at higher levels."""

    def __init__(self) -> None:
        super().__init__(FoldCurriculum.__name__, FoldConfig)
        self._define_attributes(
            RangeAttributeDefinition(
                name="length",
                levels=list(range(1, 22)),
                default_level=0,
                description="The length of the inputs",
                lower_field_name="min_length",
                upper_field_name="max_length",
            )
        )


if DATASET_NAME not in DATASETS:
    register_dataset(DATASET_NAME, FoldDataset, FoldConfig, FoldCurriculum)
