"""Trains a network that writes the logits of a policy's table, by exact gradients of two objectives, in PyTorch.

    python examples/torch_network.py [OBJECTIVE ..]

Nothing is sampled: each step takes the gradient over all inputs and all rollouts. From the same weights, J and maxrl:16
(or the objectives given: J, pass@K, maxrl:K, grpo-std) are maximised in turn, and J is printed for both.
"""

from __future__ import annotations

import sys

import foldglass as fg
import foldglass.torch as fgt
import numpy as np
import torch


def features(space: fg.Class) -> torch.Tensor:
    """What each cell shows a network: its step, its symbols and the token before, one-hot; none is a symbol too."""
    keys = space.keys()
    columns = np.column_stack([keys["t"], keys["x"], keys["y"] + 1])
    return torch.cat([torch.nn.functional.one_hot(column) for column in torch.tensor(columns).T], 1).float()


def train(space: fg.Class, objective: str | None, steps: int = 400) -> list[float]:
    """J before every step; the last is that of the trained network."""
    torch.manual_seed(0)
    seen = features(space)
    network = torch.nn.Sequential(
        torch.nn.Linear(seen.shape[1], 64), torch.nn.Tanh(), torch.nn.Linear(64, space.q)
    )
    optimizer = torch.optim.Adam(network.parameters(), lr=1e-2)
    rewards = []
    for _ in range(steps + 1):
        logits = network(seen)
        rewards.append(fg.evaluate(space, torch.softmax(logits, -1)).reward)
        optimizer.zero_grad()
        (-fgt.reward(space, logits, objective)).backward()
        optimizer.step()
    return rewards


def main(*objectives: str) -> dict[str, list[float]]:
    space = fg.Class(fg.Task("z:3", [1, 2, 3]))
    found = {name: train(space, None if name == "J" else name) for name in objectives or ("J", "maxrl:16")}
    print("step  " + "  ".join(f"{name:>8}" for name in found))
    for step in range(0, 401, 80):
        print(f"{step:4}  " + "  ".join(f"{rewards[step]:8.4f}" for rewards in found.values()))
    return found


if __name__ == "__main__":
    main(*sys.argv[1:])
