"""Times the dynamics in NumPy, in the two styles of `evaluate_numpy`.

expert, measured on the (0,3) T=7 class, fastest kept. cavi: only the chosen cells are moved, as [a, cell]
(in rows [cell, a] 2.6 times slower for this part, all cells 5 times); exponents are cut at -60, because
exp is 5 times slower where it underflows. chain: the evaluation's products with a one-hot policy.
"""

import fold
import numpy as np
from dynamics import DAMPING, SHARE, TAU, Dynamics, initial_code, initial_policy, main
from evaluate_numpy import Expert, einsum
from fold import q
from plain import Plain


def prepare_plain_cavi(p, f, T, seed):
    rng = np.random.default_rng(seed)
    steps = fold.untied_class(p, f, T)
    pi, _ = fold.plain(p, f, T, initial_policy(steps, rng))
    plain = Plain(f, T, 1 / q, np, einsum)

    def step():
        _, dQ = plain.passes(pi)
        for i in range(T):
            weights = np.exp((dQ[i] - dQ[i].max(-1, keepdims=True)) / TAU)
            target = weights / weights.sum(-1, keepdims=True)
            chosen = rng.random(target.shape[:-1]) < SHARE
            pi[i] = pi[i] + DAMPING * chosen[..., None] * (target - pi[i])

    def load(saved):
        pi[:] = saved

    read = lambda: [table.reshape(s.shape + (q,)) for s, table in zip(steps, pi)]
    return Dynamics(step, lambda: list(pi), load, read)


def prepare_expert_cavi(p, f, T, seed):
    rng = np.random.Generator(np.random.SFC64(seed))
    expert = Expert(p, f, T)
    blocks = expert.blocks
    policy = initial_policy([block.step for block in blocks], rng)
    for pi, block, table in zip(expert.pi, blocks, policy):
        pi[:] = block.split(table)
    pi, dQ = expert.pi_all.reshape(-1), expert.dQ_all.reshape(-1)
    cells, actions = len(expert.pi_all), np.arange(q)[:, None]
    limit = np.uint16(round(SHARE * 2**16))

    def step():
        expert.run()
        chosen = np.flatnonzero(np.frombuffer(rng.bytes(2 * cells), np.uint16) < limit)
        chosen = chosen * q + actions  # [a, cell]
        target = dQ.take(chosen)
        target -= target.max(0)
        target *= 1 / TAU
        np.maximum(target, -60, out=target)
        np.exp(target, out=target)
        target *= DAMPING / target.sum(0)
        moved = pi.take(chosen)
        moved *= 1 - DAMPING
        moved += target
        pi[chosen] = moved

    def load(saved):
        pi[:] = saved

    read = lambda: [block.join(table) for block, table in zip(blocks, expert.pi)]
    return Dynamics(step, pi.copy, load, read)


def prepare_plain_chain(p, f, T, seed):
    rng = np.random.default_rng(seed)
    steps = fold.untied_class(p, f, T)
    code, _ = fold.plain(p, f, T, initial_code(steps, rng))
    plain = Plain(f, T, 1, np, einsum)
    one_hot = lambda i: np.eye(q)[code[i]]
    alpha, beta = [plain.first_alpha()] + [None] * (T - 1), [None] * (T - 1) + [plain.last_beta()]
    at, J = T - 1, None

    def send(i):
        alpha[i + 1] = plain.send(i, alpha[i], one_hot(i))

    def back(i):
        beta[i - 1] = plain.back(i, one_hot(i), plain.ahead(i, beta[i]))

    for i in range(T - 1):
        send(i)

    def step():
        nonlocal at, J
        for j in rng.permutation(T):
            for i in range(at, j):
                send(i)
            for i in range(at, j, -1):
                back(i)
            dQ = plain.value(j, alpha[j], plain.ahead(j, beta[j]))
            proposal = rng.integers(0, q, code[j].shape)
            now = np.take_along_axis(dQ, code[j][..., None], -1)[..., 0]
            new = np.take_along_axis(dQ, proposal[..., None], -1)[..., 0]
            code[j] = np.where(new >= now, proposal, code[j])
            at = j
        J = np.maximum(new, now).sum()

    def save():
        return list(code), list(alpha), list(beta), at

    def load(saved):
        nonlocal at
        code[:], alpha[:], beta[:], at = saved

    read = lambda: (J, [table.reshape(s.shape) for s, table in zip(steps, code)])
    return Dynamics(step, save, load, read)


def prepare_expert_chain(p, f, T, seed):
    rng = np.random.Generator(np.random.SFC64(seed))
    blocks, forward, backward = fold.blocks(p, f, T)
    pi_all, pi = fold.joined(blocks)
    _, dQ = fold.joined(blocks)
    pi_flat = [table.reshape(-1) for table in pi]
    dQ_flat = [table.reshape(-1) for table in dQ]
    # The code as places in its step's flat arrays.
    first_place = [np.arange(block.step.count) * q for block in blocks]
    code = initial_code([block.step for block in blocks], rng)
    place = [z + block.split(table).reshape(-1) for z, block, table in zip(first_place, blocks, code)]
    parts = [slice(b.step.first, b.step.first + b.step.count) for b in blocks]
    pi_all[:] = 0
    for table, places in zip(pi_flat, place):
        table[places] = 1

    # The letters of `fold.Block`; b_1 is dQ_1, h_T is pi_T, and b_T is the identity.
    A = [None] + [np.empty((block.r, q, q * q)) for block in blocks[1:]]
    A_T = [None] + [a.transpose(0, 2, 1) for a in A[1:]]
    g = [pi[0]] + [np.empty((block.r, q, block.v * q)) for block in blocks[1:-1]]
    b = [dQ[0]] + [np.empty((block.r, block.v * q, q)) for block in blocks[1:-1]]
    b_T = [None] + [table.transpose(0, 2, 1) for table in b[1:]]
    h = [None] + [np.empty((block.r, q * q, q)) for block in blocks[1:-1]] + [pi[-1]]
    at, J = T - 1, None

    def send(i):
        if i > 0:
            np.matmul(A[i], pi[i], out=g[i])
        g[i].take(forward[i + 2], out=A[i + 1], mode="clip")

    def back(i):
        if i < T - 1:
            np.matmul(pi[i], b[i], out=h[i])
        h[i].take(backward[i + 1], out=b[i - 1], mode="clip")

    for i in range(T - 1):
        send(i)

    def step():
        nonlocal at, J
        proposals = rng.integers(0, q, len(pi_all), dtype=np.uint8)
        for j in rng.permutation(T).tolist():
            for i in range(at, j):
                send(i)
            for i in range(at, j, -1):
                back(i)
            if j == T - 1:
                np.copyto(dQ[j], A_T[j])
            elif j > 0:
                np.matmul(A_T[j], b_T[j], out=dQ[j])
            proposal = first_place[j] + proposals[parts[j]]
            new, now = dQ_flat[j].take(proposal), dQ_flat[j].take(place[j])
            pi_flat[j][place[j]] = 0
            np.copyto(place[j], proposal, where=new >= now)
            pi_flat[j][place[j]] = 1
            at = j
        J = np.maximum(new, now).sum()

    def read():
        tables = [(places - z).reshape(-1) for z, places in zip(first_place, place)]
        shape = lambda block: (block.r, q ** (1 + block.step.has_y), block.v)
        return J, [block.join(table.reshape(shape(block))) for block, table in zip(blocks, tables)]

    buffers = [pi_all] + place + A[1:] + b

    def load(saved):
        nonlocal at
        at = saved[0]
        for buffer, copy in zip(buffers, saved[1]):
            buffer[:] = copy

    return Dynamics(step, lambda: (at, [buffer.copy() for buffer in buffers]), load, read)


if __name__ == "__main__":
    kinds = {
        "cavi": {"plain": prepare_plain_cavi, "expert": prepare_expert_cavi},
        "chain": {"plain": prepare_plain_chain, "expert": prepare_expert_chain},
    }
    main("numpy", np.__version__, kinds)
