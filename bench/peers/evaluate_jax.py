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
from fold import q
from plain import Plain

jax.config.update("jax_enable_x64", True)


def prepare_plain(p, f, T, policy):
    """Returns App. A's two passes for one policy of the untied (0, f) class, and the reader of the result."""
    pi, read = fold.plain(p, f, T, policy)
    evaluate = jax.jit(Plain(f, T, 1 / q, jnp, jnp.einsum).evaluate)
    pi = [jnp.asarray(table) for table in pi]
    return lambda: jax.block_until_ready(evaluate(pi)), read


def expert(p, f, T):
    """The blocks of the untied (0, f) class, and the function from pi to J, d and dQ in their layout."""
    blocks, forward, backward = fold.blocks(p, f, T)
    end = float(q) ** -T

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
            dQ.append(outer(A[i], b))
        dQ.append(h.reshape(-1)[backward[2]])
        dQ.reverse()
        return (pi[-1] * dQ[-1]).sum(), jnp.concatenate(d), dQ

    return blocks, evaluate


def outer(A, b):
    """dQ of a step. XLA fuses q outer products; its batched matmul is slower at this depth."""
    return sum(A[:, s, :, None] * b[:, None, :, s] for s in range(q))


def prepare_expert(p, f, T, policy):
    """Returns the evaluation of one policy of the untied (0, f) class, and the reader of its result."""
    blocks, evaluate = expert(p, f, T)
    evaluate = jax.jit(evaluate)
    pi = [jnp.asarray(block.split(table)) for block, table in zip(blocks, policy)]

    def read(result):
        J, d, dQ = result
        d = np.split(np.asarray(d), [block.step.first for block in blocks[1:]])
        join = lambda arrays: [block.join(array) for block, array in zip(blocks, arrays)]
        return float(J), join(d), join(dQ)

    return lambda: jax.block_until_ready(evaluate(pi)), read


if __name__ == "__main__":
    fold.main("jax", jax.__version__, {"untied": {"plain": prepare_plain, "expert": prepare_expert}})
