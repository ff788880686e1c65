"""Times the dynamics in JAX, in the two styles of `evaluate_jax`: jitted, float64, on the CPU.

plain: cavi is one jitted function; chain has a jitted function for each message and update of each
step, and proposals from NumPy (from `jax.random` they take many seconds to compile).

expert, measured on the (0,3) T=7 class, fastest kept. cavi: cells are chosen by NumPy and only these are
moved (chosen by `jax.random` 1.5 times slower, all cells moved 1.8 times). chain: one jitted function for
a sweep, the order an argument, one `cond` for each message and update (jitted by step 1.3 times slower,
`switch` and `while_loop` over all messages 1.2 times, steps unrolled 1.2 times).

runs: cavi on the window (0,0) under `vmap`, in the plain style alone, because nothing faster was found (products that sum over
x_t at once take 3 times as long, runs along the last axis with sums of fused loops more than 10 times).
"""

from functools import partial

import fold
import jax
import jax.numpy as jnp
import numpy as np
from dynamics import DAMPING, RUNS, SHARE, TAU, Dynamics, initial_code, initial_policy, main
from evaluate_jax import expert, outer
from fold import q
from plain import Plain

# Computing in the calling thread is 1.5 to 3 times faster for chain, and the same for cavi.
jax.config.update("jax_cpu_enable_async_dispatch", False)


def prepare_plain_cavi(p, f, T, seed):
    steps = fold.untied_class(p, f, T)
    pi, _ = fold.plain(p, f, T, initial_policy(steps, np.random.default_rng(seed)))
    plain = Plain(f, T, 1 / q, jnp, jnp.einsum)
    cells = sum(step.count for step in steps)

    @jax.jit
    def iterate(pi, key):
        key, own = jax.random.split(key)
        chosen = jnp.split(jax.random.bernoulli(own, SHARE, (cells,)), [step.first for step in steps[1:]])
        _, dQ = plain.passes(pi)
        moved = []
        for pi_t, dQ_t, chosen_t in zip(pi, dQ, chosen):
            target = jax.nn.softmax(dQ_t / TAU, axis=-1)
            moved.append(pi_t + DAMPING * chosen_t.reshape(pi_t.shape[:-1] + (1,)) * (target - pi_t))
        return moved, key

    read = lambda state: [np.asarray(table).reshape(s.shape + (q,)) for s, table in zip(steps, state[0])]
    return dynamics(iterate, ([jnp.asarray(table) for table in pi], jax.random.key(seed)), read)


def prepare_expert_cavi(p, f, T, seed):
    rng = np.random.Generator(np.random.SFC64(seed))
    blocks, evaluate = expert(p, f, T)
    policy = initial_policy([block.step for block in blocks], rng)
    tables = [block.split(table) for block, table in zip(blocks, policy)]
    shapes, ends = [table.shape for table in tables], [block.step.first for block in blocks[1:]]
    rows = lambda tables: jnp.concatenate([table.reshape(-1, q) for table in tables])
    split = lambda rows: [table.reshape(shape) for table, shape in zip(jnp.split(rows, ends), shapes)]
    cells = sum(block.step.count for block in blocks)
    limit = np.uint16(round(SHARE * 2**16))
    # Room for the chosen cells, ten standard deviations above their mean; what is idle is dropped.
    room = min(cells, round(SHARE * cells + 10 * (SHARE * (1 - SHARE) * cells) ** 0.5))

    @jax.jit
    def move(pi, chosen):
        _, _, dQ = evaluate(split(pi))
        dQ = rows(dQ).at[chosen].get(mode="clip")
        weights = jnp.exp((dQ - dQ.max(-1, keepdims=True)) * (1 / TAU))
        target = weights * (DAMPING / weights.sum(-1, keepdims=True))
        moved = pi.at[chosen].get(mode="clip") * (1 - DAMPING) + target
        return pi.at[chosen].set(moved, mode="drop")

    def iterate(pi):
        chosen = np.full(room, cells, np.int32)
        found = np.flatnonzero(np.frombuffer(rng.bytes(2 * cells), np.uint16) < limit)
        chosen[: len(found)] = found
        return (move(pi, chosen),)

    read = lambda state: [block.join(table) for block, table in zip(blocks, split(state[0]))]
    return dynamics(iterate, (rows(tables),), read)


def prepare_plain_runs(p, f, T, seed):
    """RUNS runs along the first axis."""
    assert f == 0, "runs side by side are timed on the window (0,0)"
    plain = Plain(f, T, 1 / q, jnp, jnp.einsum)
    # Plain has an axis for the symbols ahead, of which there are none.
    values = jax.vmap(lambda pi: plain.passes([jnp.expand_dims(table, 1) for table in pi])[1])
    rng = np.random.Generator(np.random.SFC64(seed))
    steps = fold.untied_class(0, f, T)
    starts = [initial_policy(steps, rng) for _ in range(RUNS)]
    tables = [jnp.asarray(np.stack(step)) for step in zip(*starts)]
    sizes = [table.size // q for table in tables]
    limit = np.uint16(round(SHARE * 2**16))

    @jax.jit
    def iterate(pi, bits):
        moved = []
        for table, dQ, own in zip(pi, values(pi), jnp.split(bits, np.cumsum(sizes)[:-1])):
            dQ = dQ.reshape(table.shape)
            weights = jnp.exp((dQ - dQ.max(-1, keepdims=True)) * (1 / TAU))
            target = weights / weights.sum(-1, keepdims=True)
            chosen = (own < limit).reshape(table.shape[:-1] + (1,))
            moved.append(jnp.where(chosen, table + DAMPING * (target - table), table))
        return moved

    def step(pi):
        return (iterate(pi, np.frombuffer(rng.bytes(2 * sum(sizes)), np.uint16)),)

    def read(state):
        tables = [np.asarray(table) for table in state[0]]
        return [[table[run] for table in tables] for run in range(RUNS)]

    return dynamics(step, (tables,), read, RUNS)


def prepare_plain_chain(p, f, T, seed):
    rng = np.random.default_rng(seed)
    steps = fold.untied_class(p, f, T)
    code, _ = fold.plain(p, f, T, initial_code(steps, rng))
    plain = Plain(f, T, 1, jnp, jnp.einsum)

    def sends(i, alpha, code):
        return plain.send(i, alpha, jax.nn.one_hot(code, q, dtype=float))

    def backs(i, beta, code):
        return plain.back(i, jax.nn.one_hot(code, q, dtype=float), plain.ahead(i, beta))

    def updates(i, alpha, beta, code, proposal):
        return metropolis(plain.value(i, alpha, plain.ahead(i, beta)), code, proposal)

    send, back, update = ([jax.jit(partial(of, i)) for i in range(T)] for of in (sends, backs, updates))
    code = [jnp.asarray(table) for table in code]
    alpha, beta = [plain.first_alpha()] + [None] * (T - 1), [None] * (T - 1) + [plain.last_beta()]
    for i in range(T - 1):
        alpha[i + 1] = send[i](alpha[i], code[i])

    def sweep(code, alpha, beta, at, J):
        code, alpha, beta = list(code), list(alpha), list(beta)
        for j in rng.permutation(T):
            for i in range(at, j):
                alpha[i + 1] = send[i](alpha[i], code[i])
            for i in range(at, j, -1):
                beta[i - 1] = back[i](beta[i], code[i])
            proposal = rng.integers(0, q, code[j].shape)
            code[j], J = update[j](alpha[j], beta[j], code[j], proposal)
            at = j
        return code, alpha, beta, at, J

    def read(state):
        return state[-1], [np.asarray(table).reshape(s.shape) for s, table in zip(steps, state[0])]

    return dynamics(sweep, (code, alpha, beta, T - 1, None), read)


def prepare_expert_chain(p, f, T, seed):
    rng = np.random.Generator(np.random.SFC64(seed))
    blocks, forward, backward = fold.blocks(p, f, T)
    cells = sum(block.step.count for block in blocks)
    shapes = [(block.r, q ** (1 + block.step.has_y), block.v) for block in blocks]
    code = initial_code([block.step for block in blocks], rng)
    code = [block.split(table).astype(np.int32) for block, table in zip(blocks, code)]

    # The letters of `fold.Block`; b_1 is dQ_1, and b_T is the identity. Each has one array a step, of
    # which A_1 and b_T are idle.
    def one_hot(i, code):
        return jax.nn.one_hot(code, q, dtype=float).reshape(shapes[i][:2] + (-1,))

    def send(i, A, code, _):
        g = one_hot(i, code) if i == 0 else A @ one_hot(i, code)
        return g.reshape(-1)[forward[i + 2]]

    def back(i, b, code, _):
        h = one_hot(i, code) if i == T - 1 else one_hot(i, code) @ b
        return h.reshape(-1)[backward[i + 1]]

    def update(i, A, b, code, proposal, _):
        dQ = b if i == 0 else A.transpose(0, 2, 1) if i == T - 1 else outer(A, b)
        return metropolis(dQ.reshape(shapes[i] + (q,)), code, proposal.reshape(shapes[i]).astype(jnp.int32))

    keep = lambda *given: given[-1]
    keep_code = lambda A, b, code, proposal, J: (code, J)

    @jax.jit
    def run(code, A, b, at, J, order, proposals):
        proposals = jnp.split(proposals, [block.step.first for block in blocks[1:]])

        def sweep_step(k, state):
            code, A, b, at, J = state
            code, A, b, j = list(code), list(A), list(b), order[k]
            for i in range(T - 1):
                stale = (at <= i) & (i < j)
                A[i + 1] = jax.lax.cond(stale, partial(send, i), keep, A[i], code[i], A[i + 1])
            for i in range(T - 1, 0, -1):
                stale = (at >= i) & (i > j)
                b[i - 1] = jax.lax.cond(stale, partial(back, i), keep, b[i], code[i], b[i - 1])
            for i in range(T):
                given = A[i], b[i], code[i], proposals[i], J
                code[i], J = jax.lax.cond(i == j, partial(update, i), keep_code, *given)
            return tuple(code), tuple(A), tuple(b), j, J

        return jax.lax.fori_loop(0, T, sweep_step, (code, A, b, at, J))

    def sweep(code, A, b, at, J):
        return run(code, A, b, at, J, rng.permutation(T), rng.integers(0, q, cells, dtype=np.uint8))

    A = [jnp.zeros(())] + [jnp.zeros((block.r, q, q * q)) for block in blocks[1:]]
    b = [jnp.zeros((block.r, block.v * q, q)) for block in blocks[1:-1]]
    b = [jnp.zeros((blocks[0].r, q, blocks[0].v * q))] + b + [jnp.zeros(())]
    code = [jnp.asarray(table) for table in code]
    for i in range(T - 1):
        A[i + 1] = send(i, A[i], code[i], None)

    def read(state):
        return float(state[-1]), [block.join(table) for block, table in zip(blocks, state[0])]

    return dynamics(sweep, (tuple(code), tuple(A), tuple(b), jnp.int64(T - 1), jnp.float64(0)), read)


def metropolis(dQ, code, proposal):
    """The code after the proposals that lose nothing, and J."""
    now = jnp.take_along_axis(dQ, code[..., None], -1)[..., 0]
    new = jnp.take_along_axis(dQ, proposal[..., None], -1)[..., 0]
    return jnp.where(new >= now, proposal, code), jnp.maximum(new, now).sum()


def dynamics(iterate, state, read, runs=1):
    """A run that keeps the state which `iterate` takes and returns."""

    def step():
        nonlocal state
        state = jax.block_until_ready(iterate(*state))

    def load(saved):
        nonlocal state
        state = saved

    return Dynamics(step, lambda: state, load, lambda: read(state), runs)


if __name__ == "__main__":
    kinds = {
        "cavi": {"plain": prepare_plain_cavi, "expert": prepare_expert_cavi},
        "runs": {"plain": prepare_plain_runs},
        "chain": {"plain": prepare_plain_chain, "expert": prepare_expert_chain},
    }
    main("jax", jax.__version__, kinds)
