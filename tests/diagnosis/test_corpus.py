"""The index of a corpus finds the same overlaps as a search of every context."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from fullrecall import Context, IdRecall, Sample, evaluate
from fullrecall.diagnosis import Cause, diagnose
from fullrecall.diagnosis.corpus import Corpus
from fullrecall.scorers.spans import Overlap, Passage, covered, union


def check(contexts: Sequence[Context], passage: Passage, min_run: int) -> None:
    """Compare the overlaps from the index with those of every context of the corpus."""
    held = Corpus(contexts, min_run).holders(passage)
    parts = [passage.overlap(Passage.of(context), min_run) for context in contexts]
    for context, part in held:
        assert part == passage.overlap(Passage.of(context), min_run)
    runs = covered(passage.length, [Overlap(part.runs) for part in parts])
    found = covered(passage.length, [part for _, part in held])
    assert union([*found, *runs]) == found
    if any(is_whole_in(passage, context) for context in contexts):
        assert [is_whole_in(passage, context) for context, _ in held] == [True]


def is_whole_in(passage: Passage, context: Context) -> bool:
    """Whether a text is in a context without a gap."""
    other = Passage.of(context)
    by_text = passage.source is None and bool(passage.characters)
    return by_text and passage.characters in other.characters


TEXTS = st.text("ab .", max_size=24)


@st.composite
def contexts(draw: st.DrawFn) -> Context:
    """Return a context with a text, with a place in a document, or with both."""
    text = draw(TEXTS)
    source = draw(st.sampled_from([None, None, "one", "two"]))
    if source is None:
        return Context(text)
    start = draw(st.integers(0, 20))
    known = draw(st.booleans())
    length = len(text) if known else draw(st.integers(0, 20))
    place = {"source": source, "start": start, "end": start + length}
    return Context(text if known else None, id=None if known else "place", **place)


@given(
    corpus=st.lists(contexts(), max_size=8),
    wanted=contexts(),
    min_run=st.integers(1, 11),
)
def test_the_index_finds_what_looking_into_each_context_finds(
    corpus: list[Context], wanted: Context, min_run: int
) -> None:
    """The index finds the same overlaps as a search of each context."""
    passage = Passage.of(wanted)
    check(corpus, passage, min_run)


@given(
    document=st.text("abcd .", min_size=40, max_size=200),
    sizes=st.lists(st.integers(1, 40), min_size=1, max_size=20),
    place=st.tuples(st.integers(0, 150), st.integers(5, 60)),
    min_run=st.integers(1, 24),
)
def test_a_passage_of_a_document_cut_into_chunks(
    document: str, sizes: list[int], place: tuple[int, int], min_run: int
) -> None:
    """The index finds the same overlaps for most of a document that is cut into chunks."""
    corpus, at = [], 0
    for size in sizes:
        corpus.append(Context(document[at : at + size]))
        at += size
    start, length = place
    passage = Passage.of(Context(document[start : start + length]))
    check(corpus, passage, min_run)


def test_neighbors_hold_the_ends_that_chunk_borders_cut_off() -> None:
    """Ends shorter than any run are found before and after the chunk with the rest, only there."""
    middle = "the pump of the third engine does not start"
    passage = Passage.of(Context(f"If {middle} on Monday"))
    before, after = "A page ends here. If", "on Monday, look at page five."
    corpus = [Context(text) for text in (after, "Nothing.", before, middle, after, before)]
    held = Corpus(corpus).holders(passage)
    assert all(each.context is own for each, own in zip(held, corpus[2:5], strict=True))
    parts = [Overlap(edges=((0, 2),)), Overlap(runs=((2, 37),)), Overlap(edges=((37, 45),))]
    assert [each.overlap for each in held] == parts


def test_a_line_that_stands_in_every_chunk_is_no_part_of_each() -> None:
    """A heading that every chunk has does not make every chunk a holder of the passage."""
    head = "Manual of the pump. Chapter 7: what to do if it does not start. "
    bodies = ["Check the fuse first, then the switch.", "Then the cable and the motor."]
    others = [f"Page {n} tells about part {n} of the engine." for n in range(40)]
    corpus = [Context(head + body) for body in [*others, *bodies, *others]]
    passage = Passage(*[head + " ".join(bodies)] * 2)
    held = Corpus(corpus, 20).holders(passage)
    assert [part.context.text for part in held] == [head + body for body in bodies]


def test_a_part_that_goes_on_beyond_a_covered_range_is_found() -> None:
    """A part shorter than a block counts if it lies before or after the text of a larger chunk."""
    text = "".join(chr(0x4E00 + n) for n in range(120))
    passage = Passage.of(Context(text))
    for first, other in (
        (text[:50], f"{text[20:55]}{'z' * 9}"),
        (text[50:100], f"{'z' * 5}{text[45:80]}{'z' * 4}"),
    ):
        held = Corpus([Context(first), Context("no neighbor"), Context(other)]).holders(passage)
        assert [each.context.text for each in held] == [first, other]


def test_chunks_that_share_their_documents_id_are_no_other_versions() -> None:
    """Chunks that share the ID of their document are parts of it, not other versions."""
    words = "amber birch cedar dune ember fjord grove heath islet jetty knoll ledge".split()
    pages = {
        f"page {n}": "\n\n".join(
            f"The {word} of page {n} is number {n * 7 + place} in the {word} list."
            for place, word in enumerate(words)
        )
        for n in range(30)
    }
    chunks = [
        {"id": own_id, "text": text[start : start + 420].strip()}
        for own_id, text in pages.items()
        for start in (0, 360)
    ]
    samples = [
        Sample(
            id=n,
            user_input=f"question {n}",
            reference_context_ids=[f"page {n}"],
            retrieved_contexts=[
                Context(**chunks[(n * 2 + 5 + step * 2) % 60]) for step in range(3)
            ],
        )
        for n in range(30)
    ]
    found = diagnose(evaluate(samples, IdRecall(), progress=False), corpus=pages)
    assert len(found) > 0
    assert Cause.TEXT_DIFFERS not in found.counts()
