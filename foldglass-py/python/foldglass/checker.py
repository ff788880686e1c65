"""Checks the files that ``foldglass certify --out`` and ``foldglass escape --out`` write.

Run ``python -m foldglass.checker FILE ..``, or copy this file: it needs Python alone. It shares nothing with the
program. Every reward is recomputed by rolling a code out on all inputs, in whole numbers. Read it from top to bottom.

- A *path* is a list of single-cell changes of a code, none of which lowers the reward.
- *optimal*: the code's reward is 1.
- *escapes*: changes that keep the reward, but for the last, which raises it.
- *certified*: the codes listed (the shelf) are reached from the start by changes that keep the reward,
  and every other change of any of them lowers it. So no path out of them avoids a loss: a trap.
- *bounded*: as many codes of a shelf as the cap; no change of any of them raises the reward.
- A *barrier* is how far the reward falls below the start's on the way out. It is exact if all codes that
  smaller falls reach are counted, and none of them leads higher.

Exit code 0: all holds. 1: something does not. 2: the only file cannot be read.
"""

from __future__ import annotations

import itertools
import json
import re
import sys
from fractions import Fraction
from functools import lru_cache, partial
from math import lcm, prod
from typing import Any, Dict, Iterator, List, Optional, Set, Tuple

MOST_INPUTS = 2_000_000
NUMBER = re.compile(r"[-+]?([0-9]+/[0-9]+|([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]{1,3})?)")
UNREADABLE = (OSError, ValueError, LookupError, TypeError, AttributeError, ArithmeticError, RecursionError)
KINDS = (None, "consolidate", "prepare", "reroute", "finish", "neutral", "raise")


class Wrong(Exception):
    """A claim does not hold."""


def need(true: bool, why: str, error: Any = Wrong) -> None:
    if not true:
        raise error(why)


readable = partial(need, error=ValueError)


def counts(*numbers: Any) -> bool:
    return all(type(n) is int and n >= 0 for n in numbers)


@lru_cache(maxsize=None)
def exact(text: str) -> Fraction:
    """A fraction such as 9/10, or a decimal, as text."""
    readable(type(text) is str and NUMBER.fullmatch(text) is not None, f"the number {text}")
    return Fraction(text)


class Class:
    """The inputs with their weights, and the cells in their order.

    A cell is (t, x_{t-p} .. x_{t+f}, y_{t-n} .. y_{t-1}), without what lies outside the input, and without t
    if tied. Cells are ordered by t, fewer tokens, fewer symbols before x_t, more after it, symbols, tokens.
    """

    def __init__(self, form: Dict[str, Any]) -> None:
        keys = {"square", "lengths", "window", "tied", "memory", "inputs"}
        readable(keys <= set(form) <= keys | {"length_weights", "reward"}, "a key of the class")
        self.table: List[List[int]] = form["square"]
        self.q = q = len(self.table)
        readable(q >= 2 and all(len(row) == q and counts(*row) and max(row) < q for row in self.table), "the table")
        lengths: List[int] = form["lengths"]
        readable(counts(*lengths) and min(lengths) > 0 and len(set(lengths)) == len(lengths), "the lengths")
        readable(sum(q ** min(n, 99) for n in lengths) <= MOST_INPUTS, f"more than {MOST_INPUTS} inputs")
        (self.past, self.future), self.memory, self.tied = form["window"], form["memory"], form["tied"]
        readable(type(self.tied) is bool and counts(self.past, self.future, self.memory) and self.memory, "the class")
        weights = [exact(w) for w in form.get("length_weights", ["1"] * len(lengths))]
        readable(len(weights) == len(lengths) and min(weights) > 0, "the weights of the lengths")
        rule = form.get("reward", "final")
        listed = rule["process"] if isinstance(rule, dict) else ["1"] * lengths[0] if rule == "process" else []
        steps = [exact(w) for w in listed]
        readable(lengths == [len(steps)] and min(steps) > 0 if steps else rule == "final", "the reward")
        self.steps = [w / sum(steps) for w in steps]
        inputs = ((x, w) for n, w in zip(lengths, weights) for x in itertools.product(range(q), repeat=n))
        probable = [(x, p) for x, w in inputs if (p := w / sum(weights) * self.probability(form["inputs"], x)) > 0]
        readable(sum(p for _, p in probable) == 1, "the probabilities do not sum to 1")
        self.whole = lcm(*(p.denominator for _, p in probable)) * lcm(*(w.denominator for w in self.steps))
        self.inputs = [(x, self.rewarded(x, p)) for x, p in probable]
        keys_seen = {self.seen(x, t)[0] for x, _ in self.inputs for t in range(1, len(x) + 1)}
        cells = ((key, y) for key in sorted(keys_seen) for y in itertools.product(range(q), repeat=key[1]))
        self.number = {cell: number for number, cell in enumerate(cells)}

    def probability(self, law: Any, x: Tuple[int, ...]) -> Fraction:
        if law == "uniform":
            return Fraction(1, self.q ** len(x))
        (name, value), = law.items()
        if name == "markov":
            k, change = exact(value), (1 - exact(value)) / (self.q - 1)
            readable(0 <= k <= 1, "the repeat probability is outside 0 to 1")
            return Fraction(1, self.q) * prod(k if a == b else change for a, b in zip(x, x[1:]))
        readable(name == "product", f"an unknown law {name}")
        readable(min(exact(p) for row in value for p in row) >= 0, "a negative probability")
        return prod((exact(value[t][s]) for t, s in enumerate(x)), start=Fraction(1))

    def rewarded(self, x: Tuple[int, ...], p: Fraction) -> List[Tuple[int, int, int]]:
        """The rewarded steps of an input: which, the state, and what a token that is the state earns."""
        states = itertools.accumulate(x, lambda state, symbol: self.table[state][symbol])
        steps = enumerate(zip(states, self.steps or [Fraction(t == len(x)) for t in range(1, len(x) + 1)]))
        return [(t, state, int(p * w * self.whole)) for t, (state, w) in steps if w]

    def seen(self, x: Tuple[int, ...], t: int) -> Tuple[Any, int]:
        """What a cell of step t shows of an input, and how many tokens it remembers."""
        before, after, tokens = min(self.past, t - 1), min(self.future, len(x) - t), min(self.memory, t - 1)
        return (0 if self.tied else t, tokens, before, -after, x[t - 1 - before : t + after]), tokens


class Table:
    """A code on all inputs: which cells each consults, and the reward in whole numbers."""

    def __init__(self, space: Class, actions: List[int]) -> None:
        readable(counts(*actions) and len(actions) == len(space.number) and max(actions) < space.q, "the actions")
        self.space, self.actions = space, list(actions)
        self.seen = [[space.seen(x, t) for t in range(1, len(x) + 1)] for x, _ in space.inputs]
        self.users: List[Set[int]] = [set() for _ in actions]
        self.paths: List[List[int]] = [[] for _ in space.inputs]
        self.reward = sum(self.roll(n) for n in range(len(space.inputs)))

    def roll(self, n: int) -> int:
        """Rolls out input n; what it earns."""
        for cell in self.paths[n]:
            self.users[cell].discard(n)
        y: List[int] = []
        self.paths[n] = path = []
        for key, tokens in self.seen[n]:
            cell = self.space.number[key, tuple(y[len(y) - tokens :])]
            path.append(cell)
            self.users[cell].add(n)
            y.append(self.actions[cell])
        return self.earned(n)

    def earned(self, n: int) -> int:
        rewarded, path = self.space.inputs[n][1], self.paths[n]
        return sum(earned for t, state, earned in rewarded if self.actions[path[t]] == state)

    def set(self, cell: int, action: int) -> None:
        touched = list(self.users[cell])
        self.reward -= sum(self.earned(n) for n in touched)
        self.actions[cell] = action
        self.reward += sum(self.roll(n) for n in touched)

    def go_to(self, actions: Any) -> None:
        for cell, action in enumerate(actions):
            if self.actions[cell] != action:
                self.set(cell, action)

    def changes(self) -> Iterator[Tuple[int, int, int]]:
        """Every single-cell change, and the reward after it."""
        for cell, own in enumerate(list(self.actions)):
            for action in range(self.space.q):
                if action != own:
                    self.set(cell, action)
                    yield cell, action, self.reward
            self.set(cell, own)

    def exact(self) -> Fraction:
        return Fraction(self.reward, self.space.whole)


def make(table: Table, number: int, move: Dict[str, Any]) -> Tuple[int, int]:
    """Makes a move of a list if it is what it states; the rewards before and after it."""
    cell, start, end = move["cell"], move["from"], move["to"]
    readable(set(move) <= {"cell", "from", "to", "kind", "reward_exact"}, f"the keys of move {number}")
    inside = counts(cell, start, end) and cell < len(table.actions) and max(start, end) < table.space.q
    readable(inside, f"move {number}")
    need(table.actions[cell] == start != end, f"move {number} does not change cell {cell} as stated")
    kind, before = move.get("kind"), table.reward
    readable(kind in KINDS, f"move {number} is of an unknown kind")
    need(kind != "prepare" or not table.users[cell], f"move {number}: an input consults the cell")
    table.set(cell, end)
    need(table.exact() == exact(move["reward_exact"]), f"the reward after move {number} is {table.exact()}")
    need(kind not in ("finish", "raise") or table.reward > before, f"move {number} does not raise")
    need(kind not in ("prepare", "neutral") or table.reward <= before, f"move {number} raises")
    return before, table.reward


def check_path(space: Class, claim: Dict[str, Any]) -> None:
    """No move lowers the reward, and all rewards are as stated."""
    table = Table(space, claim["actions"])
    need(table.exact() == exact(claim["start_exact"]), f"the first reward is {table.exact()}")
    for number, move in enumerate(claim["moves"], 1):
        before, after = make(table, number, move)
        need(after >= before, f"move {number} lowers the reward")
    need(table.exact() == exact(claim["reward_exact"]), f"the last reward is {table.exact()}")


PATH = {"format", "class", "actions", "start_exact", "moves", "reward_exact"}
PARTS = {"optimal": (), "certified": ("nodes",), "bounded": ("cap", "nodes", "beyond"), "escapes": ("moves",)}
BARRIER = {"exact": {"barrier", "barrier_is", "way_out", "flooded"}, "bound": {"barrier", "barrier_is", "way_out"}}


def check_verdict(space: Class, claim: Dict[str, Any]) -> None:
    """What is said of the shelf, and of the way out."""
    word, barrier = claim["verdict"], claim.get("barrier_is")
    readable(word in PARTS and (barrier is None or barrier in BARRIER), "an unknown verdict")
    parts = {"actions", "reward_exact", "verdict", *PARTS[word], *BARRIER.get(barrier or "", ())}
    readable(set(claim) == parts and not (word == "optimal" and barrier), "the keys of the verdict")
    readable(counts(claim.get("cap", 0), claim.get("flooded", 0)), "a count is not a whole number")
    table = Table(space, claim["actions"])
    true = table.exact()
    need(true == exact(claim["reward_exact"]) and (word == "optimal") == (true == 1), f"J is {true}")
    if word == "escapes":
        need(len(claim["moves"]) > 0, "a path has at least one move")
        for number, move in enumerate(claim["moves"], 1):
            before, after = make(table, number, move)
            last = number == len(claim["moves"])
            need(after > before if last else after == before, f"move {number}: only the last one raises")
            need(move.get("kind") in (None, "raise" if last else "neutral"), f"the kind of move {number}")
    elif word != "optimal":
        check_shelf(table, claim["nodes"], claim.get("beyond"), claim.get("cap"))
    if barrier:
        table.go_to(claim["actions"])
        check_barrier(table, claim)


def check_shelf(table: Table, nodes: List[List[int]], beyond: Optional[List[int]], cap: Optional[int]) -> None:
    """A breadth-first list of codes with the reward of the first, closed under changes that keep it."""
    level, codes, made = table.reward, [tuple(table.actions)], [(-1, -1, -1)]
    need(cap is None or cap == len(nodes) + 1, f"the cap is {cap}, and {len(nodes) + 1} codes are listed")
    for node in nodes + ([beyond] if beyond else []):
        parent, cell, action = node
        readable(counts(*node) and cell < len(table.actions) and action < table.space.q, f"the node {node}")
        need(parent < len(codes) and tuple(node) > made[-1], f"the node {node} is out of order")
        need(codes[parent][cell] != action, f"the node {node} changes nothing")
        codes.append(codes[parent][:cell] + (action,) + codes[parent][cell + 1 :])
        made.append((parent, cell, action))
    number = {code: n for n, code in enumerate(codes)}
    need(len(number) == len(codes), "a code is listed twice")
    for n, code in enumerate(codes):
        table.go_to(code)
        need(table.reward == level, f"code {n} has another reward")
        for cell, action, reward in table.changes() if n <= len(nodes) else ():
            need(reward <= level, f"code {n} has an exit at cell {cell}")
            if reward == level:
                here, listed = (n, cell, action), number.get(code[:cell] + (action,) + code[cell + 1 :])
                need(listed is not None or (beyond is not None and here > tuple(beyond)), f"{here} is missing")
                need(listed is None or made[listed] <= here, f"{here} comes before code {listed}")


def check_barrier(table: Table, claim: Dict[str, Any]) -> None:
    """The fall on the way out; where it is exact, all codes that smaller falls reach."""
    start, moves = tuple(table.actions), claim["way_out"]
    top = lowest = table.reward
    need(len(moves) > 0, "a way out has at least one move")
    for number, move in enumerate(moves, 1):
        _, after = make(table, number, move)
        need((after > top) == (number == len(moves)), f"move {number}: only the last one leads higher")
        lowest = min(lowest, after)
    need(Fraction(top - lowest, table.space.whole) == exact(claim["barrier"]), "the barrier")
    if claim["barrier_is"] == "exact":
        waiting = list(known := {start} if lowest < top else set())
        while waiting:
            table.go_to(code := waiting.pop())
            for cell, action, reward in table.changes():
                need(reward <= top, "a way out falls less")
                other = code[:cell] + (action,) + code[cell + 1 :]
                if reward > lowest and other not in known:
                    known.add(other)
                    waiting.append(other)
            need(len(known) <= claim["flooded"], f"more than {claim['flooded']} codes are flooded")
        need(len(known) == claim["flooded"], f"{len(known)} codes are flooded")


def check(path: str) -> int:
    """Checks a file; the number of its claims."""
    with open(path, encoding="utf-8") as file:
        content = json.load(file)
    space, format = Class(content["class"]), content["format"]
    if format == "foldglass-path/1":
        readable(set(content) == PATH, "the keys of a path file")
        check_path(space, content)
        return 1
    readable(format == "foldglass-verdict/1", f"the format {format}")
    readable(set(content) == {"format", "class", "verdicts"} and content["verdicts"], "no verdict")
    for claim in content["verdicts"]:
        check_verdict(space, claim)
    return len(content["verdicts"])


def main(paths: List[str]) -> int:
    worst = 0 if paths else 2
    for path in paths:
        try:
            print(f"{path}: {check(path)} claims hold")
        except (Wrong, *UNREADABLE) as error:
            print(f"{path}: {type(error).__name__}: {error}", file=sys.stderr)
            worst = max(worst, 1 if isinstance(error, Wrong) or len(paths) > 1 else 2)
    return worst


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
