"""Small fleets: curves, weights, codes distilled and read back."""

import foldglass as fg
import numpy as np


def test_a_fleet_trains_and_its_curves_and_weights_are_read(tmp_path) -> None:
    flags = {"quick": True, "steps": 60, "record_every": 20, "backend": "cpu", "progress": False}
    fleet = fg.train("z:3", runs=2, **flags)
    assert len(fleet) == 2 and fleet.back_end == "cpu"
    assert {point["step"] for point in fleet.curves.points} == {20, 40, 60}
    weights = fleet.weights(0)
    assert all(np.isfinite(tensor).all() for tensor in weights.values())
    kept = fg.train("z:3", runs=2, out=tmp_path / "run", **flags)
    for name, tensor in kept.weights(1).items():
        assert np.array_equal(tensor, fleet.weights(1)[name])


def test_the_best_gate_is_kept_beside_the_last_step() -> None:
    flags = {"quick": True, "steps": 100, "gate_every": 10, "backend": "cpu", "progress": False}
    fleet = fg.train("z:3", keep="best", clip_norm=1.0, standardise=True, **flags)
    best = fleet.models[0]["best"]
    assert best["step"] % 10 == 0 and len(best["greedy"]) == 2
    assert fleet.weights(0, best=True).keys() == fleet.weights(0).keys()
    assert fleet.weights_path(0, best=True) != fleet.weights_path(0)


def test_networks_are_held_to_a_network_of_a_file() -> None:
    flags = {"quick": True, "steps": 60, "backend": "cpu", "progress": False}
    first = fg.train("z:3", **flags)
    held = [fg.train("z:3", kl=kl, prior=first.weights_path(0), seed=5, **flags) for kl in (1e-9, 30.0)]
    loose, tight = (fleet.models[0]["last"]["kl"] for fleet in held)
    assert 0 < tight < loose
    assert "kl" not in first.models[0]["last"]


def test_a_code_is_distilled_and_read_back() -> None:
    space = fg.Class(fg.Task("parity", 2))
    code = fg.Code.fold(space)
    small = {"width": 32, "heads": 2, "mlp": 32, "batch": 64, "steps": 600, "compare_every": 50}
    fleet = fg.distill(code, runs=1, backend="cpu", learning_rate=3e-3, progress=False, **small)
    back = fg.read_back(fleet.weights_path(0), space, backend="cpu", progress=False)
    assert back.code == code and back.reward == 1
