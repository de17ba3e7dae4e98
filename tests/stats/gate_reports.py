"""Reports for tests of gates."""

from __future__ import annotations

from fullrecall import IdRecall, Report, Sample, evaluate

TEXTS = {"retrieved_contexts": ["On the Champ de Mars."], "reference_contexts": ["In Paris."]}


def report_of(
    found: int,
    missed: int = 0,
    unscored: int = 0,
) -> Report:
    """Return a report of this many samples that found their one target, at rank 3, or did not."""
    retrieved = [["x", "y", "a"]] * found + [["x", "y"]] * missed + [None] * unscored
    samples = [
        Sample(id=n, retrieved_ids=ids, expected_ids=["a"]) for n, ids in enumerate(retrieved)
    ]
    return evaluate(samples, IdRecall(), progress=False)


def kinds(**found: tuple[int, int]) -> Report:
    """Return a report with `kind` metadata, and (found, missed) numbers of samples of each kind."""
    samples = [
        Sample(
            id=f"{kind}{n}",
            retrieved_ids=["a"] if n < hits else ["x"],
            expected_ids=["a"],
            metadata={"kind": kind},
        )
        for kind, (hits, misses) in found.items()
        for n in range(hits + misses)
    ]
    return evaluate(samples, IdRecall(), progress=False)
