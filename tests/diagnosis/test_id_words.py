"""An ID is split into words and numbers, which are compared without separators."""

from __future__ import annotations

import pytest

from fullrecall.diagnosis.ids.words import CHUNK, EXTENSION, NUMBER, PATH, WHOLE, Template, words_of

IDS = [
    # ID, key, text before the words, text after them, words as written
    ("docs/Air Guide v007.MD", "docsairguidev7md", "", "", "docs Air Guide v 007 MD"),
    ("https://x.org/docs/a.md#12", "xorgdocsamd12", "https://", "", "x org docs a md 12"),
    ("www.x.org/", "xorg", "www.", "/", "x org"),
    ("file:///srv/a.md", "srvamd", "file:///", "", "srv a md"),
    ("HTTPServerConfig", "httpserverconfig", "", "", "HTTPServer Config"),
    ("camelCaseName2Go", "camelcasename2go", "", "", "camel Case Name 2 Go"),
    ("a%20b%2Fc", "abc", "", "", "a b c"),
    ("\uff46\uff55\uff4c\uff4c\uff11\uff12", "full12", "", "", "full 12"),
    ("", "", "", "", ""),
    ("--", "", "", "", ""),
    (" 007 ", "7", "", "", "007"),
    ("000", "0", "", "", "000"),
    ("12.00", "12", "", ".00", "12"),
    ("1.5", "1|5", "", "", "1 5"),
    ("1-23", "1|23", "", "", "1 23"),
    ("12-3", "12|3", "", "", "12 3"),
    ("page-3_4", "page3|4", "", "", "page 3 4"),
    ("(a--b__c)", "abc", "(", ")", "a b c"),
    ("Straße", "strasse", "", "", "Straße"),
]


@pytest.mark.parametrize(("own_id", "key", "before", "after", "spaced"), IDS)
def test_the_words_of_an_id(own_id: str, key: str, before: str, after: str, spaced: str) -> None:
    """Case, zeros before a number, schemes, and separators do not count; two numbers stay two."""
    words = words_of(own_id)
    assert (words.key, words.before, words.after, words.spaced) == (key, before, after, spaced)
    assert f"{before}{words.core}{after}" == words.text
    assert words.compared("words") == key
    assert words.compared("letters") == spaced.replace(" ", "").casefold()
    assert words.compared("any order") == "|".join(sorted(words.keys))
    assert words.inner == ""


def test_long_ids_are_cut() -> None:
    """Only the first 512 characters and 32 words of an ID are read."""
    assert words_of("a" * 513).key == "a" * 512
    assert len(words_of("a-" * 40).keys) == 32


@pytest.mark.parametrize(
    ("own_id", "step", "moved"),
    [
        ("page-9", 1, "page10"),
        ("page-9", -1, "page8"),
        ("2-page-9-end", 1, "2page10end"),
        ("page-0", -1, "page-1"),
        ("12", 1, ""),
        ("page", 1, ""),
        ("", 1, ""),
    ],
)
def test_the_next_number(own_id: str, step: int, moved: str) -> None:
    """The last number moves; a number alone counts nothing."""
    assert words_of(own_id).moved(step) == moved


@pytest.mark.parametrize(
    ("own_id", "cut", "cores"),
    [
        ("srv/docs/a.md", WHOLE, ["srv/docs/a.md"]),
        ("srv/docs/a.md", (PATH, ""), ["docs/a.md", "a.md"]),
        ("srv\\docs", (PATH, ""), ["docs"]),
        ("a.md", (PATH, ""), []),
        ("srv/docs/a.md", ("", EXTENSION), ["srv/docs/a"]),
        ("srv/docs/a.md", (PATH, EXTENSION), ["docs/a", "a"]),
        ("a.toolong", ("", EXTENSION), []),
        ("a.md#3", ("", CHUNK), ["a.md"]),
        ("a/chunk-7", ("", CHUNK), ["a"]),
        ("a_p2_3", ("", CHUNK), ["a"]),
        ("a-3", ("", CHUNK), []),
        ("a-3", ("", NUMBER), ["a"]),
        ("a3", ("", NUMBER), []),
        ("docs/3", (PATH, NUMBER), []),
        ("", WHOLE, []),
    ],
)
def test_the_parts_of_an_id(own_id: str, cut: tuple[str, str], cores: list[str]) -> None:
    """A path before the words, and a chunk, an extension or a number after them, are cut off."""
    assert [words.core for words in words_of(own_id).cores(cut)] == cores


NAMES = [*"abcde", *(f"{n}-{n}" for n in "fghij")]
OURS = [f"acme-{name}-v2" for name in ("mill", "tower", "bridge")]
THEIRS = [f"{name}.html" for name in ("mill", "tower", "bridge")]


@pytest.mark.parametrize(
    ("ours", "theirs", "own_id", "left"),
    [
        (OURS, THEIRS, "acme-mill-v2", "mill 2"),
        (THEIRS, OURS, "mill.html", "mill"),
        (OURS[:2], THEIRS, "acme-mill-v2", "acme mill v 2"),
        (OURS, THEIRS[:2], "acme-mill-v2", "acme mill v 2"),
        (OURS, [f"acme {name}" for name in "abc"], "acme-mill-v2", "acme mill 2"),
        (OURS, THEIRS, "acme", "acme"),
        (OURS, THEIRS, "mill", "mill"),
        ([f"7-{n}-x" for n in "abcdefghij"], list("abcdefghij"), "7-a-x", "a"),
        ([f"7-{n}-x" for n in NAMES], [f"7-{n}" for n in NAMES], "7-a-x", "7 a"),
        ([f"7-{n}-x" for n in "abcdefghi"], list("abcdefghi"), "7-a-x", "7 a"),
        ([], [], "acme-mill", "acme mill"),
    ],
)
def test_the_words_of_a_template(
    ours: list[str], theirs: list[str], own_id: str, left: str
) -> None:
    """Words that all IDs of one side have in one place are left out, if the other side lacks them.

    A number is left out only if ten IDs have it, before other words.
    """
    assert Template.of(ours, theirs).left_out(words_of(own_id)).spaced == left


def test_omitted_words_between() -> None:
    """The words between the first and the last one that a template leaves out are known."""
    words = words_of("a-b-c-d")
    kept = words._replace(keys=("a", "d"), spans=(words.spans[0], words.spans[3]))
    assert kept.inner == "b c"
    assert kept._replace(keys=(), spans=()).inner == ""
