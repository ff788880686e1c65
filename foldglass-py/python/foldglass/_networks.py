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
    """The tensors of a safetensors file that ``foldglass`` wrote.

    Args:
        path: The file.

    Returns:
        The tensors by name, in single precision.
    """
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
        """The safetensors file of a network; with ``best`` of its best gate (``keep="best"``).

        Args:
            model: The number of the network.
            best: Whether that of its best gate is meant.

        Returns:
            The path.
        """
        of = self.models[model]["best"] if best else self.models[model]
        return Path(of["weights"])

    def weights(self, model: int, *, best: bool = False) -> dict[str, NDArray[np.float32]]:
        """The tensors of a network; with ``best`` those of its best gate (``keep="best"``).

        Args:
            model: The number of the network.
            best: Whether those of its best gate are meant.

        Returns:
            The tensors by name.
        """
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


def _settings(given: dict[str, Any]) -> dict[str, Any]:
    """The arguments of a call that are flags."""
    return {name: value for name, value in given.items() if name not in ("tasks", "what", "space", "out", "progress")}


@renamed(models="runs")
def train(
    tasks: str | Sequence[str] | None = None,
    *,
    runs: int = 1,
    entropy: float | Sequence[float] | None = None,
    learning_rate: float | Sequence[float] | None = None,
    quick: bool = False,
    batch: int | None = None,
    steps: int | None = None,
    longest: int | None = None,
    lengths: int | Sequence[int] | None = None,
    length_weights: Sequence[float | str] | None = None,
    inputs: str | None = None,
    start_length: int | None = None,
    drawn: str | None = None,
    gate: str | None = None,
    gate_every: int | None = None,
    gate_above: float | None = None,
    gate_samples: int | None = None,
    gate_lengths: str | None = None,
    convention: str | None = None,
    method: str | None = None,
    epsilon: float | None = None,
    noise: str | None = None,
    adaptive: Sequence[int] | None = None,
    adam: Sequence[float] | None = None,
    clip_norm: float | None = None,
    weight_decay: float | None = None,
    warm_up: int | None = None,
    cosine: float | None = None,
    entropy_decay: str | None = None,
    kl: float | None = None,
    prior: str | PathLike | None = None,
    baseline: str | None = None,
    standardise: bool = False,
    keep: str | None = None,
    test_length: int | None = None,
    test_inputs: int | None = None,
    width: int | None = None,
    heads: int | None = None,
    mlp: int | None = None,
    vocabulary: int | None = None,
    norm: str | None = None,
    layout: str | None = None,
    init: str | None = None,
    backend: str | None = None,
    precision: str | None = None,
    checkpoint_every: int | None = None,
    record_every: int | None = None,
    tensorboard: str | PathLike | None = None,
    out: str | PathLike | None = None,
    seed: int = 0,
    threads: int | None = None,
    progress: ProgressLike = True,
) -> Fleet:
    """Trains fleets of the paper's transformer by REINFORCE.

    Keywords are the flags of ``foldglass train``; those that are left out have its defaults.

    Args:
        tasks: One name of a multiplication table or several (``"z:5"``, ``"parity"``, ``"quasigroup"``); by default
            those of the paper, with ``quick`` z:5.
        runs: Models of every task, coefficient and rate; their seeds are ``seed``, ``seed + 1``, ..
        entropy: The entropy coefficient c (1/beta of the paper), or several (default 0, with ``quick`` 0.3).
        learning_rate: Adam's rate (default 3e-4).
        quick: A small network (width 64, batch 128, lengths 1 and 2, 1,500 steps) that learns in seconds on a CPU;
            other flags still count.
        batch: Samples of a batch, 1 to 4096 (default 512).
        steps: Updates (default 40000).
        longest: The longest length, 1 to 64 (default 21, or the longest of ``lengths``).
        lengths: No curriculum: lengths uniform on this list throughout, such as 1,2.
        length_weights: How likely the lengths of ``lengths`` are, in proportion: one exact weight above 0 for each,
            such as 1,2 or 1/3,2/3 (default equal).
        inputs: The law of the inputs: uniform, markov:K (a symbol repeats with probability K, such as 9/10) or
            product:FILE (a JSON list with a row of q probabilities for every position up to the longest length)
            (default uniform).
        start_length: The length n at which the curriculum starts; lengths are uniform on 1..n (default 1).
        drawn: Draw a length per sample or per batch: sample or batch (default sample).
        gate: How the gate's answers are decoded: greedy or sampled (default greedy).
        gate_every: Test at the gate every N updates (default 20).
        gate_above: The accuracy above which the curriculum takes the next length (default 0.9).
        gate_samples: Fresh samples of the gate, 1 to 4096 (default 512).
        gate_lengths: The lengths of the gate's samples: training (those of training) or current (the longest alone)
            (default training).
        convention: What the coefficient multiplies: token-mean (entropy averaged over all tokens of the batch),
            sequence-mean, summed (over a sample's tokens), or return (-log pi enters the return) (default
            token-mean).
        method: What is optimised: reinforce (batch mean as baseline), grpo:GROUP,CLIP,EPOCHS (such as grpo:8,0.2,1)
            or expert (expert iteration: likelihood of the right samples) (default reinforce).
        epsilon: Replace an emitted token by a uniform symbol with this probability (default 0).
        noise: Relabelling noise: transposition:SHARE,PERIOD or full:SHARE,PERIOD, the share of a batch whose tokens
            are relabelled at every step that is a multiple of the period, such as transposition:0.5,500.
        adaptive: Gather batches into an update until RIGHT samples were right, at most MOST batches, such as 64,16.
        adam: Adam's beta1, beta2 and epsilon (default 0.9,0.999,1e-8).
        clip_norm: Scale a model's gradient down to this norm where it is longer (default no clipping).
        weight_decay: AdamW's decay: every update takes this share times the rate off every weight (default 0).
        warm_up: Steps over which the rate rises linearly from 0 (default 0).
        cosine: After the warm-up, lower the rate by half a cosine to this share of it at the last step (default 1, a
            constant rate).
        entropy_decay: Move the entropy coefficient to a final value, which it has from a step on: linear:FINAL,STEPS
            or geometric:FINAL,STEPS, such as linear:0.01,20000.
        kl: Subtract this multiple of KL(pi || prior) of the next token, averaged as the convention averages the
            entropy (default 0).
        prior: The prior of kl: initial (each network's own first weights), or a safetensors file of one
            network for all (default initial).
        baseline: What reinforce subtracts from a return: batch (the mean over the batch) or length (the mean over the
            batch's samples of the same length) (default batch).
        standardise: Divide reinforce's advantages by their standard deviation over the batch.
        keep: Which weights are kept: last, or best (beside the last those of the best gate: the longest length of the
            curriculum, there the highest accuracy) (default last).
        test_length: The length of the test at the end (default 8, or the longest length where that is less).
        test_inputs: Fresh inputs of the test, at every length (default 2000).
        width: The width D of the residual stream (default 256).
        heads: Attention heads; each has an even width (default 4).
        mlp: The width of the MLP (default 1024).
        vocabulary: Tokens, the separator included: more than the task has symbols (default 8).
        norm: What norms divide by: rms, or layer (the mean subtracted) (default rms).
        layout: Where inputs and tokens stand: prefix, prefix-fixed (inputs padded to the longest length), causal
            (step t sees x_1..x_t), causal-fixed, interleaved, shared (x_t and y_t at one position) or shared-causal
            (default prefix-fixed).
        init: The distribution of the first weights: pt (embedding N(0,1), matrices U(±1/sqrt(fan-in))), 02 (N(0,
            0.02)) or fan (N(0, 1/fan-in)) (default pt).
        backend: Where to compute: cuda, cpu, or auto (a GPU where one can be used, else the CPU) (default auto).
        precision: The GPU's arithmetic: bf16 (compute capability 9.0, width 256) or tf32 (8.0 or later) (default bf16
            where it can be).
        checkpoint_every: Seconds between two checkpoints (default 60).
        record_every: Record a point of every model's curve each time N steps have passed; points are taken when the
            gate is asked (default 100; in studies, none).
        tensorboard: Also write curves here as event files for TensorBoard, one directory per model; points as often as
            ``record_every`` says.
        out: Directory for settings, curves, checkpoints and weights: the same call resumes there after a stop.
            Without it the files go with the result.
        seed: The seed of everything random.
        threads: Threads to compute with; the result does not depend on them (default all).
        progress: Whether a bar is shown, or a function that is given each :class:`Progress`.

    Returns:
        The networks, what each came to, its curve and its weights.
    """
    given = _settings(locals())
    listed = [tasks] if isinstance(tasks, str) else list(tasks or [])
    return _fleet("train", [f"--task={task}" for task in listed], given, out, progress)


@renamed(networks="runs", every="compare_every")
def distill(
    what: Class | Code,
    *,
    runs: int = 3,
    target: float | None = None,
    held_out: int | None = None,
    checkpoint_every: int | None = None,
    batch: int | None = None,
    learning_rate: float | None = None,
    steps: int | None = None,
    compare_every: int | None = None,
    width: int | None = None,
    heads: int | None = None,
    mlp: int | None = None,
    vocabulary: int | None = None,
    norm: str | None = None,
    layout: str | None = None,
    init: str | None = None,
    backend: str | None = None,
    precision: str | None = None,
    out: str | PathLike | None = None,
    seed: int = 0,
    threads: int | None = None,
    progress: ProgressLike = True,
) -> Fleet:
    """Distils codes into networks: random codes of a class, or one code into all of them.

    Keywords are the flags of ``foldglass distill``; those that are left out have its defaults.

    Args:
        what: A class, of which random codes are the teachers, or the code that teaches all networks.
        runs: Networks; their seeds are ``seed``, ``seed + 1``, ..
        target: A network is done when it emits at least this share of its code's tokens (default 0.999).
        held_out: Held-out inputs on which it is compared, the network generating from its own tokens (default 2000).
        checkpoint_every: Seconds between two checkpoints (default 60).
        batch: Inputs of an update, 1 to 4096 (default 1024).
        learning_rate: Adam's rate (default 3e-4).
        steps: The most updates of a network (default 60000).
        compare_every: Compare networks with their codes every so many updates (default 500).
        width: The width D of the residual stream (default 256).
        heads: Attention heads; each has an even width (default 4).
        mlp: The width of the MLP (default 1024).
        vocabulary: Tokens, the separator included: more than the task has symbols (default 8).
        norm: What norms divide by: rms, or layer (the mean subtracted) (default rms).
        layout: Where inputs and tokens stand: prefix, prefix-fixed (inputs padded to the longest length), causal
            (step t sees x_1..x_t), causal-fixed, interleaved, shared (x_t and y_t at one position) or shared-causal
            (default prefix-fixed).
        init: The distribution of the first weights: pt (embedding N(0,1), matrices U(±1/sqrt(fan-in))), 02 (N(0,
            0.02)) or fan (N(0, 1/fan-in)) (default pt).
        backend: Where to compute: cuda, cpu, or auto (a GPU where one can be used, else the CPU) (default auto).
        precision: The GPU's arithmetic: bf16 (compute capability 9.0, width 256) or tf32 (8.0 or later) (default bf16
            where it can be).
        out: Directory for settings, curves, checkpoints and weights: the same call resumes there after a stop.
            Without it the files go with the result.
        seed: The seed of everything random.
        threads: Threads to compute with; the result does not depend on them (default all).
        progress: Whether a bar is shown, or a function that is given each :class:`Progress`.

    Returns:
        The networks, after how many updates each agreed with its code, and their weights.
    """
    given = _settings(locals())
    with folder() as place:
        if isinstance(what, Code):
            words = ["--code", str(write_table(what, place / "code.json"))]
        else:
            words = what.flags(place)
        return _fleet("distill", words, given, out, progress)


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
    weights: str | PathLike,
    space: Class | Task,
    *,
    longest: int | None = None,
    width: int | None = None,
    heads: int | None = None,
    mlp: int | None = None,
    vocabulary: int | None = None,
    norm: str | None = None,
    layout: str | None = None,
    backend: str | None = None,
    precision: str | None = None,
    seed: int = 0,
    threads: int | None = None,
    progress: ProgressLike = True,
) -> ReadBack:
    """Reads a trained network back as a code of a class: what it emits in each cell, most often.

    Keywords are the flags of ``foldglass read-back``. Of files that foldglass wrote, the network's form is known.

    Args:
        weights: The safetensors file of the network, such as :meth:`Fleet.weights_path` gives.
        space: The class, or a task for its class without a window.
        longest: The longest length of its training, which sets positions under prefix-fixed and causal-fixed (default
            what the file says, else the longest of ``lengths``).
        width: The width D of the residual stream (default 256).
        heads: Attention heads; each has an even width (default 4).
        mlp: The width of the MLP (default 1024).
        vocabulary: Tokens, the separator included: more than the task has symbols (default 8).
        norm: What norms divide by: rms, or layer (the mean subtracted) (default rms).
        layout: Where inputs and tokens stand: prefix, prefix-fixed (inputs padded to the longest length), causal
            (step t sees x_1..x_t), causal-fixed, interleaved, shared (x_t and y_t at one position) or shared-causal
            (default prefix-fixed).
        backend: Where to compute: cuda, cpu, or auto (a GPU where one can be used, else the CPU) (default auto).
        precision: The GPU's arithmetic: bf16 (compute capability 9.0, width 256) or tf32 (8.0 or later) (default bf16
            where it can be).
        seed: The seed of everything random.
        threads: Threads to compute with; the result does not depend on them (default all).
        progress: Whether a bar is shown, or a function that is given each :class:`Progress`.

    Returns:
        The code, with its agreement with the network.
    """
    given = _settings(locals())
    del given["weights"]
    of = space if isinstance(space, Class) else Class(space)
    with folder() as place:
        out = place / "code.json"
        words = [*of.flags(place), "--weights", os.fspath(weights), *flags_of({**given, "out": out})]
        answer = ask("read-back", words, progress)
        code = Code(of, json.loads(out.read_text())["actions"])
    return ReadBack(code, answer)
