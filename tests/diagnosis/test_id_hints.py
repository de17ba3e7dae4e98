"""The summary's advice if no reference ID was retrieved."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

import pytest
from tests.diagnosis.spelled_ids import KINDS, RIVERS, known, report_of, samples

from fullrecall import IdRecall, Report, Sample, TextRecall, evaluate
from fullrecall._util import naming
from fullrecall.samples.hits import contexts_of


@pytest.mark.parametrize("kind", KINDS)
def test_a_summary_without_any_match_names_the_rewrite(kind: str) -> None:
    """Each score names the difference of its IDs once, with the recall under rewritten IDs."""
    reference, retrieved, name = KINDS[kind]
    lists, references = samples(reference, retrieved)
    truth, wanted = samples("{w} {n}", "{w} {n}")
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


def test_a_summary_with_a_match_names_no_rewrite() -> None:
    """One target that is found as it is written excludes another spelling as the cause."""
    lists, references = samples(*KINDS["suffix .md"][:2])
    (score,) = report_of([*lists, ["a"]], [*references, ["a"]]).summary()
    assert score.rewrite is None


def test_a_rewrite_is_looked_for_in_some_thousand_ids() -> None:
    """The hint reads the first few thousand IDs, for any number of samples."""
    lists, references = samples(*KINDS["upper case"][:2])
    assert report_of(lists * 200, references * 200).summary()[0].rewrite is not None
    endless = [str(n) for n in range(100_000)]
    assert known(report_of([endless], [["0000"]]).summary()[0].rewrite) is None


def test_a_score_of_texts_gets_no_advice_about_ids() -> None:
    """Only a score whose targets are IDs gets the advice, not one of texts."""
    rows = [
        Sample(
            reference_context_ids=[f"docs/{river}.md"],
            reference_contexts=[f"The {river} rises in the hills."],
            retrieved_contexts=[{"id": f"/srv/docs/{river}.md", "text": "Nothing of the kind."}],
        )
        for river in RIVERS[:4]
    ]
    by_id, by_text = evaluate(rows, [IdRecall(), TextRecall()], progress=False).summary()
    assert (by_id.rewrite is None, by_text.rewrite is None) == (False, True)


@pytest.mark.parametrize("count", [1, 2, 4])
def test_of_few_samples_the_hint_speaks_where_all_match(count: int) -> None:
    """With up to four references all must fit the rewrite; with five, half."""
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
    """Return a report whose contexts have the store's IDs, and the references in their metadata."""
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
    """A field of pages or years, which fits references by chance, is not named."""
    rows = [
        {
            "expected_ids": [str(n % 7)],
            "retrieved_contexts": [{"id": f"u{n}", "text": "t", "metadata": {"page": n % 5}}],
        }
        for n in range(60)
    ]
    assert known(evaluate(rows, IdRecall(), progress=False).summary()[0].rewrite) is None


@pytest.mark.parametrize(("shared", "is_named"), [(9, False), (10, True)])
def test_a_field_of_numbers_needs_half_of_the_references(shared: int, *, is_named: bool) -> None:
    """A field that has half of the references, each in another sample, is named."""
    numbers = [str(5000 + 97 * n) for n in range(20)]
    rows = [
        {
            "expected_ids": [number],
            "retrieved_contexts": [
                {"id": f"u{n}", "text": "t", "metadata": {"doc": numbers[(n + 1) % shared]}}
            ],
        }
        for n, number in enumerate(numbers)
    ]
    rewrite = known(evaluate(rows, IdRecall(), progress=False).summary()[0].rewrite)
    assert (rewrite is not None) == is_named


@pytest.mark.parametrize(
    ("ambiguous", "others", "is_named"), [(2, 0, True), (3, 0, False), (0, 1, True)]
)
def test_an_uncertain_rule_fits_most_ids(ambiguous: int, others: int, *, is_named: bool) -> None:
    """An extension is named if one in four is ambiguous at most, and half of the IDs have it."""
    names = RIVERS[: 6 + ambiguous]
    lists = [
        [f"{name}.md", *[f"{name}.pdf"] * (n < ambiguous), *[f"zz{n}"] * others]
        for n, name in enumerate(names)
    ]
    rewrite = known(report_of(lists, [[name] for name in names]).summary()[0].rewrite)
    assert ("extension '.md'" in str(rewrite)) == is_named


def test_up_to_two_directories_are_named() -> None:
    """A difference that has two forms names both; of three, only its kind is told."""
    for count, told in ((2, "directory '/d0/' and '/d1/': "), (3, "directory: ")):
        names = [f"{river}-{n}" for n, river in enumerate(RIVERS[:9])]
        lists = [[f"/d{n % count}/{name}"] for n, name in enumerate(names)]
        rewrite = report_of(lists, [[name] for name in names]).summary()[0].rewrite
        assert f"IDs differ in {told}" in str(rewrite)


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
    """Very long IDs get a hint too: the first IDs of each sample are read."""
    wiki = f"https://wiki.example.org/{'handbook/' * 20}"
    lists = [[f"{wiki}page{n}-{m}.html" for m in range(200)] for n in range(30)]
    (score,) = report_of(lists, [[f"page{n}-1"] for n in range(30)]).summary()
    assert score.rewrite is not None
    assert "URL" in score.rewrite.sentence
    assert len(repr(score.rewrite)) < 1_000


def shifted(n: int, depth: int, share: float, seed: int, form: str) -> Report:
    """Return a report of a store with IDs of its own, and the documents' IDs in a field.

    `share` is the recall of its lists by these; `form` makes the documents' IDs.
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
    """Few questions get the hint if a field's values are IDs of the same documents."""
    for seed in range(5):
        found = shifted(n, depth, share, seed, form).summary()[0].rewrite
        assert found is not None
        if form != "number" or n > 5:  # Five numbers below 150 may be anything.
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


def test_pages_from_0_under_a_directory_are_one_difference() -> None:
    """Equal numbers would be the page before: the hint counts matches by the next number."""
    rows = []
    for page in range(1, 15):
        found = [page - 1, page - 1 + 7, page] if page % 4 == 0 else [page - 1, page + 6]
        hits = [f"/data/manuals/guide.pdf#{number}" for number in found]
        rows.append({"expected_ids": [f"guide.pdf#{page}"], "retrieved_ids": hits})
    rewrite = evaluate(rows, IdRecall(), progress=False).summary()[0].rewrite
    assert rewrite is not None
    assert rewrite.gain == 1.0
    assert (
        "directory '/data/manuals/', numbers (from 0 or from 1): 'guide.pdf#1' was retrieved as "
        "'/data/manuals/guide.pdf#0'"
    ) in rewrite.sentence
    assert "{source:name}, the name of a file" in rewrite.sentence
    assert "{page:+1}, a number plus one" in rewrite.sentence
