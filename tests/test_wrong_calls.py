"""Wrong calls in Python raise errors that say what to write."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import fullrecall
from fullrecall import (
    ClaimRecall,
    Gate,
    IdRecall,
    Sample,
    TextRecall,
    choose,
    compare,
    evaluate,
    measures,
)
from fullrecall.errors import FullrecallError
from fullrecall.judge import Prompts
from fullrecall.judge.models.retries import Retries
from fullrecall.measures import RR, Measure, Recall, Retrieved, calls
from fullrecall.measures.text import parse_threshold
from fullrecall.observe import StepReading
from fullrecall.read import documents_of, from_rows, read

SAMPLES = [{"user_input": "q", "retrieved_ids": ["a"], "expected_ids": ["a"]}]
REPORT: Any = evaluate(SAMPLES, IdRecall(), progress=False)
OTHER: Any = evaluate(SAMPLES, IdRecall(name="x"), progress=False)
anything: Any = fullrecall
score: Any = evaluate
recall: Any = Recall
recall_at: Any = 5
in_measures: Any = measures
PATHS: Any = {"reference_context_ids": ["a", "b"]}
RULE: Any = Gate(Recall >= 0.9)


def own(text: str, count: Any, base: type = Measure) -> type:
    """Return a user-defined measure."""
    return type("Own", (base,), {"text": text, "count": count})


WRONG: list[tuple[Callable[[], Any], str]] = [
    (lambda: score(SAMPLES, Recall @ 5), "IdRecall(), and ask its report: report.summary(Rec"),
    (lambda: score(SAMPLES, [Recall @ 5, IdRecall()]), "Recall @ 5 is a measure, not a scorer"),
    (lambda: score(SAMPLES, IdRecall), "is not a scorer: pass an instance such as IdRecall()"),
    (lambda: score(SAMPLES, "id_recall"), "pass an instance such as IdRecall()"),
    (lambda: score(SAMPLES[0], IdRecall()), "wrap it in a list"),
    (lambda: score("samples.jsonl", IdRecall()), "read(path) reads a file"),
    (lambda: score(SAMPLES, IdRecall(), k=5), "k belongs to a measure: pass Recall @ 5"),
    (lambda: score(SAMPLES, IdRecall(), retreiver=len), "did you mean retriever?"),
    (lambda: score(SAMPLES, IdRecall(), retriever="search"), "'search': import the function"),
    (lambda: REPORT.summary(5), "expected a measure such as Recall @ 5, got 5"),
    (lambda: REPORT.values(5), "such as Recall @ 5, got 5"),
    (lambda: REPORT.to_frame(7), "such as Recall @ 5, got 7"),
    (lambda: compare(REPORT, REPORT, 3), "such as Recall @ 5, got 3"),  # type: ignore[call-overload]
    (lambda: REPORT.summary([Recall @ 5]), "such as Recall @ 5, got [Recall @ 5]"),
    (lambda: REPORT.summary("recal@1"), "choose one of recall, precision"),
    (
        lambda: compare(REPORT, REPORT, Recall, baseline="x"),  # type: ignore[call-overload]
        "baseline names one of several reports: pass {name: report, …}",
    ),
    (
        lambda: compare({"a": REPORT, "b": REPORT}, Recall, slices="kind"),  # type: ignore[call-overload]
        "slices is for two reports: compare two of them",
    ),
    (lambda: compare({"a": REPORT}), "reports must be at least 2, got 1"),
    (
        lambda: compare({"a": REPORT, "b": REPORT}, baseline="x"),
        "baseline must be one of 'a', 'b', got 'x'",
    ),
    (lambda: compare(REPORT, REPORT, Retrieved), "Retrieved is a count"),
    (lambda: Gate(Retrieved >= 0.5), "Retrieved is a count, which has no threshold"),
    (lambda: REPORT.summary(IdRecall()), "expected a measure such as Recall @ 5"),
    (lambda: Gate(recall @ 5 > 0.9), "write Recall @ 5 >= 0.9"),
    (lambda: Gate(recall @ 5 < 0.9), "write Recall @ 5 <= 0.9"),
    (lambda: Gate(recall @ 5 >= 0.9 and RR >= 0.5), "pass each rule by itself"),
    (lambda: Gate(Recall @ 5 >= 90), "must be a number from 0 to 1, got 90"),
    (lambda: anything.Gate(0.9), "must be such as Recall @ 10 >= 0.9, got 0.9"),
    (lambda: anything.IdRecall(k=5), "pass Recall @ 5"),
    (lambda: anything.IdRecall(5), "it takes name, by name"),
    (lambda: anything.TextRecall(treshold=0.5), "did you mean threshold?"),
    (lambda: TextRecall(threshold=50), "threshold must be a number from 0 to 1, got 50"),
    (lambda: anything.ClaimRecall(llm=None), "did you mean judge?"),
    (lambda: anything.ClaimRecall(wrong=None), "choose one of name, judge"),
    (lambda: score(SAMPLES, metrics=[]), "did you mean scorers?"),
    (lambda: score(dataset=SAMPLES, scorers=IdRecall()), "did you mean samples?"),
    (lambda: REPORT.summary(ks=[1, 5]), "pass Recall @ 1, Recall @ 5"),
    (lambda: REPORT.summary(top_k=5), "pass Recall @ 5"),
    (lambda: score({"query": ["q"], "expected_ids": [["a"]]}, IdRecall()), "make its rows: [dict("),
    (lambda: [*from_rows(SAMPLES, fields=PATHS)], "expected one path as a text, or None, got ['a'"),
    (lambda: from_rows(SAMPLES, fields=["a"]), "must be a mapping, got ['a']"),  # type: ignore[arg-type]
    (lambda: read("a.jsonl", rows=7), "must be a path as a text, got 7"),  # type: ignore[arg-type]
    (lambda: ClaimRecall(judge="gpt-4o"), "got 'gpt-4o'"),  # type: ignore[arg-type]
    (lambda: anything.IdRecall().score(["d1"], ["d1"]), "score(retrieved_ids=['d1'], expected_"),
    (lambda: IdRecall().score(retrieved_ids="d1"), "['d1']"),
    (lambda: Sample(retrieved=["a"]), "did you mean 'retrieved_ids'?"),
    (lambda: Recall @ 0, "k must be a whole number of at least 1, got 0"),
    (lambda: recall(k=5), "write measure @ k"),
    (lambda: anything.choose(SAMPLES, Recall @ 5, {}), "expected a scorer such as IdRecall()"),
    (lambda: choose(SAMPLES, IdRecall(), {"a": len}), "retrievers must be two or more by name"),
    (lambda: RULE.check(anything), "Gate.check takes Reports, got module: evaluate("),
    (lambda: anything.Gate(Recall >= 0.9).check(SAMPLES), "evaluate(samples, scorers) makes one"),
    (lambda: RULE.check(REPORT, anything), "Gate.check takes Reports, got module"),
    (lambda: RULE.check(REPORT, REPORT), "a baseline and a margin go together"),
    (lambda: anything.Gate(min_recall=0.8), "no parameter 'min_recall': choose one of margin"),
    (lambda: anything.Gate(Recall >= 0.9, confidance=0.9), "did you mean confidence?"),
    (lambda: Gate(Recall >= 0.9, confidence=95), "between 0 and 1, such as 0.95, got 95"),
    (lambda: Gate(Recall @ 5), "needs a threshold, such as Recall @ 5 >= 0.9"),
    (Gate, "a gate needs a rule: Recall @ 10 >= 0.9"),
    (lambda: anything.Budget(call=5), "did you mean calls?"),
    (lambda: anything.diagnose([REPORT]), "diagnose takes Reports, got list: evaluate("),
    (lambda: anything.diagnose(SAMPLES), "evaluate(samples, scorers) makes one"),
    (lambda: anything.diagnose(REPORT, corpus="c.jsonl"), "read_contexts(path) reads a file"),
    (lambda: anything.diagnose(REPORT, k=0), "k must be a whole number of at least 1, got 0"),
    (lambda: recall(5), "write Recall @ 5"),
    (lambda: recall[5], "write Recall @ 5"),
    (lambda: REPORT.summary("recall@5x"), "or a budget such as 3calls, got '5x'"),
    (lambda: REPORT.summary("5"), "write recall@5"),
    (lambda: REPORT["id_recall"], "report.summary()['id_recall']"),
    (lambda: REPORT[5], "no sample 5: the report has 1"),
    (lambda: REPORT.missed(score="x"), "no score 'x' in the report: choose one of id_recall"),
    (lambda: compare([REPORT, REPORT]), "several by name: {'bm25': a"),  # type: ignore[call-overload]
    (lambda: REPORT.missed(0), "k must be a whole number of at least 1, got 0"),
    (lambda: compare(REPORT, anything), "compare takes Reports, got module"),
    (lambda: compare(REPORT), "compare takes two reports, or several by name"),
    (lambda: compare(REPORT, Recall @ 5), "compare takes two reports, or several by name"),
    (lambda: choose(SAMPLES, IdRecall(), {"a": len, "b": len}, recall_at), "Recall @ 5, got 5"),
    (lambda: REPORT.save("missing/r.jsonl"), "does not exist: make it, or name a file in another"),
    (lambda: in_measures.NDCG, "import nDCG"),
    (lambda: in_measures.MRR, "import RR"),
    (lambda: in_measures.HitRate, "import Hit"),
    (lambda: in_measures.Recal, "did you mean Recall?"),
    (lambda: anything.ContextRecall, "ClaimRecall scores a reference answer"),
    (lambda: anything.Report([]).mean, r'use report.summary(Recall @ 5)["id_recall"]'),
    (lambda: anything.Report([]).to_pandas, "use report.to_frame()"),
    (lambda: anything.Report([]).to_json, 'use report.save("report.jsonl")'),
    (
        lambda: anything.Gate("recall@5>=0.8"),
        "got the text 'recall@5>=0.8': pass Recall @ 5 >= 0.8",
    ),
    (lambda: IdRecall(name=" "), "name must be a str that is not blank, got ' '"),
    (lambda: anything.IdRecall().score(5), "score takes a Sample, or its fields by name, got int"),
    (lambda: compare({"a": REPORT, "b": REPORT, "c": OTHER}), "id_recall before, x after"),
    (lambda: REPORT.plot(ks=(1, calls(2))), "must be of one unit, got calls, contexts"),
    (lambda: REPORT.slices("nope"), "no sample has 'nope' to slice by: set the metadata or"),
    (lambda: compare(REPORT, REPORT)["x"], "no score 'x': choose one of id_recall"),
    (lambda: parse_threshold("recall@5>=x"), "expected a number, got 'x'"),
    (lambda: Prompts(attribute="{x}"), "cannot be filled ('x'): double literal braces"),
    (lambda: Retries(first_wait=-1), "first_wait must be a number of seconds >= 0, got -1"),
    (lambda: anything.Sample(reference_entities=[3]), "item 0: expected a str, got 3"),
    (lambda: anything.LLMJudge("gpt"), "model must be a ChatModel (name, complete, acomplete)"),
    (lambda: REPORT.to_label(5), "no judge decided any score of the report, which has id_recall"),
    (lambda: own("Bad name", None), 'text must be a name such as "found_first", in lowercase'),
    (lambda: own("recall", None, type(Recall)), "is 'recall', the name of RecallMeasure: choose"),
    (lambda: own("owned", lambda _: 0), "count must take (self, findings, retrieved), or with"),
    (lambda: StepReading(failed_calls="x"), "failed_calls must be 'unscored' or 'score', got"),  # type: ignore[arg-type]
    (lambda: documents_of(5), "documents: expected a folder or an iterable, got 5"),  # type: ignore[arg-type]
    (lambda: documents_of(b"x"), "documents: expected a folder or an iterable, got b'x'"),  # type: ignore[arg-type]
    (lambda: documents_of("missing"), "missing: no such file or folder"),
    (lambda: [*documents_of([{"id": "a"}])], "documents, item 0: expected a text, got {'id': 'a'}"),
    (lambda: anything.Report.open(5), "path must be a path, got 5"),
    (lambda: anything.Report.open([]), "no file to open: pass at least one path"),
    (
        lambda: anything.Report.open("r.parquet", rows=-1),
        "rows must be a whole number >= 0, got -1",
    ),
    (
        lambda: choose(SAMPLES, IdRecall(), {"a": str.split, "b": str.split})["c"],
        "choose one of a, b",
    ),
    (lambda: anything.Recall, "import it from fullrecall.measures"),
    (lambda: anything.evalute, "did you mean evaluate?"),
    (lambda: anything.ID_Recall, "did you mean IdRecall?"),
]


@pytest.mark.parametrize(("call", "way"), WRONG, ids=[way for _, way in WRONG])
def test_a_wrong_call_says_what_to_write(call: Callable[[], Any], way: str) -> None:
    """A wrong call raises an error that says what to write instead."""
    with pytest.raises((FullrecallError, AttributeError, ImportError, LookupError)) as raised:
        call()
    assert way in str(raised.value)


def test_a_mistyped_import_names_the_nearest() -> None:
    """The error of a mistyped import names the nearest name, in its text."""
    with pytest.raises(ImportError, match="did you mean Recall"):
        from fullrecall.measures import Recal  # type: ignore[attr-defined]  # noqa: F401


def test_a_measure_may_be_text() -> None:
    """A measure's text form is accepted wherever a measure is."""
    assert str(REPORT.summary("recall@1")) == str(REPORT.summary(Recall @ 1))
    assert REPORT.values("recall@1").tolist() == [1.0]
