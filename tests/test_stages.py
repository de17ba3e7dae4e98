"""Recall after each stage: what each stage had."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from tests.pipelines import calls_of

from fullrecall import ClaimRecall, Context, IdRecall, Sample
from fullrecall.calls import Stage
from fullrecall.errors import InputError, ParameterError
from fullrecall.evaluation.stages import (
    StageReports,
    aevaluate_stages,
    evaluate_stages,
    stage_names,
)
from fullrecall.retrieval import Retrieval


def of_ids(*ids: str) -> tuple[Context, ...]:
    """Return contexts that have these IDs and nothing else."""
    return tuple(Context(id=one) for one in ids)


def sample(final: str, *stages: tuple[str, str, str | None], wanted: str = "abc") -> Sample:
    """Return a sample whose IDs are letters: what was wanted, the final list, and each stage."""
    return Sample(
        user_input="q",
        reference_context_ids=list(wanted),
        retrieval=Retrieval(
            of_ids(*final),
            calls=calls_of(
                (Stage(name, of_ids(*ids), into) for name, ids, into in stages), of_ids(*final)
            ),
        ),
    )


def scored(reports: StageReports, nth: int = 0) -> dict[str, list[float | None]]:
    """Return the scores of the samples at each stage."""
    return {name: [row.results[nth].score for row in report] for name, report in reports.items()}


TWO_BRANCHES = sample(
    "xa",
    ("sparse", "axy", "fused"),
    ("dense", "bxc", "fused"),
    ("fused", "axby", None),
)


def test_each_stage_is_scored_as_if_it_were_the_last() -> None:
    """In the order of the pipeline, with the final list at the end under "final"."""
    reports = evaluate_stages([TWO_BRANCHES], IdRecall(), progress=False)
    third = pytest.approx(1 / 3)
    assert list(reports) == ["sparse", "dense", "fused", "final"]
    assert scored(reports) == {
        "sparse": [third],
        "dense": [pytest.approx(2 / 3)],
        "fused": [pytest.approx(2 / 3)],
        "final": [third],
    }
    assert reports["final"].rows[0].sample == TWO_BRANCHES


def test_a_sample_without_a_stage_is_unscored_there() -> None:
    """A second query that the model did not write has found nothing and missed nothing."""
    one = sample("a", ("query 1", "a", "union"), ("union", "a", None))
    two = sample("ab", ("query 1", "a", "union"), ("query 2", "b", "union"), ("union", "ab", None))
    reports = evaluate_stages([one, two], IdRecall(), progress=False)
    assert list(reports) == ["query 1", "query 2", "union", "final"]
    first, second = reports["query 2"].rows
    assert first.results[0].score is None
    assert "no stage 'query 2'" in first.results[0].reason
    assert second.results[0].score == pytest.approx(1 / 3)
    assert [row.position for row in reports["query 2"]] == [1, 2]


def test_judged_claims_are_followed_through_the_stages() -> None:
    """The built-in judge, which needs no key, reads each stage's texts."""
    told = Sample(
        user_input="Which river flows through Paris?",
        retrieved_contexts=["Rome is the capital of Italy."],
        reference_claims=["The Seine flows through Paris."],
        retrieval={"calls": [{"source": "first", "contexts": ["The Seine flows through Paris."]}]},
    )
    reports = evaluate_stages([told], ClaimRecall(), progress=False)
    assert scored(reports) == {"first": [1.0], "final": [0.0]}


def test_async_agrees() -> None:
    """`aevaluate_stages` gives the same."""
    reports = asyncio.run(aevaluate_stages([TWO_BRANCHES], IdRecall(), progress=False))
    assert scored(reports) == scored(evaluate_stages([TWO_BRANCHES], IdRecall(), progress=False))


def test_without_stages_there_is_the_end_alone() -> None:
    """Samples of other sources are taken as they are, mappings and no samples at all too."""
    plain = {"retrieved_ids": ["a"], "reference_ids": ["a"]}
    assert scored(evaluate_stages([plain], IdRecall(), progress=False)) == {"final": [1.0]}
    assert scored(evaluate_stages([], IdRecall(), progress=False)) == {"final": []}


@pytest.mark.parametrize(
    ("orders", "names"),
    [
        (["ab", "abc"], "abc"),
        (["ad", "abd", "acd"], "acbd"),
        (["b", "ab"], "ab"),
        (["ab", "ba"], "ab"),
        (["", "a", ""], "a"),
    ],
)
def test_names_stand_in_the_order_of_the_pipeline(orders: list[str], names: str) -> None:
    """Also of stages that not all samples have, and where two samples disagree."""
    samples = [sample("x", *((name, "", None) for name in order)) for order in orders]
    assert stage_names(samples) == list(names)


def test_the_table_has_each_stage() -> None:
    """One line for each stage: recall at each k and of the whole list."""
    lines = str(evaluate_stages([TWO_BRANCHES], IdRecall(), progress=False)).splitlines()
    cells = {line.split()[0]: line.split()[1:] for line in lines if line.startswith("  ")}
    # At 1, 3, 5, 10 and in all, then the samples.
    assert cells["sparse"] == ["0.333"] * 5 + ["1"]
    assert cells["dense"] == ["0.333", *["0.667"] * 4, "1"]
    assert cells["fused"] == ["0.333", "0.667", "0.667", "0.667", "0.667", "1"]
    assert cells["final"] == ["0.000", *["0.333"] * 4, "1"]
    assert any("id_recall" in line for line in lines)


def test_mistakes_are_named() -> None:
    """A stage that is called as the end is, and another view."""
    with pytest.raises(InputError, match="a stage must not be named 'final'"):
        evaluate_stages([sample("a", ("final", "a", None))], IdRecall(), progress=False)
    options: dict[str, Any] = {"view": "read"}
    with pytest.raises(ParameterError, match="takes no view="):
        evaluate_stages([TWO_BRANCHES], IdRecall(), **options)
