"""Exact objectives of logits, for PyTorch to differentiate (paper, section 2.2 and App. A).

    import foldglass as fg, foldglass.torch as fgt
    space = fg.Class(fg.Task("z:3", [1, 2, 3]))
    logits = torch.zeros(space.shape, requires_grad=True)
    fgt.reward(space, logits).backward()        # logits.grad is the exact gradient of J

The extra ``torch`` brings PyTorch.
"""

from __future__ import annotations

import json
from functools import lru_cache
from typing import Any

import torch

from ._class import Class
from ._evaluate import check_logits, objective_batch

__all__ = ["reward"]


def reward(space: Class, logits: torch.Tensor, objective: str | None = None) -> torch.Tensor:
    """J of the policy softmax(logits), exactly, of shape (...) for logits of shape (..., cells, q).

    ``objective`` replaces J by ``pass@K``, ``maxrl:K`` or ``grpo-std`` (:func:`foldglass.objective_batch`). All is
    computed in double precision on the CPU and returned in the dtype and on the device of the logits. It works under
    ``torch.compile`` and ``torch.func.vmap``. Its gradient is exact; a second derivative
    is refused.

    Args:
        space: The class.
        logits: Of shape (..., cells, q), of any floating-point type and on any device.
        objective: ``"pass@K"``, ``"maxrl:K"`` or ``"grpo-std"`` in place of J (:func:`foldglass.objective_batch`).

    Returns:
        J, of shape (...), of the dtype and on the device of the logits.
    """
    if not logits.is_floating_point():
        raise TypeError(f"logits of type {logits.dtype}: a floating-point type is needed")
    check_logits(space, tuple(logits.shape))
    value, _ = _Exact.apply(logits.to("cpu", torch.float64), space._key, objective or "")
    return value.to(logits.device, logits.dtype)


class _Exact(torch.autograd.Function):
    """An objective of logits. The engine gives the gradient with it, so the way back is a product."""

    @staticmethod
    def forward(logits: torch.Tensor, space: str, objective: str) -> tuple[torch.Tensor, torch.Tensor]:
        # An operator costs some microseconds and is what a compiler does not look into.
        objective_of = _operator if torch.compiler.is_compiling() else _objective
        found: tuple[torch.Tensor, torch.Tensor] = objective_of(logits, space, objective)
        return found

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: tuple[torch.Tensor, torch.Tensor]) -> None:
        ctx.save_for_backward(output[1])
        # The gradient counts as differentiable so that a second derivative is refused: it would be taken for 0.
        # Compiled graphs refuse it themselves.
        if torch.compiler.is_compiling():
            ctx.mark_non_differentiable(output[1])
        else:
            ctx.set_materialize_grads(False)

    @staticmethod
    def backward(ctx: Any, outer: torch.Tensor | None, second: Any) -> tuple[torch.Tensor | None, None, None]:
        if second is not None and not torch.compiler.is_compiling():
            raise RuntimeError("foldglass.torch.reward has a first derivative only, and a second one was asked for")
        if outer is None:
            return None, None, None
        (gradient,) = ctx.saved_tensors
        return outer[..., None, None] * gradient, None, None

    @staticmethod
    def vmap(
        info: Any, in_dims: tuple[int | None, ...], logits: torch.Tensor, space: str, objective: str
    ) -> tuple[tuple[torch.Tensor, torch.Tensor], tuple[int, int]]:
        axis = in_dims[0]
        assert axis is not None, "logits are the one tensor"
        return _Exact.apply(logits.movedim(axis, 0), space, objective), (0, 0)


def _objective(logits: torch.Tensor, space: str, objective: str) -> tuple[torch.Tensor, torch.Tensor]:
    """The objective and its gradient in the logits."""
    lead = logits.shape[:-2]
    rows = torch.softmax(logits.detach(), -1).reshape(lead.numel(), *logits.shape[-2:])
    value, values = map(torch.from_numpy, objective_batch(_space(space), rows.numpy(), objective or None))
    gradient = rows * (values - (rows * values).sum(-1, keepdim=True))
    return value.reshape(lead), gradient.reshape(logits.shape)


_operator = torch.library.custom_op(
    "foldglass::objective",
    _objective,
    mutates_args=(),
    schema="(Tensor logits, str space, str objective) -> (Tensor, Tensor)",
)


@_operator.register_fake
def _(logits: torch.Tensor, space: str, objective: str) -> tuple[torch.Tensor, torch.Tensor]:
    return logits.new_empty(logits.shape[:-2]), logits.new_empty(logits.shape)


@lru_cache(maxsize=64)
def _space(key: str) -> Class:
    """Operators take text, not objects: a class is known by what it is made of."""
    spec, max_memory = json.loads(key)
    return Class.from_spec(json.loads(spec), max_memory=max_memory)
