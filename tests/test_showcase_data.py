"""The showcase's documents and questions agree with each other."""

from __future__ import annotations

import json
import re
import sqlite3
from collections import Counter
from importlib.resources import files
from itertools import chain, product
from pathlib import Path
from typing import Any

import pytest

from fullrecall import IdRecall, Sample, evaluate
from fullrecall.measures import Recall
from fullrecall.read import documents_of, read

Entry = dict[str, Any]

FOLDER = Path(str(files("fullrecall.demo").joinpath("showcase")))
DOCUMENTS: list[Entry] = [
    json.loads(line) for line in (FOLDER / "documents.jsonl").read_text("utf-8").splitlines()
]
QUESTIONS: list[Entry] = [
    json.loads(line) for line in (FOLDER / "questions.jsonl").read_text("utf-8").splitlines()
]
ANSWERED = [question for question in QUESTIONS if question.get("answerable", True)]
BY_ID: dict[str, Entry] = {document["id"]: document for document in DOCUMENTS}

SHARED_FACTS: list[tuple[str, str]] = [
    (r"9 am(?: to |–)8 pm", "hours/central hours/overview"),
    (r"6:30 am(?: to |–)7:30 pm", "hours/station hours/overview"),
    (r"noon(?: to |–)8 pm", "hours/riverside hours/overview"),
    (r"10 am(?: to |–)2 pm", "hours/hilltop hours/overview"),
    (r"closes? at 3 pm", "hours/summer visit/cafe"),
    (r"\b25 (?:items|on an adult card)|\b25 \| free", "cards/adult cards/compare loans/limits"),
    (r"\b20 (?:items|on a teen card)|\b20 \| free", "cards/teen cards/compare loans/limits"),
    (r"\b15 (?:items|on a child card)|\b15 \| free", "cards/child cards/compare loans/limits"),
    (r"\b50 (?:items|\| free)", "cards/teacher cards/compare"),
    (r"\b40 (?:items|\| free)", "cards/group cards/compare"),
    (r"\b5 (?:items|\| \$10)", "cards/guest cards/compare"),
    (r"\$40 per year", "cards/non-residents cards/compare"),
    (r"60 days", "cards/digital cards/compare cards/adult"),
    (r"\b15 holds", "cards/adult holds/placing"),
    (r"\b8 holds|card 8\b", "cards/teen cards/child holds/placing"),
    (r"\$15", "returns/blocked-card cards/renew"),
    (r"[Nn]o late fees|pay no late fees", "returns/late-fees cards/teen cards/child cards/group"),
    (r"2 weeks", "loans/new-books loans/board-games things/hotspots things/toys loans/periods"),
    (r"1 week", "loans/films loans/magazines things/how-it-works loans/periods"),
    (r"3 weeks", "things/e-readers loans/periods"),
    (r"6 weeks", "loans/book-club-kits loans/periods"),
    (r"3 days", "things/museum-passes loans/periods"),
    (r"\b2 (?:things|pieces) ", "things/how-it-works loans/limits"),
    (r"\$80", "things/hotspots returns/replacement-prices"),
    (r"\$110", "things/e-readers returns/replacement-prices"),
    (r"\$1 per day", "returns/late-fees things/museum-passes"),
    (r"\$5\b", "returns/lost-items returns/replacement-prices returns/amnesty"),
    (r"[Tt]elescope.*\$50", "things/telescopes things/catalog"),
    (r"\b24\b", "rooms/dock-room rooms/meeting-prices"),
    (r"\b30 (?:on chairs|\| \$15)", "rooms/garden-room rooms/meeting-prices"),
    (r"\b120\b", "rooms/assembly-hall rooms/meeting-prices"),
    (r"[Uu]ntil 10 pm|by 10 pm", "rooms/assembly-hall rooms/meeting-prices"),
    (r"30 (?:free )?black and white pages per month", "adults/job-desk printing/prices"),
    (r"\$5 .*free for Friends|author talks for free", "adults/author-talks about/friends"),
    (r"[Mm]onday (?:at )?10:30 am", "kids/babies kids/story-times"),
    (r"Thursday (?:at )?10:30 am", "kids/toddlers kids/story-times"),
    (r"Saturday (?:at )?10:30 am", "kids/preschool kids/story-times"),
    (r"15 June to 20 August", "kids/summer-reading teens/summer"),
    (r"about 3,000", "hours/bookmobile about/bookmobile-story"),
    (r"[Ss]econd floor", "archive/visit teens/room computers/media-lab rooms/piano visit/central"),
    (r"basement", "rooms/workshop rooms/sound-booth visit/central about/central-history"),
    (r"first eight rows", "rooms/assembly-hall access/hearing"),
    (r"2010 on", "digital/newspapers archive/newspapers"),
]
"""Facts that several documents state, as a pattern, and these documents."""

_WORD = re.compile(r"[^\W\d_]+")
_NUMBER = re.compile(r"\d+(?:[.:]\d+)?")
_SPOKEN = {"one": "1", "two": "2", "three": "3", "four": "4", "five": "5", "six": "6"}
_COMMON = frozenset(
    "above after again anything before comes does each else from have here into less lets more "
    "most much never only other others over should than that their them then there these they "
    "this those unless until used uses what when where which while with without write years "
    "your".split()
)


def targets_of(question: Entry) -> list[list[str]]:
    """Return the expected IDs of a question, one list for each any-of group."""
    references = question["reference_context_ids"]
    return [each["any_of"] if isinstance(each, dict) else [each] for each in references]


def whole_text(own_id: str) -> str:
    """Return the title and the text of a document."""
    return f"{BY_ID[own_id]['title']}\n{BY_ID[own_id]['text']}"


def numbers_of(text: str) -> set[str]:
    """Return the numbers of a text, also one to six in words."""
    spelled = {_SPOKEN[word] for word in _WORD.findall(text.lower()) if word in _SPOKEN}
    return spelled | {number.removesuffix(":00") for number in _NUMBER.findall(text)}


def stems_of(text: str) -> set[str]:
    """Return the beginnings of the content words, of four letters and more."""
    words = (word for word in _WORD.findall(text.lower()) if len(word) > 3 and word not in _COMMON)
    return {word[:5] for word in words}


def named(question: Entry) -> str:
    """Return the ID under which pytest lists a question."""
    return str(question["id"])


def test_no_text_occurs_twice() -> None:
    """No two documents share a title, text, or paragraph, and no two questions their words."""
    titles = Counter(document["title"] for document in DOCUMENTS)
    paragraphs = Counter(
        paragraph for document in DOCUMENTS for paragraph in document["text"].split("\n\n")
    )
    asked = Counter(question["user_input"] for question in QUESTIONS)
    assert max(titles.values()) == max(paragraphs.values()) == max(asked.values()) == 1


def test_a_replaced_document_names_a_valid_one_of_its_section() -> None:
    """A newer version exists, and is not itself replaced."""
    replaced = [document for document in DOCUMENTS if "superseded_by" in document]
    assert len(replaced) >= 8
    for document in replaced:
        newer = BY_ID[document["superseded_by"]]
        assert newer["section"] == document["section"]
        assert "superseded_by" not in newer
        assert "replaced" in document["text"]


@pytest.mark.parametrize(("fact", "own_ids"), SHARED_FACTS)
def test_documents_agree(fact: str, own_ids: str) -> None:
    """Documents that name the same price, hour, or place agree."""
    assert len(own_ids.split()) > 1
    for own_id in own_ids.split():
        assert re.search(fact, whole_text(own_id)), own_id


def test_the_files_are_small_and_readable_by_fullrecall() -> None:
    """Both files together are below 250 kB, and fullrecall reads them."""
    assert sum(path.stat().st_size for path in FOLDER.iterdir()) < 250_000
    assert [each.id for each in documents_of(FOLDER / "documents.jsonl")] == list(BY_ID)
    samples = list(read(FOLDER / "questions.jsonl"))
    assert [sample.id for sample in samples] == [question["id"] for question in QUESTIONS]
    assert all(sample.metadata and sample.metadata["kind"] for sample in samples)


def test_questions_are_of_all_kinds() -> None:
    """Sixty questions have an answer, and three have none in the documents."""
    assert len({question["id"] for question in QUESTIONS}) == len(QUESTIONS)
    kinds = Counter(question["metadata"]["kind"] for question in QUESTIONS)
    assert len(ANSWERED) == 60
    assert kinds.pop("unanswerable") == len(QUESTIONS) - len(ANSWERED) == 3
    assert set(kinds) == {"lookup", "two documents", "comparison", "table", "negative"}
    assert min(kinds.values()) >= 8


def test_unanswerable_questions_expect_no_document() -> None:
    """An unanswerable question has neither expected IDs nor a reference."""
    for question in QUESTIONS:
        unanswerable = question["metadata"]["kind"] == "unanswerable"
        assert unanswerable == (question.get("answerable") is False)
        assert unanswerable != ("reference" in question)
        assert unanswerable != ("reference_context_ids" in question)


@pytest.mark.parametrize("question", ANSWERED, ids=named)
def test_expected_documents_exist_and_are_current(question: Entry) -> None:
    """A question expects one to three documents, and replaced ones only for a comparison."""
    targets = targets_of(question)
    own_ids = list(chain.from_iterable(targets))
    kind = question["metadata"]["kind"]
    assert 1 <= len(own_ids) == len(set(own_ids)) <= 3
    assert set(own_ids) <= BY_ID.keys()
    assert len(targets) == (2 if kind in {"two documents", "comparison"} else 1)
    assert kind == "comparison" or not any("superseded_by" in BY_ID[each] for each in own_ids)


@pytest.mark.parametrize("question", ANSWERED, ids=named)
def test_the_facts_of_a_reference_are_in_its_documents(question: Entry) -> None:
    """A reference's numbers, and nearly all its words, are in each alternative document."""
    reference = question["reference"]
    for chosen in product(*targets_of(question)):
        assert numbers_of(reference) <= numbers_of("\n".join(map(whole_text, chosen))), chosen
    every = "\n".join(map(whole_text, chain.from_iterable(targets_of(question))))
    wanted = stems_of(reference)
    missing = wanted - stems_of(every)
    assert len(missing) <= 0.25 * len(wanted), missing


@pytest.mark.parametrize("question", ANSWERED, ids=named)
def test_each_expected_document_has_a_fact_of_the_reference(question: Entry) -> None:
    """Each expected document has a number or word of the reference that the other one lacks."""
    targets = targets_of(question)
    facts = stems_of(question["reference"]) | numbers_of(question["reference"])
    shared = [
        facts & (stems_of(text) | numbers_of(text))
        for text in ("\n".join(map(whole_text, group)) for group in targets)
    ]
    for position, own in enumerate(shared):
        others = set().union(*(each for at, each in enumerate(shared) if at != position))
        assert own - others, targets[position]


def test_plain_full_text_search_finds_about_four_of_five() -> None:
    """Full-text search has a recall at 5 of about 0.8, which leaves room to gain and to lose."""
    database = sqlite3.connect(":memory:", check_same_thread=False)
    database.execute("create virtual table pages using fts5(id unindexed, text, tokenize=porter)")
    for document in DOCUMENTS:
        for paragraph in document["text"].split("\n\n"):
            page = document["id"], f"{document['title']}\n{paragraph}"
            database.execute("insert into pages values (?, ?)", page)

    def search(question: str) -> list[str]:
        found = dict.fromkeys(re.findall(r"\w+", question.lower()))
        words = " OR ".join(f'"{word}"' for word in found)
        query = "select id from pages where pages match ? order by rank, rowid limit 5"
        return [own_id for (own_id,) in database.execute(query, [words])]

    samples: list[Sample] = list(read(FOLDER / "questions.jsonl"))
    report = evaluate(samples, IdRecall(), retriever=search, progress=False)
    mean = report.summary(Recall @ 5)["id_recall"].mean
    assert mean is not None
    assert 0.65 <= mean <= 0.85
