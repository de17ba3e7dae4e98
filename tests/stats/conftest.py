"""Reports of a retriever, and of worse versions of it, on the standard library's documentation."""

from __future__ import annotations

import re
from collections import Counter
from math import log
from typing import TYPE_CHECKING

import pytest

from fullrecall import IdRecall, Report, evaluate

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

DEPTH = 20


def words(text: str) -> list[str]:
    """Return a text's words in lower case."""
    return re.findall(r"[a-z]{3,}", text.lower())


class WordIndex:
    """A short implementation of BM25 over whole documents; best first, ties by ID."""

    def __init__(self) -> None:
        from tests.stdlib_docs.collection import documents

        pages = documents()
        self._ids = [page.id for page in pages]
        counts = [Counter(words(page.text)) for page in pages]
        lengths = [sum(count.values()) for count in counts]
        usual = sum(lengths) / len(lengths)
        self._postings: dict[str, list[tuple[int, float]]] = {}
        for document, (count, length) in enumerate(zip(counts, lengths, strict=True)):
            for word, times in count.items():
                weight = times * 2.2 / (times + 1.2 * (0.25 + 0.75 * length / usual))
                self._postings.setdefault(word, []).append((document, weight))

    def search(self, question: str) -> list[str]:
        """Return the IDs of the best documents."""
        scores: dict[int, float] = {}
        for word in sorted(set(words(question))):
            found = self._postings.get(word, [])
            rarity = log(1 + len(self._ids) / (1 + len(found)))
            for document, weight in found:
                scores[document] = scores.get(document, 0.0) + rarity * weight
        best = sorted(scores, key=lambda document: (-scores[document], self._ids[document]))
        return [self._ids[document] for document in best[:DEPTH]]


@pytest.fixture(scope="session")
def reports() -> Mapping[str, Report]:
    """Return the report of a retriever, and those of worse ones that stop early."""
    from tests.stdlib_docs.collection import questions

    index = WordIndex()
    found = [(question, index.search(question.user_input or "")) for question in questions()]
    return {
        name: evaluate(
            [
                question.with_retrieval([{"id": one} for one in ids[:depth]])
                for question, ids in found
            ],
            IdRecall(),
            progress=False,
        )
        for name, depth in {
            "main": DEPTH,
            "worse": 15,
            "unclear": 8,
            "low": 5,
            "worst": 3,
            "lowest": 2,
        }.items()
    }


@pytest.fixture(scope="session")
def saved(
    reports: Mapping[str, Report], tmp_path_factory: pytest.TempPathFactory
) -> Mapping[str, Path]:
    """Return the paths of these saved reports."""
    place = tmp_path_factory.mktemp("reports")
    for name, report in reports.items():
        report.save(place / f"{name}.jsonl")
    return {name: place / f"{name}.jsonl" for name in reports}
