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
from fold import q
from plain import Plain

einsum = partial(np.einsum, optimize=True)


def prepare_plain(p, f, T, policy):
    """Returns App. A's two passes for one policy of the untied (0, f) class, and the reader of the result."""
    pi, read = fold.plain(p, f, T, policy)
    plain = Plain(f, T, 1 / q, np, einsum)
    return lambda: plain.evaluate(pi), read


class Expert:
    """Buffers for a policy of the untied (0, f) class, and the passes between them.

    `pi_all` and `dQ_all` hold the rows of all cells, a last; `pi` and `dQ` are their steps, laid out as
    `fold.Block` says.
    """

    def __init__(self, p, f, T):
        blocks, forward, backward = fold.blocks(p, f, T)
        self.blocks = blocks
        self.pi_all, self.pi = fold.joined(blocks)
        self.dQ_all, self.dQ = fold.joined(blocks)
        pi, dQ = self.pi, self.dQ
        # The A of all steps t >= 2 share one buffer, so that one product sums them all into d.
        ends = np.cumsum([0] + [block.r for block in blocks[1:]])
        self.parts = [slice(*ends[i : i + 2]) for i in range(T - 1)]
        self.A_all = np.empty((ends[-1], q, q * q))
        A = [None] + [self.A_all[part] for part in self.parts]
        A_T = [None] + [a.transpose(0, 2, 1) for a in A[1:]]
        g = [pi[0]] + [np.empty((block.r, q, block.v * q)) for block in blocks[1:-1]]
        h = [None] + [np.empty((block.r, q * q, q)) for block in blocks[1:]]
        b = [np.empty((block.r, block.v * q, q)) for block in blocks[:-1]]

        # Index i is step t = i + 1.
        self.ahead = [(g[i - 1], forward[i + 1], A[i], pi[i], g[i]) for i in range(1, T - 1)]
        self.last = (g[-1], forward[T], A[-1])
        self.end = (A_T[-1], dQ[-1], pi[-1], h[-1], float(q) ** -T)
        self.back = [
            (h[i + 1], backward[i + 2], b[i], pi[i], h[i], A_T[i], b[i].transpose(0, 2, 1), dQ[i])
            for i in range(T - 2, 0, -1)
        ]
        self.first = (h[1], backward[2], dQ[0])

    def run(self):
        """Fills A and dQ."""
        # mode="clip" lets take write into `out` without a copy.
        for g_last, index, A_t, pi_t, g_t in self.ahead:
            g_last.take(index, out=A_t, mode="clip")
            np.matmul(A_t, pi_t, out=g_t)
        g_last, index, A_t = self.last
        g_last.take(index, out=A_t, mode="clip")
        # b of the last step is q^-T 1[a = s_T].
        A_T_t, dQ_t, pi_t, h_t, end = self.end
        np.multiply(A_T_t, end, out=dQ_t)
        np.multiply(pi_t, end, out=h_t)
        for h_next, index, b_t, pi_t, h_t, A_T_t, b_T_t, dQ_t in self.back:
            h_next.take(index, out=b_t, mode="clip")
            np.matmul(pi_t, b_t, out=h_t)
            np.matmul(A_T_t, b_T_t, out=dQ_t)
        h_t, index, dQ_t = self.first
        h_t.take(index, out=dQ_t, mode="clip")


def prepare_expert(p, f, T, policy):
    """Returns the evaluation of one policy of the untied (0, f) class, and the reader of its result."""
    expert = Expert(p, f, T)
    blocks, parts = expert.blocks, expert.parts
    for pi, block, table in zip(expert.pi, blocks, policy):
        pi[:] = block.split(table)
    to_d = np.concatenate([np.full((block.r, 1, q), block.scale) for block in blocks[1:]])
    d_all = np.empty((len(to_d), 1, q * q))
    # Where v is not absent, d is the same for its q values.
    repeated = sum(block.r for block in blocks[1:] if block.v > 1)
    d_source = d_all[:repeated, 0, :, None]
    d_repeated = np.empty((repeated, q * q, q))
    d = [np.full((blocks[0].r, q, q), blocks[0].scale)]
    d += [(d_repeated if block.v > 1 else d_all)[part] for block, part in zip(blocks[1:], parts)]

    def evaluate():
        expert.run()
        np.matmul(to_d, expert.A_all, out=d_all)
        d_repeated[:] = d_source
        return np.vdot(expert.pi[-1], expert.dQ[-1]), d, expert.dQ

    def read(result):
        J, d, dQ = result
        join = lambda arrays: [block.join(array) for block, array in zip(blocks, arrays)]
        return float(J), join(d), join(dQ)

    return evaluate, read


if __name__ == "__main__":
    fold.main("numpy", np.__version__, {"untied": {"plain": prepare_plain, "expert": prepare_expert}})
