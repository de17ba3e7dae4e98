"""A compound claim is judged fact by fact, by a model, a panel, and a cascade."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.judge.scripted import quoting, reply

from fullrecall import ClaimRecall, LLMJudge, Report, Sample, evaluate
from fullrecall.judge import Cascade, Panel
from fullrecall.judge.flow import run
from fullrecall.judge.judge import Citation, Flow, Verdict
from fullrecall.judge.models.scripted import ScriptedChatModel
from fullrecall.measures import Recall
from fullrecall.scorers.result import Status

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fullrecall.judge.models import ChatRequest

pytestmark = pytest.mark.rooms

CLAIM = "The service is fast, cheap, and reliable."
FACTS = ["The service is fast.", "The service is cheap.", "The service is reliable."]
CONTEXTS = ["The service is fast.", "It rained.", "The service is reliable, they say."]
SAMPLE = Sample(retrieved_contexts=CONTEXTS, reference_claims=[CLAIM, "It is old."])


def honest(request: ChatRequest) -> str:
    """Return support for each claim that a context begins with, quoting that context."""
    shown, asked = request.messages[-1].content.split("claims:\n")
    contexts = dict(re.findall(r'^(\d+) (".*")$', shown, re.MULTILINE))
    verdicts = []
    for number, claim in re.findall(r'^(\d+) (".*")$', asked, re.MULTILINE):
        text = json.loads(claim).rstrip(".")
        found = [int(n) for n, context in contexts.items() if json.loads(context).startswith(text)]
        quotes = [(n, text) for n in found]
        verdicts.append(
            quoting(int(number), "supported" if found else "not_supported", *quotes, begins=text)
        )
    return reply(*verdicts)


def built_in() -> Any:
    """Return the built-in judge, of a room."""
    from fullrecall.lexical import LexicalJudge

    return LexicalJudge()


def model_judge(**parameters: Any) -> LLMJudge:
    """Return a judge with an honest model."""
    return LLMJudge(ScriptedChatModel(honest), **parameters)


JUDGES: dict[str, Any] = {
    "model": model_judge,
    "panel": lambda: Panel([model_judge(), model_judge(reasks=1), built_in()]),
    "model with canaries": lambda: model_judge(guard="canaries"),
    "cascade of models": lambda: Cascade(built_in(), model_judge(), unsure=(0.0, 1.0)),
}


@pytest.mark.parametrize("judge", JUDGES.values(), ids=JUDGES)
def test_credit_is_the_share_of_facts(judge: Any, tmp_path: Path) -> None:
    """Credit is the share of facts, each at its own rank, and a report keeps the list of facts."""
    report = evaluate([SAMPLE], ClaimRecall(judge=judge()), progress=False)
    result = report[0].results[0]
    first, second = result.findings
    assert first.verdict == "partial"
    assert [first.credit_at(k) for k in (1, 2, 3)] == pytest.approx([1 / 3, 1 / 3, 2 / 3])
    assert list(dict.fromkeys(part.fact for part in first.parts)) == FACTS
    assert result.score == pytest.approx((2 / 3 + second.credit_at()) / 2)
    report.save(tmp_path / "report.jsonl")
    assert Report.load(tmp_path / "report.jsonl")[0].results[0] == result


def test_a_fact_that_two_claims_share_is_asked_once() -> None:
    """A fact of two claims is asked about once, and a claim of one fact is shown as written."""
    model = ScriptedChatModel(honest)
    claims = ["The service is fast, cheap, and reliable.", "The service is cheap.", "It is old."]
    scorer = ClaimRecall(judge=LLMJudge(model))
    scorer.score(retrieved_contexts=CONTEXTS, reference_claims=claims)
    (request,) = model.requests
    asked = request.messages[-1].content.partition("claims:\n")[2]
    assert [json.loads(line.split(" ", 1)[1]) for line in asked.splitlines()] == [
        *FACTS,
        "It is old.",
    ]


def test_a_fact_without_a_verdict_leaves_its_claim_unmeasured() -> None:
    """A claim with an unjudged fact is unmeasured: its share would be a guess."""
    model = ScriptedChatModel([reply(quoting(1, "not_supported"), quoting(2, "not_supported"))])
    scorer = ClaimRecall(judge=LLMJudge(model, reasks=0))
    result = scorer.score(retrieved_contexts=CONTEXTS, reference_claims=[CLAIM])
    assert result.status is Status.UNSCORED
    assert result.unmeasured == ((CLAIM, "the judge gave no verdict"),)


def test_a_panel_agrees_as_far_as_on_its_least_agreed_fact() -> None:
    """A panel's agreement on a claim is that on its least agreed fact, here two of three."""
    denying = LLMJudge(
        ScriptedChatModel(
            lambda request: reply(
                *(
                    quoting(int(n), "not_supported")
                    for n in re.findall(
                        r"^(\d+) ", request.messages[-1].content.split("claims:\n")[1], re.MULTILINE
                    )
                )
            )
        )
    )
    panel = Panel([model_judge(), model_judge(reasks=1), denying])
    result = ClaimRecall(judge=panel).score(SAMPLE)
    assert result.findings[0].agreement == pytest.approx(2 / 3)
    assert result.findings[0].credit_at() == pytest.approx(2 / 3)


# --- the cascade


class Sure:
    """A judge with a given support for each claim, which records the claims it was asked about."""

    name = "sure"

    def __init__(self, **support_of: float | None) -> None:
        self.support_of = support_of
        self.asked: list[str] = []

    def split(self, text: str, **_: object) -> Flow[Sequence[str]]:
        """Return the words of the text."""
        yield from ()
        return text.split()

    def attribute(
        self, targets: Sequence[str], contexts: Sequence[str], **_: object
    ) -> Flow[Sequence[Verdict]]:
        """Return support for each target with a support of at least 0.5."""
        yield from ()
        self.asked += targets
        del contexts
        return [self.verdict(target) for target in targets]

    def relevance(self, contexts: Sequence[str], **_: object) -> Flow[Sequence[Verdict]]:
        """Return relevance verdicts of the same support; each context cites itself."""
        yield from ()
        self.asked += contexts
        return [self.verdict(text, number) for number, text in enumerate(contexts)]

    def verdict(self, text: str, context: int = 0) -> Verdict:
        """Return the verdict on a text."""
        support = self.support_of[text]
        if support is None:
            return Verdict(None, problem="another language")
        if support < 0.5:
            return Verdict("not_supported", support=support)
        return Verdict("supported", (Citation(context, text),), support=support)


def cascade(**options: Any) -> tuple[Cascade, Sure, Sure]:
    """Return a cascade of two judges, and the two judges."""
    first = Sure(a=0.1, b=0.3, c=0.5, d=0.65, e=0.9, f=None)
    second = Sure(a=0.9, b=0.9, c=0.1, d=0.2, e=0.1, f=0.8)
    return Cascade(first, second, **options), first, second  # type: ignore[arg-type]


def test_only_unsure_targets_go_to_the_second_judge() -> None:
    """The second judge gets the targets in the band, ends included, and those without a verdict."""
    judge, first, second = cascade()
    verdicts, _ = run(judge.attribute(list("abcdef"), ["a b c d e f"]))
    assert first.asked == list("abcdef")
    assert second.asked == list("bcdf")
    assert [verdict.referred for verdict in verdicts] == [False, True, True, True, False, True]
    labels = [verdict.label == "supported" for verdict in verdicts]
    assert labels == [False, True, False, False, True, True]
    assert [verdict.support for verdict in verdicts] == [0.1, 0.3, 0.5, 0.65, 0.9, None]
    assert judge.name == "cascade(sure, sure, 0.3-0.65)"


def test_a_band_of_everything_and_of_next_to_nothing() -> None:
    """A band from 0 to 1 refers all targets; without unsure targets there is no request."""
    judge, _, second = cascade(unsure=(0, 1))
    run(judge.attribute(list("abcde"), ["x"]))
    assert second.asked == list("abcde")
    judge, _, second = cascade(unsure=(0.4, 0.4))
    run(judge.attribute(list("abcde"), ["x"]))
    assert second.asked == []


def test_contexts_keep_their_places() -> None:
    """The second judge sees some of the contexts, and its citations have their original numbers."""
    judge, _, second = cascade()
    verdicts, _ = run(judge.relevance(list("abf"), question="q", reference=None))
    assert second.asked == list("bf")
    assert [citation.context for verdict in verdicts for citation in verdict.citations] == [1, 2]


def test_a_summary_counts_the_claims_that_were_referred_and_their_cost(tmp_path: Path) -> None:
    """A summary counts the referred claims and their cost, and so does a saved report."""
    model = ScriptedChatModel(honest)
    judge = Cascade(built_in(), LLMJudge(model))
    sample = Sample(
        retrieved_contexts=["The old lighthouse was opened in 1889 by the harbor office."],
        reference_claims=[
            "The old lighthouse was opened in 1889.",
            "Bananas grow in the tropics.",
            "Der Leuchtturm wurde im Jahr 1889 eröffnet, und er steht noch immer.",
        ],
    )
    report = evaluate([sample], ClaimRecall(judge=judge), progress=False)
    score = report.summary()["claim_recall"]
    assert score.scored == 1
    referred = score.referred
    assert referred is not None
    assert (referred.targets, referred.of, referred.calls) == (1, 3, len(model.requests))
    report.save(tmp_path / "report.jsonl")
    loaded = Report.load(tmp_path / "report.jsonl").summary()
    assert loaded["claim_recall"].referred == referred
    assert "1 of 3 targets in claim_recall went to the second judge (1 call" in str(loaded)
    assert loaded.to_dict() == report.summary().to_dict()


def test_a_loaded_finding_has_its_support(tmp_path: Path) -> None:
    """The probability of the built-in judge is saved."""
    report = evaluate([SAMPLE], ClaimRecall(), progress=False)
    findings = report[0].results[0].findings
    assert all(finding.support is not None for finding in findings)
    report.save(tmp_path / "report.jsonl")
    assert Report.load(tmp_path / "report.jsonl")[0].results[0].findings == findings
    assert report[0].results[0][Recall @ 3] == pytest.approx(1 / 3)
