"""The oracle: its formulas against sums over all rollouts, and losses that it must tell apart."""

import itertools
import math
import re
from pathlib import Path

import foldglass as fg
import numpy as np
import pytest
from foldglass import _conventions, oracle

ROOT = Path(__file__).parents[2]

SPACES = [
    fg.Class(fg.Task("z:2", [1, 2])),
    fg.Class(fg.Task("z:2", [1, 2], inputs="markov:7/10"), tied=True),
    fg.Class(fg.Task("z:3", [1])),
]


def by_hand(name: str, rewards: np.ndarray, groups: int) -> np.ndarray:
    """Advantages from the rewards of a batch, as trainers compute them."""
    by_group = rewards.reshape(groups, -1)
    mean, total = by_group.mean(axis=1, keepdims=True), rewards.mean()
    if name == "reinforce":
        return rewards
    if name == "rloo":
        others = (by_group.sum(axis=1, keepdims=True) - by_group) / (by_group.shape[1] - 1)
        return (by_group - others).ravel()
    if name == "dr-grpo":
        return (by_group - mean).ravel()
    if name == "batch-mean":
        return rewards - total
    if name.startswith("maxrl"):
        safe = np.where(mean > 0, mean, 1)
        return (np.where(mean > 0, by_group / safe - (1 if name.endswith("- 1") else 0), 0)).ravel()
    ddof, eps = int(name.split("ddof ")[1][0]), float(name.split("eps ")[1].rstrip(")"))
    if name.startswith("grpo"):
        deviation = by_group.std(axis=1, ddof=ddof, keepdims=True)
        return np.where(deviation > 0, (by_group - mean) / np.where(deviation > 0, deviation + eps, 1), 0).ravel()
    deviation = rewards.std(ddof=ddof)
    if deviation == 0:
        return np.zeros_like(rewards)
    centred = rewards - total if name.startswith("whitened") else (by_group - mean).ravel()
    return centred / (deviation + eps)


@pytest.mark.parametrize("space", SPACES, ids=repr)
@pytest.mark.parametrize("groups, size", [(1, 3), (2, 2)])
def test_expected_gradients_are_sums_over_all_batches(space: fg.Class, groups: int, size: int) -> None:
    rows = oracle._rows(space, None, 0)
    listed = _conventions.inputs_of(space, rows, rows)
    longest = max(one.length for one in listed)
    names = list(_conventions.advantages())
    scores = [np.zeros((len(one.rewards), *space.shape)) for one in listed]
    for own, one in zip(scores, listed):
        for score, cells, tokens in zip(own, one.cells, one.tokens):
            for cell, token in zip(cells, tokens):
                score[cell] -= rows[cell]
                score[cell, token] += 1
    sums = np.zeros((len(names), len(_conventions.AGGREGATIONS), space.cells * space.q))
    known: dict[bytes, np.ndarray] = {}
    total = 0.0
    for numbers in itertools.product(range(len(listed)), repeat=groups):
        owners = [number for number in numbers for _ in range(size)]
        lengths = np.array([listed[number].length for number in owners])
        count = len(owners)
        weights = {
            "token-mean": np.full(count, 1 / lengths.sum()),
            "sequence-mean": 1 / lengths / count,
            "sequence-sum": np.full(count, 1 / count),
            "constant": np.full(count, 1 / count / longest),
            "sum": np.ones(count),
        }
        by_aggregation = np.array([weights[name] for name in _conventions.AGGREGATIONS])
        chance = math.prod(float(listed[number].probability) for number in numbers)
        for picks in itertools.product(*(range(len(listed[number].rewards)) for number in owners)):
            weight = chance * math.prod(listed[n].weights[pick] for n, pick in zip(owners, picks))
            total += weight
            rewards = np.array([listed[n].rewards[pick] for n, pick in zip(owners, picks)])
            if rewards.tobytes() not in known:
                known[rewards.tobytes()] = np.array([by_hand(name, rewards, groups) for name in names])
            drawn = np.array([scores[n][pick].ravel() for n, pick in zip(owners, picks)])
            sums += weight * (known[rewards.tobytes()][:, None, :] * by_aggregation) @ drawn
    assert total == pytest.approx(1, abs=1e-12)
    for name, of_name in zip(names, sums):
        for aggregation, brute in zip(_conventions.AGGREGATIONS, of_name):
            flow = _conventions.policy_gradient(
                listed, space.shape, _conventions.advantages()[name], aggregation, groups, size
            )
            found = _conventions.to_logits(flow, rows)
            assert np.abs(found.ravel() - brute).max() < 1e-13, (name, aggregation)


def test_the_reference_is_the_gradient_of_the_reward() -> None:
    space = SPACES[1]
    rows = oracle._rows(space, None, 0)
    listed = _conventions.inputs_of(space, rows, rows)
    values = fg.evaluate(fg.Policy(space, rows)).values
    exact = rows * (values - (rows * values).sum(axis=1, keepdims=True))
    for name, factor in (("reinforce", 1), ("rloo", 1), ("dr-grpo", 1 - 1 / 4)):
        flow = _conventions.policy_gradient(
            listed, space.shape, _conventions.advantages()[name], "sequence-sum", 1, 4
        )
        assert np.allclose(_conventions.to_logits(flow, rows), factor * exact, atol=1e-14), name


def loss_of(advantage="grpo", aggregation="token-mean", penalty=None, sign=1.0, masked=True):
    def loss(logp, old_logp, ref_logp, rewards, mask, group):
        groups = int(group.max()) + 1
        name = {"grpo": "grpo (ddof 1, eps 0.0001)"}.get(advantage, advantage)
        losses = -sign * by_hand(name, rewards, groups)[:, None] * np.exp(logp - old_logp)
        d = logp - ref_logp
        if penalty is not None:
            losses = losses + 0.1 * {"k1": d, "k2": d**2 / 2, "k3": np.exp(-d) + d - 1, "abs": np.abs(d)}[penalty]
        if not masked:
            mask = np.ones_like(mask)
        if aggregation == "token-mean":
            return (losses * mask).sum() / mask.sum()
        return ((losses * mask).sum(axis=1) / mask.sum(axis=1)).mean()

    return loss


@pytest.mark.parametrize("aggregation", ["token-mean", "sequence-mean"])
def test_a_loss_is_recognised(aggregation: str) -> None:
    report = oracle.check(loss_of("grpo", aggregation))
    assert (report.advantage, report.aggregation) == ("grpo (ddof 1, eps 0.0001)", aggregation)
    assert report.agrees and report.padding == 0 and not report.ordered and not report.penalties
    assert f"The loss is grpo (ddof 1, eps 0.0001), {aggregation}." in str(report)
    assert "does not depend on ref_logp" in report.reference
    runner_up = next(match for match in report.matches if not match.same)
    assert runner_up.distance > 1e-5


@pytest.mark.parametrize("numbers", ["ddof 1, eps 1e-06", "ddof 0, eps 0.0001"])
def test_grpo_without_its_numbers_is_any_of_them(numbers: str) -> None:
    # The numbers do not depend on lengths; of one length there are few batches of groups of three.
    space = fg.Class(fg.Task("z:2", 1))
    report = oracle.check(loss_of(f"grpo ({numbers})"), space, estimator="grpo:3", convention="token-mean")
    assert report.agrees and report.named is not None and report.named.name == f"grpo ({numbers})"
    assert f"named: grpo ({numbers}), token-mean: agrees" in str(report)
    other = oracle.check(loss_of(f"grpo ({numbers})"), space, estimator="grpo (ddof 1, eps 0.0001):3")
    assert not other.agrees and other.named.distance > 1e-5


def test_the_order_of_maxrl_is_found() -> None:
    # An advantage of (r - mean) / mean, with zeros for groups without a success.
    report = oracle.check(loss_of("maxrl, order G - 1"), estimator="maxrl, order G", convention="token-mean")
    assert report.advantage == "maxrl, order G - 1" and not report.agrees
    assert report.named is not None and report.named.distance > 0.05
    assert "DIFFERS" in str(report)


def test_a_loss_of_the_wrong_sign_is_none_of_them() -> None:
    report = oracle.check(loss_of("rloo", sign=-1.0), group_size=2)
    assert report.best is None and report.cosine_to_reward < 0
    assert "none of the known conventions" in str(report)


def test_a_multiple_is_said_to_be_one() -> None:
    report = oracle.check(lambda *given: 3 * loss_of("rloo")(*given), group_size=2)
    assert report.best is not None and not report.agrees and report.best.factor == pytest.approx(3)


@pytest.mark.parametrize("advantage, factor", [("reinforce", 3), ("rloo", 1)])
def test_losses_of_one_expected_gradient_are_told_apart_by_single_batches(advantage: str, factor: float) -> None:
    report = oracle.check(lambda *given: factor * loss_of(advantage)(*given), group_size=2)
    assert report.advantage == advantage and report.best.identical
    other = "rloo" if advantage == "reinforce" else "reinforce"
    found = next(m for m in report.matches if m.name == other and m.aggregation == "token-mean")
    assert found.proportional and not found.identical


def test_a_baseline_of_no_known_convention_is_said_to_be_one() -> None:
    def constant_baseline(logp, old_logp, ref_logp, rewards, mask, group):
        return loss_of("reinforce")(logp, old_logp, ref_logp, rewards - 0.5, mask, group)

    report = oracle.check(constant_baseline, group_size=2)
    assert report.best.same and not report.best.identical and "single batches differ" in str(report)


@pytest.mark.parametrize("penalty", ["k2", "k3", "abs"])
def test_a_penalty_is_recognised_with_its_coefficient(penalty: str) -> None:
    report = oracle.check(loss_of("rloo", "sequence-mean", penalty), group_size=2)
    assert report.penalty is not None
    assert (report.penalty.name, report.penalty.aggregation) == (penalty, "sequence-mean")
    assert report.penalty.factor == pytest.approx(0.1) and report.agrees


@pytest.mark.parametrize(
    "advantage, aggregation", [("reinforce", "token-mean"), ("rloo", "sequence-mean"), ("grpo", "token-mean")]
)
def test_k1_in_the_loss_is_named_though_it_has_no_expected_gradient(advantage: str, aggregation: str) -> None:
    report = oracle.check(loss_of(advantage, aggregation, penalty="k1"), group_size=2)
    assert report.best.identical and (report.advantage, report.aggregation) == (
        "grpo (ddof 1, eps 0.0001)" if advantage == "grpo" else advantage,
        aggregation,
    )
    assert report.agrees and "the gradient does not" in report.reference
    assert (report.penalty.name, report.penalty.aggregation) == ("k1", aggregation)
    assert report.penalty.factor == pytest.approx(0.1, rel=1e-9)
    assert "0.1 times k1, whose expected gradient is 0" in str(report)


def test_a_constant_penalty_that_is_not_k1_is_not_named() -> None:
    # The value of k2 and no gradient: the penalty is there, and does nothing.
    def detached(logp, old_logp, ref_logp, rewards, mask, group):
        return loss_of("rloo")(logp, old_logp, ref_logp, rewards, mask, group) + ((old_logp - ref_logp) ** 2 * mask).sum()

    report = oracle.check(detached, group_size=2)
    assert report.advantage == "rloo" and report.best.identical and report.penalty is None
    assert "the gradient does not" in report.reference


@pytest.mark.parametrize("advantage", ["reinforce", "rloo"])
def test_k1_in_the_reward_is_recognised(advantage: str) -> None:
    def loss(logp, old_logp, ref_logp, rewards, mask, group):
        lowered = (rewards - 0.1 * ((old_logp - ref_logp) * mask).sum(axis=1)).reshape(int(group.max()) + 1, -1)
        others = (lowered.sum(axis=1, keepdims=True) - lowered) / (lowered.shape[1] - 1)
        estimate = (lowered - (others if advantage == "rloo" else 0)).ravel()
        return -(estimate[:, None] * np.exp(logp - old_logp) * mask).sum() / mask.sum()

    report = oracle.check(loss, group_size=2)
    assert (report.advantage, report.aggregation) == (advantage, "token-mean") and report.best.identical
    assert (report.penalty.name, report.penalty.aggregation) == ("k1 in the reward", "token-mean")
    assert report.penalty.factor == pytest.approx(0.1) and report.agrees


def test_padding_and_order_are_found_out() -> None:
    leaking = oracle.check(loss_of("rloo", masked=False), group_size=2)
    assert leaking.padding > 0 and "PADDING" in str(leaking) and not leaking.agrees

    def first_is_the_baseline(logp, old_logp, ref_logp, rewards, mask, group):
        baseline = rewards.reshape(int(group.max()) + 1, -1)[:, :1]
        return -((rewards.reshape(len(baseline), -1) - baseline).ravel()[:, None] * logp * mask).sum() / mask.sum()

    assert oracle.check(first_is_the_baseline, group_size=2).ordered


def test_mistakes_are_named() -> None:
    with pytest.raises(ValueError, match="token-mean"):
        oracle.check(loss_of(), convention="tokens")
    with pytest.raises(ValueError, match="rloo"):
        oracle.check(loss_of(), estimator="ppo")
    with pytest.raises(ValueError, match="at most 200000"):
        oracle.check(loss_of(), fg.Class(fg.Task("z:3", [1, 2, 3])))
    with pytest.raises(ValueError, match="rewards single steps"):
        oracle.check(loss_of(), fg.Class(fg.Task("z:2", 2, reward="process")))
    with pytest.raises(ValueError, match="positive rows"):
        oracle.check(loss_of(), policy=np.eye(2))


def test_the_section_of_the_documentation_runs(run_section, capsys) -> None:
    assert run_section("The oracle")["report"].agrees
    assert "The loss is dr-grpo, token-mean." in capsys.readouterr().out


def test_the_recipe_runs() -> None:
    recipe = (ROOT / "docs/recipes.md").read_text().split("\n## Is my trainer's gradient right?\n")[1].split("\n## ")[0]
    (code,) = re.findall(r"^```python\n(.*?)^```", recipe, re.DOTALL | re.MULTILINE)
    names: dict = {}
    exec(code, names)
    report = names["report"]
    assert f"this loss is `{report.advantage}`, `{report.aggregation}`" in recipe and report.agrees


def committed(name: str) -> tuple[str, dict[str, str]]:
    """The first line of a committed output of an example, and its reports by their titles."""
    first, *reports = (ROOT / "results" / name).read_text().split("\n=== ")
    return first.strip(), {title: report for title, _, report in (one.partition("\n") for one in reports)}


def nearest(report: str) -> float:
    """The distance in the first row of the first table of a report."""
    table = report.split("  advantage")[1].splitlines()
    return float(re.search(r"\d\.\d\de[-+]\d\d", table[1])[0])


def test_the_page_states_what_the_committed_outputs_have() -> None:
    page = (ROOT / "docs/bridges.md").read_text().split("\n## The oracle\n")[1].split("\n## ")[0]
    trl_versions, trl = committed("oracle-trl.txt")
    verl_versions, verl = committed("oracle-verl.txt")
    for words in (*trl_versions.split(", "), *verl_versions.split(", ")):
        library, version = words.replace("torch", "PyTorch").split("+")[0].split()
        assert f"{library} {version}" in page
    # The table of aggregations, by every report on one of its names.
    in_table = re.findall(r"^\| `([a-z-]+)` \|[^|]*\|([^|]*)\|([^|]*)\|$", page, re.MULTILINE)
    assert len(in_table) == 5
    checked = 0
    for aggregation, of_trl, of_verl in in_table:
        for name in re.findall(r"`([a-z_]+)`", of_trl):
            levels = [f"loss_type={name}", f"loss_type={name}, importance_sampling_level=sequence"]
            for title in levels:
                assert f"The loss is grpo (ddof 1, eps 0.0001), {aggregation}." in trl[title], title
                checked += 1
        for mode in re.findall(r"`([a-z-]+)`", of_verl):
            assert f"The loss is grpo (ddof 1, eps 1e-06), {aggregation}." in verl[f"{mode}, grpo"], mode
            checked += 1
    assert checked == 2 * 5 + 5
    # Distances, of all reports that name a convention.
    def rounded(distance: float) -> float:
        return float(f"{distance:.1e}")

    known = {title: nearest(report) for title, report in trl.items() if re.search("The loss is (grpo|dr-grpo|group)", report)}
    stated = re.search(r"is at most (\S+) in\s+TRL", page)
    assert len(known) == 7 * 7 and rounded(max(known.values())) == float(stated[1])
    own = {title: nearest(report) for title, report in verl.items() if "The loss is" in report}
    single, vectorized = (rounded(own.pop(title)) for title in ("seq-mean-token-mean, grpo", "token-mean, grpo_vectorized"))
    stated = re.search(r"In verl it is (\S+) for `seq-mean-token-mean`.*?(\S+) for `grpo_vectorized`", page, re.DOTALL)
    assert (single, vectorized) == (float(stated[1]), float(stated[2])) and max(own.values()) <= 1e-14
    assert not any("single batches differ" in report for report in (*trl.values(), *verl.values()))
    # What stands out.
    assert "The loss is 0.2 times grpo (ddof 1, eps 0.0001), token-mean." in trl["loss_type=cispo"]
    assert "gradient of none of the known" in verl["token-mean, reinforce_plus_plus_baseline"]
    for title, penalty in (
        ("loss_type=grpo, beta=0.04", "k2"),
        ("loss_type=grpo, beta=0.04, use_bias_correction_kl=False", "k3"),
        ("loss_type=cispo, beta=0.04", "k2"),
    ):
        first = trl[title].split("  penalty")[1].splitlines()[1].split()
        assert first[0] == penalty and first[-1] == "0.04", title
    far = {}
    for title in trl:
        if title.endswith("beta=0.04, importance_sampling_level=sequence"):
            first = trl[title].split("  penalty")[1].splitlines()[1].split()
            assert first[0] == "k2"
            far[title.split(",")[0].removeprefix("loss_type=")] = float(first[2])
    stated = re.search(r"nearest, (\S+) \(`grpo`, `sapo`\) to (\S+) \(`dr_grpo`, `luspo`\) away", page)
    least, most = float(stated[1]), float(stated[2])
    assert least - 5e-4 < far["grpo"] == far["sapo"] == min(far.values()) < least + 5e-4
    assert most - 5e-4 < far["dr_grpo"] == far["luspo"] == max(far.values()) < most + 5e-4
    for penalty, found in (("k1", "k1"), ("k2", "k2"), ("k3", "k3"), ("k1+", "k2"), ("k3+", "k2"), ("abs", "abs")):
        first = verl[f"token-mean, grpo, KL {penalty}"].split("  penalty")[1].splitlines()[1].split()
        assert (first[0], first[-1]) == (found, "0.1"), penalty
        assert float(first[2]) <= (2.1e-13 if penalty == "k1" else 1e-14), penalty
