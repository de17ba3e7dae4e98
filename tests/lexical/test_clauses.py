"""Each rule that splits a sentence into facts, with sentences that it splits or leaves whole."""

from __future__ import annotations

import pytest

from fullrecall.lexical.clauses import (
    agent_and_act,
    clauses_of,
    facts_of,
    facts_of_claim,
    is_known_verb,
    predicate_of,
)

SPLIT = {
    # semicolons, "while" and "whereas"
    "Ann ran; Bo died.": ["Ann ran.", "Bo died."],
    "Ann ran home; Bo died; Cy left.": ["Ann ran home.", "Bo died.", "Cy left."],
    "While Ann ran home, the mill closed.": ["Ann ran home.", "The mill closed."],
    "The mill closed, whereas Bo stayed open.": ["The mill closed.", "Bo stayed open."],
    # verbs that share a subject
    "The mill opened in May and closed in June.": ["The mill opened in May.",
                                                   "The mill closed in June."],
    "Ann sang and danced.": ["Ann sang and danced."],
    "Ann ran home and died.": ["Ann ran home.", "Ann died."],
    "(Ann ran home and died.)": ["Ann ran home.", "Ann died."],
    "(Ann ran home and died)": ["Ann ran home.", "Ann died."],
    "(Ann ran home and died": ["(Ann ran home.", "(Ann died."],
    "The mill was painted in May, restored in June and closed in July.": [
        "The mill was painted in May.", "The mill was restored in June.",
        "The mill was closed in July."],
    "Bread has been sold in Rome and baked in Lund.": ["Bread has been sold in Rome.",
                                                       "Bread has been baked in Lund."],
    "It can be painted in May and restored in June.": ["It can be painted in May.",
                                                       "It can be restored in June."],
    "It was painted and restored.": ["It was painted.", "It was restored."],
    "It was built and opened in Rome.": ["It was built.", "It was opened in Rome."],
    "She was born in Rome and died in Lund.": ["She was born in Rome.", "She died in Lund."],
    "She was born in Rome and educated in Lund.": ["She was born in Rome.",
                                                   "She educated in Lund."],
    "The team holds 40 people and quickly encrypts the files.": [
        "The team holds 40 people.", "The team quickly encrypts the files."],
    "The engine quickly moved to Lund, and died.": ["The engine quickly moved to Lund.",
                                                    "The engine died."],
    "Ann wrote a book, sold the mill and left for Rome.": [
        "Ann wrote a book.", "Ann sold the mill.", "Ann left for Rome."],
    "Ann wrote a book, sold the mill, and left for Rome.": [
        "Ann wrote a book.", "Ann sold the mill.", "Ann left for Rome."],
    "The mill is old and has doors.": ["The mill is old.", "The mill has doors."],
    "Ann wrote novels and painted old houses.": ["Ann wrote novels.", "Ann painted old houses."],
    "The team encrypts PDF files and holds 40 people.": ["The team encrypts PDF files.",
                                                         "The team holds 40 people."],
    "Ann opened in May and owns the gate.": ["Ann opened in May.", "Ann owns the gate."],
    "She works in Rome and lives in Lund.": ["She works in Rome.", "She lives in Lund."],
    f"Ann wrote novels and painted houses{' big' * 12}.": [
        "Ann wrote novels.", f"Ann painted houses{' big' * 12}."],
    # clauses with a subject of their own; a pronoun becomes the subject
    "The mill is old and its roof is red.": ["The mill is old.", "The mill's roof is red."],
    "Ann ran the mill and she died in Rome.": ["Ann ran the mill.", "Ann died in Rome."],
    "Ann ran the mill and Bo died.": ["Ann ran the mill.", "Bo died."],
    "Steam died and the owner opened in May.": ["Steam died.", "The owner opened in May."],
    "Ann wrote novels and the old old old old house was sold.": [
        "Ann wrote novels.", "The old old old old house was sold."],
    "Ann opened the shop and the owner died.": ["Ann opened the shop.", "The owner died."],
    "Ann opened the shop and the house of the owner was sold.": [
        "Ann opened the shop.", "The house of the owner was sold."],
    # descriptions between commas
    "The mill was built by Ann, who died.": ["The mill was built by Ann.", "Ann died."],
    "The mill was built by Ann Mary Lee, who died in May.": [
        "The mill was built by Ann Mary Lee.", "Ann Mary Lee died in May."],
    "The mill, which is old, closed.": ["The mill is old.", "The mill closed."],
    "The mill, founded in May, closed.": ["The mill was founded in May.", "The mill closed."],
    "The mill, built by Bo, closed.": ["The mill was built by Bo.", "The mill closed."],
    "Rome, the capital, has three doors.": ["Rome is the capital.", "Rome has three doors."],
    "Rome, our friend, closed.": ["Rome is our friend.", "Rome closed."],
    # lists
    "The tower is tall and red.": ["The tower is tall.", "The tower is red."],
    "Ann sells bread, milk and gold.": ["Ann sells bread.", "Ann sells milk.", "Ann sells gold."],
    "Ann sells bread, milk, and gold.": ["Ann sells bread.", "Ann sells milk.",
                                         "Ann sells gold."],
    "Ann sells old bread, milk and gold.": [
        "Ann sells old bread.", "Ann sells milk.", "Ann sells gold."],
    "Ann lives in Lund, Rome and Paris.": ["Ann lives in Lund.", "Ann lives in Rome.",
                                           "Ann lives in Paris."],
    "Ann sells bread to Bo, Cy and Di.": ["Ann sells bread to Bo.", "Ann sells bread to Cy.",
                                          "Ann sells bread to Di."],
    "Ann lives in Lund, Rome and the hills.": ["Ann lives in Lund.", "Ann lives in Rome.",
                                               "Ann lives in the hills."],
    "Ann lives in the gate, a roof and an attic.": [
        "Ann lives in the gate.", "Ann lives in a roof.", "Ann lives in an attic."],
    "The lobby and the gym are open.": ["The lobby is open.", "The gym is open."],
    "The lobby and the gym opened in May.": ["The lobby opened in May.",
                                             "The gym opened in May."],
    "Paris, Rome and Delft have bridges.": ["Paris has bridges.", "Rome has bridges.",
                                            "Delft has bridges."],
    "Paris, Rome and Delft lie on hills.": ["Paris, Rome and Delft lie on hills."],
    "The lobby and the gym were built in May.": ["The lobby was built in May.",
                                                 "The gym was built in May."],
    # "Then" at the start is dropped, once
    "Then Ann ran home and died.": ["Ann ran home.", "Ann died."],
    "Then ann ran home.": ["Ann ran home."],
    "Then Ann said: Then Bo ran home.": ["Ann said: Then Bo ran home."],
}  # fmt: skip

WHOLE = [
    # fewer than 4 words, or more than 18
    "Ann sang; ran.",
    f"Ann wrote novels and painted houses{' big' * 13}.",
    # a denial, a question or a condition governs the words after "and"
    "Our team does not close, and works in Rome.",
    "If Ann ran home; Bo died.",
    "She can't read and sold the house.",
    "Ann said that Bo ran and the mill closed.",
    "Ann sat between Bo and the dog was old.",
    "Both Ann and Bo ran home.",
    "However, his dog won two prizes and then runs.",
    "However, his dog wrote novels and painted the hall.",
    # the object of all verbs
    "Ann wrote and produced the film.",
    "Ann ran home and quickly.",
    "The firm quickly restored and sold the boats.",
    "Ann opened the shop and the owner painted.",
    # adjectives, nouns and names that "and" joins
    "Ann lives in the old and abandoned house.",
    "Ann saw the fast and furious race.",
    "Ann likes bread and milk.",
    "The tower is tall and Red.",
    "The tower is fast and 3D.",
    "The tower in Rome is tall and very red.",
    "The cat and the dog.",
    "Rome, Bo, bread, the gate, and three floors is open.",
    "Ann ran on May 4, 1990 and in Rome.",
    "The lobby and gym are open.",
    "Ann sells bread, milk and wine is old.",
    "She was in Lund, old and tired.",
    "Rome and Paris are open.",
    # a second subject of more than six words
    "Ann wrote novels and the old old old old old house was sold.",
    # a second subject with a clause of its own
    "Ann opened the shop and the team that Bo owns was sold.",
    "The shop opened in May and the roof, which leaks, was sold.",
    # descriptions that are none
    "Ann, filled with water, runs.",
    "The mill, old, closed.",
    "The mill, a house that is old, closed.",
    "In May, which is warm, in June.",
    "Ann, who died.",
    "In May, it was sold to Bo, who died.",
    "Ann, old and tall, and Bo.",
    # other languages, also with words that look English
    "Der Turm ist alt und der Hof ist neu.",
    "De toren is oud; de hof was nieuw en groot.",
]

RESOLVED = {
    "Ann lives in Rome. Its roof is red. Then it closed.": [
        "Ann lives in Rome.", "Ann's roof is red.", "Ann closed."],
    "The mills are old. Their roofs are red.": ["The mills are old.", "The mills' roofs are red."],
    "Ann lives in Rome. He is old. She ran.": ["Ann lives in Rome.", "Ann is old.", "Ann ran."],
    "Chess is a game. It is raining.": ["Chess is a game.", "It is raining."],
    "Chess is a game. It is likely.": ["Chess is a game.", "It is likely."],
    "Chess is a game. It takes one hour to play.": ["Chess is a game.",
                                                    "It takes one hour to play."],
    "Chess is a game. It has an old way to win.": ["Chess is a game.",
                                                   "Chess has an old way to win."],
    "Chess is a game. It seems old.": ["Chess is a game.", "It seems old."],
    "Chess is a game. That it seems.": ["Chess is a game.", "That it seems."],
    "There is a mill. It is old.": ["There is a mill.", "It is old."],
    "She is old. It is red.": ["She is old.", "It is red."],
    "In May, Ann ran. She is old.": ["In May, Ann ran.", "In May, Ann is old."],
    "However, Ann ran. She is old.": ["However, Ann ran.", "She is old."],
    "Not Ann ran. She is old.": ["Not Ann ran.", "She is old."],
}  # fmt: skip

LISTED = {
    "The town has:\n- milk and bread": ["The town has milk and bread"],
    "The town has:\n- milk\n- bread": ["The town has milk", "The town has bread"],
    "You can:\n- bake.\n- swim.": ["You can bake.", "You can swim."],
    "Steps:\n- It is old.\n- It is red.": ["- It is old.", "- It is red."],
    "Has:\n- It is old.": ["- It is old."],
    "has:\n- It is old.": ["- It is old."],
    "The town has:\n\nIt is old.": ["It is old."],
    "The town has:\n- milk\n\nIt is old.\n- It is red.": ["The town has milk",
                                                         "The town is old.", "- It is red."],
    "The town is old.\n- milk\n- bread": ["The town is old.", "- milk", "- bread"],
    "```bash\n# a comment\nls\n```": ["Run `ls`."],
    "Install it:\n```bash\nls\n```": ["Install it: `ls`."],
    "Install it:\n```bash\nls\npwd\n```": ["Run `ls`.", "Run `pwd`."],
    "It is old.\n```bash\nls -l # all\n```": ["It is old.", "Run `ls -l`."],
    "Run this:\n- a b c\n```bash\n$ a\nout\n$ b\n```": ["- a b c", "Run `a`.", "Run `b`."],
}  # fmt: skip


@pytest.mark.parametrize("text", [*SPLIT, *RESOLVED, *LISTED])
def test_a_text_has_its_facts(text: str) -> None:
    """Clauses, shared verbs, descriptions, lists, pronouns, list items and commands."""
    assert facts_of(text) == {**SPLIT, **RESOLVED, **LISTED}[text]


@pytest.mark.parametrize("sentence", WHOLE)
def test_an_unclear_sentence_stays_whole(sentence: str) -> None:
    """A sentence whose form is unclear is one fact, as it is written."""
    assert facts_of(sentence) == [sentence]


def test_a_claim_states_itself() -> None:
    """A claim that states nothing is its own only fact; the verb and the agent are by form."""
    assert facts_of_claim("") == [""]
    assert facts_of_claim("Ann ran home and died.") == ["Ann ran home.", "Ann died."]
    assert clauses_of("Ann ran home; Bo has bread, milk and gold.") == [
        "Ann ran home.", "Bo has bread, milk and gold."]  # fmt: skip
    assert predicate_of("The old mill was sold.") == "was sold."
    assert predicate_of("The closed mill was sold.") == "was sold."
    assert predicate_of("A mill of painted stone was sold.") == "was sold."
    assert predicate_of("The old mill.") == "The old mill."
    assert agent_and_act("The mill was sold by Bo") == ("Bo", "The mill was sold")
    assert agent_and_act("Ann Lee sold it") == ("Ann Lee", "sold it")
    assert agent_and_act("The mill") == ("", "The mill")
    assert [word for word in "run runs ran died cat used the".split() if is_known_verb(word)] == [
        "run", "runs", "ran", "died", "used"]  # fmt: skip
