"""The oracle with a loss in JAX."""

import foldglass as fg
import pytest


def test_a_loss_in_jax_is_recognised() -> None:
    jax = pytest.importorskip("jax")
    jnp = jax.numpy

    def loss(logp, old_logp, ref_logp, rewards, mask, group):
        same = group[:, None] == group[None, :]
        mean = (same * rewards).sum(1) / same.sum(1)
        ratio = jnp.exp(logp - jax.lax.stop_gradient(logp))
        kl = jnp.exp(ref_logp - logp) - (ref_logp - logp) - 1
        losses = -(rewards - mean)[:, None] * ratio + 0.04 * kl
        return ((losses * mask).sum(1) / mask.sum(1)).mean()

    report = fg.oracle.check(loss)
    assert (report.advantage, report.aggregation) == ("dr-grpo", "sequence-mean") and report.agrees
    assert report.derivatives == "derivatives by JAX"
    assert report.penalty is not None and report.penalty.name == "k3"
    assert report.penalty.factor == pytest.approx(0.04)
