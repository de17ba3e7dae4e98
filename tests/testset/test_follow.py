"""Labels keep a digest and a quote of their texts, and follow the words to a new corpus."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from fullrecall import Sample
from fullrecall.errors import InputError
from fullrecall.read import documents_of
from fullrecall.samples.corpus import ANCHORS, CorpusIndex, Document, anchors_of, stale_label
from fullrecall.testset import LabelStatus, anchor, follow, unjudged
from fullrecall.testset.alignment import letters_of, pieces

WORDS = [f"w{n}ord" for n in range(4000)]


def text_of(name: str, size: int = 90) -> str:
    """Return random words, the same for the same name."""
    draw = random.Random(name)
    return " ".join(draw.choice(WORDS) for _ in range(size)) + "."


CORPUS = {f"d{n}": text_of(f"d{n}") for n in range(30)}
SAMPLES = [Sample(id=f"q{n}", user_input="?", reference_context_ids=[f"d{n}"]) for n in range(10)]


def index(corpus: Any, samples: Any = ()) -> CorpusIndex:
    """Return the index of a corpus."""
    return CorpusIndex.of(documents_of(corpus), samples)


def one(corpus: Any, samples: Any = SAMPLES[:1], **options: Any) -> Any:
    """Return the first label and its sample, anchored in the old corpus."""
    done = follow(samples, corpus, old=CORPUS, **options)
    return done.labels[0], done.samples[0]


def test_the_same_corpus_changes_nothing() -> None:
    """All labels are the same, and none is stale."""
    anchored = anchor(SAMPLES, CORPUS)
    done = follow(anchored, CORPUS)
    assert done.counts[LabelStatus.SAME] == 10
    assert [s.to_dict() for s in done.samples] == [s.to_dict() for s in anchored]
    assert not any(stale_label(sample, index(CORPUS)) for sample in anchored)


def test_a_renamed_text_is_found_under_its_new_id() -> None:
    """A renamed text is found even if its old ID has another text now."""
    names = list(CORPUS)
    shifted = dict(zip(names[1:] + names[:1], CORPUS.values(), strict=True))
    anchored = anchor(SAMPLES[:1], CORPUS)
    assert "'d0' has other words" in str(stale_label(anchored[0], index(shifted)))
    label, sample = one(shifted)
    assert (label.status, label.now) == (LabelStatus.MOVED, ("d1",))
    assert (label.evidence, label.similarity) == ("the same text, another ID", 1.0)
    assert sample.reference_context_ids[0].any_of == ("d1",)
    assert anchors_of(sample).keys() == {"d1"}
    assert stale_label(sample, index(shifted)) is None


@pytest.mark.parametrize("shared", [10, 30, 45])
def test_overlapping_chunks_are_all_alternatives(shared: int) -> None:
    """Every overlapping chunk with the label's words is an alternative; headings are not."""
    chunks = {"heading": CORPUS["d0"].split()[3]}
    for name, text in CORPUS.items():
        there = text.split()
        for start in range(0, len(there) - shared, 60 - shared):
            chunks[f"{name}/{start}"] = " ".join(there[start : start + 60])
    label, sample = one(chunks)
    assert label.status is LabelStatus.MOVED
    own = {name for name in chunks if name.startswith("d0/")}
    assert set(sample.reference_context_ids[0].any_of) == set(label.now) == own


@pytest.mark.parametrize("size", [80, 120, 250])
def test_chunks_that_hold_a_text_together_are_any_of(size: int) -> None:
    """Chunks that together hold the old text become any-of, even if cut within a word."""
    chunks = {
        f"{name}/{at}": text[at : at + size]
        for name, text in CORPUS.items()
        for at in range(0, len(text), size)
    }
    label, sample = one(chunks)
    assert label.status is LabelStatus.MOVED
    held = "".join(chunks[name].replace(" ", "") for name in label.now)
    whole = CORPUS["d0"].replace(" ", "")
    assert held in whole
    assert len(held) >= 0.9 * len(whole)
    assert [r.any_of for r in sample.reference_context_ids] == [label.now]


def test_a_larger_chunk_that_holds_it_takes_its_place() -> None:
    """A larger chunk that holds the text replaces it; two such chunks are any-of."""
    larger = {"a": f"{CORPUS['d0']} {CORPUS['d1']}", "b": f"{CORPUS['d2']} {CORPUS['d0']}"}
    _, sample = one(larger)
    assert [set(r.any_of) for r in sample.reference_context_ids] == [{"a", "b"}]


EDITS = {
    "a word replaced": lambda there: [*there[:20], "other", *there[21:]],
    "a word put in": lambda there: [*there[:20], "not", *there[20:]],
    "a word left out": lambda there: [*there[:20], *there[21:]],
    "a sentence left out": lambda there: [*there[:20], *there[40:]],
    "the end cut off": lambda there: there[:60],
}


@pytest.mark.parametrize("name", EDITS)
@pytest.mark.parametrize("renamed", [False, True])
def test_other_words_are_a_change(name: str, *, renamed: bool) -> None:
    """A changed label is unscored and lists differing words; accepted, it names the new text."""
    text = " ".join(EDITS[name](CORPUS["d0"].split()))
    corpus = {**CORPUS, "d0": text}
    if renamed:
        corpus["new"] = corpus.pop("d0")
    label, sample = one(corpus)
    assert label.status is LabelStatus.CHANGED
    assert label.now == ("new" if renamed else "d0",)
    assert "→" in label.evidence
    assert "stale label" in str(stale_label(sample, index(corpus)))
    _, accepted = one(corpus, accept_changed=True)
    assert accepted.reference_context_ids[0].any_of == label.now
    assert stale_label(accepted, index(corpus)) is None


def test_a_text_that_is_gone_stays_stale() -> None:
    """The sample of a missing text keeps its reference, and says why it is not scored."""
    corpus = {name: text for name, text in CORPUS.items() if name != "d0"}
    label, sample = one(corpus)
    assert (label.status, label.now) == (LabelStatus.GONE, ())
    assert stale_label(sample, index(corpus)) == "stale label: 'd0' is not in the corpus"


def test_a_document_without_a_text_is_told_by_its_id() -> None:
    """A document without a text is gone if its ID has a text now, or is missing."""
    sample = Sample(id="q", user_input="?", reference_context_ids=["empty"])
    old = {**CORPUS, "empty": ""}
    for new, status in ((old, LabelStatus.SAME), ({**old, "empty": "A text."}, LabelStatus.GONE),
                        (CORPUS, LabelStatus.GONE)):  # fmt: skip
        assert follow([sample], new, old=old).labels[0].status is status
    assert follow([sample], CORPUS, old=CORPUS).labels[0].status is LabelStatus.GONE


def test_remaining_alternatives_serve() -> None:
    """A group of alternatives is stale only if all are gone, or if the words of one changed."""
    group = [Sample(user_input="?", reference_context_ids=[["d0", "d1"]])]
    corpus = {name: text for name, text in CORPUS.items() if name != "d0"}
    assert stale_label(group[0], index(corpus)) is None
    done = follow(group, corpus, old=CORPUS)
    assert done.samples[0].reference_context_ids[0].any_of == ("d1",)


def test_spans_get_new_offsets_or_the_ids_of_chunks() -> None:
    """A quote moves within its text; in chunks, those that hold it are named."""
    start = CORPUS["d0"].index(" ", 100) + 1
    quote = CORPUS["d0"][start : start + 60]
    span = {"text": quote, "source": "d0", "start": start, "end": start + 60}
    samples = anchor([Sample(user_input="?", reference_contexts=[span])], CORPUS)
    grown = {**CORPUS, "d0": f"A new beginning. {CORPUS['d0']}"}
    assert "has other words" in str(stale_label(samples[0], index(grown, samples)))
    done = follow(samples, grown)
    (context,) = done.samples[0].reference_contexts[0]
    assert done.labels[0].status is LabelStatus.MOVED
    assert grown["d0"][context.start : context.end] == quote.strip()
    assert stale_label(done.samples[0], index(grown, samples)) is None
    chunks = [
        {"id": f"c{at}", "source": "d0", "text": CORPUS["d0"][at : at + 200]}
        for at in range(0, len(CORPUS["d0"]), 50)
    ]
    in_chunks = follow(samples, chunks).samples[0]
    (reference,) = in_chunks.reference_context_ids
    assert in_chunks.reference_contexts == samples[0].reference_contexts
    assert all(quote in chunk["text"] for chunk in chunks if chunk["id"] in reference.any_of)
    assert len(reference.any_of) >= 2
    small = [
        {"id": f"c{at}", "source": "d0", "text": CORPUS["d0"][at : at + 50]}
        for at in range(0, len(CORPUS["d0"]), 50)
    ]
    cut = follow(samples, small).samples[0].reference_context_ids
    assert all(len(reference.any_of) == 1 for reference in cut)
    assert len(cut) >= 2


@pytest.mark.parametrize(
    ("boilerplate", "others"),
    [("The warranty lasts for two years from the date of purchase.", "bc"), ("It is free.", "c")],
)
def test_the_same_words_in_another_document_are_not_the_quote(
    boilerplate: str, others: str
) -> None:
    """A boilerplate quote follows its surroundings, and without them needs a look."""
    old = {
        name: f"{text_of(name, 30)} {boilerplate} {text_of(name * 2, 30)}" for name in f"a{others}"
    }
    start = old["a"].index(boilerplate)
    span = {"text": boilerplate, "source": "a", "start": start, "end": start + len(boilerplate)}
    samples = anchor([Sample(user_input="?", reference_contexts=[span])], old)
    renamed = {f"new {name}": text for name, text in old.items()}
    assert follow(samples, renamed).labels[0].now == ("new a",)
    page = {"id": "new a", "source": "another source", "text": old["a"]}
    (group,) = follow(samples, [page]).samples[0].reference_contexts
    assert group[0].source == "new a"
    del renamed["new a"]
    label = follow(samples, renamed).labels[0]
    assert label.status is LabelStatus.CHANGED
    assert "other surroundings" in label.evidence


def test_labels_without_a_quote_need_the_old_corpus() -> None:
    """Labels without quotes are an error that asks for `old`; texts with IDs serve as quotes."""
    message = "sample q0: the reference 'd0' has no quote to follow: pass old="
    with pytest.raises(InputError, match=message) as error:
        follow(SAMPLES, CORPUS)
    assert error.value.field == "anchors"
    beside = Sample(user_input="?", reference_context_ids=["x"], reference_contexts=[CORPUS["d3"]])
    assert follow([beside], CORPUS).samples[0].reference_context_ids[0].any_of == ("d3",)


def test_a_long_text_is_known_by_the_passage_that_answers() -> None:
    """The quote of a long text is the part with the words of question and answer."""
    paragraphs = [text_of(f"p{n}", 120) for n in range(40)]
    paragraphs[20] = f"{paragraphs[20]} The zeppelin landed in Lakehurst."
    corpus = {"long": "\n\n".join(paragraphs)}
    asked = Sample(
        user_input="Where did the zeppelin land?",
        reference="Lakehurst",
        reference_context_ids=["long"],
    )
    (sample,) = anchor([asked], corpus)
    assert "zeppelin" in anchors_of(sample)["long"]["quote"]
    grown = {"long": corpus["long"] + "\n\nAn addition."}
    done = follow([sample], grown)
    assert done.labels[0].status is LabelStatus.SAME
    assert stale_label(done.samples[0], index(grown)) is None


def test_the_table_begins_with_what_needs_a_look(tmp_path: Path) -> None:
    """The table is in the order changed, gone, moved, same."""
    corpus = {name: text for name, text in CORPUS.items() if name != "d1"}
    corpus["d0"] += " More."
    corpus["d2"] = corpus["d2"].replace(" ", " not ", 1)
    done = follow(SAMPLES, corpus, old=CORPUS)
    done.to_csv(tmp_path / "labels.csv")
    lines = (tmp_path / "labels.csv").read_text("utf-8-sig").splitlines()
    assert [line.split(",")[0] for line in lines[:4]] == ["status", "changed", "gone", "same"]
    assert str(done).splitlines()[0] == "10 references of 10 samples"


@pytest.mark.parametrize("odd", [3, True, "text", [1], {"a": 3}, {"a": {"digest": 3, "quote": 5}}])
def test_metadata_of_any_form_is_no_anchor(odd: Any) -> None:
    """Foreign metadata under the anchors' name leaves the label without an anchor."""
    sample = Sample(
        id="q",
        reference_context_ids=["a"],
        retrieved_context_ids=["a"],
        metadata={ANCHORS: odd, "testset": odd},
    )
    corpus = {"a": "The mill dates from 1502."}
    (label,) = follow([sample], corpus, old=corpus).labels
    assert label.status is LabelStatus.SAME
    assert unjudged([sample], 1) is None
    assert stale_label(anchor([sample], corpus)[0], CorpusIndex.of(documents_of(corpus))) is None


EXTRACTIONS = {
    "hyphens at the ends of lines": lambda text: text.replace("ord ", "o-\nrd ", 20),
    "Markdown": lambda text: (
        "# A title\n\n* **" + text.replace(" ", "** _", 1).replace(" ", "_ ", 1)
    ),
    "a table": lambda text: "| " + " | ".join(text.split(" ")) + " |",
}


@pytest.mark.parametrize("name", EXTRACTIONS)
def test_the_same_page_in_another_extraction_is_the_same(name: str) -> None:
    """Layout marks do not count as words."""
    corpus = {key: EXTRACTIONS[name](text) for key, text in CORPUS.items()}
    label, _ = one(corpus)
    assert (label.status, label.now) == (LabelStatus.SAME, ("d0",))


@pytest.mark.parametrize(
    ("before", "after"),
    [("at -5 degrees", "at 5 degrees"), ("2*3 rows", "23 rows"), ("10-20 days", "1020 days"),
     ("written in C#", "written in C"), ("grade A- for", "grade A for")],
)  # fmt: skip
def test_marks_that_mean_something_are_no_layout(before: str, after: str) -> None:
    """A minus, a product, a range, a language, and a grade are not layout marks."""
    old = {"d0": f"{CORPUS['d0']} It was {before} all of them."}
    done = follow(SAMPLES[:1], {"d0": old["d0"].replace(before, after)}, old=old)
    assert done.labels[0].status is LabelStatus.CHANGED


def test_a_short_remainder_completes_a_quote() -> None:
    """The last chunk completes a quote, even if it is too short to be found by its words."""
    long = Document("a", "The first boiler was lit in the spring of that year")
    short = Document("b", "in May.")
    quote = letters_of(f"{long.text} {short.text}")
    assert pieces(quote, [long], {letters_of(short.text).text: short}) == [long, short]
    assert pieces(quote, [long], {}) == []


@pytest.mark.parametrize("parts", [1, 2, 3])
def test_a_changed_quote_that_chunks_hold_together_needs_each_of_them(parts: int) -> None:
    """If every tenth word changed, a span becomes the chunks that hold it, all of them needed."""
    words = CORPUS["d0"].split()
    quote = " ".join(words[10:61])
    start = CORPUS["d0"].index(quote)
    span = {"text": quote, "source": "d0", "start": start, "end": start + len(quote)}
    changed = [f"other{n}" if n % 10 == 1 else word for n, word in enumerate(words[10:61])]
    size = -(-len(changed) // parts)
    texts = [changed[at : at + size] for at in range(0, len(changed), size)]
    chunks = [
        {"id": f"c{n}", "source": "d0", "text": " ".join(text)}
        for n, text in enumerate([words[:10], *texts, words[61:]])
    ]
    samples = anchor([Sample(user_input="?", reference_contexts=[span])], CORPUS)
    done = follow(samples, chunks, accept_changed=True)
    (label,) = done.labels
    assert (label.status, label.together) == (LabelStatus.CHANGED, parts > 1)
    named = [reference.any_of for reference in done.samples[0].reference_context_ids]
    assert sorted(named) == [(f"c{n}",) for n in range(1, parts + 1)]


OLD, REST = CORPUS["d0"], {name: CORPUS[name] for name in ("d1", "d2", "d3")}
HALVES = {"x1": " ".join(OLD.split()[:45]), "x2": " ".join(OLD.split()[45:])}
CHANGED = {"d0": " ".join(["other" if n == 40 else word for n, word in enumerate(OLD.split())])}
STANDS = "its words, letter for letter"


@pytest.mark.parametrize(
    ("new", "span", "status", "now", "evidence", "references", "place"),
    [
        ({"d0": OLD}, None, "same", "d0", "the same words under the same ID", ["d0"], None),
        ({"x": OLD}, None, "moved", "x", "the same text, another ID", ["x"], None),
        ({"x": OLD, "y": OLD}, None, "moved", "x y", "the same text, another ID", ["x y"], None),
        ({"d0": f"{OLD} More."}, None, "same", "d0",
         "its quote stands; other words of the text changed", ["d0"], None),
        ({"x": f"So. {OLD} More."}, None, "moved", "x", STANDS, ["x"], None),
        (HALVES, None, "moved", "x1 x2", f"{STANDS}, in 2 texts", ["x1 x2"], None),
        (CHANGED, None, "changed", "d0", f"{OLD.split()[40]!r} → 'other'", ["d0"], None),
        ({}, None, "gone", "", "no text resembles it", ["d0"], None),
        ({"d0": CORPUS["d9"]}, None, "gone", "", "its ID names another text now", ["d0"], None),
        ({"d0": OLD}, (50, 200), "same", "d0", "the same words under the same ID", ["d0"],
         ("d0", 50, 200)),
        ({"d0": f"New words here. {OLD}"}, (50, 200), "moved", "d0", STANDS, ["d0"],
         ("d0", 66, 216)),
        ({"x": f"New words here. {OLD}"}, (50, 200), "moved", "x", STANDS, ["x"], ("x", 66, 216)),
        (HALVES, (150, 500), "moved", "x1 x2", f"{STANDS}, in 2 texts", ["x1", "x2"],
         ("d0", 150, 500)),
        ({}, (50, 200), "gone", "", "no text resembles it", ["d0"], ("d0", 50, 200)),
        ({"x": f"New {OLD[60:75]} words."}, (60, 75), "changed", "x",
         "its quote occurs in 1 text, in other surroundings", ["d0"], ("d0", 60, 75)),
    ],
)  # fmt: skip
def test_each_way_a_label_follows(  # noqa: PLR0917 - the columns of a table
    new: dict[str, str],
    span: Any,
    status: str,
    now: str,
    evidence: str,
    references: Any,
    place: Any,
) -> None:
    """A status, its evidence, the new references, and the place of a span."""
    sample = Sample(id="q", user_input="?", reference_context_ids=["d0"])
    if span is not None:
        start, end = span
        own = {"text": OLD[start:end], "source": "d0", "start": start, "end": end}
        sample = Sample(id="q", user_input="?", reference_contexts=[own])
    label, followed = one({**REST, **new}, [sample])
    assert (str(label.status), " ".join(label.now), label.evidence) == (status, now, evidence)
    ids = followed.reference_context_ids or ()
    assert [" ".join(each.any_of) for each in ids] == references
    if place is not None:
        ((context,),) = followed.reference_contexts
        assert (context.source, context.start, context.end) == place
    assert label.reference == ("d0" if span is None else f"d0[{span[0]}:{span[1]}]")
    assert label.together == (references == ["x1", "x2"])


def test_the_chunks_of_one_document_come_before_those_of_several() -> None:
    """Pieces of two documents are not taken together if a third document has the whole text."""
    words = OLD.split()
    cuts = {"a/1": words[:50], "b/2": words[50:], "c/1": words[:45], "c/2": words[45:]}
    chunks = [Document(name, " ".join(part), name.partition("/")[0]) for name, part in cuts.items()]
    label, _ = one(chunks)
    assert (label.status, label.now) == (LabelStatus.MOVED, ("c/1", "c/2"))
    apart, _ = one(chunks[:2])
    assert (apart.status, apart.now) == (LabelStatus.MOVED, ("a/1", "b/2"))
