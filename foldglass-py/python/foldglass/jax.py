"""Exact objectives of logits, for JAX to differentiate (paper, section 2.2 and App. A).

    import foldglass as fg, foldglass.jax as fgj
    space = fg.Class(fg.Task("z:3", [1, 2, 3]))
    gradient = jax.grad(lambda logits: fgj.reward(space, logits))(jnp.zeros(space.shape))

The extra ``jax`` brings JAX.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

from ._class import Class
from ._evaluate import check_logits, objective_batch

__all__ = ["reward"]


def reward(space: Class, logits: Any, objective: str | None = None) -> jax.Array:
    """J of the policy softmax(logits), exactly, of shape (...) for logits of shape (..., cells, q).

    ``objective`` replaces J by ``pass@K``, ``maxrl:K`` or ``grpo-std`` (:func:`foldglass.objective_batch`). All is
    computed in double precision on the host, whatever ``jax_enable_x64`` says, and returned in the dtype of the
    logits. It works under ``jit``, ``vmap`` and ``grad``, in reverse mode and once: there is no forward mode and no
    second derivative.

    Args:
        space: The class.
        logits: Of shape (..., cells, q), of any floating-point type.
        objective: ``"pass@K"``, ``"maxrl:K"`` or ``"grpo-std"`` in place of J (:func:`foldglass.objective_batch`).

    Returns:
        J, of shape (...), of the dtype of the logits.
    """
    logits = jnp.asarray(logits)
    if not jnp.issubdtype(logits.dtype, jnp.floating):
        raise TypeError(f"logits of type {logits.dtype}: a floating-point type is needed")
    check_logits(space, logits.shape)
    # No policy: an objective is refused here, not where the callback runs.
    objective_batch(space, np.empty((0, *space.shape)), objective)
    found: jax.Array = _exact(space, objective, logits)
    return found


@partial(jax.custom_vjp, nondiff_argnums=(0, 1))
def _exact(space: Class, objective: str | None, logits: jax.Array) -> jax.Array:
    return _both(space, objective, logits)[0]


def _both(space: Class, objective: str | None, logits: jax.Array) -> tuple[jax.Array, jax.Array]:
    """The objective, and its derivative by the logits, which comes with it."""
    shapes = (
        jax.ShapeDtypeStruct(logits.shape[:-2], logits.dtype),
        jax.ShapeDtypeStruct(logits.shape, logits.dtype),
    )
    host = partial(_on_host, space, objective)
    found: tuple[jax.Array, jax.Array] = jax.pure_callback(host, shapes, logits, vmap_method="broadcast_all")
    return found


def _backward(
    space: Class, objective: str | None, gradient: jax.Array, cotangent: jax.Array
) -> tuple[jax.Array]:
    return (cotangent[..., None, None] * gradient,)


_exact.defvjp(_both, _backward)


def _on_host(space: Class, objective: str | None, logits: Any) -> tuple[NDArray[Any], NDArray[Any]]:
    """The same in NumPy. A function of JAX in here would wait for the computation that waits for it."""
    given = np.asarray(logits)
    rows = given.astype(np.float64)
    rows -= rows.max(-1, keepdims=True)
    np.exp(rows, out=rows)
    rows /= rows.sum(-1, keepdims=True)
    value, values = objective_batch(space, rows.reshape(-1, *space.shape), objective)
    values = values.reshape(rows.shape)
    gradient = rows * (values - (rows * values).sum(-1, keepdims=True))
    return value.reshape(given.shape[:-2]).astype(given.dtype), gradient.astype(given.dtype)
