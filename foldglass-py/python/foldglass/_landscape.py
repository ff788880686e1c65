"""Where dynamics get stuck, and the ways out (paper, sections 3 to 5, App. D, E and G.6)."""

from __future__ import annotations

import builtins
import json
import os
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ._class import Class, Code, Policy
from ._commands import ask, flags_of, folder, write_codes, write_table
from ._frames import Framed
from ._given import of_type
from ._progress import ProgressLike
from ._spelling import renamed

if TYPE_CHECKING:
    import networkx

PathLike = os.PathLike[str]


@dataclass(frozen=True)
class TrapKind:
    """Traps of one reward and barrier."""

    reward: Fraction
    barrier: Fraction | None
    loss: Fraction | None
    count: int


@dataclass(frozen=True)
class Trap:
    """A trap, up to the names of tokens."""

    code: Code

    @property
    def reward(self) -> Fraction:
        """Its reward."""
        return self.code.exact

    @cached_property
    def barrier(self) -> Fraction | None:
        """How far reward must fall before it can rise, exactly; found when it is asked for, none where a
        flood of a million codes does not end."""
        verdict = certify(self.code, max_codes=1_000_000, barrier=True, progress=False)
        return verdict.barrier if verdict.barrier_is == "exact" else None


@dataclass(frozen=True)
class Census(Framed):
    """All codes of a class, counted."""

    space: Class
    codes: int
    optima: int
    local_maxima: int
    trap_count: int | None
    shelves: int | None
    kinds: list[TrapKind]
    trap_codes: list[Code] = field(repr=False)

    @property
    def traps(self) -> list[Trap]:
        """A code of every trap, up to the names of tokens."""
        return [Trap(code) for code in self.trap_codes]

    def columns(self) -> dict[str, Any]:
        kinds = self.kinds
        return {
            "reward": [kind.reward for kind in kinds],
            "barrier": [kind.barrier for kind in kinds],
            "largest_loss": [kind.loss for kind in kinds],
            "count": [kind.count for kind in kinds],
        }


@renamed(barrier_cap="max_codes")
def enumerate(
    space: Class,
    *,
    tolerance: Fraction | float | str = 0,
    out: str | PathLike | None = None,
    max_codes: int | None = None,
    threads: int | None = None,
    progress: ProgressLike = True,
) -> Census:
    """Visits every code of an untied class: optima, local maxima, traps and their barriers.

    With ``out`` finished parts are kept in that directory, and the same call goes on from there.

    Args:
        space: An untied class.
        tolerance: A change of the reward by up to this counts as none; above 0 traps are not sought. A ``Fraction``
            or text is exact.
        out: A directory that keeps finished parts: the same call resumes there.
        max_codes: The most codes that the search of a barrier visits (default 4,000,000).
        threads: Threads to compute with; the result does not depend on them (default all).
        progress: Whether a bar is shown, or a function that is given each :class:`Progress`.

    Returns:
        Counts of optima, local maxima and traps, and the traps with their barriers.

    >>> from foldglass import Task
    >>> census = enumerate(Class(Task("parity", 4, inputs="markov:9/10")), progress=False)
    >>> census.codes, census.optima, census.local_maxima, census.trap_count
    (16384, 8, 648, 8)
    >>> census.kinds
    [TrapKind(reward=Fraction(9, 10), barrier=Fraction(1, 25), loss=Fraction(1, 25), count=8)]
    """
    exact = Fraction(repr(float(tolerance)) if isinstance(tolerance, float) else tolerance)
    with folder() as place:
        traps = None if exact else place / "traps.json"
        flags = flags_of(
            {
                "tolerance": f"{exact.numerator}/{exact.denominator}",
                "out": None if out is None else os.fspath(out),
                "max_codes": max_codes,
                "threads": threads,
                "traps": traps,
            }
        )
        found = ask("enumerate", [*space.flags(place), *flags], progress)
        listed = [] if traps is None else json.loads(traps.read_text())["codes"]
    kinds = [
        TrapKind(Fraction(k["reward"]), _optional(k["barrier"]), _optional(k["loss"]), int(k["count"]))
        for k in found.get("kinds", [])
    ]
    return Census(
        space=space,
        codes=int(found["codes"]),
        optima=int(found["optimal"]),
        local_maxima=int(found["local_maxima"]),
        trap_count=None if found.get("traps") is None else int(found["traps"]),
        shelves=found.get("shelves"),
        kinds=kinds,
        trap_codes=[Code(space, code["actions"]) for code in listed],
    )


def _optional(text: str | None) -> Fraction | None:
    return None if text is None else Fraction(text)


@dataclass(frozen=True)
class Leaf:
    """A shelf without a way up: an optimum or a trap."""

    id: int
    reward: Fraction
    shelf: int
    code: Code
    #: How far reward must fall to reach a higher leaf; none for optima.
    barrier: Fraction | None
    #: Codes that steepest ascent brings here.
    steepest: int
    #: The same in expectation, for ascent by random steps.
    random: float


@dataclass(frozen=True)
class Saddle:
    """The reward at which leaves are joined."""

    id: int
    reward: Fraction
    children: list[int]


@dataclass(frozen=True)
class Tree(Framed):
    """The disconnectivity graph of a class."""

    space: Class
    codes: int
    nodes: int
    leaves: list[Leaf]
    saddles: list[Saddle]
    orbits: bool
    _svg: str = field(repr=False)

    def to_networkx(self) -> networkx.DiGraph:
        """A directed graph from saddles to what they join; nodes have ``reward`` and ``kind``."""
        import networkx

        graph = networkx.DiGraph()
        for leaf in self.leaves:
            graph.add_node(leaf.id, kind="leaf", reward=leaf.reward, barrier=leaf.barrier, shelf=leaf.shelf)
        for saddle in self.saddles:
            graph.add_node(saddle.id, kind="saddle", reward=saddle.reward)
            graph.add_edges_from((saddle.id, child) for child in saddle.children)
        return graph

    def svg(self) -> str:
        """The drawing of ``foldglass tree --svg``."""
        return self._svg

    def _repr_svg_(self) -> str:
        return self._svg

    def columns(self) -> dict[str, Any]:
        return {
            "id": [leaf.id for leaf in self.leaves],
            "reward": [leaf.reward for leaf in self.leaves],
            "shelf": [leaf.shelf for leaf in self.leaves],
            "barrier": [leaf.barrier for leaf in self.leaves],
            "steepest": [leaf.steepest for leaf in self.leaves],
            "random": [leaf.random for leaf in self.leaves],
        }


def tree(
    space: Class,
    *,
    orbits: bool = False,
    max_leaves: int = 200,
    threads: int | None = None,
    progress: ProgressLike = True,
) -> Tree:
    """Floods a small class: its maxima, the saddles that join them, barriers and basins.

    Args:
        space: A small class.
        orbits: Whether codes that differ in the names of their tokens only are one; not of a tied class.
        max_leaves: The most leaves in the drawing: an optimum and the traps of the highest barriers come first.
        threads: Threads to compute with; the result does not depend on them (default all).
        progress: Whether a bar is shown, or a function that is given each :class:`Progress`.

    Returns:
        Leaves and saddles, with rewards, barriers and basins.

    >>> from foldglass import Task
    >>> flooded = tree(Class(Task("parity", 4, inputs="markov:9/10")), progress=False)
    >>> len(flooded.leaves), sorted({leaf.reward for leaf in flooded.leaves})
    (16, [Fraction(9, 10), Fraction(1, 1)])
    """
    with folder() as place:
        svg = place / "tree.svg"
        flags = flags_of({"orbits": orbits, "max_leaves": max_leaves, "threads": threads, "svg": svg})
        found = ask("tree", [*space.flags(place), *flags], progress)
        drawn = svg.read_text()
    leaves = [
        Leaf(
            id=leaf["id"],
            reward=Fraction(leaf["reward"]),
            shelf=int(leaf["shelf_size"]),
            code=Code(space, leaf["actions"]),
            barrier=None if leaf["barrier"] is None else Fraction(leaf["barrier"]),
            steepest=int(leaf["steepest"]),
            random=leaf["random"],
        )
        for leaf in found["leaves"]
    ]
    saddles = [Saddle(s["id"], Fraction(s["reward"]), s["children"]) for s in found["saddles"]]
    return Tree(space, int(found["codes"]), int(found["nodes"]), leaves, saddles, orbits, drawn)


@dataclass(frozen=True)
class Move:
    """A change of one cell, and the reward after it."""

    cell: int
    before: int
    after: int
    reward: Fraction
    kind: str | None = None


def _moves(listed: Iterable[dict[str, Any]] | None) -> list[Move]:
    return [
        Move(m["cell"], m["from"], m["to"], Fraction(m["reward_exact"]), m.get("kind"))
        for m in listed or []
    ]


@dataclass(frozen=True)
class Verdict:
    """What a search of a code's shelf came to.

    ``verdict`` is ``"optimal"``, ``"certified"`` (a trap: its whole shelf was searched),
    ``"bounded"`` (no exit among the first codes of the shelf) or ``"escapes"`` (``path`` leads up).
    """

    code: Code
    verdict: str
    shelf: int
    depth: int
    neutral_moves: int
    unvisited: int
    path: list[Move]
    barrier: Fraction | None
    #: ``"exact"`` or ``"bound"``.
    barrier_is: str | None
    way_out: list[Move]
    _file: bytes = field(repr=False)

    @property
    def reward(self) -> Fraction:
        """The reward of the code."""
        return self.code.exact

    def save(self, path: str | PathLike) -> None:
        """Writes the file that ``foldglass check`` re-verifies; it holds all codes certified with
        this one."""
        Path(path).write_bytes(self._file)


@overload
def certify(
    codes: Code | Trap,
    *,
    max_codes: int = ...,
    barrier: bool = ...,
    threads: int | None = ...,
    progress: ProgressLike = ...,
) -> Verdict: ...
@overload
def certify(
    codes: Sequence[Code | Trap],
    *,
    max_codes: int = ...,
    barrier: bool = ...,
    threads: int | None = ...,
    progress: ProgressLike = ...,
) -> list[Verdict]: ...
@renamed(cap="max_codes")
def certify(
    codes: Code | Trap | Sequence[Code | Trap],
    *,
    max_codes: int = 100_000,
    barrier: bool = False,
    threads: int | None = None,
    progress: ProgressLike = True,
) -> Verdict | list[Verdict]:
    """Searches the shelves of codes, up to ``max_codes`` codes each, for a way up.

    Args:
        codes: A code, a trap, or several of one class.
        max_codes: The most codes that the search of a shelf, or of a barrier, visits.
        barrier: Whether to say too how far reward must fall below the shelf before a higher reward can be reached.
        threads: Threads to compute with; the result does not depend on them (default all).
        progress: Whether a bar is shown, or a function that is given each :class:`Progress`.

    Returns:
        What was found of the code; of several codes a list.

    >>> from foldglass import Task
    >>> census = enumerate(Class(Task("parity", 4, inputs="markov:9/10")), progress=False)
    >>> verdict = certify(census.trap_codes[0], barrier=True, progress=False)
    >>> verdict.verdict, verdict.shelf, verdict.barrier
    ('certified', 1, Fraction(1, 25))
    """
    given = [codes] if isinstance(codes, (Code, Trap)) else list(codes)
    listed = [one.code if isinstance(one, Trap) else one for one in given]
    for one in listed:
        of_type("a code to certify", one, Code, "Code(space, actions) or census.traps[0]")
    if not listed:
        return []
    with folder() as place:
        out = place / "verdicts.json"
        flags = flags_of({"max_codes": max_codes, "barrier": barrier, "threads": threads, "out": out})
        written = write_codes(listed, place / "codes.json")
        found = ask("certify", ["--code", str(written), *flags], progress)
        content = out.read_bytes()
    verdicts = [
        Verdict(
            code=listed[v["code"]],
            verdict=v["verdict"],
            shelf=v["shelf"],
            depth=v["depth"],
            neutral_moves=v["neutral_moves"],
            unvisited=v["unvisited"],
            path=_moves(v.get("path")),
            barrier=None if v.get("barrier") is None else Fraction(v["barrier"]),
            barrier_is=v.get("barrier_is"),
            way_out=_moves(v.get("way_out")),
            _file=content,
        )
        for v in found["verdicts"]
    ]
    return verdicts[0] if isinstance(codes, (Code, Trap)) else verdicts


@dataclass(frozen=True)
class EscapePath:
    """A way up that never lowers the reward."""

    start: Code
    moves: list[Move]
    reward: Fraction
    #: Of a search: ``"optimum"``, ``"raised"`` or ``"stuck"``; none where the theorem gave the path.
    outcome: str | None
    _file: bytes = field(repr=False)

    def codes(self) -> NDArray[np.int64]:
        """The codes on the way, the first included: (moves + 1, cells)."""
        actions = np.tile(self.start.actions, (len(self.moves) + 1, 1))
        for number, move in builtins.enumerate(self.moves):
            actions[number + 1 :, move.cell] = move.after
        return actions

    @property
    def end(self) -> Code:
        """The code it leads to."""
        return Code(self.start.space, self.codes()[-1])

    def save(self, path: str | PathLike) -> None:
        """Writes the file that ``foldglass check`` re-verifies."""
        Path(path).write_bytes(self._file)


@dataclass(frozen=True)
class Benign:
    """Whether a class has traps: ``"benign"``, ``"traps"`` or ``"unknown"``, and why.

    ``theorem`` is the one that says so, ``traps`` the number of codes that are traps, ``code`` one of them.
    Where neither a theorem nor a count of all codes answers, ``optimal`` of ``quenches`` end at reward 1,
    ``certified`` in a trap, and ``undecided`` elsewhere. With 95 % confidence at most a share ``upper_95`` of
    all quenches ends in a trap; undecided ends are counted as possible traps.
    """

    answer: str
    theorem: str | None
    why: str
    traps: int | None
    code: Code | None = field(repr=False)
    census_codes: int | None
    quenches: int | None
    optimal: int | None
    certified: int | None
    undecided: int | None
    upper_95: float | None


def benign(space: Class, *, seed: int = 0, threads: int | None = None, progress: ProgressLike = True) -> Benign:
    """Says whether a class has traps, by a theorem, by counting all codes in a few seconds, or by up to 500 quenches.

    Args:
        space: The class.
        seed: The seed of the quenches.
        threads: Threads to compute with; the result does not depend on them (default all).
        progress: Whether a bar is shown, or a function that is given each :class:`Progress`.

    Returns:
        The answer and what it is based on.

    >>> from foldglass import Task
    >>> benign(Class(Task("quasigroup", 7), window=(0, 3)), progress=False).theorem
    'C'
    """
    with folder() as place:
        flags = flags_of({"seed": seed, "threads": threads})
        found = ask("benign", [*space.flags(place), *flags], progress)
    code, traps, codes = found["code"], found["traps"], found["census_codes"]
    return Benign(
        answer=found["answer"],
        theorem=found["theorem"],
        why=found["why"],
        traps=None if traps is None else int(traps),
        code=None if code is None else Code(space, code["actions"]),
        census_codes=None if codes is None else int(codes),
        quenches=found["quenches"],
        optimal=found["optimal"],
        certified=found["certified"],
        undecided=found["undecided"],
        upper_95=found["upper_95"],
    )


@renamed(cap="max_proposals")
def escape(
    table: Code | Policy,
    *,
    search: bool = False,
    max_proposals: int = 1_000_000,
    tolerance: float = 1e-12,
    seed: int = 0,
) -> EscapePath:
    """Leads a code, or the code that a policy is led to, to reward one by changes that never lower
    it; with ``search``, where the theorem does not apply, by a random walk at zero temperature.

    Args:
        table: A code, or a policy that stands for the code it is led to.
        search: Whether to walk at random where the theorem does not apply.
        max_proposals: The most changes that a walk proposes.
        tolerance: Differences of dQ that count as none in the test for a local maximum, of a policy.
        seed: The seed of the walk.

    Returns:
        The changes in their order, with the reward after each.

    >>> from foldglass import Task
    >>> space = Class(Task("parity", 3))
    >>> path = escape(Code(space, [0] * space.cells))
    >>> path.reward, len(path.moves), path.end.exact
    (Fraction(1, 1), 5, Fraction(1, 1))
    """
    if not isinstance(table, (Code, Policy)):
        raise TypeError(f"a {type(table).__name__}: escape takes a Code or a Policy")
    kind = "code" if isinstance(table, Code) else "policy"
    with folder() as place:
        out = place / "path.json"
        flags = {"search": search, "tolerance": tolerance, "seed": seed, "out": out}
        if search:
            flags["max_proposals"] = max_proposals
        written = write_table(table, place / "table.json")
        found = ask("escape", [f"--{kind}", str(written), *flags_of(flags)], False)
        content = out.read_bytes()
    start = Code(table.space, json.loads(content)["actions"])
    outcome = found.get("search", {}).get("outcome")
    return EscapePath(start, _moves(found["moves"]), Fraction(found["reward_exact"]), outcome, content)


def check(
    *claims: Verdict | EscapePath | str | PathLike,
    sample: int | None = None,
    everything: bool = False,
    progress: ProgressLike = True,
) -> list[dict[str, Any]]:
    """Re-verifies verdicts and paths, or files of them, from their content alone. A claim that does
    not hold raises :class:`FoldglassError` with what is wrong.

    Args:
        claims: Verdicts, paths, or names of files of them.
        sample: Codes of a bounded shelf whose single-cell changes are all looked at, evenly spaced (default 200).
        everything: Whether all single-cell changes of every code of a bounded shelf are looked at.
        progress: Whether a bar is shown, or a function that is given each :class:`Progress`.

    Returns:
        For each claim what was checked; ``holds`` is true.

    >>> from foldglass import Task
    >>> space = Class(Task("parity", 3))
    >>> [found["holds"] for found in check(escape(Code(space, [0] * space.cells)), progress=False)]
    [True]
    """
    with tempfile.TemporaryDirectory(prefix="foldglass-") as place:
        files = []
        for number, claim in builtins.enumerate(claims):
            if isinstance(claim, (Verdict, EscapePath)):
                path = Path(place) / f"claim-{number}.json"
                claim.save(path)
                files.append(str(path))
            else:
                files.append(os.fspath(claim))
        found = ask("check", [*files, *flags_of({"sample": sample, "all": everything})], progress)
    checked: list[dict[str, Any]] = found["checked"]
    return checked


@dataclass(frozen=True)
class Gauge:
    """A code up to the names of its tokens (paper, App. B)."""

    code: Code
    reward: Fraction
    free_steps: int
    relabellings: int
    orbit: int
    stabiliser: int
    canonical: Code
    to_canonical: list[list[int]]
    links: list[dict[str, Any]] | None
    relabelled: Code | None
    relabelling: list[list[int]] | None
    #: With another code: the share of inputs on which both give the same answer.
    agreement: Fraction | None
    cells_alike: int | None
    #: With another code: the relabelling that makes it of this one, if it is one.
    between: list[list[int]] | None


def gauge(
    code: Code,
    other: Code | None = None,
    *,
    relabel: ArrayLike | str | None = None,
    seed: int = 0,
) -> Gauge:
    """The orbit of a code under relabelling of tokens, its canonical form and holonomies; with
    ``other`` how far both agree; with ``relabel`` (``"random"``, or a permutation a step) the code
    relabelled.

    Args:
        code: The code.
        other: A code of the same class to compare it with.
        relabel: ``"random"``, or a permutation of the tokens for each step, by which the code is relabelled.
        seed: The seed of a random relabelling.

    Returns:
        The orbit, the canonical form and the holonomies; with ``other`` or ``relabel`` also those results.

    >>> from foldglass import Task
    >>> space = Class(Task("parity", 3))
    >>> found = gauge(Code.fold(space))
    >>> found.orbit, found.reward
    (4, Fraction(1, 1))
    """
    space = code.space
    with folder() as place:
        flags: dict[str, Any] = {"seed": seed, "code": write_table(code, place / "code.json")}
        if other is not None:
            flags["other"] = write_table(other, place / "other.json")
        if isinstance(relabel, str):
            flags["relabel"] = relabel
        elif relabel is not None:
            path = place / "relabel.json"
            path.write_text(json.dumps(np.asarray(relabel).tolist()))
            flags["relabel"] = path
        found = ask("gauge", flags_of(flags), False)
    renamed, compared = found.get("relabelled"), found.get("other")
    return Gauge(
        code=code,
        reward=Fraction(found["reward_exact"]),
        free_steps=found["free_steps"],
        relabellings=int(found["relabellings"]),
        orbit=int(found["orbit"]),
        stabiliser=int(found["stabiliser"]),
        canonical=Code(space, found["canonical"]),
        to_canonical=found["to_canonical"],
        links=found["links"],
        relabelled=None if renamed is None else Code(space, renamed["actions"]),
        relabelling=None if renamed is None else renamed["relabelling"],
        agreement=None if compared is None else Fraction(compared["agreement_exact"]),
        cells_alike=None if compared is None else compared["cells_alike"],
        between=None if compared is None else compared["relabelling"],
    )


@renamed(most_inputs="max_inputs")
def inspect(code: Code, *, max_inputs: int = 200_000, wrong: int = 8) -> dict[str, Any]:
    """Takes a code apart, as ``foldglass inspect --json`` does: dead steps, aliasing, positions
    ignored, wrong answers, defended cells.

    Args:
        code: The code.
        max_inputs: All inputs are rolled out where there are at most so many, else so many of each length, drawn from
            their law.
        wrong: Wrong answers that are listed.

    Returns:
        The object that ``--json`` prints.

    >>> from foldglass import Task
    >>> census = enumerate(Class(Task("parity", 4, inputs="markov:9/10")), progress=False)
    >>> inspect(census.trap_codes[0])["ignored"]
    [{'length': 4, 'positions': [3, 4]}]
    """
    with folder() as place:
        written = write_table(code, place / "code.json")
        flags = flags_of({"max_inputs": max_inputs, "wrong": wrong})
        return ask("inspect", ["--code", str(written), *flags], False)


__all__ = [
    "Benign", "Census", "EscapePath", "Gauge", "Leaf", "Move", "Saddle", "Trap", "TrapKind", "Tree", "Verdict",
    "benign", "certify", "check", "enumerate", "escape", "gauge", "inspect", "tree",
]  # fmt: skip

