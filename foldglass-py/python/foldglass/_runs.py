"""Tabular RLVR and Monte Carlo: many runs at once, as arrays (paper, sections 2.1 and 2.2).

Run ``n`` draws from stream ``n`` of the seed, as on the command line and in studies.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import _native
from ._class import Class, Code, Policy
from ._evaluate import policy_of
from ._frames import Framed, plain_attributes
from ._given import of_type, plain, whole
from ._progress import Interrupted, Listener, ProgressLike, listener
from ._spelling import keeps, renamed

if TYPE_CHECKING:
    import arviz
    import xarray

OnInterrupt = Literal["raise", "return"]


class _Runs(Framed):
    """Runs of one kind: what they are, their states, and what they came to."""

    kind: str
    #: The setting that says how long runs are.
    length: str

    def __init__(
        self,
        space: Class,
        kind: str,
        settings: dict[str, Any],
        *,
        runs: int,
        seed: int,
        first: int,
        threads: int | None,
        states: list[bytes] | None = None,
    ) -> None:
        of_type("space", space, Class, 'Class(Task("parity", 8))')
        self.space = space
        self.kind = kind
        self.seed = whole("seed", seed)
        self.first = whole("first", first)
        self.runs = whole("runs", runs, 1)
        if threads is not None:
            threads = whole("threads", threads, 1)
        self._given = settings
        self._threads = threads
        self._states = states
        self._live: _native.Series | None = None
        self._kept: dict[str, list[NDArray[Any]]] = {}
        self.finished = False

    @property
    def _series(self) -> _native.Series:
        """The runs, taken up from their states where this is a copy."""
        if self._live is None:
            self._live = _native.Series(
                self.space._native,
                self.kind,
                json.dumps(self._given),
                self.seed,
                self.first,
                self.runs,
                self._threads,
                self._states,
            )
        return self._live

    @property
    def settings(self) -> dict[str, Any]:
        """All settings, those left out included."""
        settings: dict[str, Any] = json.loads(self._series.settings())
        return settings

    @property
    def done(self) -> int:
        """The steps that all runs have done."""
        return self._series.done

    @cached_property
    def _outcomes(self) -> list[dict[str, Any]]:
        outcomes: list[dict[str, Any]] = json.loads(self._series.outcomes())
        return outcomes

    def _column(self, name: str) -> NDArray[np.float64]:
        return np.array([outcome[name] for outcome in self._outcomes], dtype=float)

    def _exact(self, name: str) -> list[Fraction]:
        return [Fraction(outcome[name]) for outcome in self._outcomes]

    def _go(self, keep: Sequence[str], every: int, progress: ProgressLike) -> None:
        """Does the runs to their end, and keeps what is asked for after every so many steps."""
        self.__dict__.pop("_outcomes", None)
        series, hears = self._series, listener(progress)
        try:
            if not keep:
                series.advance(series.steps, hears)
            else:
                self._go_keeping(series, keep, every, hears)
            self.finished = True
        finally:
            hears.close()

    def _go_keeping(
        self, series: _native.Series, keep: Sequence[str], every: int, hears: Listener
    ) -> None:
        for name in keep:
            self._kept.setdefault(name, [])
        while series.done < series.steps and not series.finished:
            series.advance((series.done // every + 1) * every, hears)
            if series.done % every:
                break
            for name in keep:
                now = series.codes() if name == "code" else series.policies()
                self._kept[name].append(now)

    def _trajectory(self, name: str) -> NDArray[Any]:
        if name not in self._kept:
            raise ValueError(f"trajectories of {name} were not kept: keep_{name}=True keeps them")
        kept = self._kept[name]
        if not kept:
            return np.zeros((self.runs, 0, *self.space.shape[: 1 + (name == "policy")]))
        return np.stack(kept, axis=1)

    def _traces(self, name: str = "trace") -> list[list[Any]]:
        if any(name not in outcome for outcome in self._outcomes):
            how = "keep_marginals=True" if name == "marginals" else "record_every"
            raise ValueError(f"no {name} was kept: {how} keeps it")
        return [outcome[name] for outcome in self._outcomes]

    @property
    def codes(self) -> NDArray[np.uint16]:
        """The last code of each run, of RLVR the greedy one: (runs, cells)."""
        return self._series.codes()

    def code(self, run: int) -> Code:
        """The last code of a run."""
        return Code(self.space, self.codes[run])

    def _about(self) -> dict[str, Any]:
        about = {"kind": self._series.kind, "seed": self.seed, "first": self.first, "class": self.space.spec}
        return {**about, "foldglass": _native.__version__, **self.settings}

    def columns(self) -> dict[str, Any]:
        names = [name for name, value in self._outcomes[0].items() if not isinstance(value, (list, dict))]
        columns: dict[str, Any] = {"run": np.arange(self.first, self.first + self.runs)}
        for name in names:
            values = [outcome[name] for outcome in self._outcomes]
            exact = name.endswith("exact")
            columns[name] = [Fraction(v) for v in values] if exact else values
        return columns

    def table(self) -> dict[str, Any]:
        """What the runs came to, a column a quantity."""
        return self.columns()

    def __len__(self) -> int:
        return self.runs

    def __getstate__(self) -> dict[str, Any]:
        state = dict(self.__dict__)
        state["_states"] = self._series.save()
        state["_live"] = None
        return state


R = TypeVar("R", bound=_Runs)


def _finish(runs: R, keep: Sequence[str], every: int, progress: ProgressLike, on: OnInterrupt) -> R:
    if on not in ("raise", "return"):
        raise ValueError(f"on_interrupt={on!r}: 'raise' or 'return'")
    try:
        runs._go(keep, every, progress)
    except KeyboardInterrupt as stop:
        if on == "raise":
            text = f"interrupted after {runs.done} of {runs._series.steps} steps; .partial has what was done"
            raise Interrupted(text, runs) from stop
    return runs


def _more(
    runs: R, length: int, keep: Sequence[str], every: int, progress: ProgressLike, on: OnInterrupt
) -> R:
    """The same runs, taken further by so many steps."""
    settings = dict(runs._given)
    for name in ("quench", "resets", "keep_marginals"):
        if name in settings:
            raise ValueError(f"runs with {name} end where they were planned to: ask for more at once")
    settings[runs.length] += whole(runs.length, length)
    more = type(runs)(
        runs.space,
        runs.kind,
        settings,
        runs=runs.runs,
        seed=runs.seed,
        first=runs.first,
        threads=runs._threads,
        states=runs._series.save(),
    )
    more._kept = {name: list(kept) for name, kept in runs._kept.items()}
    return _finish(more, keep, every, progress, on)


class _Policies(Sequence[Policy]):
    """The policies of runs, each made when it is asked for."""

    def __init__(self, runs: _PolicyRuns) -> None:
        self._runs = runs

    def __len__(self) -> int:
        return self._runs.runs

    def __getitem__(self, run: Any) -> Any:
        if isinstance(run, slice):
            return [self[one] for one in range(*run.indices(len(self)))]
        if not -len(self) <= run < len(self):
            raise IndexError(f"run {run} of {len(self)}")
        return Policy(self._runs.space, self._runs._tables[run])

    def __iter__(self) -> Iterator[Policy]:
        return (self[run] for run in range(len(self)))


class _PolicyRuns(_Runs):
    """Runs that reach policies."""

    @property
    def reward(self) -> NDArray[np.float64]:
        """The expected reward J of each run's last policy."""
        return self._column("expected_reward")

    @property
    def greedy_reward(self) -> NDArray[np.float64]:
        """The reward of each run's greedy code."""
        return self._column("greedy_reward")

    @property
    def greedy_exact(self) -> list[Fraction]:
        """The same, exactly."""
        return self._exact("greedy_exact")

    @property
    def entropy(self) -> NDArray[np.float64]:
        """The entropy of each run's last policy, summed over the cells, in nats."""
        return self._column("entropy")

    @property
    def trace(self) -> NDArray[np.float64]:
        """J before every ``record_every``-th step of the runs: (runs, draws). NaN after a run converged."""
        return self._padded(self._traces())

    def _padded(self, traces: list[list[Any]]) -> NDArray[np.float64]:
        longest = max(map(len, traces))
        table = np.full((self.runs, longest), np.nan)
        for run, trace in enumerate(traces):
            table[run, : len(trace)] = trace
        return table

    @property
    def _tables(self) -> NDArray[np.float64]:
        return self._series.policies()

    @property
    def policies(self) -> Sequence[Policy]:
        """The last policy of each run, made when it is asked for."""
        return _Policies(self)

    @property
    def policy_trajectory(self) -> NDArray[np.float64]:
        """The tables after every ``record_every``-th step, with keep_policy=True:
        (runs, draws, cells, q)."""
        return self._trajectory("policy")

    def to_xarray(self) -> xarray.Dataset:
        """What the runs came to, over ``run``; the trace, where there is one, over ``draw``."""
        import xarray

        numbers = np.arange(self.first, self.first + self.runs)
        data: dict[str, Any] = {}
        for name, values in self.columns().items():
            if name != "run" and not name.endswith("exact"):
                data[name] = ("run", np.array(values, dtype=float))
        coordinates: dict[str, Any] = {"run": numbers}
        if "record_every" in self._given:
            data["trace"] = (("run", "draw"), self.trace)
            every = int(self._given["record_every"])
            coordinates["draw"] = np.arange(self.trace.shape[1]) * every
        return xarray.Dataset(data, coords=coordinates, attrs=plain_attributes(self._about()))


class CaviRuns(_PolicyRuns):
    """Runs of tabular RLVR."""

    length = "iterations"

    @property
    def residual(self) -> NDArray[np.float64]:
        """How far each run's last policy is from its fixed point."""
        return self._column("residual")

    def resume(
        self, iterations: int = 0, *, progress: ProgressLike = True, on_interrupt: OnInterrupt = "raise"
    ) -> CaviRuns:
        """The same runs, so many iterations longer than they were planned to be: the same streams, the
        same bits as without a stop. ``partial.resume()`` does what an interrupt left. This object stays
        as it is.

        Args:
            iterations: How many more; 0 does what an interrupt left.
            progress: Whether a bar is shown, or a function that is given each :class:`Progress`.
            on_interrupt: What Ctrl-C does: ``"raise"`` or ``"return"``.

        Returns:
            The longer ones.
        """
        every = int(self._given.get("record_every", 1))
        return _more(self, iterations, [*self._kept], every, progress, on_interrupt)

    def __repr__(self) -> str:
        return (
            f"CaviRuns({self.runs} runs of {self.done} iterations on {self.space!r}: "
            f"greedy J {self.greedy_reward.mean():.4f} on average, "
            f"{sum(e == 1 for e in self.greedy_exact)} at 1)"
        )


class ReinforceRuns(_PolicyRuns):
    """Runs of sampled training."""

    length = "updates"

    @property
    def greedy_trace(self) -> NDArray[np.float64]:
        """The reward of the greedy code before every ``record_every``-th update: (runs, draws)."""
        return self._padded(self._traces("greedy_trace"))

    def resume(
        self, updates: int = 0, *, progress: ProgressLike = True, on_interrupt: OnInterrupt = "raise"
    ) -> ReinforceRuns:
        """The same runs, so many updates longer than they were planned to be: the same streams, the
        same bits as without a stop. ``partial.resume()`` does what an interrupt left. This object stays
        as it is.

        Args:
            updates: How many more; 0 does what an interrupt left.
            progress: Whether a bar is shown, or a function that is given each :class:`Progress`.
            on_interrupt: What Ctrl-C does: ``"raise"`` or ``"return"``.

        Returns:
            The longer ones.
        """
        every = int(self._given.get("record_every", 1))
        return _more(self, updates, [*self._kept], every, progress, on_interrupt)

    def __repr__(self) -> str:
        return (
            f"ReinforceRuns({self.runs} runs of {self.done} updates on {self.space!r}: "
            f"J {self.reward.mean():.4f} on average, {sum(e == 1 for e in self.greedy_exact)} greedy codes at 1)"
        )


@renamed(trace_every="record_every", keep=("keep_policy", keeps("policy")))
def cavi(
    space: Class,
    tau: float | None = None,
    iterations: int = 2000,
    runs: int = 1,
    *,
    seed: int = 0,
    first: int = 0,
    rule: str = "cavi",
    damping: float | None = None,
    share: float | None = None,
    step: float | None = None,
    anneal: str | None = None,
    init: str | None = None,
    quench: Mapping[str, float] | str | None = None,
    resets: Mapping[str, float] | str | None = None,
    objective: str | None = None,
    convention: str | None = None,
    prior: Policy | ArrayLike | None = None,
    start: Policy | Code | ArrayLike | None = None,
    stop_at_convergence: float | None = None,
    record_every: int | None = None,
    keep_policy: bool = False,
    threads: int | None = None,
    progress: ProgressLike = True,
    on_interrupt: OnInterrupt = "raise",
) -> CaviRuns:
    """Trains policies by damped coordinate ascent (the paper's tabular RLVR) or the exact gradient.

    Settings have the names, values and defaults of ``foldglass cavi`` and of studies.

    Args:
        space: The class.
        tau: The temperature of the entropy bonus.
        iterations: Iterations of each run.
        runs: Independent runs.
        seed: The seed of everything random.
        first: The number of the first run, whose stream of ``seed`` it draws from.
        rule: ``"cavi"``: cells move towards their targets. ``"gradient"``: the exact gradient by the logits
            (``"gradient:X"`` is the same with ``step=X``).
        damping: How far a cell moves towards its target (0.3), of ``cavi``.
        share: The share of cells that move in an iteration (0.3), of ``cavi``.
        step: The step size of ``gradient``.
        anneal: A schedule of temperatures in place of ``tau``, such as ``"geometric:1e-1,1e-6,500"``.
        init: The law of the first policies: ``"u_norm"`` (the default), ``"dirichlet:A"`` or ``"logit_normal:S"``.
        quench: ``"N,TAU"``: N more iterations at another temperature.
        resets: ``"SHARE,EVERY,TIMES"``: a share of the cells is redrawn after so many iterations, so many times.
        objective: In place of J, of ``gradient``: ``"pass@K"``, ``"maxrl:K"`` or ``"grpo-std"``, functions of the
            success of each input.
        convention: Whose entropies count: ``"uniform"`` (every cell, the default) or ``"occupancy"``.
        prior: A policy from which divergences count in place of entropies.
        start: One policy for all runs in place of ``init``.
        stop_at_convergence: The residual at which a run stops.
        record_every: Record J before every N-th iteration.
        keep_policy: Whether the policies are recorded too.
        threads: Threads to compute with; the result does not depend on them (default all).
        progress: Whether a bar is shown, or a function that is given each :class:`Progress`.
        on_interrupt: After Ctrl-C ``"raise"`` raises :class:`Interrupted`, whose ``partial`` has the runs as far as
            they came; ``"return"`` returns them.

    Returns:
        The runs: rewards, greedy codes, entropies, and what was recorded.

    >>> from foldglass import Task
    >>> space = Class(Task("quasigroup", 4))
    >>> runs = cavi(space, tau=1e-10, iterations=2000, runs=4, progress=False)
    >>> runs.greedy_exact  # stuck, though codes of reward 1 exist
    [Fraction(17, 25), Fraction(4, 5), Fraction(84, 125), Fraction(4, 5)]
    """
    settings: dict[str, Any] = {
        "tau": tau,
        "anneal": anneal,
        "iterations": whole("iterations", iterations),
        "rule": rule,
        "damping": damping,
        "share": share,
        "step": step,
        "init": init,
        "quench": quench,
        "resets": resets,
        "objective": objective,
        "convention": convention,
        "stop_at_convergence": stop_at_convergence,
        "record_every": record_every,
        "prior": _rows(space, prior),
        "start": _rows(space, start),
    }
    if stop_at_convergence is not None:
        settings["keep_policy"] = True
    made = CaviRuns(space, "cavi", _given(settings), runs=runs, seed=seed, first=first, threads=threads)
    kept = ["policy"] if keep_policy else []
    return _finish(made, kept, int(record_every or 1), progress, on_interrupt)


def reinforce(
    space: Class,
    estimator: str,
    batch: int = 512,
    updates: int = 2000,
    learning_rate: float | None = None,
    runs: int = 1,
    *,
    seed: int = 0,
    first: int = 0,
    objective: str | None = None,
    optimizer: Literal["sgd", "adam"] | None = None,
    epochs: int | None = None,
    clip: float | None = None,
    tau: float | None = None,
    convention: str | None = None,
    prior: Policy | ArrayLike | None = None,
    init: str | None = None,
    start: Policy | Code | ArrayLike | None = None,
    curriculum: bool = False,
    gate_every: int | None = None,
    gate_above: float | None = None,
    record_every: int | None = None,
    keep_policy: bool = False,
    threads: int | None = None,
    progress: ProgressLike = True,
    on_interrupt: OnInterrupt = "raise",
) -> ReinforceRuns:
    """Trains tables by sampled policy gradients, as trainers of models do, and scores them exactly.

    Settings have the names, values and defaults of ``foldglass reinforce`` and of studies.

    Args:
        space: The class.
        estimator: ``"reinforce"``, ``"batch-mean"``, ``"rloo:G"``, ``"grpo:G"`` or ``"dr-grpo:G"``, with G rollouts
            on each input.
        batch: The inputs of an update.
        updates: Updates of each run.
        learning_rate: The learning rate.
        runs: Independent runs.
        seed: The seed of everything random.
        first: The number of the first run, whose stream of ``seed`` it draws from.
        objective: In place of J: ``"pass@K"`` or ``"maxrl:K"`` with ``rloo:G`` or ``dr-grpo:G`` of K rollouts or
            more, or ``"grpo-std"`` with ``grpo:G``, which has it in the limit of large groups.
        optimizer: ``"sgd"`` (the default) or ``"adam"``.
        epochs: Steps on each batch.
        clip: The clip of PPO.
        tau: The coefficient of the entropies.
        convention: Whose entropies count: ``"uniform"`` (the sum over cells, the default) or ``"occupancy"`` (the
            mean over emitted tokens).
        prior: A policy from which divergences count in place of entropies.
        init: The law of the first policies, as for :func:`cavi`.
        start: One policy for all runs in place of ``init``.
        curriculum: Whether the lengths of the class are trained one after another.
        gate_every: Updates between two questions whether the next length is added (20).
        gate_above: The share of a fresh batch on which the greedy code must be right for that (0.9).
        record_every: Record the exact J, and that of the greedy code, before every N-th update.
        keep_policy: Whether the policies are recorded too.
        threads: Threads to compute with; the result does not depend on them (default all).
        progress: Whether a bar is shown, or a function that is given each :class:`Progress`.
        on_interrupt: After Ctrl-C ``"raise"`` raises :class:`Interrupted`, whose ``partial`` has the runs as far as
            they came; ``"return"`` returns them.

    Returns:
        The runs: rewards, greedy codes, and what was recorded.

    >>> from foldglass import Task
    >>> space = Class(Task("parity", 2))
    >>> found = reinforce(space, "rloo:4", batch=64, updates=300, learning_rate=5.0, runs=3, progress=False)
    >>> found.greedy_exact
    [Fraction(1, 1), Fraction(1, 1), Fraction(1, 1)]
    """
    settings: dict[str, Any] = {
        "estimator": estimator,
        "batch": whole("batch", batch, 1),
        "updates": whole("updates", updates),
        "learning_rate": learning_rate,
        "objective": objective,
        "optimizer": optimizer,
        "epochs": epochs,
        "clip": clip,
        "tau": tau,
        "convention": convention,
        "init": init,
        "curriculum": True if curriculum else None,
        "gate_every": gate_every,
        "gate_above": gate_above,
        "record_every": record_every,
        "prior": _rows(space, prior),
        "start": _rows(space, start),
    }
    made = ReinforceRuns(
        space, "reinforce", _given(settings), runs=runs, seed=seed, first=first, threads=threads
    )
    kept = ["policy"] if keep_policy else []
    return _finish(made, kept, int(record_every or 1), progress, on_interrupt)


def _given(settings: Mapping[str, Any]) -> dict[str, Any]:
    return {key: plain(key, value) for key, value in settings.items() if value is not None}


def _rows(space: Class, policy: Policy | Code | ArrayLike | None) -> dict[str, Any] | None:
    if policy is None:
        return None
    return {"rows": policy_of(space, policy).rows.tolist()}


@dataclass(frozen=True)
class Diagnostics:
    """What the draws of chains are worth. NaN where no chain moves, or where they are too short."""

    #: The mean of all draws, and its standard error, correlations taken into account.
    mean: float
    error: float
    #: Rank-normalised split R-hat (Vehtari et al. 2021): above 1.01 the chains had better be longer.
    rhat: float
    #: Independent draws that all are worth: for the bulk, the tails, the mean.
    effective_size: float
    effective_size_tail: float
    effective_size_mean: float
    #: Sweeps: the integrated autocorrelation time (1/2 for independent draws at every sweep), the mean
    #: over the chains.
    autocorrelation_time: float


def _number(value: float | None) -> float:
    return float("nan") if value is None else value


class Chains(_Runs):
    """Monte Carlo chains of codes."""

    length = "sweeps"

    @property
    def denominator(self) -> int:
        """The denominator of all rewards."""
        return self.space.denominator

    @cached_property
    def reward_numerators(self) -> NDArray[Any]:
        """J after every ``record_every``-th sweep, exactly, as numerators: (chains, draws); 64-bit integers
        where they fit, else Python's. A chain that stopped keeps its last."""
        traces = [[int(number) for number in trace] for trace in self._traces()]
        longest = max(map(len, traces))
        last = [int(exact * self.denominator) for exact in self._exact("reward_exact")]
        for trace, end in zip(traces, last):
            trace.extend([end] * (longest - len(trace)))
        kind = np.int64 if self.denominator < 2**63 else object
        return np.array(traces, dtype=kind).reshape(self.runs, longest)

    @property
    def reward(self) -> NDArray[np.float64]:
        """J after every ``record_every``-th sweep: (chains, draws)."""
        table: NDArray[np.float64] = (self.reward_numerators / self.denominator).astype(float)
        return table

    @property
    def exact(self) -> list[Fraction]:
        """J of each chain's last code."""
        return self._exact("reward_exact")

    @property
    def final_reward(self) -> NDArray[np.float64]:
        """The same as numbers."""
        return self._column("reward")

    @property
    def code_trajectory(self) -> NDArray[np.uint16]:
        """The codes after every ``record_every``-th sweep, with keep_code=True: (chains, draws, cells)."""
        return self._trajectory("code")

    @property
    def marginals(self) -> NDArray[np.float64]:
        """How often each cell had each action over the second half of the sweeps of all chains, with
        ``keep_marginals=True``: (cells, q)."""
        counts = np.array(self._traces("marginals"), dtype=float).sum(axis=0).reshape(self.space.shape)
        table: NDArray[np.float64] = counts / counts.sum(axis=1, keepdims=True)
        return table

    @property
    def draws(self) -> NDArray[np.int64]:
        """The sweeps after which J was recorded."""
        every = int(self._given["record_every"])
        return (np.arange(self.reward.shape[1], dtype=np.int64) + 1) * every

    def columns(self) -> dict[str, Any]:
        columns = super().columns()
        # Over the second half of what was asked for at first: of no use once a run was taken up.
        columns.pop("mean_reward", None)
        columns.pop("denominator", None)
        columns["chain"] = columns.pop("run")
        return {"chain": columns.pop("chain"), **columns}

    def resume(
        self, sweeps: int = 0, *, progress: ProgressLike = True, on_interrupt: OnInterrupt = "raise"
    ) -> Chains:
        """The same chains, so many sweeps longer than they were planned to be: the same bits as without
        a stop. ``partial.resume()`` does what an interrupt left.

        Args:
            sweeps: How many more; 0 does what an interrupt left.
            progress: Whether a bar is shown, or a function that is given each :class:`Progress`.
            on_interrupt: What Ctrl-C does: ``"raise"`` or ``"return"``.

        Returns:
            The longer ones.
        """
        every = int(self._given["record_every"])
        return _more(self, sweeps, [*self._kept], every, progress, on_interrupt)

    def diagnostics(self, discard: float = 0.5) -> Diagnostics:
        """Error bar, effective sizes and R-hat of the rewards; the first part of every chain, a share
        of ``discard``, is left out."""
        if not 0 <= discard < 1:
            raise ValueError(f"discard={discard}: a share from 0 to below 1 is needed")
        draws = np.ascontiguousarray(self.reward[:, int(self.reward.shape[1] * discard) :])
        if draws.shape[1] < 4:
            raise ValueError(f"{draws.shape[1]} draws a chain: at least 4 are needed")
        rhat, bulk, tail, of_mean, times = _native.convergence(draws)
        known = [time for time in times if time is not None]
        return Diagnostics(
            mean=float(draws.mean()),
            error=float(draws.std(ddof=1) / np.sqrt(_number(of_mean))),
            rhat=_number(rhat),
            effective_size=_number(bulk),
            effective_size_tail=_number(tail),
            effective_size_mean=_number(of_mean),
            autocorrelation_time=float(np.mean(known)) * self._given["record_every"]
            if len(known) == len(times)
            else float("nan"),
        )

    def to_xarray(self) -> xarray.Dataset:
        """Rewards, and codes where they were kept, over ``chain``, ``draw`` and ``cell``."""
        import xarray

        data: dict[str, Any] = {"reward": (("chain", "draw"), self.reward)}
        if self.denominator < 2**63:
            data["reward_numerator"] = (("chain", "draw"), self.reward_numerators)
        if "code" in self._kept:
            data["code"] = (("chain", "draw", "cell"), self.code_trajectory)
        coordinates = {"chain": np.arange(self.first, self.first + self.runs), "draw": self.draws}
        about = {**self._about(), "denominator": str(self.denominator)}
        return xarray.Dataset(data, coords=coordinates, attrs=plain_attributes(about))

    def to_arviz(self, discard: float = 0.5) -> arviz.InferenceData:
        """An ArviZ object of the rewards, for ``ess``, ``rhat`` and its plots; the first part of
        every chain, a share of ``discard``, is left out."""
        import arviz

        draws = {"reward": self.reward[:, int(self.reward.shape[1] * discard) :]}
        # Releases before 1.0 take the groups as keywords.
        by_keyword = "posterior" in inspect.signature(arviz.from_dict).parameters
        make: Any = arviz.from_dict
        data: arviz.InferenceData = make(posterior=draws) if by_keyword else make({"posterior": draws})
        return data

    def __repr__(self) -> str:
        return (
            f"Chains({self.runs} of {self.done} sweeps on {self.space!r}: "
            f"last J {self.final_reward.mean():.4f} on average, {sum(e == 1 for e in self.exact)} at 1)"
        )


@renamed(
    chains="runs", thin="record_every", keep=("keep_code", keeps("code", "reward")), marginals="keep_marginals"
)
def chain(
    space: Class,
    tau: float | None = None,
    sweeps: int = 1000,
    runs: int = 1,
    *,
    seed: int = 0,
    first: int = 0,
    kernel: Literal["metropolis", "heat-bath"] = "metropolis",
    order: Literal["step", "forward", "cell"] | None = None,
    anneal: str | None = None,
    ladder: Sequence[float] | None = None,
    start: Code | ArrayLike | None = None,
    prior: Policy | ArrayLike | None = None,
    stop_when_stationary: int | None = None,
    stop_at_optimum: bool = False,
    checkpoints: Sequence[int] | None = None,
    record_every: int = 1,
    keep_code: bool = False,
    keep_marginals: bool = False,
    threads: int | None = None,
    progress: ProgressLike = True,
    on_interrupt: OnInterrupt = "raise",
) -> Chains:
    """Samples codes from the Gibbs measure at temperature ``tau``, annealed, or on a ladder.

    Settings have the names, values and defaults of ``foldglass chain`` and of studies.

    Args:
        space: The class.
        tau: The temperature.
        sweeps: Sweeps of each chain.
        runs: Independent chains.
        seed: The seed of everything random.
        first: The number of the first run, whose stream of ``seed`` it draws from.
        kernel: ``"metropolis"`` or ``"heat-bath"``.
        order: The order of a sweep: ``"step"`` (random steps, each as a block), ``"forward"`` or ``"cell"`` (a
            permutation of the cells); by default the one that is exact.
        anneal: A schedule in place of ``tau``: ``"geometric:FROM,TO,SWEEPS"``.
        ladder: Temperatures of parallel tempering in place of ``tau``, the coldest first, of which the coldest is
            reported.
        start: One code for all chains in place of random ones.
        prior: A policy by whose probability of a code its weight is multiplied.
        stop_when_stationary: Stop once J has not changed for N sweeps.
        stop_at_optimum: Whether to stop once J is 1.
        checkpoints: Sweeps after which J is a result of its own.
        record_every: Record J after every N-th sweep.
        keep_code: Whether the codes are recorded too.
        keep_marginals: Whether it is recorded how often each cell had each action over the second half.
        threads: Threads to compute with; the result does not depend on them (default all).
        progress: Whether a bar is shown, or a function that is given each :class:`Progress`.
        on_interrupt: After Ctrl-C ``"raise"`` raises :class:`Interrupted`, whose ``partial`` has the runs as far as
            they came; ``"return"`` returns them.

    Returns:
        The chains: rewards, codes and diagnostics.

    >>> from foldglass import Task
    >>> space = Class(Task("parity", 4))
    >>> trace = chain(space, tau=0.05, sweeps=100, runs=3, record_every=10, progress=False)
    >>> trace.reward.shape, trace.denominator
    ((3, 10), 16)
    """
    settings: dict[str, Any] = {
        "kernel": kernel,
        "order": order,
        "tau": tau,
        "anneal": anneal,
        "ladder": ladder,
        "sweeps": whole("sweeps", sweeps, 1),
        "stop_when_stationary": stop_when_stationary,
        "stop_at_optimum": True if stop_at_optimum else None,
        "checkpoints": checkpoints,
        "record_every": whole("record_every", record_every, 1),
        "keep_marginals": True if keep_marginals else None,
        "keep_code": True,
        "start": None,
        "prior": _rows(space, prior),
    }
    if start is not None:
        code = start if isinstance(start, Code) else Code(space, start)
        if code.space != space:
            raise ValueError(f"the start is of {code.space!r}, not of {space!r}")
        settings["start"] = {"actions": code.actions.tolist()}
    made = Chains(space, "chain", _given(settings), runs=runs, seed=seed, first=first, threads=threads)
    kept = ["code"] if keep_code else []
    return _finish(made, kept, int(record_every), progress, on_interrupt)
