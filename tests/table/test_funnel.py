"""The funnel counts references in each list of the records."""

from __future__ import annotations

import pytest

from fullrecall import Context, IdRecall, Retrieval, Sample, evaluate
from fullrecall.table.funnel import Funnel

A, B, C = (Context(f"text {name}", id=name) for name in "abc")


def sample(retrieved: list[Context] | None, kept: list[Context], read: str = "") -> Sample:
    """Return a sample that expects a and b, with these lists; `read` has y or n of each kept."""
    known = ["yes" if each == "y" else "no" for each in read] if read else None
    record = Retrieval(kept, retrieved=retrieved, read=known)
    return Sample(expected_ids=["a", "b"], retrieval=record)


BOTH = sample([A, B], [A])
READ = sample([A, B], [A, B], "yn")
KEPT_ALL = sample([A, B], [A, B])
ONE_LIST = sample(None, [A])
FAILED = Sample(expected_ids=["a"], retrieval=Retrieval(error="TimeoutError"))
CUT_OFF = Sample(
    expected_ids=["a"], retrieval=Retrieval([A], retrieved=[A, B], error="TimeoutError")
)
GRADED = Sample(
    expected_ids={"a": 1, "b": 1, "c": 0}, retrieval=Retrieval([A, C], retrieved=[A, B, C])
)
UNLABELED = Sample(expected_ids=[], retrieval=BOTH.retrieval)


@pytest.mark.parametrize(
    ("samples", "funnel", "line"),
    [
        ([BOTH], Funnel(1, 2, {"retrieved": 2, "kept": 1}), "retrieved 1.00 → kept 0.50"),
        (
            [READ],
            Funnel(1, 2, {"retrieved": 2, "kept": 2, "read": 1}),
            "retrieved 1.00 → kept 1.00 → read 0.50",
        ),
        ([BOTH, KEPT_ALL, READ], Funnel(2, 4, {"retrieved": 4, "kept": 3}), ""),
        ([BOTH, READ, READ], Funnel(2, 4, {"retrieved": 4, "kept": 4, "read": 2}), ""),
        (
            [BOTH, ONE_LIST, FAILED, CUT_OFF, UNLABELED],
            Funnel(1, 2, {"retrieved": 2, "kept": 1}),
            "",
        ),
        # a reference of grade 0 does not count
        ([GRADED], Funnel(1, 2, {"retrieved": 2, "kept": 1}), ""),
        ([sample([A], [C])], Funnel(1, 2, {"retrieved": 1, "kept": 0}), ""),
        ([KEPT_ALL], None, ""),
        ([ONE_LIST], None, ""),
        ([], None, ""),
    ],
)
def test_the_funnel(samples: list[Sample], funnel: Funnel | None, line: str) -> None:
    """Samples with the most frequent lists count, if any of their lists dropped a reference."""
    summary = evaluate(samples, IdRecall(), progress=False).summary()
    assert summary.funnel == funnel
    if funnel is not None:
        assert summary.to_dict()["funnel"] == {
            "samples": funnel.samples,
            "references": funnel.references,
            "found": dict(funnel.found),
        }
        assert not line or funnel.line == line
        assert f"references by ID, in {funnel.samples} sample" in str(summary)
