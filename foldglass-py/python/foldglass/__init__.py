"""Exact landscapes of RLVR on iterated quasigroup multiplication, as arrays.

A :class:`Task` is a multiplication table, an input law and lengths. A :class:`Class` is what a policy
may depend on, its cells numbered. A :class:`Policy` or :class:`Code` belongs to a class.

>>> import foldglass as fg
>>> space = fg.Class(fg.Task("quasigroup", 8))
>>> fg.evaluate(fg.Code.fold(space)).reward
1.0
>>> runs = fg.cavi(space, tau=1e-10, iterations=300, runs=8, progress=False)
>>> runs.greedy_reward.shape
(8,)

The words are those of the command line, which the package carries: ``foldglass --help``. Arrays are
(run or chain, draw, cell, action) in that order; exact rewards are ``fractions.Fraction``. Long calls
free the interpreter, show their progress and hear Ctrl-C; every object pickles.
"""

from . import oracle
from ._class import Class, Code, Policy, Rollouts, Task, rewards_exact
from ._commands import answer
from ._dataset import Row, Rows, rows, verify
from ._estimators import Estimate, Objective, Successes, estimator, objective, pass_at_k, per_input
from ._evaluate import Evaluation, Evaluator, evaluate, evaluate_batch, objective_batch, rewards
from ._figures import plot_code, plot_temperature, plot_tree
from ._landscape import (
    Benign,
    Census,
    EscapePath,
    Gauge,
    Leaf,
    Move,
    Saddle,
    Trap,
    TrapKind,
    Tree,
    Verdict,
    benign,
    certify,
    check,
    escape,
    gauge,
    inspect,
    tree,
)
from ._landscape import enumerate as enumerate  # not in __all__: `import *` would hide the built-in
from ._native import FoldglassError, LockedError, __version__
from ._networks import Curves, Fleet, ReadBack, distill, read_back, read_weights, train
from ._progress import Interrupted, Progress
from ._runs import CaviRuns, Chains, Diagnostics, ReinforceRuns, cavi, chain, reinforce
from ._study import Executed, Records, Study, Ticket, collect
from ._thermo import Density, FreeEnergy, density, free_energy

__all__ = [
    "Benign",
    "CaviRuns",
    "Census",
    "Chains",
    "Class",
    "Code",
    "Curves",
    "Density",
    "Diagnostics",
    "EscapePath",
    "Estimate",
    "Evaluation",
    "Evaluator",
    "Executed",
    "Fleet",
    "FoldglassError",
    "FreeEnergy",
    "Gauge",
    "Interrupted",
    "Leaf",
    "LockedError",
    "Move",
    "Objective",
    "Policy",
    "Progress",
    "ReadBack",
    "Records",
    "ReinforceRuns",
    "Rollouts",
    "Row",
    "Rows",
    "Saddle",
    "Study",
    "Successes",
    "Task",
    "Ticket",
    "Trap",
    "TrapKind",
    "Tree",
    "Verdict",
    "__version__",
    "answer",
    "benign",
    "cavi",
    "certify",
    "chain",
    "check",
    "collect",
    "density",
    "distill",
    "escape",
    "estimator",
    "evaluate",
    "evaluate_batch",
    "free_energy",
    "gauge",
    "inspect",
    "objective",
    "objective_batch",
    "oracle",
    "pass_at_k",
    "per_input",
    "plot_code",
    "plot_temperature",
    "plot_tree",
    "read_back",
    "read_weights",
    "reinforce",
    "rewards",
    "rewards_exact",
    "rows",
    "train",
    "tree",
    "verify",
]
