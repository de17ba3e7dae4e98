"""The offsets of each part of a quote, and the folding that finds it."""

from __future__ import annotations

import pytest

from fullrecall.judge.evidence import Folded, locate, locate_parts

FAR = " " * 600


@pytest.mark.parametrize(
    ("quote", "context", "parts"),
    [
        ("one two … five six", "one two x five six", ["one two", "five six"]),
        ("one … six", "one x six", []),
        ("one two … six", "one two x six", []),
        ("one … six … x", "one two six x", []),
        (
            "one two … five six … nine ten",
            "one two 3 five six 8 nine ten",
            ["one two", "five six", "nine ten"],
        ),
        ("a b ... c d", "c d a b c d", ["a b", "c d"]),
        ("a b … c d", "a b c d", ["a b", "c d"]),
        ("cat sat … cat sat", "cat sat. The cat sat.", ["cat sat", "cat sat"]),
        ("a b … c d", f"a b{FAR}c d", ["a b", "c d"]),
        ("a b … c d", f"a b{FAR} c d", []),
        ("x y", "x, y", ["x, y"]),
        ("x y", "a, x[1] y", ["x[1] y"]),
        ("x y", "x[note 3] y", ["x[note 3] y"]),
        ("see 3 here", "see [3] here", []),
        ("x y", "(12) x\n13. y", ["x\n13. y"]),
        ("12 days", "12.5 days", []),
        ("12 days", "1/12 days", []),
        ("12 days", "in 12 days.", ["12 days"]),
        ("5 m", "it is 5 m, ok", ["5 m"]),
        ("paris.", "  Paris. ", ["Paris"]),
        ("It", "It is", ["It"]),
        ("A", "A b", []),
        ("it's so", "if it’s so", ["it’s so"]),
        ("so-so words", "so–so words", ["so–so words"]),
        ("soft hy", "so\u00adft hy", ["so\u00adft hy"]),
        ("日本", "日本語", ["日本"]),
        ("日", "日本語", []),
        ("é à", "É  À !", ["É  À"]),
        ("word7", "word7 is", ["word7"]),
        ("a  b", "x a \n b c", ["a \n b"]),
        ("m2 x", "5 m² x", ["m² x"]),
        ("−5 x", "-5 x", []),
        ("5 % of", "5% of", ["5% of"]),
        ("a b", "xa b a by a b", ["a b"]),
    ],
)
def test_the_parts_of_a_quote(quote: str, context: str, parts: list[str]) -> None:
    """Each part occurs as whole words, after the part before it, at most 600 characters away."""
    found = locate_parts(quote, context)
    assert [context[part.start : part.end] for part in found] == parts
    whole = locate(quote, context)
    assert whole == ((found[0].start, found[-1].end) if parts else None)


@pytest.mark.parametrize(
    ("text", "folded", "offsets", "bare_offsets"),
    [
        ("a b", "a b", [0, 1, 2], [0, 2]),
        ("A  b ", "a b", [0, 1, 3], [0, 3]),
        ("É a", "é a", [0, 0, 1, 2], [0, 0, 2]),
        ("a\u00ad b", "a b", [0, 2, 3], [0, 3]),
        ("\u00ad a b", "a b", [2, 3, 4], [2, 4]),
        (" x", "x", [1], [1]),
    ],
)
def test_the_offsets_of_folded_characters(
    text: str, folded: str, offsets: list[int], bare_offsets: list[int]
) -> None:
    """Each folded character has the offset of its own one; a space has that of the gap's begin."""
    spaced, bare = Folded(text), Folded(text, "")
    decomposed = folded.replace("é", "e\u0301")
    assert (spaced.text, bare.text) == (decomposed, decomposed.replace(" ", ""))
    for made, expected in ((spaced, offsets), (bare, bare_offsets)):
        places = [made.location(n, n + 1) for n in range(len(made.text))]
        assert places == [(at, at + 1) for at in expected]


def test_the_words_of_a_text() -> None:
    """Footnotes and list numbers are no words; signs, separators and currencies are kept."""
    text = "1. Open[1] the -5,000.5 lid² – $3 10:30 x_y\n(2) - Go"
    assert [(word, text[start:end]) for word, start, end in Folded(text).tokens] == [
        ("open", "Open"),
        ("the", "the"),
        ("-5,000.5", "-5,000.5"),
        ("lid2", "lid²"),
        ("$", "$"),
        ("3", "3"),
        ("10:30", "10:30"),
        ("x", "x"),
        ("y", "y"),
        ("go", "Go"),
    ]
