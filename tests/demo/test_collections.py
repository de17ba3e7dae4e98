"""The demo's collection of fullrecall's pages, and its search."""

from typing import Any

import pytest

from fullrecall.demo import demonstration, library_pages, library_questions
from fullrecall.demo.library import CHUNK_SIZE, Chunk, FullTextSearch, chunked
from fullrecall.samples.corpus import Document


def test_the_librarys_pages_answer_its_questions() -> None:
    """Each reference is a page, and each text begins with its title."""
    pages = {page.id: page.text for page in library_pages()}
    needed = {
        own_id
        for sample in library_questions()
        for reference in sample.reference_context_ids or ()
        for own_id in reference.any_of
    }
    assert needed <= pages.keys()
    assert all(text.partition("\n\n")[2] for text in pages.values())


def test_a_search_needs_a_word_other_than_stop_words() -> None:
    """A search ignores stop words, treats operators as words, and ranks the chunks."""
    chunks = [("a", "the one and only near cat"), ("b", "a cat, a cat near"), ("c", "the dog")]
    search = FullTextSearch([Chunk(*each) for each in chunks])
    assert search("the and of", k=3) == []
    assert [source for source, _, _ in search("the cats AND near", k=3)] == ["b", "a"]
    assert [source for source, _, _ in search("cat", k=1)] == ["b"]


def test_chunks_end_in_the_second_half_of_their_room() -> None:
    """A strong break near the beginning of a chunk does not make a tiny chunk."""
    text = f"{'a' * 150}\n\n{'word ' * 200}"
    first, *_, last = chunked([Document("d", text)])
    assert len(first.text) >= CHUNK_SIZE // 2
    assert last.source == "d"
    # A chunk may be full.
    full = f"{'a' * 300} {'b' * 99}"
    assert [each.text for each in chunked([Document("d", full)])] == [full]
    assert [len(each.text) for each in chunked([Document("d", full + "b")])] == [300, 100]


def test_the_demo_shows_no_progress_of_its_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    """The demo scores its questions without a bar, whose terminal shows the demo's own output."""

    class StartedError(Exception):
        pass

    def started(*_: Any, **options: Any) -> None:
        raise StartedError(f"progress={options['progress']}")

    monkeypatch.setattr(demonstration, "evaluate", started)
    with pytest.raises(StartedError, match="progress=False"):
        demonstration.run()
