"""`evaluate(corpus=…)`: a stale label is unscored, never 0, and the report keeps the corpus."""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest
from tests.precision_by_id import PrecisionById
from typer.testing import CliRunner

from fullrecall import (
    ClaimRecall,
    Context,
    EntityRecall,
    IdRecall,
    Report,
    Sample,
    SpanRecall,
    TextRecall,
    aevaluate,
    compare,
    evaluate,
)
from fullrecall.errors import InputError
from fullrecall.measures import Recall
from fullrecall.samples.corpus import ANCHORS, CorpusIndex, stale_label, text_digest
from fullrecall.scorers.result import Method, Result, Status
from fullrecall.stats.gate import Gate, Outcome

GUIDE = (
    "The pump is primed with half a liter of water before it runs for the first time. "
    "The filter is washed once a week, in the machine, without soap. "
    "After two years the seal is replaced; the part has the number 4711."
)
SEAL = GUIDE.index("After two years")


def chunked(text: str, size: int, source: str = "guide") -> list[Context]:
    """Return a document as chunks that are named by their place."""
    starts = range(0, len(text), size)
    return [
        Context(id=f"{source}:{n}", text=text[at : at + size], source=source)
        for n, at in enumerate(starts)
    ]


def labeled(corpus: Iterable[Context], *names: str, **fields: Any) -> Sample:
    """Return a sample whose references are chunks, with the digests of their texts."""
    texts = {one.id: one.text or "" for one in corpus}
    anchors = {name: {"digest": text_digest(texts[name])} for name in names}
    return Sample(reference_context_ids=names, metadata={ANCHORS: anchors}, **fields)


def statuses(report: Report) -> list[list[Status]]:
    """Return the status of each score of each sample."""
    return [[result.status for result in row.results] for row in report]


OLD = chunked(GUIDE, 80)
NEW = chunked(GUIDE, 120)


def test_a_rechunked_corpus_leaves_its_labels_unscored() -> None:
    """Chunks of another size leave samples unscored, though their names are the same."""
    samples = [
        labeled(OLD, "guide:0", retrieved_context_ids=["guide:1"]),
        labeled(OLD, "guide:2", retrieved_context_ids=["guide:2"]),
    ]
    before = evaluate(samples, IdRecall(), corpus=OLD)
    assert [row.results[0].score for row in before] == [0.0, 1.0]
    after = evaluate(samples, IdRecall(), corpus=NEW)
    assert statuses(after) == [[Status.UNSCORED], [Status.UNSCORED]]
    assert after.rows[0].results[0].reason == (
        "stale label: 'guide:0' has other words than when it was labeled"
    )
    assert after.summary()["id_recall"].mean is None
    assert before.corpus != after.corpus


@pytest.mark.parametrize("kind", ["folder", "file", "mapping", "contexts", "generator", "index"])
def test_a_corpus_comes_in_many_forms(kind: str, tmp_path: Path) -> None:
    """A folder, a file, a mapping, contexts and an index of the same texts are one corpus."""
    pages = {"a.md": "Alpha is first.", "b.md": "Beta is second."}
    for name, text in pages.items():
        (tmp_path / name).write_text(text)
    contexts = [Context(id=name, text=text) for name, text in pages.items()]
    lines = tmp_path.with_suffix(".jsonl")
    lines.write_text("".join(json.dumps({"id": n, "text": t}) + "\n" for n, t in pages.items()))
    corpus = {
        "folder": tmp_path,
        "file": lines,
        "mapping": pages,
        "contexts": contexts,
        "generator": (one for one in contexts),
        "index": CorpusIndex.of(contexts),
    }[kind]
    samples = [
        {"retrieved_context_ids": ["a.md"], "reference_context_ids": ["a.md"]},
        {"retrieved_context_ids": ["a.md"], "reference_context_ids": ["c.md"]},
    ]
    report = evaluate(samples, IdRecall(), corpus=corpus)
    assert statuses(report) == [[Status.SCORED], [Status.UNSCORED]]
    assert report.corpus == CorpusIndex.of(contexts).fingerprint
    assert report.rows[1].results[0].reason == "stale label: 'c.md' is not in the corpus"


def test_a_corpus_that_is_not_there_ends_it_before_anything_is_scored(tmp_path: Path) -> None:
    """A wrong path is an error before the first sample, not an empty corpus."""
    with pytest.raises(InputError, match="no such file or folder"):
        evaluate([], IdRecall(), corpus=tmp_path / "missing")


def test_spans_are_held_against_the_text_of_their_document() -> None:
    """A span whose characters moved is stale for span recall; an unmoved one is scored."""
    span = Context(text=GUIDE[SEAL:], source="guide", start=SEAL, end=len(GUIDE))
    fields: dict[str, Any] = {"retrieved_contexts": [span], "reference_contexts": [span]}
    same = {"guide": GUIDE}
    moved = {"guide": "Read this first. " + GUIDE}
    for samples in ([Sample(**fields)], [fields], iter([fields])):
        given = list(samples)
        assert statuses(evaluate(given, SpanRecall(), corpus=same)) == [[Status.SCORED]]
        report = evaluate(iter(given), SpanRecall(), corpus=moved)
        assert statuses(report) == [[Status.UNSCORED]]
    # Chunks of the document have other offsets, but the document is still there.
    assert statuses(evaluate([fields], SpanRecall(), corpus=NEW)) == [[Status.SCORED]]
    gone = evaluate([fields], SpanRecall(), corpus={"manual": GUIDE})
    assert gone.rows[0].results[0].reason == "stale label: 'guide' is not in the corpus"


class Custom:
    """A user's scorer, which does not declare its labels."""

    method = Method("custom", {}, Recall)

    def score(self, sample: Sample) -> Result:
        """Return a result without targets."""
        return Result(self.method, Status.UNDEFINED, note=sample.id or "")


@pytest.mark.rooms
def test_only_scores_that_read_a_stale_label_are_left_out() -> None:
    """A renamed chunk makes the ID score stale; texts and claims of the sample are scored."""
    text = "Paris is the capital of France."
    sample = Sample(
        retrieved_contexts=[Context(id="new", text=text)],
        reference_context_ids=["old"],
        reference_contexts=[text],
        reference_claims=[text],
        reference_entities=["Paris", "France"],
        reference=text,
    )
    scorers = [
        IdRecall(),
        TextRecall(),
        SpanRecall(),
        ClaimRecall(),
        EntityRecall(),
        PrecisionById(),
        Custom(),
    ]
    expected = [
        Status.UNSCORED,
        Status.SCORED,
        Status.SCORED,
        Status.SCORED,
        Status.SCORED,
        Status.UNSCORED,
        Status.UNSCORED,
    ]
    for report in (
        evaluate([sample], scorers, corpus={"new": text}),
        asyncio.run(aevaluate([sample], scorers, corpus={"new": text})),
    ):
        assert statuses(report) == [expected]
        assert len({row.results[0].reason for row in report}) == 1


def test_samples_without_references_are_as_without_a_corpus() -> None:
    """A sample without labels is not stale, and neither is one whose reference has grade 0."""
    samples = [
        {"retrieved_context_ids": ["a"], "reference_context_ids": []},
        {"retrieved_context_ids": ["a"]},
        {"retrieved_context_ids": ["a"], "reference_context_ids": {"a": 1, "gone": 0}},
        {"retrieved_context_ids": ["b"], "reference_context_ids": [["gone", "b"]]},
    ]
    report = evaluate(samples, IdRecall(), corpus={"a": "A", "b": "B"})
    plain = evaluate(samples, IdRecall())
    assert [row.results for row in report] == [row.results for row in plain]
    assert plain.corpus is None


@pytest.mark.parametrize("name", ["report.jsonl", "report.parquet"])
def test_a_saved_report_keeps_its_corpus(name: str, tmp_path: Path) -> None:
    """The fingerprint is kept after saving, after writing row by row, and in parts."""
    samples = [{"retrieved_context_ids": ["a"], "reference_context_ids": [i]} for i in "ab"]
    report = evaluate(samples, IdRecall(), corpus={"a": "A"})
    report.save(tmp_path / name)
    evaluate(samples, IdRecall(), corpus={"a": "A"}, output=tmp_path / f"streamed-{name}")
    for path in (tmp_path / name, tmp_path / f"streamed-{name}"):
        for loaded in (Report.load(path), Report.open(path)):
            assert loaded.corpus == report.corpus is not None
            assert statuses(loaded) == statuses(report)
    assert report[:1].corpus == report.corpus
    evaluate(samples, IdRecall()).save(tmp_path / f"plain-{name}")
    assert Report.load(tmp_path / f"plain-{name}").corpus is None


def test_a_comparison_says_that_the_corpora_differ() -> None:
    """A comparison notes two different corpora, and nothing if one is unknown."""
    samples = [{"retrieved_context_ids": ["a"], "reference_context_ids": ["a"]}]
    one, two = ({"a": "A"}, {"a": "A", "b": "B"})
    before, after = (evaluate(samples, IdRecall(), corpus=corpus) for corpus in (one, two))
    comparison = compare(before, after)
    assert any("the corpora differ" in each for each in comparison.drift)
    assert comparison.to_dict()["corpora"] == {"before": before.corpus, "after": after.corpus}
    assert "the corpora differ" in " ".join(str(comparison).split())
    assert "the corpora differ" in comparison.to_markdown()
    for other in (before, evaluate(samples, IdRecall())):
        assert not compare(other, before).drift
        assert "corpora differ" not in compare(other, before).to_markdown()


def test_a_gate_does_not_blame_the_retriever_for_another_corpus() -> None:
    """A drop against a baseline of another corpus is CANNOT TELL; a threshold still fails."""
    wanted = [{"id": str(n), "reference_context_ids": ["a"]} for n in range(200)]
    hits = [{**one, "retrieved_context_ids": ["a"]} for one in wanted]
    misses = [{**one, "retrieved_context_ids": ["b"]} for one in wanted]
    one, two = {"a": "A"}, {"a": "A", "b": "B"}
    gate = Gate(Recall >= 0.9, margin=0.05)
    baseline, same = (evaluate(hits, IdRecall(), corpus=corpus) for corpus in (one, two))
    report = evaluate(misses, IdRecall(), corpus=two)
    threshold, change = gate.check(report, baseline).checks
    assert (threshold.outcome, change.outcome) == (Outcome.FAIL, Outcome.CANNOT_TELL)
    assert "the corpora differ" in change.reason
    assert gate.check(report, same).checks[1].outcome is Outcome.FAIL


def test_the_summary_names_the_way_out_and_counts_stale_labels_as_one_reason() -> None:
    """The summary counts stale labels in one line, with the command that moves them."""
    samples = [
        {"retrieved_context_ids": ["a"], "reference_context_ids": [f"old-{n}"]} for n in range(30)
    ]
    report = evaluate(samples, IdRecall(), corpus={"a": "A"})
    summary = report.summary()
    assert summary["id_recall"].reasons == {"stale label: … is not in the corpus": 30}
    assert "fullrecall testset follow" in " ".join(str(summary).split())
    assert "testset follow" not in str(evaluate(samples, IdRecall()).summary())


@pytest.mark.rooms
def test_the_command_takes_a_corpus(tmp_path: Path) -> None:
    """`--corpus` leaves stale labels unscored and saves the fingerprint; a wrong path fails."""
    from fullrecall.cli import app

    (tmp_path / "pages").mkdir()
    (tmp_path / "pages" / "a.md").write_text("Alpha")
    lines = [
        {"retrieved_context_ids": ["a.md"], "reference_context_ids": [name]}
        for name in ("a.md", "b.md")
    ]
    file = tmp_path / "samples.jsonl"
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    output = tmp_path / "report.jsonl"
    arguments = ["evaluate", str(file), "-o", str(output), "--corpus"]
    ran = CliRunner().invoke(app, [*arguments, str(tmp_path / "pages")])
    assert ran.exit_code == 0, ran.output
    assert "stale label" in ran.output
    report = Report.load(output)
    assert statuses(report) == [[Status.SCORED], [Status.UNSCORED]]
    assert report.corpus == CorpusIndex.of([Context(id="a.md", text="Alpha")]).fingerprint
    assert CliRunner().invoke(app, [*arguments, str(tmp_path / "no")]).exit_code == 2


@pytest.mark.rooms
@pytest.mark.parametrize("seed", range(14))
def test_random_changes_leave_unscored_what_they_touched_and_nothing_else(seed: int) -> None:
    """After random changes of chunks, a sample is unscored if and only if a label broke."""
    chance = random.Random(seed)
    old = {f"d{n}": f"Document {n} says {chance.random()} and no more." for n in range(30)}
    contexts = [Context(id=name, text=text) for name, text in old.items()]
    samples = [
        labeled(
            contexts,
            *chance.sample(sorted(old), chance.randint(1, 3)),
            retrieved_context_ids=chance.sample(sorted(old), 4),
        )
        for _ in range(50)
    ]
    new, broken = _changed(old, chance)
    report = evaluate(samples, [IdRecall(), ClaimRecall(), PrecisionById()], corpus=new)
    whole = evaluate(samples, [IdRecall(), ClaimRecall(), PrecisionById()])
    for row, usual in zip(report, whole, strict=True):
        wanted = {name for group in row.sample.reference_context_ids or () for name in group.any_of}
        by_id, by_claims, precision = row.results
        assert by_claims == usual.results[1]
        if wanted & broken:
            assert by_id.status is precision.status is Status.UNSCORED
            assert (by_id.reason or "").startswith("stale label: ")
        else:
            assert (by_id, precision) == (usual.results[0], usual.results[2])
    index = CorpusIndex.of([Context(id=name, text=text) for name, text in new.items()])
    assert report.corpus == index.fingerprint
    assert [stale_label(one, index) is not None for one in samples] == [
        row.results[0].status is Status.UNSCORED for row in report
    ]


def _changed(old: Mapping[str, str], chance: random.Random) -> tuple[dict[str, str], set[str]]:
    """Return the randomly changed corpus, and the names whose text changed."""
    new, broken = {}, set()
    for name, text in old.items():
        kind = chance.choice(["same", "same", "reflowed", "renamed", "edited", "dropped"])
        if kind in ("renamed", "edited", "dropped"):
            broken.add(name)
        if kind != "dropped":
            words = {"reflowed": text.replace(" ", "\n  "), "edited": f"{text} Or more."}
            new[f"{name}/v2" if kind == "renamed" else name] = words.get(kind, text)
    return new, broken
