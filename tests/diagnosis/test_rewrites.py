"""Rewrites of the IDs of one side into IDs of the other side."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.diagnosis.spelled_ids import RIVERS, Spell, known, samples

from fullrecall import Context
from fullrecall.diagnosis.ids.fields import rewrite_of
from fullrecall.diagnosis.ids.matching import IdMatch, matches_of
from fullrecall.diagnosis.ids.words import Template
from fullrecall.stats.estimates import Rewrite


def matches(
    retrieved_ids: Sequence[Sequence[str | None]], reference_ids: Sequence[Sequence[str]]
) -> dict[str, list[IdMatch]]:
    """Return the groups of references that have one ID each."""
    return matches_of(retrieved_ids, [[(own_id,) for own_id in ids] for ids in reference_ids])


def rewrite(
    lists: Sequence[Sequence[str]], reference_ids: Sequence[Sequence[str]]
) -> Rewrite | None:
    """Return the rewrite of the IDs of lists."""
    contexts = [[Context(id=own_id) for own_id in ids if own_id] for ids in lists]
    return known(rewrite_of(contexts, [[(own_id,) for own_id in ids] for ids in reference_ids]))


SPELLINGS: list[Callable[[Random, str, int], str]] = [
    lambda _, w, n: f"{n}",
    lambda _, w, n: f"{n:06}",
    lambda _, w, n: f"doc_{n}",
    lambda _, w, n: f"{w}-{n}",
    lambda _, w, n: f"kb/{w}/{n}.md",
    lambda _, w, n: f"{Random(f'{w}{n}').getrandbits(64):016x}",
    lambda _, w, n: f"https://example.org/{w}/{n}",
    lambda rng, w, n: f"{w}{n}_chunk_{rng.randrange(5)}",
    lambda _, w, n: f"{w}#{n}",
    lambda _, w, n: f"Q{n}",
    lambda rng, w, _: f"{w} {rng.choice(RIVERS)}",
    lambda _, w, n: f"{w.title()}.pdf",
]


def test_unrelated_ids_get_no_hint() -> None:
    """None of 300 pairs of unrelated sets of IDs gets a hint, though many could fit."""
    hints, tempting = [], 0
    for seed in range(100):
        rng = Random(seed)
        spell = rng.choice(SPELLINGS), rng.choice(SPELLINGS)
        sizes = rng.choice([20, 100, 1_000, 10**6]), rng.choice([20, 100, 1_000, 10**6])
        words = rng.sample(RIVERS, rng.randint(1, 20))

        pairs = [
            [
                [
                    spell[side](rng, rng.choice(words), rng.randrange(sizes[side]))
                    for _ in range(count)
                ]
                for side, count in enumerate((5, 2))
            ]
            for _ in range(rng.choice([1, 3, 10, 40, 100]))
        ]
        lists, references = [one for one, _ in pairs], [other for _, other in pairs]
        hits = any(set(ids) & set(own) for ids, own in zip(lists, references, strict=True))
        if matches(lists, references) and not hits:
            tempting += 1
            hint = rewrite(lists, references)
            hints += [] if hint is None else [hint.sentence]
    assert tempting > 0
    assert hints == []


UNKNOWN: dict[str, tuple[Spell, Spell]] = {
    "hashes": ("{w}-{n}", lambda w, n: f"{Random(f'{w}{n}').getrandbits(64):016x}"),
    "other numbers": ("{n}", lambda w, n: f"{n + 7_001}"),
    "reversed words": ("{w}{n}", lambda w, n: f"{w[::-1]}x{n * 31}"),
    "other parts": ("{w}-{n}#{part}", lambda w, n: f"{w}-{n}#{(n + 1 + n // 4 % 3) % 4}"),
    "numbers that are all over": (lambda w, n: f"{n % 9}", lambda w, n: f"k{n * 11}z{n * 7}"),
}


@pytest.mark.parametrize("kind", UNKNOWN)
@pytest.mark.parametrize("seed", range(5))
def test_what_does_not_follow_from_the_ids_is_unknown(kind: str, seed: int) -> None:
    """No rewrite is invented for IDs that have nothing in common."""
    assert matches(*samples(*UNKNOWN[kind], seed=seed)) == {}


@pytest.mark.parametrize("seed", range(5))
def test_ids_that_match_need_no_rewrite(seed: int) -> None:
    """If the expected IDs match, similar IDs such as versions are not taken for them."""
    lists, references = samples("{w}-{n}", "{w}-{n}", seed=seed)
    assert matches(lists, references) == {}


def test_two_that_would_become_one_are_not_joined() -> None:
    """`A1` and `a1` are two documents if both are references."""
    references = [["A1"], ["a1"], ["B2"], ["b2"], ["C3"], ["c3"]]
    assert matches([["a-1"], ["a-1"], ["b-2"], ["b-2"], ["c-3"], ["c-3"]], references) == {}


def test_versions_beside_each_other_are_other_documents() -> None:
    """If the index has both `policy-3` and `policy-3-draft`, they are different documents."""
    lists = [[f"policy-{n}-draft", f"policy-{n + 1}"] for n in range(30)]
    assert matches(lists, [*([f"policy-{n}"] for n in range(1, 30)), ["policy-1"]]) == {}


def test_a_rewrite_applies_to_other_ids() -> None:
    """A rewrite that was learned from the lists finds the IDs of a corpus."""
    found = matches_of(
        [["kb/A1.md"], ["kb/B2.md"], ["kb/C3.md"], ["kb/X9.md"]],
        [[("a1",)], [("b2",)], [("c3",)], [("d4",), ("f6",)]],
        indexed=["kb/D4.md", "kb/E5.md", "x/d4.txt"],
    )
    others = {reference: {match.retrieved for match in of} for reference, of in found.items()}
    assert others == {
        "a1": {"kb/A1.md"},
        "b2": {"kb/B2.md"},
        "c3": {"kb/C3.md"},
        "d4": {"kb/D4.md"},
    }


def test_two_fitting_ids_are_chance() -> None:
    """An affix must recur for three references; spelling alone need not."""
    assert matches([["x-a1"], ["x-b2"]], [["a1"], ["b2"]]) == {}
    assert matches([["A1"]], [["a1"]]) != {}
    assert matches([["docs/7"]], [["7"]]) == {}
    assert matches([["docs/7.md"]], [["7.md"]]) != {}


def test_nothing_in_nothing_out() -> None:
    """No samples, no IDs, and IDs without words give no rewrite and no error."""
    assert matches([], []) == {}
    assert matches([[], [None]], [["a"], []]) == {}
    assert matches([["---"], ["###"]], [["…"], ["?"]]) == {}


@given(
    st.lists(st.lists(st.text(max_size=12), max_size=4), max_size=8).flatmap(
        lambda lists: st.tuples(
            st.just(lists),
            st.lists(
                st.lists(st.text(max_size=12), max_size=3),
                min_size=len(lists),
                max_size=len(lists),
            ),
        )
    )
)
@settings(max_examples=30, deadline=None)
def test_any_ids_are_taken(both: tuple[list[list[str]], list[list[str]]]) -> None:
    """Any IDs are accepted: a rewrite never loses recall, and its pairs are in their samples."""
    lists, references = both
    found = rewrite(lists, references)
    assert found is None or 0 < found.gain <= 1
    retrieved = {own_id for ids in lists for own_id in ids}
    for reference, of in matches(lists, references).items():
        assert all(match.reference == reference for match in of)
        assert {match.retrieved for match in of} <= retrieved


def test_hostile_ids_cost_bounded_work() -> None:
    """An ID of megabytes of words is not read to its end."""
    lists, references = [["a1 " * 300_000] * 3] * 5, [["b1 " * 300_000] * 2] * 5
    assert matches(lists, references) == {}


def test_what_differs_is_named_in_one_order() -> None:
    """The differences have the same order for any order of Python's sets."""
    lists, references = samples("gold/{w}{n}", "river:{w}{n}")
    found = rewrite(lists, references)
    assert found is not None
    assert found.sentence.startswith("IDs differ in directory 'gold/', prefix 'river:': ")


def test_an_extension_of_few_ids_may_be_part_of_a_name() -> None:
    """`view.py` is not `view` if most IDs have no extension: both are documents."""
    indexed = [*RIVERS, *(f"{river}.py" for river in RIVERS[::3])]
    rng = Random(3)
    gone = {river for river in RIVERS[::3] if rng.random() < 0.7}
    references = [[rng.choice(RIVERS[::3])] for _ in range(40)]
    lists = [
        [f"{own[0]}.py", *rng.sample([each for each in indexed if each not in gone], 3)]
        for own in references
    ]
    assert not any(name in gone for name in matches(lists, references))


@pytest.mark.parametrize(
    ("own", "with_word", "others", "is_found"),
    [(3, 0, 3, True), (2, 0, 3, False), (3, 0, 2, False), (3, 1, 10, True), (3, 2, 10, False)],
)
def test_a_word_of_all_ids_belongs_to_one_side_alone(
    own: int, with_word: int, others: int, *, is_found: bool
) -> None:
    """A template needs three IDs on each side, and at most a tenth of the others has its words."""
    ours = [f"kb {river}" for river in RIVERS[:own]]
    theirs = [f"{'kb ' if n < with_word else ''}{river}" for n, river in enumerate(RIVERS[9:])]
    found = Template.of(ours, theirs[:others])
    assert found.first == (frozenset({(0, "kb")}) if is_found else frozenset())


@pytest.mark.parametrize(
    ("unchanged", "retrieved", "fewest"),
    [(0, "{} 7", 3), (1, "{} 7", 6), (4, "{} 7", 15), (0, "{}.md", 3), (1, "{}.md", 3)],
)
def test_a_number_must_fit_three_times_as_often_as_ids_match_unchanged(
    unchanged: int, retrieved: str, fewest: int
) -> None:
    """Three references prove a rule; a number at an end also outnumbers unchanged IDs."""
    same = [[f"same{letter}"] for letter in "abcd"[:unchanged]]
    for count in (fewest - 1, fewest):
        references = [[river] for river in RIVERS[:count]]
        lists = [[retrieved.format(river)] for river in RIVERS[:count]]
        assert len(matches([*lists, *same], [*references, *same])) == (count // fewest) * count
