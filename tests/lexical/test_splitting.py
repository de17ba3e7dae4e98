"""Each sentence of a split reference is in a claim, or listed with the reason why not."""

from __future__ import annotations

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from fullrecall import ClaimRecall
from fullrecall.lexical.clauses import facts_of
from fullrecall.lexical.sentences import omitted, parts, sentences, statements

NAMES = ("Rome", "Oldport", "Ravensby", "Lund", "Bergen", "Turin", "Delft", "Graz")
FACTS = (
    "{name} has {number} bridges.",
    "The harbour of {name} opened in 1{number}.",
    "{name} lies on a river and has {number} islands.",
    "It is {number} km from {name} to the sea.",
)


@st.composite
def documents(draw: st.DrawFn) -> tuple[str, list[str]]:
    """Return a text of blocks of every kind, and the number that each block states."""
    blocks, stated = [], []
    for number in range(100, 100 + draw(st.integers(1, 8))):
        name = draw(st.sampled_from(NAMES))
        fact = draw(st.sampled_from(FACTS)).format(name=name, number=number)
        stated.append(str(number))
        before = draw(
            st.sampled_from(
                [
                    "",
                    "## Scaling\n",
                    "# Title\n\n",
                    "**Overview**\n",
                    "Title\n=====\n",
                    "Yes. ",
                    "Where is it? ",
                    "```\ncode(1);\n```\n",
                    "The facts:\n- ",
                    "- ",
                    "1. ",
                    "#1: ",
                    "| City | Number |\n|---|---|\n| a | b |\n\n",
                    "---\n",
                    "I hope this helps! ",
                ]
            )
        )
        blocks.append(before + fact)
    return draw(st.sampled_from(["\n", "\n\n"])).join(blocks), stated


@given(documents())
def test_each_fact_is_in_exactly_one_claim(document: tuple[str, list[str]]) -> None:
    """Headings, markers, tables, code, questions, or fillers before it change no claim."""
    text, stated = document
    claims = facts_of(text)
    for number in stated:
        assert [
            number in re.findall(r"\d{3}", re.sub(r"\b1(\d{3})\b", r"\1", claim))
            for claim in claims
        ].count(True) == 1


@given(st.text(alphabet=st.sampled_from(list("ab .!?:;\n#-|*`1)(\t,é。")), max_size=200))
@example("```1")
@example("a\n```b\n1\n```\n```a\n1")
def test_every_character_is_in_a_part(text: str) -> None:
    """For any text, each letter and digit is in one part, in order.

    The language name of an unclosed fence is the only exception.
    """
    kept = "".join(c for part in parts(text) for c in part.text if c.isalnum())
    lines = text.split("\n")
    fences = [at for at, line in enumerate(lines) if line.strip().startswith("```")]
    if len(fences) % 2:
        lines[fences[-1]] = ""
    assert kept == "".join(filter(str.isalnum, "".join(lines)))
    assert sorted([*statements(text), *(part.text for part in omitted(text))]) == sorted(
        sentences(text)
    )


@pytest.mark.parametrize(
    ("text", "claims", "silent"),
    [
        ("## Scaling\nScaling is automatic.", ["Scaling is automatic."], ["heading"]),
        ("#1 in sales is the Model T.", ["#1 in sales is the Model T."], []),
        ("Title\n-----\nIt is blue.", ["It is blue."], ["heading"]),
        ("Title\n-\nIt is blue.", ["Title", "-\nIt is blue."], []),
        ("- Title\n---\nIt is blue.", ["- Title", "It is blue."], []),
        ("Is it red?\n---\nIt is blue.", ["It is blue."], ["question"]),
        ("a b c d e f g h i j k l\n---\nIt is blue.", ["It is blue."], ["heading"]),
        ("a b c d e f g h i j k l m\n---\nIt is.", ["a b c d e f g h i j k l m", "It is."], []),
        ("###### Scaling\nIt is blue.", ["It is blue."], ["heading"]),
        ("####### Scaling\nIt is blue.", ["####### Scaling\nIt is blue."], []),
        ("**Pools**\nThe pool is blue.", ["The pool is blue."], ["heading"]),
        ("| City | Height |\n|---|---|\n| Paris | 330 m |", ["| Paris | 330 m |"],
         ["table header"]),
        ("City | Height\n--- | ---\nParis | 330 m\n\nIt is so.", ["Paris | 330 m", "It is so."],
         ["table header"]),
        ("Run this:\n```\nx = 1\n```\nThen it works.", ["Then it works."], ["lead-in", "code"]),
        ("Run this:\n$ pip install x\nIt takes a minute.", ["It takes a minute."],
         ["lead-in", "code"]),
        ("```\nThis fence is never closed.", ["This fence is never closed."], []),
        ("Yes. The tower is open. What else?", ["The tower is open."], ["filler", "question"]),
        ('He asked "why?" and left.', ['He asked "why?" and left.'], []),
        ("Yes.", ["Yes."], []),
    ],
)  # fmt: skip
def test_blocks_without_a_statement_are_listed(
    text: str, claims: list[str], silent: list[str]
) -> None:
    """Headings, "#1", table headers, code, fillers and questions are listed, not claimed."""
    assert statements(text) == claims
    assert [part.role for part in omitted(text)] == silent


@pytest.mark.parametrize(
    ("sentence", "facts"),
    [
        ("Einstein was born in Germany and developed relativity.",
         ["Einstein was born in Germany.", "Einstein developed relativity."]),
        ("The tower was built in 1889 and opened in 1890.",
         ["The tower was built in 1889.", "The tower was opened in 1890."]),
        ("He was born in Ulm, studied in Zurich, and died in Princeton.",
         ["He was born in Ulm.", "He studied in Zurich.", "He died in Princeton."]),
        ("The tool compresses the data, encrypts it and stores it in the cloud.",
         ["The tool compresses the data.", "The tool encrypts it.",
          "The tool stores it in the cloud."]),
        ("Kinstler is 20 years old, Spence is 21, and Beckham is 24.",
         ["Kinstler is 20 years old.", "Spence is 21.", "Beckham is 24."]),
        ("They have been labeled as old and mocked in a film.",
         ["They have been labeled as old.", "They have been mocked in a film."]),
        ("It is not open and the door is shut.", ["It is not open.", "The door is shut."]),
        ("He left; she stayed.", ["He left.", "She stayed."]),  # the shortest
        ("The harbour of the old town opened in spring; the mill of the new town closed in autumn.",
         ["The harbour of the old town opened in spring.",
          "The mill of the new town closed in autumn."]),  # the longest
    ],
)  # fmt: skip
def test_verbs_that_share_a_subject_are_facts(sentence: str, facts: list[str]) -> None:
    """Verbs that share a subject are facts, each with the shared subject and auxiliary."""
    assert facts_of(sentence) == facts


@pytest.mark.parametrize(
    "sentence",
    [
        "It is a fast and automated system for all of us.",
        "Ann wrote, directed, and produced the film in 1990.",
        "She bought the old and abandoned house in Rome.",
        "Ann never smoked and drank in her life.",
        "Only Ann swam and ran in the race at noon.",
        "The company which makes cars and sells the parts is in Rome.",
        "The museum has books and works of art.",
        "The tower stands between the river and the hill was cleared.",
        "Another reason could be to win delegates and have a say in the party.",
        "He said that the king left and the queen was ill.",
        "The harbour of the old town opened in spring; the mill of the new town closed in the end.",
        "The envoys met with the prosecutor and President Lund during a trip aimed at peace.",
    ],
)
def test_a_sentence_of_one_fact_stays_whole(sentence: str) -> None:
    """Adjectives, negation, "only", relative clauses, and reports do not divide a fact."""
    assert facts_of(sentence) == [sentence]


def test_half_found_is_half() -> None:
    """Two facts joined by "and" earn half the credit each, and the missing one is named."""
    result = ClaimRecall().score(
        reference="## Life\nEinstein was born in Germany and developed relativity. Who knew?",
        retrieved_contexts=["Albert Einstein was born in Germany, in the town of Ulm, in 1879."],
    )
    assert (result.score, result.missed) == (0.5, ("Einstein developed relativity.",))
    assert "heading '## Life', question 'Who knew?'" in result.note


@pytest.mark.parametrize(
    "unit",
    ["-", " ", "a ", "and ", "a and b, ", "a;", "|", "|-", "#", "# a\n", "```\n", "1. ", "(", "\n",
     "**", "a\n-\n", " \t", "A. ", "p. ", "?", "is and was, ", ": 1. ", "$ a\n", "    x\n"],
)  # fmt: skip
def test_splitting_is_linear(unit: str) -> None:
    """Twice the text takes at most twice the steps, up to 40,000 characters."""
    text = unit * (40_000 // len(unit))
    assert isinstance(facts_of(text), list)
    assert isinstance(facts_of(f"{text} it is so and the rest"), list)
