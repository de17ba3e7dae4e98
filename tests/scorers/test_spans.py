"""Span recall is the share of covered characters, for any chunks."""

from __future__ import annotations

import itertools
import os
import random
import time

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from fullrecall import Context, Sample, SpanRecall, TextRecall
from fullrecall.measures import Hit, Precision, Recall
from fullrecall.samples.prompts import squeezed
from fullrecall.scorers.spans import Overlap, Passage, Windows, covered, merged, overlap, union

WORDS = [f"{a}{b}{c}" for a in "bdfgk" for b in "aeiou" for c in ("lm", "rt", "nd", "st", "p")]


def text_of(seed: int, words: int) -> str:
    """Return a random text of made-up words."""
    chosen = random.Random(seed).choices(WORDS, k=words)
    return " ".join(chosen).capitalize() + "."


def chunks_of(text: str, size: int, shared: int = 0) -> list[str]:
    """Return the text in stripped chunks of `size` characters that overlap by `shared`."""
    return [
        text[start : start + size].strip() for start in range(0, len(text), max(1, size - shared))
    ]


PASSAGE = text_of(1, 120)
REFERENCE = PASSAGE[200:420]


@pytest.mark.parametrize("size", [40, 64, 100, 250, 1000])
@pytest.mark.parametrize("shared", [0, 20])
def test_blind_to_chunk_size_and_overlap(size: int, shared: int) -> None:
    """All chunks of a document cover the reference, for any size and overlap."""
    chunks = chunks_of(PASSAGE, size, shared)
    result = SpanRecall().score(retrieved_contexts=chunks, reference_contexts=[REFERENCE])
    assert result.score == 1.0
    assert result.missed == ()


@given(st.randoms(use_true_random=False), st.integers(40, 300))
@settings(max_examples=25)
def test_blind_to_order(order: random.Random, size: int) -> None:
    """The order of chunks changes the ranks of the credit, not its sum."""
    chunks = chunks_of(PASSAGE, size)
    order.shuffle(chunks)
    assert (
        SpanRecall().score(retrieved_contexts=chunks, reference_contexts=[REFERENCE]).score == 1.0
    )


def test_credit_comes_with_each_chunk() -> None:
    """A reference split over two chunks earns credit for each part at its rank."""
    first, second = REFERENCE[:110], REFERENCE[110:]
    result = SpanRecall().score(
        retrieved_contexts=[second, "nothing of use", first], reference_contexts=[REFERENCE]
    )
    share = len(squeezed(second)) / len(squeezed(REFERENCE))
    assert result[Recall @ 1] == result[Recall @ 2] == pytest.approx(share)
    assert result[Recall @ 3] == 1.0
    assert result.findings[0].ranks == (1, 3)


def test_evidence_points_into_the_reference() -> None:
    """`target_start:target_end` is the retrieved part, in the reference as given."""
    part = REFERENCE[37:120].strip()
    result = SpanRecall().score(retrieved_contexts=[part], reference_contexts=[REFERENCE])
    (evidence,) = result.findings[0].evidence
    assert REFERENCE[evidence.target_start : evidence.target_end] == part


def test_white_space_is_no_content() -> None:
    """A rewrapped or stripped text equals the original."""
    rewrapped = "\n  ".join(REFERENCE.split())
    result = SpanRecall().score(retrieved_contexts=[rewrapped], reference_contexts=[REFERENCE])
    assert result.score == 1.0


def test_short_common_phrases_are_no_cover() -> None:
    """Common runs below `min_run` in an unrelated text do not count."""
    stranger = f"zzz {REFERENCE[50:70]} qqq {REFERENCE[90:110]} xxx"
    result = SpanRecall().score(retrieved_contexts=[stranger], reference_contexts=[REFERENCE])
    assert (result.score, result[Hit]) == (0.0, 0.0)


def test_an_edited_word_costs_its_own_characters() -> None:
    """One changed word in a long run leaves the rest covered."""
    edited = REFERENCE[:100] + "@@@@@" + REFERENCE[105:]
    score = SpanRecall().score(retrieved_contexts=[edited], reference_contexts=[REFERENCE]).score
    assert score == pytest.approx(1 - 5 / len(squeezed(REFERENCE)), abs=0.02)


def test_any_of_references() -> None:
    """The alternative of an any-of group that is covered best counts, at every rank."""
    other = text_of(2, 30)
    result = SpanRecall().score(
        retrieved_contexts=[REFERENCE[:100], other], reference_contexts=[[REFERENCE, other]]
    )
    assert result[Recall @ 1] == pytest.approx(0.45, abs=0.05)
    assert result[Recall @ 2] == 1.0
    assert result.findings[0].target.any_of == (REFERENCE, other)
    result = SpanRecall().score(
        retrieved_contexts=[other, REFERENCE[:100]], reference_contexts=[[REFERENCE, other]]
    )
    assert result.findings[0].steps == ((1, 1.0),)


def test_weighting_by_characters() -> None:
    """With `Recall(weight="size")` a long reference weighs more; by default all weigh the same."""
    long, short = PASSAGE[:300], text_of(3, 5)
    sample = Sample(retrieved_contexts=[long], reference_contexts=[long, short])
    result = SpanRecall().score(sample)
    assert result.score == 0.5
    by_characters = result[Recall(weight="size")]
    sizes = [len(squeezed(text)) for text in (long, short)]
    assert by_characters == pytest.approx(sizes[0] / sum(sizes))


def test_offsets_know_where_a_text_stands() -> None:
    """If both have offsets, the same text at another place does not cover a reference."""
    text = REFERENCE
    reference = Context(text, source="doc", start=100, end=100 + len(text))
    elsewhere = Context(text, source="doc", start=900, end=900 + len(text))
    other = Context(text, source="other", start=100, end=100 + len(text))
    here = Context(text[:110], source="doc", start=100, end=210)
    for context, score in ((elsewhere, 0.0), (other, 0.0), (here, 0.5)):
        result = SpanRecall().score(retrieved_contexts=[context], reference_contexts=[reference])
        assert result.score == pytest.approx(score, abs=0.02)


def test_white_space_in_common_is_no_support() -> None:
    """A chunk that shares only a passage's last blank is not relevant."""
    reference = Context("left part ", source="doc", start=0, end=10)
    chunk = Context(" and more", source="doc", start=9, end=18)
    result = SpanRecall().score(retrieved_contexts=[chunk], reference_contexts=[reference])
    assert (result.score, result[Precision], result.findings[0].ranks) == (0.0, 0.0, ())


def test_offsets_need_no_text() -> None:
    """References that are places only are scored by place."""
    result = SpanRecall().score(
        retrieved_contexts=[{"id": "c", "source": "d", "start": 0, "end": 50}],
        reference_contexts=[{"id": "r", "source": "d", "start": 25, "end": 75}],
    )
    assert result.score == 0.5


def test_a_range_without_characters_is_no_reference() -> None:
    """An empty range is no target; alone it leaves recall undefined."""
    empty = Context(id="r", source="d", start=5, end=5)
    full = Context(id="s", source="d", start=0, end=3)
    retrieved = [Context("abc", source="d", start=0, end=3)]
    alone = SpanRecall().score(retrieved_contexts=retrieved, reference_contexts=[empty])
    both = SpanRecall().score(retrieved_contexts=retrieved, reference_contexts=[empty, full])
    for measure in (Recall, Recall(weight="size")):
        assert (alone.status, alone[measure], both[measure]) == ("undefined", None, 1.0)


def test_a_group_given_twice_is_one_target() -> None:
    """Any-of groups that repeat count once."""
    first, second, third = (text_of(seed, 30) for seed in (5, 6, 7))
    result = SpanRecall().score(
        retrieved_contexts=[first],
        reference_contexts=[[first, second], [first, second], [third]],
    )
    assert (len(result.findings), result.score) == (2, 0.5)


@pytest.mark.parametrize("text", ["." * 5_000, "ab" * 5_000, "- " * 5_000])
def test_text_that_repeats_itself_is_aligned_in_bounded_time(text: str) -> None:
    """Rows of dots and table rules are covered, in a few seconds."""
    began = time.process_time()
    result = SpanRecall().score(
        retrieved_contexts=[text + "x"], reference_contexts=["y" + text + "z"]
    )
    assert result.score == pytest.approx(1.0, abs=0.01)
    assert time.process_time() - began < 20


def test_what_cannot_be_compared_is_unscored() -> None:
    """A place and a text without a place cannot be compared: unscored, with the reason."""
    result = SpanRecall().score(
        retrieved_contexts=["text"],
        reference_contexts=[{"id": "r", "source": "d", "start": 25, "end": 75}],
    )
    assert (result.status, result.score) == ("unscored", None)
    assert "offsets" in result.reason
    result = SpanRecall().score(retrieved_contexts=["text"], reference_contexts=[{"id": "r"}])
    assert "the reference context 'r' has no text to compare" in result.reason
    result = TextRecall().score(retrieved_contexts=["text"], reference_contexts=[{"id": "r"}])
    assert "the reference context 'r' has no text to compare" in result.reason


def naive_cover(reference: str, context: str, min_run: int) -> set[int]:
    """Return the characters in common runs of `min_run`, by trying every window."""
    return {
        position
        for start in range(len(reference) - min_run + 1)
        if reference[start : start + min_run] in context
        for position in range(start, start + min_run)
    }


EXAMPLES = 8 * int(os.environ.get("FULLRECALL_RUNS", "14"))
TINY = st.one_of(
    st.text(alphabet="ab", max_size=30),
    st.text(alphabet="a", max_size=40),
    st.text(alphabet="天地玄", max_size=30),
    st.builds("".join, st.lists(st.sampled_from(["ab" * 4, "a" * 6, "ba"]), max_size=6)),
)
"""Texts that are hard to align: of one character, of two by turns, that begin alike at length."""


@given(TINY, TINY, st.integers(1, 9))
@example("a", "b", 1)  # No shorter run can be cut at a border.
@example("ab", "c", 9)
@settings(max_examples=EXAMPLES)
def test_runs_equal_the_slow_obvious_reference(reference: str, context: str, min_run: int) -> None:
    """The index finds the same runs as a search of every window, on two-letter texts."""
    found = overlap(reference, Windows(context, min_run))
    whole = {position for start, end in found.runs for position in range(start, end)}
    assert naive_cover(reference, context, min_run) <= whole
    if len(context) >= min_run and reference not in context:
        cut: set[int] = set()
        for size in range(max(1, min_run // 3), min(min_run, len(reference) + 1)):
            if reference.endswith(context[:size]):
                cut |= set(range(len(reference) - size, len(reference)))
            if reference.startswith(context[-size:]):
                cut |= set(range(size))
        assert whole <= naive_cover(reference, context, min_run) | cut


class Plain:
    """The definitions without an index: every block and context, and all pairs, are compared."""

    @staticmethod
    def runs(reference: str, context: str, min_run: int) -> set[tuple[int, int]]:
        """Return every maximal common run of at least `min_run` characters."""
        found = set()
        for start, at in itertools.product(range(len(reference)), range(len(context))):
            if start and at and reference[start - 1] == context[at - 1]:
                continue  # No maximal run starts here.
            size = 0
            while reference[start + size : start + size + 1] == context[at + size : at + size + 1]:
                size += 1
                if start + size == len(reference) or at + size == len(context):
                    break
            if size >= min_run:
                found.add((start, start + size))
        return found

    @staticmethod
    def cut(reference: str, context: str, min_run: int) -> list[tuple[int, int]]:
        """Return the longest runs below `min_run` at each border, as ranges of `reference`."""
        longest = min(min_run, len(reference), len(context)) - 1
        sizes = range(longest, 0, -1)
        last = next((n for n in sizes if reference.endswith(context[:n])), 0)
        first = next((n for n in sizes if reference.startswith(context[-n:])), 0)
        return [(len(reference) - last, len(reference)), (0, first)]

    @staticmethod
    def merged(passages: list[Passage], min_run: int) -> list[Passage]:
        """Return the union, by comparing each passage with every other passage."""
        left, done = list(dict.fromkeys(passages)), []
        while left:
            current, grown = left.pop(0), True
            while grown:
                grown = False
                for other in left:
                    both = Plain.joined(current, other, min_run)
                    both = both or Plain.joined(other, current, min_run)
                    if both is not None:
                        left.remove(other)
                        current, grown = both, True
                        break
            done.append(current)
        return done

    @staticmethod
    def joined(first: Passage, second: Passage, min_run: int) -> Passage | None:
        """Return the union of two passages if the second starts inside the first, else None."""
        if first.source is not None or second.source is not None:
            inside = first.source == second.source and first.start <= second.start < first.end
            if not inside or second.end <= first.end:
                return first if inside else None
            label = f"{first.source}[{first.start}:{second.end}]"
            return Passage(label, None, first.source, first.start, second.end)
        one, other = str(first.text), str(second.text)
        if other in one:
            return first
        for shared in range(min(len(one), len(other)) - 1, min_run - 1, -1):
            if one.endswith(other[:shared]):
                return Passage(one + other[shared:], one + other[shared:])
        return None


@given(st.lists(TINY.filter(bool), max_size=6), TINY, st.integers(1, 9))
@settings(max_examples=EXAMPLES)
def test_the_stretches_of_a_context_serve_all_references(
    references: list[str], context: str, min_run: int
) -> None:
    """Runs of a context that is indexed once are found for each of several references."""
    shared = Windows(context, min_run)
    for reference in references:
        found = overlap(reference, shared)
        if len(context) < min_run or not context or reference in context:
            continue
        cut = [
            edge
            for edge in Plain.cut(reference, context, min_run)
            if edge[1] - edge[0] >= min_run // 3
        ]
        assert found.runs == tuple(union([*Plain.runs(reference, context, min_run), *cut]))


PIECES = st.lists(st.tuples(st.integers(0, 60), st.integers(1, 30)), max_size=8)
LINE = "".join(random.Random(3).choices("abc", k=90))


@given(PIECES, PIECES, st.lists(TINY.filter(bool), max_size=6), st.integers(1, 9))
@settings(max_examples=EXAMPLES)
def test_references_are_united_as_if_each_was_held_against_each(
    cuts: list[tuple[int, int]], places: list[tuple[int, int]], others: list[str], min_run: int
) -> None:
    """Comparing only likely pairs joins the same passages as comparing all pairs."""
    texts = [LINE[start : start + size] for start, size in cuts] + others
    passages = [Passage(text, text) for text in texts]
    for start, size in places:
        source = "de"[size % 2]
        label = f"{source}[{start}:{start + size}]"
        passages.append(Passage(label, None, source, start, start + size))
    assert merged(passages, min_run) == Plain.merged(passages, min_run)


def test_references_that_repeat_themselves_are_united_at_their_ends() -> None:
    """Passages are united even if their beginning occurs in more places than are tried."""
    texts = ["aab" * 90 + "aac", "aacd", "aab" * 3 + "aacde"]
    given = [Passage(text, text) for text in texts]
    for order in itertools.permutations(given):
        assert merged(list(order), 2) == Plain.merged(list(order), 2)
    assert len(merged(given, 2)) == 1


def test_many_references_under_one_heading_are_told_apart() -> None:
    """Texts with a common beginning stay apart, but a longer form of one is united with it."""
    heading = text_of(1, 60)
    references = [f"{heading} {text_of(seed, 20)}" for seed in range(2, 102)]
    texts = [*references, heading, references[0] + " and more of it"]
    units = merged([Passage(text, text) for text in texts], 32)
    assert [unit.label for unit in units] == [texts[-1], *references[1:]]


def test_a_context_that_comes_again_counts_at_its_first_rank() -> None:
    """A repeated context counts at its first rank only."""
    text, other = text_of(1, 30), text_of(2, 30)
    contexts = [text, text, other, text]
    result = SpanRecall().score(retrieved_contexts=contexts, reference_contexts=[text])
    assert (result.findings[0].ranks, result[Recall @ 1]) == ((1,), 1.0)
    part = text_of(1, 15)
    result = SpanRecall().score(retrieved_contexts=[part, text, part], reference_contexts=[text])
    assert 0 < (result[Recall @ 1] or 0.0) < 1
    assert result[Recall @ 2] == 1.0


@pytest.mark.parametrize("length", [1, 15, 16, 17, 100, 4_000])
def test_long_runs_are_grown_to_their_ends(length: int) -> None:
    """A run of any length is extended until the texts differ, at either end."""
    text = "".join(random.Random(length).choices("abcdefghij", k=length))
    seed = "0123456789" * 4
    found = overlap(f"x{text}{seed}{text}y!", Windows(f"-z{text}{seed}{text}w", 32))
    assert found.runs == ((1, 1 + 2 * length + len(seed)),)


def test_short_runs_at_a_border_need_covered_text_beside_them() -> None:
    """A short run at a border counts only beside covered text."""
    assert covered(100, [Overlap(edges=((95, 100),))]) == []
    assert covered(100, [Overlap(edges=((95, 100),)), Overlap(runs=((40, 95),))]) == [(40, 100)]
    assert covered(100, [Overlap(edges=((95, 100),)), Overlap(runs=((40, 94),))]) == [(40, 94)]
    assert covered(100, [Overlap(edges=((0, 5),)), Overlap(runs=((6, 60),))]) == [(6, 60)]
    assert covered(100, [Overlap(edges=((0, 6),)), Overlap(runs=((6, 60),))]) == [(0, 60)]
    assert covered(10, [Overlap(edges=((0, 6),)), Overlap(edges=((5, 10),))]) == [(0, 10)]


@pytest.mark.parametrize(("reference", "context"), [("abc", ""), ("", "abc")])
def test_a_text_without_characters_covers_nothing(reference: str, context: str) -> None:
    """An empty text has no run in common with any text."""
    assert overlap(reference, Windows(context, 3)) == Overlap()


def test_union_joins_what_touches() -> None:
    """The union has disjoint ranges in order, without empty ones."""
    assert union([(5, 9), (0, 3), (3, 4), (7, 12), (2, 2)]) == [(0, 4), (5, 12)]
