"""A quote is evidence if its context has the same words, enough of them, at its offsets."""

from __future__ import annotations

import pytest

from fullrecall.judge.evidence import locate, locate_parts

CONTEXT = "It was completed in 1889, after two years of work. It is not safe to climb at night."


@pytest.mark.parametrize(
    "quote",
    [
        "completed in 1889",
        "COMPLETED  in\n1889",
        "“It is not safe to climb”",
        "after two years of work…",
    ],
)
def test_found(quote: str) -> None:
    """A quote is found regardless of letter case, whitespace and punctuation."""
    assert locate(quote.strip("“”"), CONTEXT) is not None


@pytest.mark.parametrize(
    "quote",
    [
        "completed in 1899, after two years of work",
        "It was complted in 1889, after two years of work",
        "It is safe to climb at night.",
        "It is not safe to climb at any night",
        "e",
        "not",
        "plete",
        "completed",
        "omplete",
        "",
        "…",
    ],
)
def test_not_found(quote: str) -> None:
    """A quote with another number, an extra or partial word, or without a negation is not found."""
    assert locate(quote, CONTEXT) is None


@pytest.mark.parametrize(
    ("quote", "context", "stands"),
    [
        ("strasse in berlin", "Die Straße in Berlin ist lang.", "Straße in Berlin"),
        ("caf\u00e9 noir", "un cafe\u0301 noir ici", "cafe\u0301 noir"),
        ("ﬁne day", "a fine day", "fine day"),
        ("日本の首都", "東京は日本の首都です。", "日本の首都"),
        ("İstanbul is big", "In İstanbul is big traffic", "İstanbul is big"),
    ],
    ids=["sharp s", "combining accent", "ligature", "no spaces", "dotted capital"],
)
def test_offsets_index_the_original(quote: str, context: str, stands: str) -> None:
    """With any case folding, the offsets refer to the retrieved text."""
    found = locate(quote, context)
    assert found is not None
    assert context[found.start : found.end] == stands


@pytest.mark.parametrize(
    ("word", "is_evidence"),
    [("abcdefghijkl", True), ("abcdefghijk", False), ("塔高", True), ("塔", False)],
)
def test_one_word_is_evidence_from_a_length(word: str, *, is_evidence: bool) -> None:
    """A quote of one word needs twelve characters, or two in a script without spaces."""
    assert (locate(word, f"the word {word} 很") is not None) == is_evidence


def test_a_short_context_can_be_quoted_whole() -> None:
    """A context of one word can be quoted whole."""
    assert locate("Paris", "Paris.") is not None
    assert locate("Paris.", "Paris") is not None
    assert locate("capital", "capital city") is None


@pytest.mark.parametrize(
    ("quote", "context"),
    [
        ("It was completed in 1889 … not safe to climb", CONTEXT),
        ("completed in 1889 [...] climb at night", CONTEXT),
        ("The height is 330 m.[2] It is old.", "The height is 330 m. It is old."),
        ("The height is 330 m. It is old.", "The height is 330 m.[2] It is old."),
        ("The height is 330 m. It is old.", "The height is 330 m.\u00b9 It is old."),
        ("Height 330 m", "| Name | Tower |\n| Height | 330 m |"),
        ("Height: 330 m", "| Height | 330 m |"),
        ("Open the lid. Close it.", "1. Open the lid.\n2. Close it."),
        ("2. Close it.", "1. Open the lid.\n2. Close it."),
        ("**Open** the lid", "Open the lid"),
        ("Paris", "It is in Paris, France."),
        ("1889", "It was completed in 1889."),
        ("東京", "日本の首都は東京です。"),
    ],
)
def test_what_models_leave_out_or_put_in(quote: str, context: str) -> None:
    """Row: quotes with ellipses, footnote marks, table cells, or list numbers are found."""
    assert locate(quote, context) is not None


@pytest.mark.parametrize(
    ("quote", "context"),
    [
        ("safe to climb … completed in 1889", CONTEXT),
        ("completed in 1889 … in 1923", CONTEXT),
        ("It … was … safe", CONTEXT),
        (
            "completed in 1889 … climb at night",
            "It was completed in 1889." + " x" * 400 + CONTEXT[50:],
        ),
        ("12", "It has 12,345 parts."),
        ("5", "It is 1.5 m long."),
        ("Paris", "The Parisian way"),
        ("330 m", "| Height | 330.5 m |"),
        ("-5 degrees", "It was 5 degrees."),
    ],
)
def test_what_is_put_together_is_not_there(quote: str, context: str) -> None:
    """A quote that joins distant or reordered parts, or parts of numbers, is not found."""
    assert locate(quote, context) is None


def verified(quote: str, context: str, claim: str, aim: str = "claim") -> bool:
    """Return whether a quote is in its context and bears on the claim."""
    from fullrecall.lexical.quote_rules import objection

    return not objection(claim, context, locate_parts(quote, context), aim)  # type: ignore[arg-type]


TOWER = "The tower is 330 metres high. It is in the north of the city, not of the county."


@pytest.mark.rooms
@pytest.mark.parametrize(
    ("claim", "quote", "context"),
    [
        ("The tower is 330 metres high.", "330 metres high", TOWER),
        ("The tower is in the city.", "in the north of the city", TOWER),
        ("The tower is not 1,149 metres high.", "not 1,149 metres", "It is not 1,149 metres high."),
        ("It opened in 1889.", "opened not only in 1889", "It opened not only in 1889."),
        (
            "The bridge of Oldport was opened in May.",
            "was opened",
            "Oldport has a stone bridge. It was opened in spring.",
        ),
        ("東京は日本の首都です。", "東京は日本の首都", "東京は日本の首都です。"),
    ],
)
def test_evidence_bears_on_its_claim(claim: str, quote: str, context: str) -> None:
    """Evidence shares a content word, number or name with its claim, and the same negation."""
    assert verified(quote, context, claim)


@pytest.mark.rooms
@pytest.mark.parametrize(
    ("claim", "quote", "context"),
    [
        ("Tolls were doubled by the mayor.", "Tolls were",
         "Tolls were abolished in 1978, and the keepers' house became a cafe."),
        ("The bridge was painted green by volunteers.", "The bridge was opened",
         "The bridge was opened in 1932, after three years of work."),
        ("The tower is 330 metres high.", "of the", TOWER),
        ("The museum opened in May.", "the north of the city", TOWER),
        ("The tower is 1,149 metres high.", "1,149 metres", "It is not 1,149 metres high."),
        ("The tower is 1,149 metres high.", "is not 1,149 metres", "It is not 1,149 metres high."),
        ("The tower is in Rome.", "the tower is in Rome",
         "It is a myth that the tower is in Rome."),
        ("The tower is in Rome.", "The tower is in Rome", "The tower is in Rome, which is false."),
        ("The tower opened in 1923.", "The tower opened", "The tower opened in 1889."),
        ("Der Turm steht in Rom.", "Turm steht nicht in Rom", "Der Turm steht nicht in Rom."),
        ("La tour est \u00e0 Rome.", "\u00e0 Rome", "La tour n'est pas \u00e0 Rome."),
        ("\u5854\u4f4d\u4e8e\u7f57\u9a6c\u3002", "\u4f4d\u4e8e\u7f57\u9a6c",
         "\u5854\u4e0d\u662f\u4f4d\u4e8e\u7f57\u9a6c\u3002"),
    ],
)  # fmt: skip
def test_evidence_that_proves_nothing(claim: str, quote: str, context: str) -> None:
    """Row: a quote is in its context, but shares nothing with its claim, or is negated."""
    assert locate_parts(quote, context)
    assert not verified(quote, context, claim)


@pytest.mark.rooms
def test_quotes_for_questions_and_contexts_need_a_content_word() -> None:
    """A quote for a question or a context needs a content word that is not in the question."""
    assert verified("330 metres", TOWER, "How tall is it?", "question")
    assert verified("the north of the city", TOWER, TOWER, "context")
    assert not verified("of the", TOWER, "How tall is it?", "question")


@pytest.mark.rooms
def test_which_contexts_are_enough_alone() -> None:
    """A context is enough alone if it has all words of the claim that any context has."""
    from fullrecall.lexical.quote_rules import stand_alone

    claim = "France is in Western Europe and its capital is Paris."
    halves = ["France is in Western Europe.", "Its capital is Paris."]
    assert stand_alone(claim, halves) == [False, False]
    assert stand_alone(claim, [" ".join(halves), halves[1]]) == [True, False]


@pytest.mark.rooms
def test_what_states_a_claim() -> None:
    """A context states a claim if one sentence has all its content words, equally negated."""
    from fullrecall.lexical.quote_rules import stating

    contexts = {
        1: TOWER,
        2: "The tower is not 330 metres high.",
        3: "The tower is high. It has 330 metres of rope.",
    }
    assert list(stating("The tower is 330 metres high.", contexts)) == [1]
    german = {1: "Turm: 330 Meter hoch.", 2: "Der Turm ist alt."}
    assert list(stating("Der Turm ist 330 Meter hoch.", german)) == [1], "no article"
