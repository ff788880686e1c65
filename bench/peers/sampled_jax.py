"""Times one update of sampled training in JAX: the update of `sampled_numpy`, jitted, in single precision, on the CPU.

plain: rollouts by `lax.scan` with `jax.random.categorical`, the gradient by `jax.grad` of the usual loss.

expert, fastest kept: random bits from NumPy (JAX's own take longer than the rest), one addition for each token to the entry
of its cell. The least times in microseconds on the (0,0) T=8 class, without the draws: unrolled 53, by `lax.scan` 53,
additions by step 86, products with one-hot rows 125.
"""

import fold
import jax
import jax.numpy as jnp
import numpy as np
from dynamics import BATCH, RATE, Dynamics, initial_policy, main
from fold import B, q

# Computing in the calling thread is faster for work this short.
jax.config.update("jax_cpu_enable_async_dispatch", False)

SQUARE = jnp.asarray(B, jnp.int32)


def run(update, draw, p, f, T, seed, rate):
    """A run whose state is the logits (cells, q), moved by a jitted `update(logits, rate, *draw())`."""
    assert (p, f) == (0, 0), "peers train on the window (0,0)"
    steps = fold.untied_class(p, f, T)
    tables = initial_policy(steps, np.random.default_rng(seed))
    logits = jnp.log(jnp.concatenate([jnp.asarray(table, jnp.float32).reshape(-1, q) for table in tables]))

    def step():
        nonlocal logits
        logits = jax.block_until_ready(update(logits, rate, *draw()))

    def load(saved):
        nonlocal logits
        logits = saved

    def read():
        tables = np.split(np.asarray(jax.nn.softmax(logits), float), [step.first for step in steps[1:]])
        return [table.reshape(step.shape + (q,)) for step, table in zip(steps, tables)]

    return Dynamics(step, lambda: logits, load, read)


def prepare_plain(p, f, T, seed, rate=RATE):
    first = jnp.array([step.first for step in fold.untied_class(p, f, T)], jnp.int32)
    key = jax.random.key(seed)

    def draw():
        nonlocal key
        key, own = jax.random.split(key)
        return (own,)

    @jax.jit
    def update(logits, rate, key):
        own, tokens = jax.random.split(key)
        x = jax.random.randint(own, (T, BATCH), 0, q, jnp.int32)

        def emit(state, given):
            s, y = state
            t, x, first, key = given
            s = jnp.where(t == 0, x, SQUARE[s, x])
            cell = first + jnp.where(t == 0, x, x * q + y)
            y = jax.random.categorical(key, logits[cell]).astype(jnp.int32)
            return (s, y), (cell, y)

        zeros = jnp.zeros(BATCH, jnp.int32)
        steps = (jnp.arange(T), x, first, jax.random.split(tokens, T))
        (s, y), (cells, emitted) = jax.lax.scan(emit, (zeros, zeros), steps)
        reward = (y == s).astype(jnp.float32)
        advantage = reward - reward.mean()

        def objective(logits):
            log_pi = jax.nn.log_softmax(logits)
            return (advantage * log_pi[cells, emitted].sum(0)).mean()

        return logits + rate * jax.grad(objective)(logits)

    return run(update, draw, p, f, T, seed, rate)


def prepare_expert(p, f, T, seed, rate=RATE):
    steps = fold.untied_class(p, f, T)
    rng = np.random.Generator(np.random.SFC64(seed))
    flat = SQUARE.reshape(-1)
    symbols = T * BATCH

    def draw():
        return np.frombuffer(rng.bytes(6 * symbols), np.uint16)

    @jax.jit
    def update(logits, rate, words):
        # 16 bits for an input symbol, 32 for a token.
        x = (words[:symbols].astype(jnp.uint32) * q >> 16).astype(jnp.int32).reshape(T, BATCH)
        high, low = words[symbols : 2 * symbols], words[2 * symbols :]
        u = (high.astype(jnp.float32) * 2**-16 + low.astype(jnp.float32) * 2**-32).reshape(T, BATCH)
        pi = jax.nn.softmax(logits)
        limits = jnp.cumsum(pi, -1)[:, : q - 1]
        s = y = x[0]
        entries = []
        for t, step in enumerate(steps):
            cell = x[t]
            if t:
                s = flat[s * q + cell]
                cell = step.first + cell * q + y
            y = (limits.at[cell].get(mode="promise_in_bounds") <= u[t][:, None]).sum(-1, dtype=jnp.int32)
            entries.append(cell * q + y)
        reward = (y == s).astype(jnp.float32)
        advantage = jnp.tile(reward - reward.mean(), T)
        entries = jnp.concatenate(entries)
        g = jnp.zeros(logits.size, jnp.float32).at[entries].add(advantage, mode="promise_in_bounds")
        g = g.reshape(logits.shape)
        g = g - pi * g.sum(-1, keepdims=True)
        return logits + rate / BATCH * g

    return run(update, lambda: (draw(),), p, f, T, seed, rate)


if __name__ == "__main__":
    main("jax", jax.__version__, {"reinforce": {"plain": prepare_plain, "expert": prepare_expert}})
