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


def test_an_older_jax_has_double_precision_too(monkeypatch) -> None:
    jax = pytest.importorskip("jax")
    own = jax.enable_x64 if hasattr(jax, "enable_x64") else jax.experimental.enable_x64
    used = []

    def enable_x64(new):
        used.append(new)
        return own(new)

    # As JAX before 0.8 has it: in jax.experimental alone.
    monkeypatch.delattr(jax, "enable_x64", raising=False)
    monkeypatch.setattr(jax.experimental, "enable_x64", enable_x64, raising=False)

    def loss(logp, old_logp, ref_logp, rewards, mask, group):
        return -(rewards[:, None] * logp * mask).sum() / mask.sum()

    report = fg.oracle.check(loss, arrays="jax", group_size=2)
    assert report.advantage == "reinforce" and report.best.distance < 1e-12 and set(used) == {True}


def test_a_loss_that_takes_arrays_of_jax_alone_is_found_out() -> None:
    pytest.importorskip("jax")

    def loss(logp, old_logp, ref_logp, rewards, mask, group):
        shown = mask.at[0, 0].set(mask[0, 0])
        return -(rewards[:, None] * logp * shown).sum() / mask.sum()

    report = fg.oracle.check(loss, group_size=2)
    assert report.derivatives == "derivatives by JAX" and report.agrees

    def broken(logp, old_logp, ref_logp, rewards, mask, group):
        return logp.no_such_thing()

    with pytest.raises(TypeError, match='AttributeError: .*no_such_thing.*arrays="numpy", "torch" or "jax"'):
        fg.oracle.check(broken)
