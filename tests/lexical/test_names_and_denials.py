"""Names by their capitals, and denials with the words that they deny."""

from __future__ import annotations

import pytest

from fullrecall.lexical.words.names import names
from fullrecall.lexical.words.negations import denials, denied_keys, denies

# A name in brackets is not sure: any word that begins a sentence has a capital.
NAMES = {
    "Ann Lee met Bo Holst.": ["Ann Lee", "Bo Holst"],
    "The mill is old.": [],
    "Quokkas sleep.": ["(Quokkas)"],
    "Ann Bo. Quokkas left": ["Ann Bo", "(Quokkas)"],
    "Old Rome fell.": ["Old Rome"],
    "Rome fell.": [],
    "He said Rome fell.": ["Rome"],
    "We saw Dr Holst.": ["Holst"],
    "Dr Rome left.": ["Rome"],
    "J. K. Rowling wrote it.": ["J. K. Rowling"],
    "J.K. Rowling": ["J.K. Rowling"],
    "In May Ann left on Monday.": ["Ann"],
    "Jean-Luc left.": ["Jean-Luc"],
    "Rome, Bo and Cy left.": ["Bo", "Cy"],
    "It: Rome fell.": [],
    "It; Rome fell": [],
    "It | Rome fell": [],
    "It\nRome fell": [],
    "It, Rome fell": ["Rome"],
    "It fell. in Rome it rose": ["Rome"],
    "A 5K Run in Rome": ["Run", "Rome"],
}

# Each denial with its kind and the rest of its clause.
DENIALS = {
    "It is not open.": ["plain not: open"],
    "It isn't open.": ["plain isn't: open"],
    "It isn\u2019t open.": ["plain isn\u2019t: open"],
    "nobody's dog": ["plain nobody's: dog"],
    "It failed to open, but it was red.": ["implied failed: to open"],
    "without doors": ["implied without: doors"],
    "It is a myth that the mill burned.": ["reported myth: that the mill burned"],
    "Contrary to reports it burned.": ["reported Contrary to: reports it burned"],
    "Contrary to popular belief it burned.": [],
    "It is not only open but big.": [],
    "no later than May": [],
    "No. 5 is open.": [],
    "It is open or not.": [],
    "never-ending road": [],
    "not one two": [],
    "It was not built; Bo ran.": ["plain not: built"],
    "It was not built although Bo ran.": ["plain not: built "],
    "It was not built and not sold.": ["plain not: built and not sold", "plain not: sold"],
}


@pytest.mark.parametrize("text", NAMES)
def test_a_text_has_its_names(text: str) -> None:
    """Joined capitalized words are one name; months, titles and frequent words are not names."""
    found = names(text)
    assert [name.text if name.is_sure else f"({name.text})" for name in found] == NAMES[text]
    assert all(text[name.start : name.end] == name.text for name in found)


@pytest.mark.parametrize("text", DENIALS)
def test_a_text_has_its_denials(text: str) -> None:
    """A denial reaches to the end of its clause; fixed phrases deny nothing."""
    found = denials(text, "en")
    assert [
        f"{each.kind} {text[each.start : each.end]}:{text[each.end : each.clause_end]}"
        for each in found
    ] == DENIALS[text]
    for kind in ("plain", "implied", "reported"):
        assert denies(text, "en", (kind,)) == any(each.kind == kind for each in found)
    assert denies(text, "en") == any(each.kind == "plain" for each in found)


def test_denied_words() -> None:
    """A plain denial denies at most six content words after it, within its clause."""
    long = "Ann saw it was not built by Bo in Rome near the old red mill on the green hill."
    assert denied_keys(long) == {"build", "bo", "rom", "near", "old", "red"}
    assert denied_keys("Ann was not old; Bo ran.") == {"old"}
    assert denied_keys("It failed to open.") == denied_keys("It is a myth.") == frozenset()
    assert denied_keys("It was never not old.") == {"old"}


@pytest.mark.parametrize(
    ("text", "kinds"),
    [("Er ist nicht alt.", ["plain"]), ("Il n'est pas vieux.", ["plain", "plain"])],
)
def test_denials_of_other_languages(text: str, kinds: list[str]) -> None:
    """The language is detected, and an elision has its denial before the apostrophe."""
    assert [each.kind for each in denials(text)] == kinds
