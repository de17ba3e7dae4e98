"""A saved report is derived again by its stored method, for any name of its judge."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import pytest

from fullrecall import ClaimRecall, LLMJudge, Report, Sample, evaluate
from fullrecall.files.reports.records import MethodRecord, plain_method
from fullrecall.judge import Citation, Flow, Verdict
from fullrecall.judge.models.scripted import ScriptedChatModel


@dataclass(frozen=True)
class OwnJudge:
    """A judge that marks quotes as verified which the rules would not verify."""

    name: str
    verified: bool = True

    def split(self, text: str, **_: object) -> Flow[Sequence[str]]:
        """Return the text."""
        yield from ()
        return [text]

    def attribute(
        self, targets: Sequence[str], contexts: Sequence[str], **_: object
    ) -> Flow[Sequence[Verdict]]:
        """Return support by the whole first context for every target."""
        yield from ()
        cited = (Citation(0, contexts[0]),)
        return [Verdict("supported", cited, verified=self.verified) for _ in targets]

    relevance = attribute


SAMPLE = Sample(
    reference_claims=["Paris has 2 million inhabitants."],
    retrieved_contexts=["Paris has 3 million inhabitants."],
)


@pytest.mark.parametrize("form", ["r.jsonl", "r.parquet"])
@pytest.mark.parametrize("verified", [True, False])
@pytest.mark.parametrize("name", ["llm:mine", "lexical:mine", "mine", "llm:x,verify=model"])
def test_a_judge_of_ones_own_may_have_any_name(
    name: str, verified: Literal[True, False], form: str, tmp_path: Path
) -> None:
    """A report loads with the judge's own verification of quotes, for any name."""
    scorer = ClaimRecall(judge=OwnJudge(name, verified), require_evidence=False)
    report = evaluate([SAMPLE], scorer, progress=False)
    report.save(tmp_path / form)
    loaded = Report.load(tmp_path / form)
    assert list(loaded) == list(report)
    evidence = loaded[0].results[0].findings[0].evidence
    assert [each.verified for each in evidence] == [verified]


@pytest.mark.rooms
def test_a_method_says_whether_rules_decide() -> None:
    """The built-in judge, and a model with verify="rules", leave quotes to the rules."""
    from fullrecall.lexical import LexicalJudge

    model = ScriptedChatModel([])
    judges = {
        True: [LexicalJudge(), LLMJudge(model), None],
        False: [LLMJudge(model, verify="model"), OwnJudge("llm:mine")],
    }
    for by_rules, own in judges.items():
        for judge in own:
            method = ClaimRecall(judge=judge).method
            assert method.quotes_by_rules is by_rules
            assert MethodRecord.read(plain_method(method)).method == method
