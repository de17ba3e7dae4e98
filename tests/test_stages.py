"""Recall after each stage: what each stage had, and which one lost what."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from tests.pipelines import calls_of

from fullrecall import ClaimRecall, Context, ContextPrecision, IdRecall, Sample, SpanRecall
from fullrecall.calls import Call, Stage
from fullrecall.errors import InputError, ParameterError
from fullrecall.evaluation.stages import (
    Lost,
    StageReports,
    aevaluate_stages,
    evaluate_stages,
    stage_names,
)
from fullrecall.measures import Recall
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
    assert reports.final is reports["final"]
    assert reports.final.rows[0].sample == TWO_BRANCHES


def test_a_loss_is_blamed_on_the_stage_that_handed_it_on_no_more() -> None:
    """`c` fell out of the fusion, `b` at the last step, and `d` was never there to lose."""
    wanted = Sample(**{**TWO_BRANCHES.to_dict(), "reference_context_ids": list("abcd")})
    assert evaluate_stages([wanted], IdRecall(), progress=False).lost() == [
        Lost("#1", "q", "id_recall", "b", "fused", 3, "final"),
        Lost("#1", "q", "id_recall", "c", "dense", 3, "fused"),
    ]


def test_what_stands_beyond_k_was_not_lost() -> None:
    """The score is cut at k; losing is about the whole lists."""
    low = sample("xya", ("first", "axy", None), wanted="a")
    reports = evaluate_stages([low], IdRecall(), progress=False)
    assert scored(reports) == {"first": [1.0], "final": [1.0]}
    assert reports["final"].rows[0].results[0][Recall @ 1] == 0.0
    assert reports.lost() == []


def test_what_a_sibling_brought_is_not_lost() -> None:
    """One branch dropping what another one kept costs nothing."""
    kept = sample(
        "a", ("one", "a", "filter"), ("filter", "x", None), ("other", "a", None), wanted="a"
    )
    assert evaluate_stages([kept], IdRecall(), progress=False).lost() == []


def test_partial_credit_can_be_lost_too() -> None:
    """A compressor that keeps half of a passage has lost the other half."""
    text = "The Seine flows through Paris and on to the sea."
    cut = Sample(
        retrieved_contexts=[text[:20]],
        reference_contexts=[text],
        retrieval={
            "calls": [
                {"source": "before", "contexts": [text]},
                {"source": "same", "contexts": [text[:20]]},
            ]
        },
    )
    (lost,) = evaluate_stages([cut], SpanRecall(), progress=False).lost()
    assert (lost.had, lost.rank, lost.by) == ("before", 1, "final")
    calls = [Call("a", contexts=(Context(text[:30]),))]
    shorter = cut.with_retrieval(Retrieval([text[:20]], calls=calls))
    (lost,) = evaluate_stages([shorter], SpanRecall(), progress=False).lost()
    assert (lost.had, lost.rank) == ("a", None)


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


def test_an_unmeasured_stage_is_not_blamed() -> None:
    """Between the last stage that had it and the next that was measured: no guess in between."""
    texts = Sample(
        retrieved_contexts=["x"],
        reference_contexts=["The Seine flows through Paris."],
        retrieval=Retrieval(
            calls=calls_of(
                [
                    Stage("first", (Context("The Seine flows through Paris."),), "ids only"),
                    Stage("ids only", of_ids("a")),
                ]
            )
        ),
    )
    reports = evaluate_stages([texts], SpanRecall(), progress=False)
    assert reports["ids only"].rows[0].results[0].score is None
    (lost,) = reports.lost()
    assert (lost.had, lost.by) == ("first", "final")


def test_only_measured_recall_can_be_lost() -> None:
    """Precision has no targets that a stage could drop; an unscored end has no misses."""
    failed = sample("a", ("first", "abc", None)).with_retrieval(
        Retrieval(error="down", calls=[Call("first", contexts=of_ids("a"))])
    )
    reports = evaluate_stages(
        [failed], [IdRecall(), ContextPrecision(by=IdRecall())], progress=False
    )
    assert reports.lost() == []
    precise = evaluate_stages(
        [sample("xa", ("first", "abc", None))], ContextPrecision(by=IdRecall()), progress=False
    )
    assert precise.lost() == []


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
    assert [(lost.had, lost.by) for lost in reports.lost()] == [("first", "final")]


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


def test_the_table_tells_where_recall_was_lost() -> None:
    """One line for each stage: recall at each k and of the whole list, what was lost there."""
    lines = str(evaluate_stages([TWO_BRANCHES], IdRecall(), progress=False)).splitlines()
    cells = {line.split()[0]: line.split()[1:] for line in lines if line.startswith("  ")}
    # At 1, 3, 5, 10 and in all, then the targets lost there, then the samples.
    assert cells["sparse"] == ["0.333"] * 5 + ["0", "1"]
    assert cells["dense"] == ["0.333", *["0.667"] * 4, "0", "1"]
    assert cells["fused"] == ["0.333", "0.667", "0.667", "0.667", "0.667", "1", "1"]
    assert cells["final"] == ["0.000", *["0.333"] * 4, "1", "1"]
    assert any("id_recall" in line for line in lines)


def test_mistakes_are_named() -> None:
    """A stage that is called as the end is, an unknown stage, and rows that are not kept."""
    with pytest.raises(InputError, match="a stage must not be named 'final'"):
        evaluate_stages([sample("a", ("final", "a", None))], IdRecall(), progress=False)
    reports = evaluate_stages([TWO_BRANCHES], IdRecall(), progress=False)
    with pytest.raises(
        KeyError, match="no stage 'densely': choose one of sparse, dense, fused, final"
    ):
        reports["densely"]
    options: dict[str, Any] = {"view": "read"}
    with pytest.raises(ParameterError, match="takes no view="):
        evaluate_stages([TWO_BRANCHES], IdRecall(), **options)


def test_the_prompt_is_the_last_stage() -> None:
    """What the model's prompt had whole, with its ranks; what it had not is lost there."""
    read = Retrieval(
        [Context("one", id="a"), Context("two", id="b"), Context("three", id="c")],
        read=["yes", "no", "partly"],
    )
    wanted = Sample(user_input="q", reference_context_ids=["a", "b"], retrieval=read)
    unseen = Sample(retrieved_context_ids=["a"], reference_context_ids=["a"])
    reports = evaluate_stages([wanted, unseen], IdRecall(), progress=False)
    assert scored(reports) == {"final": [1.0, 1.0], "prompt": [0.5, None]}
    assert "no prompt of a model was seen" in reports["prompt"].rows[1].results[0].reason
    assert [(lost.target, lost.had, lost.by) for lost in reports.lost()] == [
        ("b", "final", "prompt")
    ]
    assert "prompt" in str(reports)
