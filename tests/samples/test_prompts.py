"""A prompt has a text whole, escaped, in parts, or not at all."""

from __future__ import annotations

import random

import pytest

from fullrecall.samples.context import Context
from fullrecall.samples.prompts import FoldedPrompt, read_in, unescaped

LETTERS = "".join(random.Random(5).choices("abcdefghijklmnopqrstuvwxyz", k=200))
"""No run of it occurs twice."""


@pytest.mark.parametrize(
    ("text", "prompts", "read"),
    [
        (None, ["x"], None),
        ("", [], "yes"),
        (" \n", [], "yes"),
        ("short", ["a short one"], "yes"),
        ("sh ort", ["a s hort one"], "yes"),
        ("short", ["shor", "t"], "no"),
        ("short", [], "no"),
        (LETTERS, [LETTERS], "yes"),
        (LETTERS, [LETTERS[:32]], "partly"),
        (LETTERS, [LETTERS[:31]], "no"),
        (LETTERS[:32], [LETTERS[:31]], "no"),
        (LETTERS[:31], [LETTERS[:30]], "no"),
        (LETTERS[:47], [LETTERS[16:47]], "no"),
        (LETTERS[:48], [LETTERS[16:48]], "partly"),
        (LETTERS[:48], [LETTERS[8:40]], "no"),
        (LETTERS, [LETTERS[16:48]], "partly"),
        (LETTERS, [LETTERS[1:47]], "no"),
        (LETTERS, [LETTERS[1:48]], "partly"),
        (LETTERS, [LETTERS[160:192]], "partly"),
        (LETTERS, [LETTERS[176:]], "no"),
        (LETTERS, [LETTERS[:100], LETTERS[100:]], "yes"),
        (LETTERS, [LETTERS[100:], LETTERS[:100]], "yes"),
        (LETTERS, [LETTERS[:100] + "!" + LETTERS[100:]], "partly"),
        (LETTERS, [LETTERS[:100], LETTERS[101:]], "partly"),
        (LETTERS, [LETTERS[:32], LETTERS[32:]], "yes"),
        (LETTERS, [LETTERS[:31], LETTERS[31:]], "partly"),
        (LETTERS, [LETTERS[:199], "!" + LETTERS[199:]], "yes"),
        (LETTERS, [LETTERS[:60], LETTERS[60:120], LETTERS[120:]], "yes"),
        (LETTERS, [LETTERS[:60] + "!" + LETTERS[120:], LETTERS[60:120]], "yes"),
        (LETTERS, [LETTERS[:40], LETTERS[:60], LETTERS[50:]], "yes"),
    ],
)
def test_how_much_of_a_text_prompts_have(
    text: str | None, prompts: list[str], read: str | None
) -> None:
    """Parts count from 32 characters on, and must come from different prompts in turn."""
    context = Context(text) if text is not None else Context(id="d")
    assert read_in([context], prompts) == (read,)


@pytest.mark.parametrize(
    ("text", "forms"),
    [
        ("plain", []),
        (r"a\nb", ["a b"]),
        (r"a\tb\rc\fd\be\vf", ["a b c d e f"]),
        (r"\"q\" \/ \\", ['"q" / \\']),
        (r"\u00e9\xe9", ["éé"]),
        (r"\ud83d\ude00", ["😀"]),
        (r"\ud83d", ["\ufffd"]),
        (r"\\u00e9", [r"\u00e9", "é"]),
        ("&amp;", ["&"]),
        ("&amp;lt;", ["&lt;", "<"]),
        ("&amp;amp;lt;", ["&amp;lt;", "&lt;"]),
        ("a & b", []),
        ("\\", []),
    ],
)
def test_escapes_are_undone_once_and_twice(text: str, forms: list[str]) -> None:
    """JSON, printed objects, and markup are read; a text without escapes has no other form."""
    assert list(unescaped(text)) == forms


def test_a_prompt_is_searched_from_the_last_text_on() -> None:
    """Texts in any order, overlapping or repeated, are found, in escaped forms too."""
    prompt = FoldedPrompt(r"one two \u0033 one four")
    for text in ("two", "one", "one", "four", "onetwo", "3one", "four", "wo", "on"):
        assert prompt.has(text)
    for text in ("five", "twoone", "3four", "fourone"):
        assert not prompt.has(text)
    assert FoldedPrompt("abcabc").has("ca")
    overlapping = FoldedPrompt("ababa")
    assert [overlapping.has(text) for text in ("ab", "ba", "aba", "bab", "bb")] == [
        True, True, True, True, False,
    ]  # fmt: skip
