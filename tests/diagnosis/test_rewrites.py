"""What rewrites the IDs of one side into those of the other: thirty kinds of spelling."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random
from typing import Any
from urllib.parse import quote
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fullrecall import Context, IdRecall, Report, Sample, evaluate
from fullrecall._util import naming
from fullrecall.diagnosis.ids.fields import rewrite_of
from fullrecall.diagnosis.ids.matching import IdMatch, matches_of
from fullrecall.samples.hits import contexts_of
from fullrecall.stats.estimates import Rewrite

RIVERS = (
    "amur danube elbe ganges indus jordan kolyma loire mekong niger oder parana rhine seine tagus "
    "ural volga weser xingu yukon zambezi tigris thames tiber neva murray mackenzie lena irtysh"
).split()

Spell = Callable[[str, int], str]

KINDS: dict[str, tuple[Spell, Spell, str]] = {
    "suffix .md": (lambda w, n: f"{w}-{n}", lambda w, n: f"{w}-{n}.md", "'.md'"),
    "suffix .md on the references": (lambda w, n: f"{w}_{n}.md", lambda w, n: f"{w}_{n}", "'.md'"),
    "extensions of several kinds": (
        lambda w, n: f"{w}{n}",
        lambda w, n: f"{w}{n}.{('pdf', 'html', 'txt')[n % 3]}",
        "extension",
    ),
    "another extension": (lambda w, n: f"{w}{n}.pdf", lambda w, n: f"{w}{n}.txt", "'.txt'"),
    "suffix word": (lambda w, n: f"{n}-{w}", lambda w, n: f"{n}-{w}-en", "'-en'"),
    "prefix with a colon": (lambda w, n: f"{w}{n}", lambda w, n: f"river:{w}{n}", "'river:'"),
    "prefix with a dash": (lambda w, n: f"{w}-{n}", lambda w, n: f"kb-{w}-{n}", "'kb-'"),
    "prefix of the references": (lambda w, n: f"gold/{w}{n}", lambda w, n: f"{w}{n}", "'gold/'"),
    "number with a prefix": (lambda w, n: f"{n}", lambda w, n: f"item_{n}", "'item_'"),
    "padding": (lambda w, n: f"{w}-{n}", lambda w, n: f"{w}-{n:05}", "zero padding"),
    "padding of bare numbers": (lambda w, n: f"{n:08}", lambda w, n: f"{n}", "zero padding"),
    "underscores": (lambda w, n: f"{w}_{n}_x", lambda w, n: f"{w}-{n}-x", "separators"),
    "spaces": (lambda w, n: f"{w} no {n}", lambda w, n: f"{w}_no_{n}", "separators"),
    "dots": (lambda w, n: f"{w}.no.{n}", lambda w, n: f"{w}-no-{n}", "separators"),
    "no separators": (lambda w, n: f"{w}-{n}", lambda w, n: f"{w}{n}", "separators"),
    "upper case": (lambda w, n: f"{w}-{n}", lambda w, n: f"{w}-{n}".upper(), "letter case"),
    "title case": (lambda w, n: f"{w}{n}", lambda w, n: f"{w.title()}{n}", "letter case"),
    "camel case": (
        lambda w, n: f"{w}-bank-{n}",
        lambda w, n: f"{w.title()}Bank{n}",
        "letter case",
    ),
    "directory": (
        lambda w, n: f"{w}{n}.txt",
        lambda w, n: f"data/{w[0]}/{w}{n}.txt",
        "directory",
    ),
    "directory of Windows": (
        lambda w, n: f"{w}{n}.txt",
        lambda w, n: f"C:\\docs\\{w[0]}\\{w}{n}.txt",
        "directory",
    ),
    "leading ./": (lambda w, n: f"a/{w}{n}", lambda w, n: f"./a/{w}{n}", "'./'"),
    "URL": (lambda w, n: f"{w}/{n}", lambda w, n: f"https://example.org/{w}/{n}", "URL"),
    "URL of varying depth": (
        lambda w, n: f"{w}-{n}",
        lambda w, n: f"https://example.org/{w[0]}/{w}-{n}",
        "URL",
    ),
    "percent encoding": (
        lambda w, n: f"{w} é {n}",
        lambda w, n: quote(f"{w} é {n}"),
        "percent encoding",
    ),
    "Unicode form": (lambda w, n: f"{w}-é-{n}", lambda w, n: f"{w}-e\u0301-{n}", "Unicode form"),
    "fragment": (lambda w, n: f"{w}{n}", lambda w, n: f"{w}{n}#s{n % 7}", "fragment"),
    "query": (lambda w, n: f"{w}{n}.html", lambda w, n: f"{w}{n}.html?v={n * 3}", "fragment"),
    "chunks": (lambda w, n: f"{w}{n}", lambda w, n: f"{w}{n}_chunk_{n % 5}", "parts (chunk #)"),
    "chunks in another language": (
        lambda w, n: f"{w}{n}",
        lambda w, n: f"{w}{n} Abs. {n % 9}",
        "parts (abs #)",
    ),
    "chunks of the references": (
        lambda w, n: f"{w}{n}::{n % 4}",
        lambda w, n: f"{w}{n}",
        "fragment",
    ),
    "bare numbers of chunks": (
        lambda w, n: f"{w}{n}",
        lambda w, n: f"{w}{n}-{n % 4}",
        "parts (#)",
    ),
    "dashes of UUIDs": (
        lambda w, n: str(UUID(int=Random(n).getrandbits(128))),
        lambda w, n: UUID(int=Random(n).getrandbits(128)).hex,
        "separators",
    ),
    "prefix and case": (lambda w, n: f"{w}{n}", lambda w, n: f"KB/{w.upper()}{n}", "letter case"),
    "prefix here and suffix there": (
        lambda w, n: f"{w}-{n}.md",
        lambda w, n: f"wiki:{w}-{n}",
        "'.md'",
    ),
    "infix .md": (
        lambda w, n: f"kb/{w}-{n}#{n % 4}",
        lambda w, n: f"kb/{w}-{n}.md#{n % 4}",
        "infix 'md'",
    ),
    "infix with a template": (
        lambda w, n: f"kb/{w}-{n}#{n % 4}",
        lambda w, n: f"https://e.org/kb/{w}-{n}.html:chunk:{n % 4}",
        "infix 'html chunk'",
    ),
    "version folder": (
        lambda w, n: f"kb/{w}-{n}#{n % 4}",
        lambda w, n: f"kb/2024-05-01/{w}-{n}#{n % 4}",
        "infix '2024 05 01'",
    ),
    "another order": (
        lambda w, n: f"kb/{w}-{n}#{n % 4}",
        lambda w, n: f"{n % 4}|kb/{w}-{n}",
        "order of the words",
    ),
    "numbers from 1": (
        lambda w, n: f"kb/{w}-{n}#{n % 4}",
        lambda w, n: f"kb/{w}-{n}#{n % 4 + 1}",
        "numbers (from 0 or from 1)",
    ),
    "numbers from 1 in a template": (
        lambda w, n: f"kb/{w}-{n}#{n % 4}",
        lambda w, n: f"kb/{w}-{n}.md:part:{n % 4 + 1}",
        "infix 'md part', numbers (from 0 or from 1)",
    ),
    "white space": (lambda w, n: f"{w}{n}", lambda w, n: f" {w}{n} ", "white space"),
}


def matches(
    retrieved_ids: Sequence[Sequence[str | None]], reference_ids: Sequence[Sequence[str]]
) -> dict[str, list[IdMatch]]:
    """Return what stands for references that have one ID each."""
    return matches_of(retrieved_ids, [[(own_id,) for own_id in ids] for ids in reference_ids])


def known(found: Any) -> Any:
    """Return a rewrite that makes IDs match; None where only an ID of each side is shown."""
    return None if found is None or found.gain is None else found


def rewrite(
    lists: Sequence[Sequence[str]], reference_ids: Sequence[Sequence[str]]
) -> Rewrite | None:
    """Return the rewrite of the IDs of lists."""
    contexts = [[Context(id=own_id) for own_id in ids if own_id] for ids in lists]
    return known(rewrite_of(contexts, [[(own_id,) for own_id in ids] for ids in reference_ids]))


def samples(
    reference: Spell, retrieved: Spell, seed: int = 4
) -> tuple[list[list[str]], list[list[str]]]:
    """Return lists and references of forty questions; a fifth of the targets is not retrieved."""
    rng = Random(seed)
    documents = [(rng.choice(RIVERS), n) for n in rng.sample(range(1, 900), 120)]
    lists, references = [], []
    for w, n in documents[:40]:
        found = [retrieved(*other) for other in rng.sample(documents[40:], 4)]
        if rng.random() < 0.8:
            found.insert(rng.randrange(5), retrieved(w, n))
        lists.append(found)
        references.append([reference(w, n)])
    return lists, references


@pytest.mark.parametrize("kind", KINDS)
def test_a_summary_without_any_match_names_the_rewrite(kind: str) -> None:
    """What differs is named, once per score, with the recall of the targets that were there."""
    reference, retrieved, name = KINDS[kind]
    lists, references = samples(reference, retrieved)
    truth, wanted = samples(lambda w, n: f"{w} {n}", lambda w, n: f"{w} {n}")
    share = sum(one[0] in found for found, one in zip(truth, wanted, strict=True)) / 40
    report = report_of(lists, references)
    (score,) = report.summary()
    assert score.rewrite is not None
    assert name in score.rewrite.sentence
    assert score.rewrite.gain == pytest.approx(share)
    assert "was retrieved as" in score.rewrite.sentence
    shown = "".join(str(report.summary()).split())
    assert shown.count("".join(f"id_recall: {score.rewrite.sentence}".split())) == 1
    assert report.summary().to_dict()["scores"][0]["rewrite"] == score.rewrite.sentence


def report_of(lists: list[list[str]], references: list[list[str]]) -> Report:
    """Return the report of lists and references by ID."""
    rows = [
        {"retrieved_ids": found, "expected_ids": wanted}
        for found, wanted in zip(lists, references, strict=True)
    ]
    return evaluate(rows, IdRecall(), progress=False)


def test_a_summary_with_a_match_names_no_rewrite() -> None:
    """One target that is found as it is shows that the spelling is not what is wrong."""
    lists, references = samples(*KINDS["suffix .md"][:2])
    (score,) = report_of([*lists, ["a"]], [*references, ["a"]]).summary()
    assert score.rewrite is None


def test_a_rewrite_is_looked_for_in_some_thousand_ids() -> None:
    """However many samples there are, and however long one is, the first IDs tell."""
    lists, references = samples(*KINDS["upper case"][:2])
    assert report_of(lists * 200, references * 200).summary()[0].rewrite is not None
    endless = [str(n) for n in range(100_000)]
    assert known(report_of([endless], [["0000"]]).summary()[0].rewrite) is None


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
    """Of 300 pairs of sets that have nothing to do with each other, none; though many could fit."""
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
    "hashes": (
        lambda w, n: f"{w}-{n}",
        lambda w, n: f"{Random(f'{w}{n}').getrandbits(64):016x}",
    ),
    "other numbers": (lambda w, n: f"{n}", lambda w, n: f"{n + 7_001}"),
    "reversed words": (lambda w, n: f"{w}{n}", lambda w, n: f"{w[::-1]}x{n * 31}"),
    "other parts": (
        lambda w, n: f"{w}-{n}#{n % 4}",
        lambda w, n: f"{w}-{n}#{(n + 1 + n // 4 % 3) % 4}",
    ),
    "numbers that are all over": (lambda w, n: f"{n % 9}", lambda w, n: f"k{n * 11}z{n * 7}"),
}


@pytest.mark.parametrize("kind", UNKNOWN)
@pytest.mark.parametrize("seed", range(5))
def test_what_does_not_follow_from_the_ids_is_unknown(kind: str, seed: int) -> None:
    """No rewrite is invented where IDs have nothing in common."""
    assert matches(*samples(*UNKNOWN[kind], seed=seed)) == {}


@pytest.mark.parametrize("seed", range(5))
def test_ids_that_match_need_no_rewrite(seed: int) -> None:
    """Other documents of the same names, such as versions, are not taken for the missed ones."""

    def plain(w: str, n: int) -> str:
        return f"{w}-{n}"

    lists, references = samples(plain, plain, seed=seed)
    assert matches(lists, references) == {}


def test_two_that_would_become_one_are_not_joined() -> None:
    """`A1` and `a1` are two documents where both are references."""
    references = [["A1"], ["a1"], ["B2"], ["b2"], ["C3"], ["c3"]]
    assert matches([["a-1"], ["a-1"], ["b-2"], ["b-2"], ["c-3"], ["c-3"]], references) == {}


def test_versions_beside_each_other_are_other_documents() -> None:
    """Where the index has both `policy-3` and `policy-3-draft`, the one is not the other."""
    lists = [[f"policy-{n}-draft", f"policy-{n + 1}"] for n in range(30)]
    assert matches(lists, [*([f"policy-{n}"] for n in range(1, 30)), ["policy-1"]]) == {}


def test_a_rewrite_applies_to_other_ids() -> None:
    """What was learned from the lists finds the IDs of a corpus."""
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
    """No samples, no IDs, and IDs without words are no error."""
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
    """Whatever IDs are, a rewrite never loses recall, and its pairs are in their samples."""
    lists, references = both
    found = rewrite(lists, references)
    assert found is None or 0 < found.gain <= 1
    retrieved = {own_id for ids in lists for own_id in ids}
    for reference, of in matches(lists, references).items():
        assert all(match.reference == reference for match in of)
        assert {match.retrieved for match in of} <= retrieved


def test_hostile_ids_cost_bounded_work() -> None:
    """Megabytes of words in an ID are not read to their end."""
    lists, references = [["a1 " * 300_000] * 3] * 5, [["b1 " * 300_000] * 2] * 5
    assert matches(lists, references) == {}


@pytest.mark.parametrize("count", [1, 2, 4])
def test_of_few_samples_the_hint_speaks_where_all_match(count: int) -> None:
    """Of one to four references all must fit; of five, half."""
    lists = [[f"/srv/docs/{river}.md", "/srv/docs/x.md"] for river in RIVERS[:count]]
    references = [[f"docs/{river}.md"] for river in RIVERS[:count]]
    (score,) = report_of(lists, references).summary()
    assert score.rewrite is not None
    assert "directory '/srv/'" in score.rewrite.sentence
    (score,) = report_of([*lists, ["y"]], [*references, ["z"]]).summary()
    assert (known(score.rewrite) is None) is (count < 4)
    (score,) = report_of([["007"]] * count, [["7"]] * count).summary()
    assert score.rewrite is not None
    assert score.rewrite.gain is None
    assert "no reference is among the 1 retrieved IDs: retrieved '007', needed '7'" in str(
        score.rewrite.sentence
    )


def fields_report(count: int, metadata: Callable[[int], dict[str, object]]) -> Report:
    """Return a report whose contexts have IDs of a store, and what is wanted in their metadata."""
    rows = [
        {
            "expected_ids": [f"{RIVERS[n % 9]}-{n}"],
            "retrieved_contexts": [
                {"id": f"{Random(m).getrandbits(64):x}", "text": "t", "metadata": metadata(m)}
                for m in (n + 1, n)
            ],
        }
        for n in range(count)
    ]
    return evaluate(rows, IdRecall(), progress=False)


@pytest.mark.parametrize("count", [1, 40])
def test_a_summary_names_the_field_that_has_the_references(count: int) -> None:
    """A recall of 0 whose references are in metadata names `id_key=`, with the gain."""
    report = fields_report(
        count, lambda m: {"page": m % 3, "origin": {"doc": f"{RIVERS[m % 9]}-{m}"}}
    )
    (score,) = report.summary()
    assert score.rewrite is not None
    assert score.rewrite.gain == 1
    assert f"id_key='origin.doc' finds {count} of {count} (recall +1.000)" in score.rewrite.sentence
    assert "id_key='origin.doc'" in " ".join(str(report.summary()).split())


def test_a_field_that_fits_by_chance_is_not_named() -> None:
    """Pages and years are in many fields, and are among many references."""
    rows = [
        {
            "expected_ids": [str(n % 7)],
            "retrieved_contexts": [{"id": f"u{n}", "text": "t", "metadata": {"page": n % 5}}],
        }
        for n in range(60)
    ]
    assert known(evaluate(rows, IdRecall(), progress=False).summary()[0].rewrite) is None


def test_the_command_line_names_its_own_option() -> None:
    """A hint names a parameter in Python, and the option of `evaluate` on the command line."""
    reports = {
        "with --id-key": report_of(*samples(*KINDS["suffix .md"][:2])),
        "--id-key doc finds": fields_report(5, lambda m: {"doc": f"{RIVERS[m % 9]}-{m}"}),
    }
    for option, report in reports.items():
        assert "id_key=" in str(report.summary()[0].rewrite)
        with naming.options():
            hint = str(report.summary()[0].rewrite)
        assert option in hint
        assert "id_key=" not in hint


def test_deep_lists_of_long_urls_have_a_hint_too() -> None:
    """The IDs of one sample have more characters than are looked at: of each the first are read."""
    wiki = f"https://wiki.example.org/{'handbook/' * 20}"
    lists = [[f"{wiki}page{n}-{m}.html" for m in range(200)] for n in range(30)]
    (score,) = report_of(lists, [[f"page{n}-1"] for n in range(30)]).summary()
    assert score.rewrite is not None
    assert "URL" in score.rewrite.sentence
    assert len(repr(score.rewrite)) < 1_000


def test_what_differs_is_named_in_one_order() -> None:
    """What the references have first, for any order that Python gives a set of texts."""
    lists, references = samples(lambda w, n: f"gold/{w}{n}", lambda w, n: f"river:{w}{n}")
    found = rewrite(lists, references)
    assert found is not None
    assert found.sentence.startswith("IDs differ in directory 'gold/', prefix 'river:': ")


def shifted(n: int, depth: int, share: float, seed: int, form: str) -> Report:
    """Return a report of a store that made IDs of its own, with the documents' in a field.

    `share` is the recall of its lists by these; `form` says what the documents' IDs look like.
    """
    rng = Random(seed)
    names = {
        "slug": lambda m: f"{RIVERS[m % 9]}-page-{m}",
        "number": lambda m: str(100 + 4 * m),
        "suffix": lambda m: f"{RIVERS[m % 9]}-page-{m}",
    }[form]
    rows = []
    for wanted in range(n):
        found = rng.sample([m for m in range(depth) if m != wanted], 4)
        if rng.random() < share:
            found[rng.randrange(4)] = wanted
        hits: list[dict[str, Any]] = [{"id": m + 1, "doc": names(m), "text": "t"} for m in found]
        if form == "suffix":
            hits = [{"id": f"{names(m)}.md", "text": "t"} for m in found]
        rows.append({"expected_ids": [names(wanted)], "hits": contexts_of(hits)})
    samples = [
        Sample(expected_ids=row["expected_ids"], retrieved_contexts=row["hits"]) for row in rows
    ]
    return evaluate(samples, IdRecall(), progress=False)


@pytest.mark.parametrize("form", ["slug", "number", "suffix"])
@pytest.mark.parametrize(("n", "depth", "share"), [(5, 12, 0.5), (14, 16, 0.8), (20, 30, 0.5)])
def test_few_questions_get_the_hint(n: int, depth: int, share: float, form: str) -> None:
    """Both sides are IDs of the same documents, however the retriever ranks them."""
    for seed in range(5):
        found = shifted(n, depth, share, seed, form).summary()[0].rewrite
        assert found is not None
        if form != "number" or n > 5:  # five numbers below 150 may be anything
            assert found.gain is not None


UNRELATED: dict[str, Callable[[int, Random], tuple[str, dict[str, Any]]]] = {
    "page": lambda n, rng: (str(n + 1), {"id": f"u{n}", "page": rng.randrange(1, 40)}),
    "year": lambda n, rng: (str(1990 + n), {"id": f"u{n}", "year": rng.randrange(1980, 2026)}),
    "tokens": lambda n, rng: (str(100 + n), {"id": f"u{n}", "tokens": rng.randrange(50, 600)}),
    "language": lambda n, rng: (f"{RIVERS[n % 9]}-{n}", {"id": n, "lang": rng.choice("abc")}),
    "row": lambda n, rng: (f"q{n}", {"id": f"{rng.getrandbits(64):x}", "row": n}),
    "uuid": lambda n, rng: (f"doc-{n}", {"id": f"{rng.getrandbits(64):x}"}),
    "other names": lambda n, rng: (f"{RIVERS[n % 9]}-{n}", {"id": f"{RIVERS[-1 - n % 9]}/{n}"}),
    "numbers": lambda n, rng: (f"{7 * n + 3}", {"id": rng.randrange(10**6)}),
    "author": lambda n, rng: (f"faq/{n}.md", {"id": 7 * n + 501, "author": rng.choice(RIVERS)}),
    "rank": lambda n, rng: (str(n % 5), {"id": f"u{n}", "rank": n % 4}),
}


@pytest.mark.parametrize("name", UNRELATED)
def test_unrelated_fields_are_not_named(name: str) -> None:
    """Without evidence an ID of each side is shown, and no field or rewrite is advised."""
    for count in (5, 14, 30):
        rng = Random(count)
        rows = [UNRELATED[name](n, rng) for n in range(count)]
        samples = [
            Sample(
                expected_ids=[reference],
                retrieved_contexts=contexts_of(
                    [{**hit, "text": "t"}, {**rows[n - 1][1], "text": "u"}]
                ),
            )
            for n, (reference, hit) in enumerate(rows)
        ]
        assert known(evaluate(samples, IdRecall(), progress=False).summary()[0].rewrite) is None
