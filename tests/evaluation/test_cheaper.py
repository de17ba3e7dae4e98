"""Cheaper judging: what a first judge settles is not asked, and the report says how much it was."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

import pytest

from fullrecall import ClaimRecall, EntityRecall, LLMJudge, QuestionRecall, Report, Sample, evaluate
from fullrecall.errors import JudgeError, ParameterError
from fullrecall.judges import Cascade, LexicalJudge, Panel
from fullrecall.judges.judge import Citation, Flow, Relation, Verdict
from fullrecall.models import ChatRequest
from fullrecall.testing import ScriptedChatModel

CONTEXT = (
    'Notes. The tower is in Paris. It is a myth that the tower is green. "It opened in 1889!"\n'
    "- It has two lifts\n\nIs it in Rome? Whoever says it leans is wrong."
)


class Exact(LexicalJudge):
    """Finds supported what stands in a context letter by letter, and cannot tell of questions."""

    @property
    def name(self) -> str:
        """The judge."""
        return "exact"

    def attribute(
        self,
        targets: Sequence[str],
        contexts: Sequence[str],
        *,
        question: str | None = None,
        relation: Relation = "claim",
    ) -> Flow[Sequence[Verdict]]:
        """Return one verdict per target, in order."""
        yield from ()
        if relation == "question":
            raise JudgeError("cannot tell")
        cited = [
            tuple(Citation(n, target) for n, text in enumerate(contexts) if target in text)
            for target in targets
        ]
        return [Verdict("supported" if one else "not_supported", one) for one in cited]


FIRST = Exact()


def unsupported(request: ChatRequest) -> str:
    """Find nothing supported."""
    numbers = re.findall(r"^(\d+) ", request.messages[1].content.split("s:\n")[-1], re.MULTILINE)
    return json.dumps(
        {
            "verdicts": [
                {"id": int(n), "verdict": "not_supported", "citations": [], "together": False}
                for n in numbers
            ]
        }
    )


def test_only_what_is_left_is_asked() -> None:
    """The model sees the claims that the first judges did not find; verdicts stay in order."""
    model = ScriptedChatModel(unsupported)
    claims = ["It leans.", "The tower is in Paris.", "It is tall.", "It opened in 1889!"]
    sample = Sample(user_input="q", reference_claims=claims, retrieved_contexts=["No.", CONTEXT])
    result = ClaimRecall(judge=Cascade([FIRST, LLMJudge(model)])).score(sample)
    (request,) = model.requests
    assert [claim in request.messages[1].content.split("claims:\n")[1] for claim in claims] == [
        True,
        False,
        True,
        False,
    ]
    assert [finding.judge for finding in result.findings] == ["", FIRST.name, "", FIRST.name]
    assert [finding.rank for finding in result.findings] == [None, 2, None, 2]
    assert all(item.verified for finding in result.findings for item in finding.evidence)
    assert result.score == 0.5


def report(model: ScriptedChatModel) -> Report:
    """Evaluate three samples: all settled, half settled, nothing settled."""
    samples = [
        Sample(user_input=f"q{n}", reference_claims=claims, retrieved_contexts=[CONTEXT])
        for n, claims in enumerate(
            [["The tower is in Paris."], ["It has two lifts", "It is tall."], ["It leans."]]
        )
    ]
    judge = Cascade([FIRST, LLMJudge(model)])
    return evaluate(samples, ClaimRecall(judge=judge), progress=False)


def test_the_report_says_how_much_was_settled() -> None:
    """Targets by judge, and the samples whose request was saved; parts add up; frames show it."""
    model = ScriptedChatModel(unsupported)
    made = report(model)
    assert len(model.requests) == 2
    settled = made.summary()[0].settled
    assert settled == (4, {FIRST.name: 2}, 1)
    assert "2 of 4 targets in claim_recall settled without the last judge" in str(made.summary())
    assert made.summary().to_dict()["scores"][0]["settled"]["samples"] == 1
    assert Report.merged([made, made]).summary()[0].settled == (8, {FIRST.name: 4}, 2)
    assert list(made.findings_to_frame()["judge"].fillna("")) == [FIRST.name, FIRST.name, "", ""]


def test_findings_keep_who_settled_them(tmp_path: object) -> None:
    """A saved report says so too."""
    path = f"{tmp_path}/r.jsonl"
    report(ScriptedChatModel(unsupported)).save(path)
    loaded = Report.load(path)
    assert loaded.rows[0].results[0].findings[0].judge == FIRST.name
    assert loaded.summary()[0].settled == (4, {FIRST.name: 2}, 1)


def test_without_a_cascade_nothing_is_said() -> None:
    """A report of one judge has no word of it."""
    sample = Sample(reference_claims=["It leans."], retrieved_contexts=[CONTEXT])
    summary = evaluate([sample], ClaimRecall(judge=LexicalJudge()), progress=False).summary()
    assert summary[0].settled is None
    assert "settled" not in str(summary)
    assert "settled" not in summary.to_dict()["scores"][0]


def test_a_first_judge_that_cannot_tell_settles_nothing() -> None:
    """Questions are the last judge's alone, and so is splitting them."""

    def answers(request: ChatRequest) -> str:
        if request.schema_name == "items":
            return json.dumps({"items": ["Where is it?"]})
        return unsupported(request)

    model = ScriptedChatModel(answers)
    judge = Cascade([FIRST, LexicalJudge(threshold=0.95), LLMJudge(model)])
    sample = Sample(user_input="Where is it?", retrieved_contexts=[CONTEXT])
    result = QuestionRecall(judge=judge).score(sample)
    assert (result.score, len(model.requests)) == (0.0, 2)


def test_entities_are_settled_too() -> None:
    """A name that stands in a context needs no model."""
    model = ScriptedChatModel(unsupported)
    judge = Cascade([FIRST, LLMJudge(model)])
    sample = Sample(reference_entities=["The tower"], retrieved_contexts=[CONTEXT])
    assert EntityRecall(judge=judge).score(sample).score == 1.0
    assert not model.requests


def test_confidence_is_the_first_judge_s_threshold() -> None:
    """A threshold that nothing reaches leaves all to the model; both are in the judge's name."""
    model = ScriptedChatModel(unsupported)
    sample = Sample(reference_claims=["The tower stands in Paris."], retrieved_contexts=[CONTEXT])
    scores = []
    for threshold in (0.05, 1.0):
        judge = Cascade([LexicalJudge(threshold=threshold), LLMJudge(model)])
        assert f"lexical:{threshold}" in judge.name
        scores.append(ClaimRecall(judge=judge).score(sample).score)
    assert (scores, len(model.requests)) == ([1.0, 0.0], 1)


def test_a_cascade_of_one_is_refused() -> None:
    """There must be somebody to hand on to; a cascade may sit on a panel."""
    with pytest.raises(ParameterError, match="two judges"):
        Cascade([FIRST])
    inner = Cascade([FIRST, LexicalJudge()])
    sample = Sample(reference_claims=["It has two lifts"], retrieved_contexts=[CONTEXT])
    assert ClaimRecall(judge=Panel([inner, FIRST])).score(sample).score == 1.0
