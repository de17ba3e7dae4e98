"""A quote is evidence if it stands there: the same words, enough of them, at their offsets."""

from __future__ import annotations

import pytest

from fullrecall.judges.evidence import locate

CONTEXT = "It was completed in 1889, after two years of work. It is not safe to climb at night."


@pytest.mark.parametrize(
    "quote",
    [
        "completed in 1889",
        "COMPLETED  in\n1889",
        "It was complted in 1889, after two years of work",
        "“It is not safe to climb”",
        "after two years of work…",
    ],
)
def test_found(quote: str) -> None:
    """Letter case, white space, marks and a letter in a long word are no difference."""
    assert locate(quote.strip("“”"), CONTEXT) is not None


@pytest.mark.parametrize(
    "quote",
    [
        "completed in 1899, after two years of work",
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
    """Another number, a lost negation, a word more, a shred of a word: not evidence."""
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
    """However a character folds, the offsets are those of the text as retrieved."""
    found = locate(quote, context)
    assert found is not None
    assert context[found.start : found.end] == stands


def test_a_short_context_can_be_quoted_whole() -> None:
    """Where the context is one word, that word is all there is to quote."""
    assert locate("Paris", "Paris.") is not None
    assert locate("Paris.", "Paris") is not None
    assert locate("capital", "capital city") is None
