"""Asks the oracle what verl's ways of averaging, its advantages and its KL penalties are.

The functions are verl's own (``verl.trainer.ppo.core_algos``): an advantage, the ratio of probabilities without clipping, the
aggregation of the token losses, and a penalty.

    pip install foldglass verl
    python check_verl.py
"""

from __future__ import annotations

from typing import Any

import foldglass as fg
import torch
from verl.trainer.ppo import core_algos

MODES = ["token-mean", "token-sum", "seq-mean-token-sum", "seq-mean-token-mean", "seq-mean-token-sum-norm"]
ADVANTAGES = ["grpo", "grpo_vectorized", "rloo", "rloo_vectorized", "reinforce_plus_plus_baseline", "opo"]
PENALTIES = ["k1", "k2", "k3", "k1+", "k3+", "abs"]


def loss_of(mode: str, advantage: str = "grpo", penalty: str | None = None, **settings: Any) -> Any:
    """A loss made of verl's functions."""

    def loss(logp, old_logp, ref_logp, rewards, mask, group):
        by_token = torch.zeros_like(mask)
        by_token[:, 0] = rewards
        estimate = core_algos.get_adv_estimator_fn(advantage)
        advantages, _ = estimate(by_token, mask, group.numpy(), **settings)
        losses = -advantages * torch.exp(logp - old_logp)
        if penalty is not None:
            losses = losses + 0.1 * core_algos.kl_penalty(logp, ref_logp, penalty)
        return core_algos.agg_loss(losses, mask, mode)

    return loss


def check(mode: str, advantage: str = "grpo", penalty: str | None = None, **settings: Any) -> fg.oracle.OracleReport:
    """What the oracle finds."""
    return fg.oracle.check(loss_of(mode, advantage, penalty, **settings), arrays="torch")


if __name__ == "__main__":
    from importlib.metadata import version

    print(f"verl {version('verl')}, torch {torch.__version__}\n")
    for mode in MODES:
        print(f"=== {mode}, grpo\n{check(mode)}\n")
    for advantage in ADVANTAGES:
        print(f"=== token-mean, {advantage}\n{check('token-mean', advantage)}\n")
    print(f"=== grpo without deviation\n{check('token-mean', norm_adv_by_std_in_grpo=False)}\n")
    for penalty in PENALTIES:
        print(f"=== token-mean, grpo, KL {penalty}\n{check('token-mean', penalty=penalty)}\n")
