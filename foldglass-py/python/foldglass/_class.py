"""Tasks, classes, codes and policies: what a question is about (paper, section 2)."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Any, Union

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import _native
from ._given import of_type, probabilities, whole, wholes

#: A multiplication table in words (``"quasigroup"``, ``"z:5"``) or in place.
TaskLike = Union[str, "ArrayLike"]

#: Names that mean one table, whatever the directory.
_DEFINITE = re.compile(r"parity|quasigroup|q8|flipflop|([zsadt]|max|copy):\d+")


class Task:
    """A multiplication table, lengths of the inputs and their law. What is not a task is refused with a ``ValueError`` that
    names what is accepted.

    Args:
        task: A name that the command line knows (``parity``, ``z:5``, ``quasigroup``, ``s:3``, ``z:2*s:3``,
            ``random:5:7``, ``max:3``, ``file:PATH``; ``random:5`` is ``random:5:0``) or any q x q table.
        lengths: One length or several.
        inputs: The law of the inputs: ``"uniform"``, ``"markov:9/10"``, ``"product:FILE"``, or a row of q
            probabilities for every position (numbers, or text such as ``"1/3"``, which is exact).
        length_weights: A weight above 0 for each length, of which the proportion counts (default equal).
        reward: ``"final"`` (the last token), ``"process"`` (that of every step, equally) or ``"process:1,2,4"`` (with
            a weight for each step).

    >>> Task("parity", 8, inputs="markov:9/10")
    Task('parity', lengths=[8], inputs='markov:9/10')
    >>> Task([[0, 1], [1, 0]], [2, 3]).lengths
    [2, 3]
    >>> Task("parity", [2, 3], length_weights=[1, "1/2"])
    Task('parity', lengths=[2, 3], length_weights=['1', '1/2'])
    """

    def __init__(
        self,
        task: TaskLike,
        lengths: int | Iterable[int],
        *,
        inputs: str | Sequence[Sequence[float | str | Fraction]] = "uniform",
        length_weights: Sequence[float | str | Fraction] | None = None,
        reward: str = "final",
    ) -> None:
        self.task: str | list[list[int]] = (
            _full_name(task) if isinstance(task, str) else wholes("task", task).tolist()
        )
        if isinstance(lengths, str):
            raise TypeError(f"lengths={lengths!r}: a whole number or several are needed")
        listed = lengths if isinstance(lengths, Iterable) else [lengths]
        self.lengths: list[int] = [whole("lengths", length, 1) for length in listed]
        self.inputs: str | list[list[str]] = (
            inputs if isinstance(inputs, str) else [[_digits(p) for p in row] for row in inputs]
        )
        self.length_weights: list[str] | None = (
            None
            if length_weights is None
            else [str(w) if isinstance(w, int) else _digits(w) for w in length_weights]
        )
        of_type("reward", reward, str, 'reward="process"')
        self.reward = reward
        # The smallest class of the task: it cannot be laid out where the task is not one.
        Class(self, tied=True)

    def __repr__(self) -> str:
        stated = "" if self.inputs == "uniform" else f", inputs={self.inputs!r}"
        if self.length_weights is not None:
            stated += f", length_weights={self.length_weights}"
        if self.reward != "final":
            stated += f", reward={self.reward!r}"
        return f"Task({self.task!r}, lengths={self.lengths}{stated})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Task) and vars(self) == vars(other)

    def __hash__(self) -> int:
        return hash(repr(self))


def refuse_process(task: Task) -> None:
    """Refuses a process reward where the last token alone is paid for."""
    if task.reward != "final":
        raise ValueError(f"{task!r} rewards single steps: a task that rewards the last token is needed, reward=\"final\"")


def _is_file(name: str) -> bool:
    return name.startswith("file:") or name.endswith(".json")


def _full_name(name: str) -> str:
    """The name with the seeds of its random squares, 0 where none is stated."""
    return name if _is_file(name) else re.sub(r"\brandom:(\d+)(?![\d:])", r"random:\1:0", name)


def _absolute(name: str) -> str:
    """A name that means the same table in another directory."""
    return "file:" + os.path.abspath(name.removeprefix("file:")) if _is_file(name) else name


def _digits(probability: float | str | Fraction) -> str:
    """A probability with all its digits."""
    if isinstance(probability, Fraction):
        return f"{probability.numerator}/{probability.denominator}"
    return probability if isinstance(probability, str) else repr(float(probability))


def _stated(spec: Mapping[str, Any]) -> dict[str, str]:
    """The weights of lengths and the reward of a class, in words, where they are not the default."""
    stated = {}
    if "length_weights" in spec:
        stated["length_weights"] = ",".join(spec["length_weights"])
    if "reward" in spec:
        rule = spec["reward"]
        stated["reward"] = rule if isinstance(rule, str) else "process:" + ",".join(rule["process"])
    return stated


class Class:
    """What a policy may depend on: a window of inputs, the tokens before, the step unless tied.

    Cells are numbered as the command line does; :meth:`keys` says what each stands for.

    Args:
        task: The task.
        window: ``(p, f)``: p symbols before and f after ``x_t`` are read.
        tied: Whether all steps share one table.
        memory: The number of tokens remembered.
        max_memory: Refuse to start what needs more memory than this, such as ``"4GiB"`` (default what is available).

    >>> space = Class(Task("quasigroup", 7), window=(0, 3), tied=True)
    >>> space
    Class(q=5 T=7 window (0,3) tied, 4525 cells)
    >>> space.q, space.shape
    (5, (4525, 5))
    """

    def __init__(
        self,
        task: Task,
        *,
        window: tuple[int, int] = (0, 0),
        tied: bool = False,
        memory: int = 1,
        max_memory: str | None = None,
    ) -> None:
        of_type("task", task, Task, 'Class(Task("parity", 8))')
        if not isinstance(tied, (bool, np.bool_)):
            raise TypeError(f"tied={tied!r}: True or False is needed")
        past, future = window
        name = _absolute(task.task) if isinstance(task.task, str) else None
        words = {
            "task": name or "parity",
            "lengths": task.lengths,
            "window": [whole("window", past), whole("window", future)],
            "tied": bool(tied),
            "memory": whole("memory", memory),
            "inputs": task.inputs if isinstance(task.inputs, str) else "uniform",
            "reward": task.reward,
        }
        if task.length_weights is not None:
            words["length_weights"] = task.length_weights
        table = None if isinstance(task.task, str) else task.task
        rows = None if isinstance(task.inputs, str) else task.inputs
        spec = _native.describe(json.dumps(words), os.getcwd(), table, rows)
        self._set(_native.Class(spec, max_memory), name)

    def _set(self, native: _native.Class, name: str | None) -> None:
        self._native = native
        made_of = native.__reduce__()[1]
        self._spec: dict[str, Any] = json.loads(made_of[0])
        # Equal for equal classes of one limit of memory.
        self._key = json.dumps(made_of)
        self._shape = (native.cells, native.q)
        self._name = name

    @classmethod
    def from_spec(cls, spec: dict[str, Any], *, max_memory: str | None = None) -> Class:
        """The class that the object ``class`` of a file describes.

        Args:
            spec: The object.
            max_memory: Refuse to start what needs more memory than this, such as ``"4GiB"``.

        Returns:
            The class.
        """
        made = cls.__new__(cls)
        made._set(_native.Class(json.dumps(spec), max_memory), None)
        return made

    @property
    def spec(self) -> dict[str, Any]:
        """All that it is made of, as files have it."""
        return dict(self._spec)

    @property
    def q(self) -> int:
        """The number of symbols."""
        return self._shape[1]

    @property
    def cells(self) -> int:
        """The number of cells."""
        return self._shape[0]

    @property
    def shape(self) -> tuple[int, int]:
        """That of a policy's table: (cells, q)."""
        return self._shape

    @property
    def lengths(self) -> list[int]:
        """The lengths of the inputs."""
        return list(self._spec["lengths"])

    @property
    def window(self) -> tuple[int, int]:
        """The symbols read before and after x_t."""
        past, future = self._spec["window"]
        return past, future

    @property
    def tied(self) -> bool:
        """Whether all steps share one table."""
        return bool(self._spec["tied"])

    @property
    def square(self) -> NDArray[np.int64]:
        """The multiplication table."""
        return np.array(self._spec["square"], dtype=np.int64)

    @property
    def denominator(self) -> int:
        """The denominator of all rewards of codes."""
        return int(self._native.denominator)

    @property
    def codes(self) -> int:
        """The number of codes, q to the power of cells."""
        count: int = self.q**self.cells
        return count

    def keys(self) -> NDArray[np.void]:
        """What each cell stands for: a structured array of ``t``, ``x`` and ``y``; -1 is SEP or none.

        >>> Class(Task("parity", 2)).keys()[2]
        np.void((2, [0], [0]), dtype=[('t', '<i8'), ('x', '<i8', (1,)), ('y', '<i8', (1,))])
        """
        t, x, y = self._native.keys()
        keys = np.zeros(
            self.cells,
            dtype=[("t", "i8"), ("x", "i8", (x.shape[1],)), ("y", "i8", (y.shape[1],))],
        )
        keys["t"], keys["x"], keys["y"] = t, x, y
        return keys

    def fold(self, x: Sequence[int]) -> list[int]:
        """The products of an input, step by step: what an optimal policy may emit."""
        return self._native.fold([whole("x", symbol) for symbol in x])

    def route(self, x: Sequence[int], t: int, y: Sequence[int] = ()) -> int:
        """The cell that step ``t`` (from 1) of input ``x`` consults after the tokens ``y``.

        Args:
            x: The input.
            t: The step, from 1.
            y: The tokens before.

        Returns:
            The number of the cell.
        """
        listed = [[whole(name, symbol) for symbol in given] for name, given in (("x", x), ("y", y))]
        return self._native.route(listed[0], whole("t", t, 1), listed[1])

    def sample_inputs(
        self, n: int, rng: np.random.Generator | int = 0, *, threads: int | None = None
    ) -> NDArray[np.int32]:
        """Inputs drawn from the law of the class: (n, longest length). Behind the end of a shorter one -1.

        The same seed gives the same inputs on any number of threads, and the first of more.

        Args:
            n: The number of inputs.
            rng: A seed, or a generator that a seed is drawn from.
            threads: Threads to compute with; the result does not depend on them (default all).

        Returns:
            The symbols, -1 behind the end of a shorter input.

        >>> Class(Task("parity", [1, 3])).sample_inputs(1000, rng=1).shape
        (1000, 3)
        """
        return _native.draw_inputs(self._native, whole("n", n), _seed(rng), threads)

    def flags(self, directory: Path) -> list[str]:
        """The flags of the command line that give this class; tables go to files in ``directory``."""
        if self._name is not None and _DEFINITE.fullmatch(self._name):
            task = self._name
        else:
            path = directory / "task.json"
            path.write_text(json.dumps(self._spec["square"]))
            task = f"file:{path}"
        past, future = self.window
        flags = ["--task", task, "--lengths", ",".join(map(str, self.lengths))]
        flags += ["--window", f"{past},{future}", "--memory", str(self._spec["memory"])]
        flags += ["--tied"] if self.tied else []
        for flag, value in _stated(self._spec).items():
            flags += [f"--{flag.replace('_', '-')}", value]
        inputs = self._spec["inputs"]
        if inputs == "uniform":
            return flags
        if "markov" in inputs:
            return [*flags, "--inputs", f"markov:{inputs['markov']}"]
        path = directory / "inputs.json"
        path.write_text(json.dumps(inputs["product"]))
        return [*flags, "--inputs", f"product:{path}"]

    def __repr__(self) -> str:
        return f"Class({self._native.words()}, {self.cells} cells)"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Class) and self._native == other._native

    def __hash__(self) -> int:
        return hash(self._native)

    def __getstate__(self) -> dict[str, Any]:
        return {"native": self._native, "name": self._name}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._set(state["native"], state["name"])


class Code:
    """A deterministic policy: one action a cell.

    Args:
        space: The class.
        actions: The action of each cell.

    >>> space = Class(Task("parity", 2))
    >>> code = Code.fold(space)
    >>> code
    Code([0 1 0 1 1 0], J = 1)
    >>> code.exact
    Fraction(1, 1)
    """

    def __init__(self, space: Class, actions: ArrayLike) -> None:
        array = wholes("actions", actions)
        if array.shape != (space.cells,):
            raise ValueError(f"actions of shape {array.shape}: this class needs ({space.cells},)")
        self.space = space
        # Refuses what is no code.
        self._exact = _fractions(space, array[None])[0]
        array.setflags(write=False)
        self._actions = array

    @classmethod
    def fold(cls, space: Class) -> Code:
        """The code that multiplies step by step: x_1, then B[y, x]. Its window is x_t and y alone."""
        keys = space.keys()
        past = space.window[0]
        x, y = keys["x"][:, past], keys["y"][:, -1]
        square = space.square
        actions = np.where(y < 0, x, square[np.maximum(y, 0), np.maximum(x, 0)])
        return cls(space, actions)

    @classmethod
    def random(cls, space: Class, rng: np.random.Generator | int | None = None) -> Code:
        """Uniform over all codes.

        Args:
            space: The class.
            rng: A seed or a generator (default another code in every call).

        Returns:
            The code.
        """
        generator = np.random.default_rng(rng)
        return cls(space, generator.integers(space.q, size=space.cells))

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Code:
        """The code of a file that ``foldglass`` or :meth:`save` wrote."""
        form = json.loads(Path(path).read_text())
        if "actions" not in form or "class" not in form:
            raise ValueError(f"{path}: a code file has the keys class and actions")
        return cls(Class.from_spec(form["class"]), form["actions"])

    @property
    def actions(self) -> NDArray[np.int64]:
        """The actions, in the order of the cells; read-only."""
        return self._actions

    @property
    def exact(self) -> Fraction:
        """The reward J, exactly."""
        return self._exact

    @property
    def reward(self) -> float:
        """The reward J."""
        return float(self._exact)

    @cached_property
    def policy(self) -> Policy:
        """The same as a policy."""
        rows = np.zeros(self.space.shape)
        rows[np.arange(self.space.cells), self._actions] = 1.0
        return Policy(self.space, rows)

    def with_action(self, cell: int, action: int) -> Code:
        """The code with another action at one cell.

        Args:
            cell: The number of the cell.
            action: The symbol that it emits.

        Returns:
            Another code: this one stays as it is.
        """
        actions = self._actions.copy()
        actions[whole("cell", cell)] = whole("action", action)
        return Code(self.space, actions)

    def rollout(self, x: Sequence[int]) -> list[int]:
        """The tokens that it emits on an input."""
        tokens: list[int] = []
        for t in range(1, len(x) + 1):
            tokens.append(int(self._actions[self.space.route(x, t, tokens)]))
        return tokens

    def form(self) -> dict[str, Any]:
        """As a code file has it."""
        return {"format": "foldglass-code/1", "class": self.space.spec, "actions": self._actions.tolist()}

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes a code file, which every command of ``foldglass`` reads."""
        Path(path).write_text(json.dumps(self.form()))

    def svg(self) -> str:
        """The drawing of ``foldglass draw``, for classes that fit a page."""
        from ._commands import drawing

        return drawing(self)

    def _repr_svg_(self) -> str | None:
        try:
            return self.svg() if self.space.cells <= 200 else None
        except ValueError:
            return None

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return np.array(self._actions, dtype=dtype)

    def __len__(self) -> int:
        return self.space.cells

    def __iter__(self) -> Iterator[int]:
        return iter(self._actions.tolist())

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Code)
            and self.space == other.space
            and bool(np.array_equal(self._actions, other._actions))
        )

    def __hash__(self) -> int:
        return hash(self._actions.tobytes())

    def __repr__(self) -> str:
        shown = " ".join(map(str, self._actions[:40].tolist()))
        more = " .." if len(self) > 40 else ""
        return f"Code([{shown}{more}], J = {self._exact})"

    def __reduce__(self) -> tuple[Any, ...]:
        return Code, (self.space, self._actions)


def check_policy_shape(space: Class, array: NDArray[Any]) -> None:
    """Refuses a table of another shape."""
    if array.shape != space.shape:
        raise ValueError(
            f"a policy of shape {array.shape}: this class needs {space.shape}, one row per cell"
        )


class Policy:
    """A stochastic policy: a distribution over the actions for each cell.

    ``rows`` is an array of shape (cells, q) of NumPy, PyTorch, JAX or whatever has ``__array__`` or DLPack, of any
    strides. Rows are divided by their sums, which may miss 1 by 1e-9 in float64, 1e-5 in float32 and 1e-2 in half
    precision.

    Args:
        space: The class.
        rows: Probabilities of shape (cells, q), of NumPy, PyTorch, JAX or whatever has ``__array__`` or DLPack.

    >>> space = Class(Task("quasigroup", 4))
    >>> policy = Policy.uniform(space)
    >>> round(policy.entropy / space.cells, 6)
    1.609438
    """

    def __init__(self, space: Class, rows: ArrayLike) -> None:
        array, tolerance = probabilities("rows", rows)
        check_policy_shape(space, array)
        self.space = space
        self._native = _native.Policy(space._native, array, tolerance)

    @classmethod
    def uniform(cls, space: Class) -> Policy:
        """Every action with probability 1/q."""
        return cls(space, np.full(space.shape, 1.0 / space.q))

    @classmethod
    def dirichlet(
        cls, space: Class, alpha: float = 1.0, rng: np.random.Generator | int | None = None
    ) -> Policy:
        """Rows drawn from a Dirichlet law.

        Args:
            space: The class.
            alpha: The parameter of the law; 1 is the uniform one.
            rng: A seed or a generator (default another policy in every call).

        Returns:
            The policy.
        """
        generator = np.random.default_rng(rng)
        return cls(space, generator.dirichlet(np.full(space.q, alpha), size=space.cells))

    @property
    def rows(self) -> NDArray[np.float64]:
        """The table, of shape (cells, q)."""
        return self._native.rows()

    @property
    def entropy(self) -> float:
        """The sum of the entropies of all rows, in nats."""
        return self._native.entropy()

    def greedy(self) -> Code:
        """The code of the likeliest actions, the lowest of equal ones."""
        return Code(self.space, self.rows.argmax(axis=1))

    def rollouts(
        self,
        n: int | None = None,
        rng: np.random.Generator | int = 0,
        *,
        group: int = 1,
        inputs: ArrayLike | None = None,
        threads: int | None = None,
    ) -> Rollouts:
        """``group`` rollouts on each of ``n`` inputs drawn from the law of the class, those of
        ``space.sample_inputs(n, rng)``, or on each row of ``inputs``: (inputs, longest length), -1 behind the end of a
        shorter one. The rollouts on one input follow each other: ``rewards.reshape(-1, group)`` has a row per input.

        Args:
            n: The number of inputs to draw.
            rng: A seed, or a generator that a seed is drawn from.
            group: Rollouts on each input.
            inputs: The inputs themselves, in place of ``n`` drawn ones.
            threads: Threads to compute with; the result does not depend on them (default all).

        Returns:
            Inputs, tokens, cells, rewards and log-probabilities.

        >>> space = Class(Task("quasigroup", 8))
        >>> drawn = Policy.uniform(space).rollouts(512, rng=0)
        >>> drawn.tokens.shape, drawn.rewards.shape
        ((512, 8), (512,))
        >>> Policy.uniform(space).rollouts(64, group=8).rewards.reshape(-1, 8).shape
        (64, 8)
        """
        size = whole("group", group, 1)
        if inputs is None:
            if n is None:
                raise ValueError("rollouts: give n, a number of inputs to draw, or inputs")
            return Rollouts(
                self, *_native.draw_rollouts(self._native, whole("n", n), _seed(rng), threads, size), group=size
            )
        rows = wholes("inputs", inputs)
        longest = max(self.space.lengths)
        if rows.ndim != 2 or rows.shape[1] != longest:
            raise ValueError(f"inputs of shape {rows.shape}: (inputs, {longest}) is needed, shorter ones end with -1")
        if n is not None and whole("n", n) != len(rows):
            raise ValueError(f"n = {n} and {len(rows)} inputs: leave n out")
        given = np.clip(rows, -2, 2**31 - 1).astype(np.int32)
        return Rollouts(self, *_native.draw_rollouts(self._native, len(rows), _seed(rng), threads, size, given), group=size)

    def form(self) -> dict[str, Any]:
        """As a policy file has it."""
        return {"format": "foldglass-policy/1", "class": self.space.spec, "rows": self.rows.tolist()}

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes a policy file, which ``foldglass eval --policy`` reads."""
        Path(path).write_text(json.dumps(self.form()))

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Policy:
        """The policy of a file."""
        form = json.loads(Path(path).read_text())
        if "rows" not in form or "class" not in form:
            raise ValueError(f"{path}: a policy file has the keys class and rows")
        return cls(Class.from_spec(form["class"]), form["rows"])

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return self.rows if dtype is None else self.rows.astype(dtype)

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Policy)
            and self.space == other.space
            and bool(np.array_equal(self.rows, other.rows))
        )

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Policy({self.space!r}, entropy {self.entropy:.6g})"

    def __reduce__(self) -> tuple[Any, ...]:
        return Policy, (self.space, self.rows)


@dataclass(frozen=True, eq=False)
class Rollouts:
    """Rollouts of a policy: a row for each, as wide as the longest length; those on one input follow each other.

    Behind the end of a shorter rollout inputs, tokens and cells are -1 and log-probabilities 0, so that sums over a row
    are those of the rollout; ``mask`` has the places that are used.
    """

    policy: Policy
    #: x_1, x_2, ..: (n, longest length).
    inputs: NDArray[np.int32]
    #: y_1, y_2, ..
    tokens: NDArray[np.int32]
    #: The cell that each token was drawn at.
    cells: NDArray[np.int32]
    #: ln pi(y_t | c_t).
    log_probs: NDArray[np.float64]
    #: The reward of each rollout: (n,).
    rewards: NDArray[np.float64]
    #: The length of each rollout.
    lengths: NDArray[np.int32]
    #: Rollouts on each input.
    group: int = 1

    @property
    def mask(self) -> NDArray[np.bool_]:
        """Where there is a token."""
        places: NDArray[np.bool_] = np.arange(self.tokens.shape[1]) < self.lengths[:, None]
        return places

    def __len__(self) -> int:
        return len(self.rewards)

    def __repr__(self) -> str:
        return f"Rollouts({len(self)} of {self.policy.space!r}, mean reward {self.rewards.mean():.4f})"


def _seed(rng: np.random.Generator | int) -> int:
    """The seed itself, or one drawn from a generator."""
    if isinstance(rng, np.random.Generator):
        return int(rng.integers(2**63))
    return whole("rng", rng)


def _fractions(space: Class, codes: NDArray[np.int64]) -> list[Fraction]:
    return [Fraction(text) for text in _native.rewards_exact(space._native, codes)]


def rewards_exact(space: Class, codes: ArrayLike) -> list[Fraction]:
    """The exact rewards of codes, of shape (codes, cells), on all cores.

    Args:
        space: The class.
        codes: Actions, of shape (codes, cells).

    Returns:
        The reward of each code.

    >>> space = Class(Task("parity", 3))
    >>> rewards_exact(space, [Code.fold(space).actions])
    [Fraction(1, 1)]
    """
    given = [np.asarray(code) for code in codes] if isinstance(codes, (list, tuple)) else codes
    array = wholes("codes", given)
    if array.size == 0:
        return []
    if array.ndim != 2:
        raise ValueError(f"codes of shape {array.shape}: (codes, cells) is needed")
    return _fractions(space, array)
