"""Studies on Ray: a node is lost, and the table is that of one machine."""

import os
from pathlib import Path

import foldglass as fg
import pytest

ray = pytest.importorskip("ray")

STUDY = """
name = "lost"
seed = 7
[[class]]
task = "quasigroup"
lengths = 6
[[dynamics]]
kind = "cavi"
tau = [1e-10, 1e-3]
iterations = 4000
runs = 24
[[dynamics]]
kind = "chain"
kernel = "metropolis"
tau = 1e-2
sweeps = 400
runs = 9
"""


def table(study: fg.Study, out: Path) -> bytes:
    study.table(out).write(out / "python.jsonl")
    return (out / "python.jsonl").read_bytes()


def test_a_lost_node_of_ray_costs_nothing(tmp_path) -> None:
    """Two nodes on this machine, one killed while it works."""
    from ray.cluster_utils import Cluster

    os.environ.setdefault("RAY_DEDUP_LOGS", "0")
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
    try:
        lost = cluster.add_node(num_cpus=1)
        ray.init(address=cluster.address, log_to_driver=False)
        study = fg.Study.from_toml(STUDY)
        study.run(tmp_path / "here", progress=False)
        killed = []

        def kill(progress: fg.Progress) -> None:
            if progress.done >= 10 and not killed:
                killed.append(progress.done)
                cluster.remove_node(lost, allow_graceful=False)

        done = study.run(tmp_path / "ray", on="ray", progress=kill)
        assert killed and done.finished and done.done_now == 57
        assert table(study, tmp_path / "ray") == table(study, tmp_path / "here")
        again = study.run(tmp_path / "ray", on="ray", progress=False)
        assert (again.done_before, again.done_now) == (57, 0)
    finally:
        ray.shutdown()
        cluster.shutdown()
