"""Times one update of sampled training in NumPy: 512 rollouts, the mean reward as the baseline, SGD on the logits.

plain: step by step as it is written down, the derivative of every log-probability as a row. expert: an update needs only
the sum of the advantages of each (cell, token), which `bincount` finds in one call; tokens are drawn by comparing single
numbers with the sums of the first probabilities, of all rollouts of a step at once.
"""

import fold
import numpy as np
from dynamics import BATCH, RATE, Dynamics, initial_policy, main
from fold import B, q


def softmax(logits):
    weights = np.exp(logits - logits.max(-1, keepdims=True))
    return weights / weights.sum(-1, keepdims=True)


def prepare(update, p, f, T, seed, rate):
    """A run whose state is the logits (cells, q), moved by `update(logits, steps, rng, rate)`."""
    assert (p, f) == (0, 0), "peers train on the window (0,0)"
    rng = np.random.Generator(np.random.SFC64(seed))
    steps = fold.untied_class(p, f, T)
    logits = np.log(np.concatenate([table.reshape(-1, q) for table in initial_policy(steps, rng)]))

    def step():
        nonlocal logits
        logits = update(logits, steps, rng, rate)

    def load(saved):
        nonlocal logits
        logits = saved

    def read():
        tables = np.split(softmax(logits), [step.first for step in steps[1:]])
        return [table.reshape(step.shape + (q,)) for step, table in zip(steps, tables)]

    return Dynamics(step, lambda: logits, load, read)


def plain(logits, steps, rng, rate):
    pi = softmax(logits)
    x = rng.integers(0, q, (len(steps), BATCH))
    s, y, scores = x[0], 0, []
    for t, step in enumerate(steps):
        s = x[0] if t == 0 else B[s, x[t]]
        cell = step.first + (x[t] * q + y if step.has_y else x[t])
        rows = pi[cell]
        y = (rng.random(BATCH)[:, None] >= rows.cumsum(-1)[:, :-1]).sum(-1)
        scores.append((cell, np.eye(q)[y] - rows))
    reward = (y == s).astype(float)
    advantage = reward - reward.mean()
    gradient = np.zeros_like(logits)
    for cell, score in scores:
        np.add.at(gradient, cell, advantage[:, None] * score)
    return logits + rate / BATCH * gradient


FLAT = B.reshape(-1)


def expert(logits, steps, rng, rate):
    weights = np.exp(logits)
    sums = np.add.accumulate(weights, axis=1)
    pi = weights / sums[:, -1:]
    limits = (sums[:, :-1] / sums[:, -1:]).astype(np.float32)
    T = len(steps)
    x = rng.integers(0, q, (T, BATCH), dtype=np.uint8).astype(np.intp)
    u = rng.random((T, BATCH), dtype=np.float32)
    entries = np.empty((T, BATCH), np.intp)
    s = y = x[0]
    for t, step in enumerate(steps):
        cell = x[t]
        if t:
            s = FLAT.take(s * q + cell)
            cell = cell * q
            cell += y
            cell += step.first
        y = np.count_nonzero(limits.take(cell, 0) <= u[t][:, None], axis=1)
        np.multiply(cell, q, out=entries[t])
        entries[t] += y
    reward = (y == s).astype(float)
    reward -= reward.mean()
    g = np.bincount(entries.reshape(-1), np.tile(reward, T), logits.size).reshape(logits.shape)
    g -= pi * g.sum(1, keepdims=True)
    g *= rate / BATCH
    g += logits
    return g


if __name__ == "__main__":
    styles = {
        "plain": lambda p, f, T, seed, rate=RATE: prepare(plain, p, f, T, seed, rate),
        "expert": lambda p, f, T, seed, rate=RATE: prepare(expert, p, f, T, seed, rate),
    }
    main("numpy", np.__version__, {"reinforce": styles})
