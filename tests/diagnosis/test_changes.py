"""Proposed changes and their gains are those computed by hand, and are exported."""

from __future__ import annotations

import csv
import json
from collections.abc import Sequence
from io import StringIO

import pytest
from tests.containment_judge import ContainmentJudge

from fullrecall import (
    ClaimRecall,
    Context,
    EntityRecall,
    IdRecall,
    Report,
    Retrieval,
    Sample,
    SpanRecall,
    TextRecall,
    evaluate,
)
from fullrecall.diagnosis import Cause, Change, ChangeKind, Diagnosis, diagnose
from fullrecall.errors import ParameterError
from fullrecall.samples.calls import Call
from fullrecall.scorers import Scorer
from fullrecall.stats.bounds import Counts, lower_bound, upper_bound


def ids(names: str) -> tuple[Context, ...]:
    """Return contexts by their IDs, one letter each."""
    return tuple(Context(f"the long text of {name}", id=name) for name in names)


def diagnosed(*samples: Sample, scorer: Scorer | None = None, **options: object) -> Diagnosis:
    """Return the diagnosis of samples."""
    report = evaluate(samples, scorer or IdRecall(), progress=False)
    return diagnose(report, **options)  # type: ignore[arg-type]


def of(found: Diagnosis, kind: ChangeKind) -> list[Change]:
    """Return the changes of a kind."""
    return [change for change in found.changes if change.kind is kind]


def ranked(names: str, wanted: str, **more: object) -> Sample:
    """Return a sample with a list and one expected ID."""
    return Sample(query="q", retrieved_contexts=ids(names), expected_ids=[wanted], **more)


def test_a_larger_k_and_its_interval() -> None:
    """The gain of a larger k follows from the recorded ranks, with a joint interval."""
    samples = [
        ranked("abcdefgh", "h" if n % 4 == 0 else "d" if n % 4 == 1 else "a") for n in range(40)
    ]
    found = diagnosed(*samples, k=2)
    double, most = of(found, ChangeKind.LARGER_K)
    assert (most.action, double.action) == ("raise k from 2 to 8", "raise k from 2 to 4")
    assert (most.gain, double.gain) == (0.5, 0.25)
    assert (double.before, double.after, double.samples) == (0.5, 0.75, 40)
    gains = Counts.of([0.0, 1.0], [30, 10])
    assert double.interval.low == pytest.approx(lower_bound(gains, 0.0125))
    assert double.interval.high == pytest.approx(upper_bound(gains, 0.0125))
    assert double.interval.confidence == 0.975
    assert double.cost is not None
    assert (double.cost.contexts_before, double.cost.contexts_after) == (2, 4)
    assert (
        double.text == "raise k from 2 to 4: +0.25 (+0.11 to +0.44), twice the contexts "
        "(+9 tokens per question)"
    )
    assert str(found).startswith(f"What to change\n1. {double.text}\n2. {most.text}\n")


def test_groups_count_once() -> None:
    """Samples of one group are one question: gains are means over groups."""
    samples = [ranked("abcd", "d", group="one") for _ in range(9)]
    (change,) = of(diagnosed(*samples, ranked("abcd", "a", group="two"), k=2), ChangeKind.LARGER_K)
    assert change.gain == 0.5


def test_nothing_is_promised_beyond_the_lists() -> None:
    """A list that ends at k promises no gain of a larger k; a retriever may."""
    sample = ranked("ab", "d")
    assert diagnosed(sample, k=2).changes == ()
    found = diagnosed(sample, k=2, retriever=lambda _, k: ids("abcd")[:k], deep_k=4)
    assert [change.action for change in found.changes] == ["retrieve 4 contexts in place of 2"]
    # A list that does not begin with the recorded one promises nothing for the other samples.
    assert diagnosed(sample, k=2, retriever=lambda _, k: ids("xbad")[:k]).changes == ()


def test_duplicates_make_room() -> None:
    """The next contexts replace copies of a text; chunks of a document stay."""
    copies = [Context("one and the same text", id=f"copy {n}") for n in range(3)]
    sample = Sample(retrieved_contexts=[*copies, *ids("d")], expected_ids=["d"])
    (change,) = of(diagnosed(*[sample] * 10, k=2), ChangeKind.DROP_DUPLICATES)
    assert change.gain == 1.0
    assert change.interval.low > 0
    # Over two questions the interval includes 0, so no advice is given.
    assert of(diagnosed(*[sample] * 2, k=2), ChangeKind.DROP_DUPLICATES) == []
    chunks = [Context(f"part {n} of a document", id="x") for n in range(3)]
    sample = Sample(retrieved_contexts=[*chunks, *ids("d")], expected_ids=["d"])
    assert of(diagnosed(sample, k=2), ChangeKind.DROP_DUPLICATES) == []


def test_ids_in_another_form_and_level() -> None:
    """The gain is the recall with rewritten IDs; a number that fits by chance gains nothing."""
    samples = [
        Sample(expected_ids=["Docs/A.md"], retrieved_contexts=[Context("t", id="docs\\a.md")]),
        Sample(expected_ids=["b"], retrieved_contexts=[Context("t", id="b#1")]),
        Sample(expected_ids=["c"], retrieved_contexts=[Context("t", id="9f", source="c")]),
        Sample(expected_ids=["d"], retrieved_contexts=[Context("t", id="d")]),
    ]
    found = diagnosed(*samples)
    assert sorted((change.action, change.gain) for change in found.changes) == [
        ("compare IDs of documents: leave out what numbers their chunks", 0.25),
        ("write IDs in one way: they differ in letter case, separators", 0.25),
    ]  # Reading `source` finds one target and loses another: no gain.


def test_chunks_of_other_pages_are_not_promised() -> None:
    """Pages of one book are different documents if references name the pages."""
    samples = [
        Sample(expected_ids=[f"doc-p{n}"], retrieved_ids=[f"doc-p{n if n % 2 else n + 50}#3"])
        for n in range(20)
    ]
    (change,) = of(diagnosed(*samples), ChangeKind.ID_LEVEL)
    assert change.gain == 0.5


def test_what_only_a_trial_tells_is_not_promised() -> None:
    """The gain of indexing missing documents is unknown, so no gain is promised."""
    found = diagnosed(ranked("ab", "z"), ranked("ab", "a"), corpus=ids("ab"))
    assert found.counts() == {Cause.NOT_IN_CORPUS: 1}
    assert found.changes == ()


@pytest.mark.parametrize(
    "scorer",
    [IdRecall(), IdRecall(name="mine"), TextRecall(threshold=1.0), SpanRecall(), EntityRecall()],
)
def test_scorers_are_built_again_from_a_saved_report(scorer: Scorer, tmp_path) -> None:  # type: ignore[no-untyped-def] # noqa: ANN001
    """A saved report's scorers without a judge score other lists, with their parameters."""
    copy = Context("the long text of a", id="copy")
    sample = Sample(
        retrieved_contexts=[*ids("a"), copy, *ids("d")],
        expected_ids=["d"],
        reference_contexts=["the long text of d"],
        reference_entities=["text of d"],
    )
    path = tmp_path / "report.jsonl"
    evaluate([sample] * 10, scorer, progress=False).save(path)
    kinds = {change.kind for change in diagnose(Report.load(path), k=2).changes}
    assert ChangeKind.DROP_DUPLICATES in kinds


def test_no_judge_is_asked_and_no_stranger_trusted() -> None:
    """No gain is promised for a judged score, or for an unknown scorer."""
    copy = Context("the long text of a", id="copy")
    contexts = [*ids("a"), copy, *ids("d")]
    claims = Sample(retrieved_contexts=contexts, reference_claims=["the long text of d"])
    judged = diagnosed(claims, scorer=ClaimRecall(judge=ContainmentJudge()), k=2)
    assert of(judged, ChangeKind.DROP_DUPLICATES) == []

    def same(one: str, other: str) -> float:
        return float(one == other)

    texts = Sample(retrieved_contexts=contexts, reference_contexts=["the long text of d"])
    mine = TextRecall(similarity=same)
    assert of(diagnosed(texts, scorer=mine, k=2), ChangeKind.DROP_DUPLICATES) == []


def test_a_change_names_the_first_score_that_gains() -> None:
    """A larger k is one change, for any number of scores, and names the first that gains."""
    sample = ranked("abcd", "d", reference_entities=["text of c"])
    (change,) = diagnosed_by(sample, [IdRecall(), EntityRecall()]).changes
    assert (change.score, change.gain) == ("id_recall@2", 1.0)
    (change,) = diagnosed_by(sample, [TextRecall(), EntityRecall()]).changes
    assert (change.score, change.gain) == ("entity_recall@2", 1.0)


def diagnosed_by(sample: Sample, scorers: Sequence[Scorer]) -> Diagnosis:
    """Return the diagnosis at k = 2 by several scorers."""
    return diagnose(evaluate([sample], scorers, progress=False), k=2)


def test_exports() -> None:
    """Markdown, CSV, JSON and frames agree, and no text becomes markup or a formula."""
    evil = "=1+1|<b>x</b>\n@all"
    found = diagnosed(
        Sample(id=evil, query="q", retrieved_ids=list("abcd"), expected_ids=["d", "zz"]), k=2
    )
    plain = json.loads(found.to_json())
    assert plain["kind"] == "fullrecall diagnosis"
    assert plain["changes"] == [change.to_dict() for change in found.changes]
    rows = list(csv.reader(StringIO(found.to_csv())))
    assert rows[0] == ["sample", "question", "score", "target", "cause", "detail", "rank"]
    assert len(rows) == 3
    assert rows[1][0].startswith("'=")
    text = found.to_markdown()
    assert "| raise k from 2 to 4 | \\+0.50" in text
    assert "<b>" not in text
    assert "\n@" not in text
    assert sum(line.startswith("- ") for line in text.splitlines()) == 2
    assert found.to_markdown(misses=0).count("\n| ") < text.count("\n| ")
    with pytest.raises(ParameterError, match="misses must be"):
        found.to_markdown(misses=-1)
    assert found.to_frame()["cause"].tolist() == ["beyond_k", "unknown"]


@pytest.mark.parametrize(
    ("reference", "retrieved", "told"),
    [
        ("faq-{}", "faq-{}.md", "'.md'"),
        ("{}-faq", "kb:{}-faq", "prefix 'kb:'"),
        ("faq {}", "faq_{}", "separators"),
    ],
)
def test_ids_spelled_otherwise_are_named_and_not_called_missing(
    reference: str, retrieved: str, told: str
) -> None:
    """Targets that the corpus has under another spelling are named as such, not as missing."""
    samples = [
        Sample(
            query=f"q{n}",
            expected_ids=[reference.format(n)],
            retrieved_ids=[retrieved.format(n)] if n % 3 else [retrieved.format(n + 100)],
        )
        for n in range(30)
    ]
    corpus = [Context(f"text {n}", id=retrieved.format(n)) for n in range(200)]
    found = diagnose(evaluate(samples, IdRecall(), progress=False), corpus=corpus)
    assert found.counts() == {Cause.ID_MISMATCH: 30}
    assert all(told in miss.detail for miss in found)
    (change,) = [each for each in found.changes if each.kind is ChangeKind.NORMALIZE_IDS]
    assert told in change.action
    assert change.gain == pytest.approx(20 / 30)


def test_no_k_is_larger_than_needed() -> None:
    """Of ever larger ks, the first that finds nearly everything is the last one proposed."""
    at_two = [ranked("abcdefgh", "b" if n % 2 else "a") for n in range(40)]
    (change,) = of(diagnosed(*at_two, k=1), ChangeKind.LARGER_K)
    assert change.action == "raise k from 1 to 2"
    at_four = [ranked("abcdefgh", "d" if n % 2 else "a") for n in range(40)]
    (change,) = of(diagnosed(*at_four, k=1), ChangeKind.LARGER_K)
    assert change.action == "raise k from 1 to 4"
    one_of_100_later = [ranked("abcdefgh", "b" if n else "h") for n in range(100)]
    (change,) = of(diagnosed(*one_of_100_later, k=1), ChangeKind.LARGER_K)
    assert change.action == "raise k from 1 to 2"


def test_duplicates_of_united_calls_are_not_dropped() -> None:
    """Ranks count within a call, so dropping copies moves no context of another call up."""
    text = "one long text that two calls returned, under an ID of its own in each"
    contexts = [Context(text, id="a"), Context(text, id="b"), Context("the text of c", id="c")]
    united = Retrieval(contexts=contexts, ranks=(1, 1, 2))
    samples = [Sample(query=f"q{n}", retrieval=united, expected_ids=["c"]) for n in range(40)]
    assert of(diagnosed(*samples, k=1), ChangeKind.DROP_DUPLICATES) == []
    ranked_alone = Retrieval(contexts=contexts)
    samples = [Sample(query=f"q{n}", retrieval=ranked_alone, expected_ids=["c"]) for n in range(40)]
    assert of(diagnosed(*samples, k=2), ChangeKind.DROP_DUPLICATES) != []


def test_a_list_without_ids_counts_neither_for_nor_against_a_change() -> None:
    """Recall by ID over a stage whose contexts have no IDs is unknown, not 0."""

    def sample(number: int) -> Sample:
        found = ids("ba") if number % 2 else tuple(Context(text) for text in ("tb", "ta"))
        last = Call("reranker", contexts=ids("a"), children=(Call("search", contexts=found),))
        retrieval = Retrieval(contexts=last.contexts, calls=(last,))
        return Sample(query=f"q{number}", retrieval=retrieval, expected_ids=["b"])

    (change,) = of(diagnosed(*map(sample, range(60))), ChangeKind.EARLIER_STAGE)
    assert change.gain == 1.0


def test_another_text_under_the_id_of_a_reference_is_named() -> None:
    """A context with a reference's ID and another text is named, even without a corpus."""
    text = "The mill by the river was built in the spring of the year 1889 by two brothers."
    other = text.replace("1889", "1898").replace("spring", "autumn")
    sample = Sample(
        query="q",
        retrieved_contexts=[Context(other, id="a")],
        reference_contexts=[Context(text, id="a")],
    )
    (miss,) = diagnosed(sample, scorer=TextRecall(threshold=0.99))
    assert (miss.cause, miss.rank) == (Cause.TEXT_DIFFERS, 1)
    assert "has another text" in miss.detail
