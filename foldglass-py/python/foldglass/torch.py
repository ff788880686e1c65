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
    ``torch.compile`` and ``torch.func.vmap``. Its gradient is exact; a second derivative is refused. In a compiled graph PyTorch
    itself refuses it, in ``backward()`` and with recent versions alone.

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
    # An operator costs some microseconds and is what a compiler does not look into.
    exact: Any = _operator if torch.compiler.is_compiling() else _Exact.apply
    value, _ = exact(logits.to("cpu", torch.float64), space._key, objective or "")
    return value.to(logits.device, logits.dtype)


def _setup(ctx: Any, inputs: Any, output: tuple[torch.Tensor, torch.Tensor]) -> None:
    # The gradient counts as differentiable, so that a second derivative gets as far as `_backward`: it would be taken for 0.
    ctx.save_for_backward(output[1])
    ctx.set_materialize_grads(False)


def _backward(
    ctx: Any, outer: torch.Tensor | None, second: torch.Tensor | None
) -> tuple[torch.Tensor | None, None, None]:
    """The engine gives the gradient with the objective, so the way back is a product."""
    if second is not None:
        raise RuntimeError("foldglass.torch.reward has a first derivative only, and a second one was asked for")
    (gradient,) = ctx.saved_tensors
    return None if outer is None else outer[..., None, None] * gradient, None, None


def _vmap(
    info: Any, in_dims: tuple[int | None, ...], logits: torch.Tensor, space: str, objective: str
) -> tuple[tuple[torch.Tensor, torch.Tensor], tuple[int, int]]:
    axis = in_dims[0]
    assert axis is not None, "logits are the one tensor"
    exact: Any = _operator if torch.compiler.is_compiling() else _Exact.apply
    return exact(logits.movedim(axis, 0), space, objective), (0, 0)


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


class _Exact(torch.autograd.Function):
    """The same without the operator."""

    @staticmethod
    def forward(logits: torch.Tensor, space: str, objective: str) -> tuple[torch.Tensor, torch.Tensor]:
        return _objective(logits, space, objective)

    setup_context = staticmethod(_setup)
    backward = staticmethod(_backward)
    vmap = staticmethod(_vmap)


_operator.register_autograd(_backward, setup_context=_setup)
_operator.register_vmap(_vmap)


@_operator.register_fake
def _(logits: torch.Tensor, space: str, objective: str) -> tuple[torch.Tensor, torch.Tensor]:
    return logits.new_empty(logits.shape[:-2]), logits.new_empty(logits.shape)


@lru_cache(maxsize=64)
def _space(key: str) -> Class:
    """Operators take text, not objects: a class is known by what it is made of."""
    spec, max_memory = json.loads(key)
    return Class.from_spec(json.loads(spec), max_memory=max_memory)
