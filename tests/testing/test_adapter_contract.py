"""The adapter contract passes a faithful adapter, and catches each kind of loss.

The adapters run the same cases through their own frameworks, in their own tests.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from fullrecall import Context, Sample
from fullrecall.testing import ADAPTER_CASES, Through, check_adapter, check_adapter_case

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fullrecall.scorers import FindingScorer
    from fullrecall.scorers.result import Result


def faithful(
    scorer: FindingScorer, retrieved: Sequence[Context] | None, references: Mapping[str, Any]
) -> Result:
    """Score without losing or adding any value."""
    return scorer.score(Sample(retrieved_contexts=retrieved, **references))


def drops_ids(
    scorer: FindingScorer, retrieved: Sequence[Context] | None, references: Mapping[str, Any]
) -> Result:
    """Pass texts only, as ragas's LlamaIndex integration does."""
    texts = None if retrieved is None else [context.text or "" for context in retrieved]
    return faithful(scorer, texts, references)  # type: ignore[arg-type]


def sorts_by_score(
    scorer: FindingScorer, retrieved: Sequence[Context] | None, references: Mapping[str, Any]
) -> Result:
    """Sort by the retriever's scores, which changes the ranks."""
    if retrieved is not None:
        retrieved = sorted(retrieved, key=lambda context: -(context.score or 0))
    return faithful(scorer, retrieved, references)


def removes_duplicates(
    scorer: FindingScorer, retrieved: Sequence[Context] | None, references: Mapping[str, Any]
) -> Result:
    """Deduplicate before the cut, which moves the ranks behind."""
    if retrieved is not None:
        retrieved = list({context.id: context for context in retrieved}.values())
    return faithful(scorer, retrieved, references)


def takes_failure_for_empty(
    scorer: FindingScorer, retrieved: Sequence[Context] | None, references: Mapping[str, Any]
) -> Result:
    """Treat a missing retrieval as an empty list."""
    return faithful(scorer, retrieved or [], references)


def ignores_the_scorer(
    scorer: FindingScorer, retrieved: Sequence[Context] | None, references: Mapping[str, Any]
) -> Result:
    """Score with default parameters."""
    return faithful(type(scorer)(), retrieved, references)


def flattens_groups(
    scorer: FindingScorer, retrieved: Sequence[Context] | None, references: Mapping[str, Any]
) -> Result:
    """Turn any-of groups into plain IDs."""
    ids = Sample(**references).reference_context_ids
    if ids is not None:
        references = {
            **references,
            "reference_context_ids": [member for group in ids for member in group.any_of],
        }
    return faithful(scorer, retrieved, references)


@pytest.mark.parametrize("case", ADAPTER_CASES, ids=lambda case: case.name)
def test_a_faithful_adapter_passes(case: Any) -> None:
    """An adapter that passes all values on unchanged keeps the contract."""
    check_adapter_case(faithful, case)


@pytest.mark.parametrize(
    "wrong",
    [
        drops_ids, sorts_by_score, removes_duplicates, takes_failure_for_empty,
        ignores_the_scorer, flattens_groups,
    ],
)  # fmt: skip
def test_a_lossy_adapter_is_caught(wrong: Through) -> None:
    """Each loss that real integrations have breaks a case, and the message names it."""
    with pytest.raises(
        AssertionError, match=r"\w+: (method|status|score|missed|retrieved|findings) is"
    ):
        check_adapter(wrong)
