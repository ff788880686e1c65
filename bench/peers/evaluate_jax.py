"""Times the exact evaluation of a policy in JAX, in two styles: one jitted function, float64, on the CPU.

plain: App. A as it stands, `einsum` over dense arrays. On the (0,3) T=7 class a one-hot in place of the
gather is 1.4 times slower, and multiply-and-sum in place of `einsum` 6 times.

expert: batched matrix products. Measured on the same class, fastest kept. The other formulations:
`einsum` or `matmul` for dQ too (1.4 times slower), multiply-and-sum for every product (2.4 to 5.6
times), `value_and_grad` of the forward pass (2 times), one flat output for dQ (2.3 times), one output
per step for d (1.1 times).
"""

import fold
import jax
import jax.numpy as jnp
import numpy as np
from fold import B, q, undo

jax.config.update("jax_enable_x64", True)


def prepare_plain(p, f, T, policy):
    """Returns App. A's two passes for one policy of the untied (0, f) class, and the reader of the result."""
    pi, read = fold.plain(p, f, T, policy)
    symbols = np.arange(q)

    @jax.jit
    def evaluate(pi):
        # Index i is step t = i + 1.
        alpha = [jnp.full(pi[0].shape[:2], float(q) ** -(f + 1))]
        for i in range(T - 1):
            if i == 0:
                g = alpha[0][:, :, None] * pi[0]  # s_1 = x_1
            else:
                g = jnp.einsum("sxwy,xwya->sxwa", alpha[i], pi[i])
                g = g[undo, symbols].sum(1)  # from s_{t-1} to s_t, then over x_t
            if i + f + 1 < T:
                g = jnp.repeat(g[:, :, None, :] / q, q, axis=2)  # the new symbol
            alpha.append(g.reshape(q, q, -1, q))
        d = [alpha[0]] + [a.sum(0) for a in alpha[1:]]
        dQ = [None] * T
        beta = jnp.eye(q)
        for i in range(T - 1, -1, -1):
            if i + f + 1 < T:
                beta = beta.reshape(q, -1, q, q).mean(2)  # over the new symbol
            else:
                beta = beta.reshape(q, -1, q)
            if i == 0:
                dQ[0] = alpha[0][:, :, None] * beta
            else:
                ahead = beta[B]  # [s_{t-1}, x_t, w, a]
                dQ[i] = jnp.einsum("sxwy,sxwa->xwya", alpha[i], ahead)
                beta = jnp.einsum("xwya,sxwa->sxwy", pi[i], ahead)
        return jnp.sum(pi[0] * dQ[0]), d, dQ

    pi = [jnp.asarray(table) for table in pi]
    return lambda: jax.block_until_ready(evaluate(pi)), read


def prepare_expert(p, f, T, policy):
    """Returns the evaluation of one policy of the untied (0, f) class, and the reader of its result."""
    blocks, forward, backward = fold.blocks(p, f, T)
    end = float(q) ** -T

    @jax.jit
    def evaluate(pi):
        # Index i is step t = i + 1.
        A, g = [None], pi[0]
        d = [jnp.full(blocks[0].step.count, blocks[0].scale)]
        for i in range(1, T):
            A.append(g.reshape(-1)[forward[i + 1]])
            d_t = A[i].sum(1)[:, :, None] * blocks[i].scale
            d.append(jnp.broadcast_to(d_t, d_t.shape[:2] + (blocks[i].v,)).reshape(-1))
            g = A[i] @ pi[i] if i < T - 1 else None
        # b of the last step is q^-T 1[a = s_T].
        dQ, h = [A[-1].transpose(0, 2, 1) * end], pi[-1] * end
        for i in range(T - 2, 0, -1):
            b = h.reshape(-1)[backward[i + 2]]
            h = pi[i] @ b
            # XLA fuses five outer products; its batched matmul is slower at this depth.
            dQ.append(sum(A[i][:, s, :, None] * b[:, None, :, s] for s in range(q)))
        dQ.append(h.reshape(-1)[backward[2]])
        dQ.reverse()
        return (pi[-1] * dQ[-1]).sum(), jnp.concatenate(d), dQ

    pi = [jnp.asarray(block.split(table)) for block, table in zip(blocks, policy)]

    def read(result):
        J, d, dQ = result
        d = np.split(np.asarray(d), [block.step.first for block in blocks[1:]])
        join = lambda arrays: [block.join(array) for block, array in zip(blocks, arrays)]
        return float(J), join(d), join(dQ)

    return lambda: jax.block_until_ready(evaluate(pi)), read


if __name__ == "__main__":
    fold.main("jax", jax.__version__, {"untied": {"plain": prepare_plain, "expert": prepare_expert}})
