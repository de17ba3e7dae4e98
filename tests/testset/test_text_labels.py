"""Labels that are texts without offsets, and texts at the longest length of a whole quote."""

from __future__ import annotations

from typing import Any

import pytest
from tests.testset.test_follow import CORPUS, OLD, text_of

from fullrecall import Sample
from fullrecall.samples.corpus import anchors_of
from fullrecall.testset import LabelStatus, anchor, follow

QUOTE = OLD[60:180].strip()
START = OLD.index(QUOTE)
END = START + len(QUOTE)


def labeled(**context: Any) -> Sample:
    """Return a sample with one reference context."""
    return Sample(id="q", user_input="?", reference_contexts=[{"text": QUOTE, **context}])


@pytest.mark.parametrize(
    ("context", "new", "status", "place"),
    [
        ({"source": "d0"}, {"d0": f"More. {OLD}"}, "same", ("d0", START + 6, END + 6)),
        ({"source": "d0"}, {"x": f"More. {OLD}"}, "moved", ("x", START + 6, END + 6)),
        ({"source": "d0"}, {"d0": CORPUS["d9"]}, "gone", ("d0", None, None)),
        ({}, {"x": f"More. {OLD}"}, "moved", (None, None, None)),
        ({"id": "d0"}, {"d0": f"More. {OLD}"}, "same", (None, None, None)),
        ({}, {}, "gone", (None, None, None)),
    ],
)
def test_a_text_without_offsets(
    context: dict[str, str], new: dict[str, str], status: str, place: tuple[Any, ...]
) -> None:
    """A text of a named document gets its place there; a text alone is followed, and stays."""
    corpus = {"d1": CORPUS["d1"], **new}
    done = follow([labeled(**context)], corpus)
    (label,) = done.labels
    assert str(label.status) == status
    assert label.reference == (context.get("source") or context.get("id") or QUOTE[:60])
    ((found,),) = done.samples[0].reference_contexts or ()
    assert (found.source, found.start, found.end) == place
    assert found.text == QUOTE


@pytest.mark.parametrize(
    "context",
    [
        {},
        {"source": "d0"},
        {"source": "unknown", "start": START, "end": END},
    ],
)
def test_a_text_without_a_place_in_the_corpus_has_no_surroundings(context: dict[str, Any]) -> None:
    """`anchor` keeps a reference context whose offsets, source or document is not known."""
    (anchored,) = anchor([labeled(**context)], CORPUS)
    assert anchored.reference_contexts == labeled(**context).reference_contexts


def test_a_sample_with_spans_has_no_labels_of_its_ids() -> None:
    """The IDs of a sample with spans follow from its spans."""
    span = {"text": QUOTE, "source": "d0", "start": START, "end": END}
    sample = Sample(user_input="?", reference_context_ids=["d0", "d1"], reference_contexts=[span])
    done = follow([sample], {"x": OLD, "d1": CORPUS["d1"]}, old=CORPUS)
    assert [(str(label.status), label.now) for label in done.labels] == [("moved", ("x",))]
    assert [each.any_of for each in done.samples[0].reference_context_ids or ()] == [("x",)]


def test_an_accepted_change_keeps_the_span() -> None:
    """A span whose words changed names the text that resembles it, at its old offsets."""
    changed = OLD.replace(OLD[100:140].split()[1], "other")
    span = {"text": OLD[:400], "source": "d0", "start": 0, "end": 400}
    sample = Sample(user_input="?", reference_contexts=[span])
    done = follow([sample], {"x": changed}, old=CORPUS, accept_changed=True)
    assert [(label.status, label.now) for label in done.labels] == [(LabelStatus.CHANGED, ("x",))]
    ((context,),) = done.samples[0].reference_contexts or ()
    assert (context.source, context.start, context.end) == ("d0", 0, 400)
    assert [each.any_of for each in done.samples[0].reference_context_ids or ()] == [("x",)]


PARAGRAPHS = "\n\n".join(text_of(f"paragraph {n}", 14) for n in range(40))


@pytest.mark.parametrize(("length", "is_whole"), [(1_999, True), (2_000, True), (2_001, False)])
def test_a_text_of_2000_characters_is_its_own_quote(length: int, *, is_whole: bool) -> None:
    """A text of up to 2,000 characters is quoted whole, by `anchor` and by `follow`."""
    text = PARAGRAPHS[:length]
    (sample,) = anchor([Sample(user_input="?", reference_context_ids=["a"])], {"a": text})
    quote = anchors_of(sample)["a"]["quote"]
    assert (quote == text) == is_whole
    assert quote in text
    part = Sample(user_input="?", reference_context_ids=["a"], reference_contexts=[text[:500]])
    followed = follow([part], {"new": text}).samples[0]
    kept = anchors_of(followed)["new"]
    assert ("quote" in kept) == is_whole
    assert kept.get("quote", text) == text


def test_the_text_of_an_id_is_compared_among_many_that_are_nearer() -> None:
    """A label is compared with its own document, even if 60 others share more of its words."""
    words = OLD.split()
    others = {f"x{n}": " ".join([*words[:40], f"other{n}", *words[45:]]) for n in range(60)}
    own = " ".join([*words[:20], "other", *words[40:]])
    (label,) = follow([labeled_id()], {**others, "d0": own}, old=CORPUS).labels
    assert label.status is LabelStatus.CHANGED


def labeled_id() -> Sample:
    """Return a sample with the ID of a document."""
    return Sample(user_input="?", reference_context_ids=["d0"])


def test_a_changed_text_is_sought_in_its_own_document_first() -> None:
    """A chunk of the label's own document comes before a chunk of another that is more alike."""
    words = OLD.split()
    chunks = [
        {"id": "z/1", "source": "z", "text": " ".join([*words[:30], "other", *words[31:]])},
        {"id": "d0/1", "source": "d0", "text": " ".join([*words[:30], "other", *words[36:]])},
    ]
    for corpus in (chunks, chunks[::-1]):
        (label,) = follow([labeled_id()], corpus, old=CORPUS).labels
        assert (label.status, label.now) == (LabelStatus.CHANGED, ("d0/1",))


@pytest.mark.parametrize(
    ("letters", "around", "holders", "status"),
    [
        (40, 0, 1, "moved"),
        (39, 0, 1, "changed"),
        (40, 0, 2, "changed"),
        (39, 20, 1, "moved"),
        (39, 19, 1, "changed"),
    ],
)
def test_whose_words_they_are(letters: int, around: int, holders: int, status: str) -> None:
    """In another document a quote needs 40 letters and one holder, or 20 letters around it."""
    quote = "a" * (letters - 3) + " bcd"
    before = " ".join("efghij" * 4)[: around * 2]
    text = f"{before} {quote}"
    span = {"text": quote, "source": "d0", "start": text.index(quote), "end": len(text)}
    sample = Sample(user_input="?", reference_contexts=[span])
    corpus = {f"x{n}": f"{before} {quote} {n}" for n in range(holders)}
    (label,) = follow([sample], corpus, old={"d0": text}).labels
    assert str(label.status) == status


@pytest.mark.parametrize(("start", "found"), [(0, 6), (30, 6), (60, 106), (99, 106)])
def test_the_nearest_of_equal_places(start: int, found: int) -> None:
    """Without the text around it, a quote that occurs twice is at the place nearest to its old."""
    quote = "The mill burned down in the year of 1871."
    text = f"Added {quote}{'.' * (100 - len(quote))}{quote}"
    span = {"text": quote, "source": "d0", "start": start, "end": start + len(quote)}
    done = follow([Sample(user_input="?", reference_contexts=[span])], {"d0": text})
    ((context,),) = done.samples[0].reference_contexts or ()
    assert (context.start, context.end) == (found, found + len(quote))
