"""`Report.metrics()`: one flat dict of finite numbers that experiment trackers take."""

from __future__ import annotations

import re
from math import isfinite

from fullrecall import IdRecall, Report, Sample, evaluate
from fullrecall.measures import Recall, nDCG

NAME = re.compile(r"[\w.\-]+(/[\w.\-]+)?")


def report(*names: str | None) -> Report:
    """Return scores of 0.5 and 1.0, and an unscored sample, by scorers of these names."""
    samples = [
        Sample(retrieved_context_ids=["a"], reference_context_ids=wanted)
        for wanted in (["a", "b"], ["a"], None)
    ]
    return evaluate(samples, [IdRecall(name=name) for name in names], progress=False)


def test_means_intervals_and_counts() -> None:
    """The metrics are the summary's figures, and all of them are numbers."""
    found = report(None).metrics(Recall, Recall @ 5, nDCG(gain="exponential") @ 10)
    summary = report(None).summary(Recall)["id_recall"]
    assert found["samples"] == 3
    assert found["id_recall/recall"] == found["id_recall/recall_at_5"] == 0.75
    assert summary.interval is not None
    assert found["id_recall/recall_low"] == summary.interval.low
    assert found["id_recall/recall_high"] == summary.interval.high
    assert 0 < found["id_recall/ndcg_gain_exponential_at_10"] < 1
    counts = {name: found[f"id_recall/n_{name}"] for name in ("scored", "undefined", "unscored")}
    assert counts == {"scored": 2, "undefined": 0, "unscored": 1}
    assert all(type(value) is float and isfinite(value) for value in found.values())


def test_a_mean_of_no_sample_is_left_out() -> None:
    """A mean of no sample is left out, and the counts say that there was none."""
    nothing = evaluate([Sample(user_input="q")], IdRecall(), progress=False).metrics()
    assert nothing == {
        "samples": 1.0,
        "id_recall/n_scored": 0.0,
        "id_recall/n_undefined": 0.0,
        "id_recall/n_unscored": 1.0,
        "id_recall/n_unjudged": 0.0,
    }


def test_names() -> None:
    """Names have allowed characters, differ, and none is a folder of another."""
    found = report("../id@half", "id/half", "id half").metrics()
    assert all(NAME.fullmatch(name) for name in found)
    assert not any(other.startswith(f"{name}/") for name in found for other in found)
    assert {"id_half/recall", "id_half/recall_2", "id_half/recall_2_2"} <= found.keys()
