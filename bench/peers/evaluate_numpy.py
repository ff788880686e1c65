"""Times the exact evaluation of a policy in NumPy, in two styles.

plain: App. A as it stands, `einsum` over dense arrays. On the (0,3) T=7 class a one-hot in place of the
gather is no faster, `einsum` without `optimize` about 2 times slower, multiply-and-sum 3 times.

expert: batched matrix products into preallocated buffers. Measured on the same class, fastest kept.
The other formulations: products batched over (x_t, r) or over the whole window (1.6 and 3.6 times
slower per product), `einsum` (6 to 10 times), and this one with b stored as [r, s', (v, a)] (1.3 times:
BLAS is slow at these sizes when exactly one operand is transposed).
"""

from functools import partial

import fold
import numpy as np
from fold import B, q, undo

einsum = partial(np.einsum, optimize=True)


def prepare_plain(p, f, T, policy):
    """Returns App. A's two passes for one policy of the untied (0, f) class, and the reader of the result."""
    pi, read = fold.plain(p, f, T, policy)
    symbols = np.arange(q)

    def evaluate():
        # Index i is step t = i + 1.
        alpha = [np.full(pi[0].shape[:2], float(q) ** -(f + 1))]
        for i in range(T - 1):
            if i == 0:
                g = alpha[0][:, :, None] * pi[0]  # s_1 = x_1
            else:
                g = einsum("sxwy,xwya->sxwa", alpha[i], pi[i])
                g = g[undo, symbols].sum(1)  # from s_{t-1} to s_t, then over x_t
            if i + f + 1 < T:
                g = np.repeat(g[:, :, None, :] / q, q, axis=2)  # the new symbol
            alpha.append(g.reshape(q, q, -1, q))
        d = [alpha[0]] + [a.sum(0) for a in alpha[1:]]
        dQ = [None] * T
        beta = np.eye(q)
        for i in range(T - 1, -1, -1):
            if i + f + 1 < T:
                beta = beta.reshape(q, -1, q, q).mean(2)  # over the new symbol
            else:
                beta = beta.reshape(q, -1, q)
            if i == 0:
                dQ[0] = alpha[0][:, :, None] * beta
            else:
                ahead = beta[B]  # [s_{t-1}, x_t, w, a]
                dQ[i] = einsum("sxwy,sxwa->xwya", alpha[i], ahead)
                beta = einsum("xwya,sxwa->sxwy", pi[i], ahead)
        return np.sum(pi[0] * dQ[0]), d, dQ

    return evaluate, read


def prepare_expert(p, f, T, policy):
    """Returns the evaluation of one policy of the untied (0, f) class, and the reader of its result."""
    blocks, forward, backward = fold.blocks(p, f, T)
    pi = [block.split(table) for block, table in zip(blocks, policy)]
    dQ = [np.empty_like(table) for table in pi]

    # The A of all steps t >= 2 share one buffer, so that one product sums them all into d.
    ends = np.cumsum([0] + [block.r for block in blocks[1:]])
    parts = [slice(*ends[i : i + 2]) for i in range(T - 1)]
    A_all = np.empty((ends[-1], q, q * q))
    A = [None] + [A_all[part] for part in parts]
    A_T = [None] + [a.transpose(0, 2, 1) for a in A[1:]]
    to_d = np.concatenate([np.full((block.r, 1, q), block.scale) for block in blocks[1:]])
    d_all = np.empty((ends[-1], 1, q * q))
    # Where v is not absent, d is the same for its q values.
    repeated = ends[sum(block.v > 1 for block in blocks[1:])]
    d_source = d_all[:repeated, 0, :, None]
    d_repeated = np.empty((repeated, q * q, q))
    d = [np.full((blocks[0].r, q, q), blocks[0].scale)]
    d += [(d_repeated if block.v > 1 else d_all)[part] for block, part in zip(blocks[1:], parts)]

    g = [pi[0]] + [np.empty((block.r, q, block.v * q)) for block in blocks[1:-1]]
    h = [None] + [np.empty((block.r, q * q, q)) for block in blocks[1:]]
    b = [np.empty((block.r, block.v * q, q)) for block in blocks[:-1]]
    end = float(q) ** -T

    # Index i is step t = i + 1.
    ahead = [(g[i - 1], forward[i + 1], A[i], pi[i], g[i]) for i in range(1, T - 1)]
    back = [
        (h[i + 1], backward[i + 2], b[i], pi[i], h[i], A_T[i], b[i].transpose(0, 2, 1), dQ[i])
        for i in range(T - 2, 0, -1)
    ]

    def evaluate():
        # mode="clip" lets take write into `out` without a copy.
        for g_last, index, A_t, pi_t, g_t in ahead:
            g_last.take(index, out=A_t, mode="clip")
            np.matmul(A_t, pi_t, out=g_t)
        g[-1].take(forward[T], out=A[-1], mode="clip")
        np.matmul(to_d, A_all, out=d_all)
        d_repeated[:] = d_source
        # b of the last step is q^-T 1[a = s_T].
        np.multiply(A_T[-1], end, out=dQ[-1])
        np.multiply(pi[-1], end, out=h[-1])
        for h_next, index, b_t, pi_t, h_t, A_T_t, b_T_t, dQ_t in back:
            h_next.take(index, out=b_t, mode="clip")
            np.matmul(pi_t, b_t, out=h_t)
            np.matmul(A_T_t, b_T_t, out=dQ_t)
        h[1].take(backward[2], out=dQ[0], mode="clip")
        return np.vdot(pi[-1], dQ[-1]), d, dQ

    def read(result):
        J, d, dQ = result
        join = lambda arrays: [block.join(array) for block, array in zip(blocks, arrays)]
        return float(J), join(d), join(dQ)

    return evaluate, read


if __name__ == "__main__":
    fold.main("numpy", np.__version__, {"untied": {"plain": prepare_plain, "expert": prepare_expert}})
