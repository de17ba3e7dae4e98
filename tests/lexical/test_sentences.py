"""The parts of a text by their marks, each with its role."""

from __future__ import annotations

import pytest

from fullrecall.lexical.sentences import begins_item, commands, parts

# Parts in their order; a role other than "statement" stands before its part.
PARTS = {
    # items within a line: numbered from 1 after a mark, or with bullets
    "1. One 2. Two 3. Three": ["1. One", "2. Two", "3. Three"],
    "(1) One (2) Two": ["(1) One", "(2) Two"],
    "It has: 1) a, 2) b and 3) c.": ["lead-in It has:", "1) a", "2) b and", "3) c."],
    "It has 2. Two 3. Three": ["It has 2.", "Two 3.", "Three"],
    "It is 1. One": ["It is 1.", "One"],
    "It is 1. One 2. Two": ["It is 1.", "One 2.", "Two"],
    "Steps: 1. One 3. Three": ["Steps: 1.", "One 3.", "Three"],
    "Steps: 1. One 2. Two 4. Four": ["lead-in Steps:", "1. One", "2. Two 4.", "Four"],
    "Yes, and 1. One 2. Two": ["filler Yes", "1. One", "2. Two"],
    "The list: - a - b - c": ["lead-in The list:", "- a", "- b", "- c"],
    "The list: - a - b": ["lead-in The list:", "- a", "- b"],
    "The list: - a": ["The list: - a"],
    "No colon - a - b - c": ["No colon - a - b - c"],
    "a • b • c": ["a", "• b", "• c"],
    "a • b": ["a • b"],
    "1. It is.\n2. It was.": ["1. It is.", "2. It was."],
    "a) It is. b) It was.": ["a) It is.", "b) It was."],
    # headings
    "# A\nText.": ["heading # A", "Text."],
    "#tag is.": ["#tag is."],
    "##A\nText.": ["heading ##A", "Text."],
    "###### A\nText": ["heading ###### A", "Text"],
    "####### A\nText": ["####### A\nText"],
    "Text\n# A": ["Text\n# A"],
    "Title\n==\nText.": ["heading Title", "Text."],
    "Title\n=\nText.": ["Title\n=\nText."],
    "Title.\n---\nText.": ["Title.", "Text."],
    "- item\n---\nText": ["- item", "Text"],
    "**Bold**\nText.": ["heading **Bold**", "Text."],
    "__Bold__\nText": ["heading __Bold__", "Text"],
    "**Bold__\nText": ["**Bold__\nText"],
    # code, commands and tables
    "```\ncode\n```": ["code ```\ncode\n```"],
    "```bash\nls\n```": ["command ```bash\nls\n```"],
    "~~~sh\nls\n~~~": ["command ~~~sh\nls\n~~~"],
    "```bash\n```": ["code ```bash\n```"],
    "```\nopen\n~~~": ["open"],
    "$ ls\nText.": ["code $ ls", "Text."],
    "| a | b |\n|---|---|\n| 1 | 2 |\nText.": ["table header | a | b |", "| 1 | 2 |", "Text."],
    "a | b\n---|---\n1 | 2\nText.": ["table header a | b", "1 | 2", "Text."],
    "a | b\ntext": ["a | b\ntext"],
    "|row|": ["|row|"],
    "|": [],
    "---": [],
    "* * *": [],
    "- ": [],
    # roles of sentences
    "Yes. It is.": ["filler Yes.", "It is."],
    "Why? It is.": ["question Why?", "It is."],
    "It is: **bold:**": ["lead-in It is: **bold:**"],
    "Run this: it is.": ["Run this: it is."],
    # abbreviations and other scripts
    "Mr. Bo ran. He sat.": ["Mr. Bo ran.", "He sat."],
    "It is。它是。": ["It is。", "它是。"],
    "It is.  \n\nIt was.": ["It is.", "It was."],
    "1.": ["1."],
}


@pytest.mark.parametrize("text", PARTS)
def test_a_text_has_its_parts(text: str) -> None:
    """Each mark of Markdown ends a part or does not, and decides its role."""
    listed = [
        part.text if part.role == "statement" else f"{part.role} {part.text}"
        for part in parts(text)
    ]
    assert listed == PARTS[text]


@pytest.mark.parametrize(
    ("fence", "listed"),
    [
        ("```\nls\n```", ["ls"]),
        ("```\n$ ls\nout\n$ pwd\n```", ["ls", "pwd"]),
        ("```\nls # all\n# c\n\npwd\n```", ["ls", "pwd"]),
        ("```\n$ls\n```", ["$ls"]),
        ("```\n```", []),
    ],
)
def test_the_commands_of_a_fence(fence: str, listed: list[str]) -> None:
    """With prompts, only lines after a prompt are commands; comments are not."""
    assert commands(fence) == listed


def test_markers_of_items() -> None:
    """A marker is a short number, a letter, a Roman number, or a bullet, before a space."""
    items = ["1. a", "- a", "a) b", "(iv) a", "(xviii) a", "• a", "–", "* a"]
    assert all(map(begins_item, items))
    assert not any(map(begins_item, ["ab. c", "1234. a", "-a", "(abcdefgh) a"]))
