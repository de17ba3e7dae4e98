"""Row: a language that the built-in judge was not measured on is unscored, with the reason."""

from __future__ import annotations

import pytest

from fullrecall import ClaimRecall, ContextPrecision
from fullrecall.errors import ParameterError
from fullrecall.judges.clauses import facts_of
from fullrecall.judges.language import language_among, language_of
from fullrecall.judges.lexical import EmbeddedJudge, LexicalJudge
from fullrecall.judges.sentences import sentences
from fullrecall.judges.translations import TRANSLATIONS, Translation
from fullrecall.result import Status

JUDGES = [LexicalJudge(), EmbeddedJudge()]
ENGLISH = "The tower stands in Paris and was opened in 1889."


@pytest.mark.parametrize("judge", JUDGES, ids=["lexical", "embedded"])
@pytest.mark.parametrize(("code", "told"), TRANSLATIONS.items(), ids=TRANSLATIONS)
def test_no_credit_in_a_language_that_was_not_measured(
    judge: LexicalJudge, code: str, told: Translation
) -> None:
    """Thirteen languages, true and false claims: unscored, and the language is named."""
    for claim in (told.true, told.false):
        result = ClaimRecall(judge=judge).score(
            retrieved_contexts=[told.context], reference_claims=[claim]
        )
        assert result.status is Status.UNSCORED, (code, claim)
        assert "measured on English only" in result.reason


@pytest.mark.parametrize(("code", "told"), TRANSLATIONS.items(), ids=TRANSLATIONS)
def test_languages_are_told_apart(code: str, told: Translation) -> None:
    """Each context by itself, and a short claim beside it."""
    assert language_of(told.context) == code
    assert language_among(told.false, [told.context]) == code


@pytest.mark.parametrize("text", ["Paris", "1889", "NaCl", "", "x = y[0]", "Müller"])
def test_what_says_nothing_has_no_language(text: str) -> None:
    """Names, numbers and code have none: what stands around them decides."""
    assert language_of(text) is None
    assert language_among(text, [ENGLISH]) == "en"


def test_a_name_is_no_language() -> None:
    """One foreign function word in a name does not take an English claim out."""
    claim = "Los Angeles hosted Olympics."
    result = ClaimRecall().score(
        retrieved_contexts=["Los Angeles hosted the Olympics twice, in 1932 and in 1984."],
        reference_claims=[claim],
    )
    assert result.score == 1.0


def test_a_foreign_context_leaves_open_only_what_it_may_tell() -> None:
    """English contexts count; a German one about the same leaves a claim open, another's not."""
    german = TRANSLATIONS["de"].context
    found = ClaimRecall().score(
        retrieved_contexts=[german, ENGLISH],
        reference_claims=["The tower was opened in 1889."],
    )
    assert found.findings[0].rank == 2
    may = ClaimRecall().score(
        retrieved_contexts=[german], reference_claims=["The Paris tower has a restaurant."]
    )
    assert (may.status, "German" in may.reason) == (Status.UNSCORED, True)
    other = ClaimRecall().score(
        retrieved_contexts=[german, ENGLISH], reference_claims=["Boris sold 77 Danish cows."]
    )
    assert other.score == 0.0


def test_relevance_too() -> None:
    """A reference answer in another language is not judged."""
    told = TRANSLATIONS["fr"]
    result = ContextPrecision(judge=LexicalJudge()).score(
        reference=told.true, retrieved_contexts=[told.context]
    )
    assert (result.status, "French" in result.reason) == (Status.UNSCORED, True)


def test_languages_are_the_users_to_add() -> None:
    """Whoever measured the judge on German adds it, and the judge's name says so."""
    judge = LexicalJudge(languages=("en", "de"))
    told = TRANSLATIONS["de"]
    result = ClaimRecall(judge=judge).score(
        retrieved_contexts=[told.context], reference_claims=[told.true]
    )
    assert result.status is Status.SCORED
    assert judge.name.endswith("en+de")
    with pytest.raises(ParameterError, match="languages"):
        LexicalJudge(languages="de")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("Das gilt z.B. für Berlin. Am 31. März 1889 wurde er eröffnet.",
         ["Das gilt z.B. für Berlin.", "Am 31. März 1889 wurde er eröffnet."]),
        ("长城位于中国北部。它的长度超过两万公里。",
         ["长城位于中国北部。", "它的长度超过两万公里。"]),
        ("J. R. R. Tolkien wrote it. It sold well.",
         ["J. R. R. Tolkien wrote it.", "It sold well."]),
        ("M. Dupont est arrivé. Il est parti.", ["M. Dupont est arrivé.", "Il est parti."]),
        ("2. Push it.\n- Use kubectl\n- Apply it", ["2. Push it.", "- Use kubectl", "- Apply it"]),
        ("| City | Height |\n|---|---|\n| Paris | 330 m |",
         ["| City | Height |", "| Paris | 330 m |"]),
        ("It cost approx. 5 dollars. It was sold.", ["It cost approx. 5 dollars.", "It was sold."]),
    ],
)  # fmt: skip
def test_sentences_by_language(text: str, parts: list[str]) -> None:
    """Abbreviations, dates, initials, list items, table rows, scripts without spaces."""
    assert sentences(text) == parts


@pytest.mark.parametrize(
    ("text", "facts"),
    [
        ("France is in Western Europe and its capital is Paris.",
         ["France is in Western Europe.", "France's capital is Paris."]),
        ("He was born in Rome, and he died in Paris.",
         ["He was born in Rome.", "He died in Paris."]),
        ("To deploy to AKS:\n1. Build the image.\n2. Push it.",
         ["1. Build the image.", "2. Push it."]),
        ("Anna and Boris founded it.", ["Anna and Boris founded it."]),
        ("It is in Paris and was completed in 1889.",
         ["It is in Paris and was completed in 1889."]),
        ("Der Turm steht in Rom und er ist hoch.", ["Der Turm steht in Rom und er ist hoch."]),
        ("Overview:", ["Overview:"]),
    ],
)  # fmt: skip
def test_facts(text: str, facts: list[str]) -> None:
    """A conjunction of two facts is two claims; a heading is none, unless there is nothing else."""
    assert facts_of(text) == facts


def test_a_conjunction_half_found_is_half_the_score() -> None:
    """The literature's example: 0.5, not 1.0."""
    result = ClaimRecall().score(
        reference="France is in Western Europe and its capital is Paris.",
        retrieved_contexts=[
            "France, in Western Europe, encompasses medieval cities, alpine villages and beaches.",
        ],
    )
    assert (result.score, result.missed) == (0.5, ("France's capital is Paris.",))
