"""Measure how similar questions are to their sources: people's, a model's, copied, and own ones.

    python bench/testset_leak.py DATA

DATA has the folders retrieval_clapnq, retrieval_cranfield and retrieval_chunking_eval, each with
corpus.jsonl, queries.jsonl and qrels.tsv. A copied question is a sentence of the relevant document
without its last third.
"""

from __future__ import annotations

import argparse
import csv
import json
import random
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.insert(0, str(Path(__file__).parent))

from ranking import Ranking
from tests.stdlib_docs.collection import documents, questions
from testset_completion import rank_of

from fullrecall._util.vocabulary import content_words
from fullrecall.samples import Sample
from fullrecall.testset import Problem, check
from fullrecall.testset.content import longest_run

SETS = (
    ("CLAPNQ, people", "retrieval_clapnq", 1),
    ("Cranfield, people, grade 3", "retrieval_cranfield", 3),
    ("chunking evaluation, GPT-4", "retrieval_chunking_eval", 1),
)
FEWEST_WORDS = 8


class Named(NamedTuple):
    """A set of questions with the documents that they are about."""

    name: str
    samples: list[Sample]
    corpus: list[dict[str, str]]


def read(folder: Path, name: str, least: float) -> Named:
    """Return a set; a document is a reference from the grade `least` on."""
    corpus = [{"id": row["id"], "text": row["text"]} for row in rows(folder / "corpus.jsonl")]
    relevant: dict[str, list[str]] = {}
    with (folder / "qrels.tsv").open(encoding="utf-8") as file:
        for query, document, grade in list(csv.reader(file, delimiter="\t"))[1:]:
            if float(grade) >= least:
                relevant.setdefault(query, []).append(document)
    asked = [row for row in rows(folder / "queries.jsonl") if row["id"] in relevant]
    samples = [
        Sample(id=row["id"], user_input=row["text"], reference_context_ids=relevant[row["id"]])
        for row in asked
    ]
    return Named(name, samples, corpus)


def rows(path: Path) -> list[dict[str, Any]]:
    """Return the objects of a JSON Lines file."""
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def demo() -> Named:
    """Return the questions about the standard library."""
    corpus = [{"id": document.id, "text": document.text} for document in documents()]
    return Named("demo, written around the words", list(questions()), corpus)


def copied(given: Named) -> Named:
    """Return copied questions: a sentence of each reference without its last third."""
    draw = random.Random(0)
    texts = {document["id"]: document["text"] for document in given.corpus}
    samples = []
    for sample in given.samples:
        (name, *_) = (sample.reference_context_ids or ())[0].any_of
        sentences = [s.split() for s in re.split(r"(?<=[.!?])\s+", texts[name])]
        long = [words for words in sentences if len(words) >= FEWEST_WORDS]
        if long:
            words = draw.choice(long)
            question = " ".join(words[: -(len(words) // 3)])
            samples.append(Sample(id=sample.id, user_input=question, reference_context_ids=[name]))
    return Named(f"{given.name.split(',')[0]}, copied", samples, given.corpus)


def line(given: Named) -> str:
    """Return a set's line of the table."""
    audit = check(given.samples, given.corpus)
    texts = {document["id"]: document["text"] for document in given.corpus}
    ranking, numbers = Ranking(texts.values()), {name: at for at, name in enumerate(texts)}
    covered, runs, ranks = [], [], []
    for sample in given.samples:
        question, own = sample.user_input or "", sources(sample, texts)
        there = {word for text in own for word in content_words(text)}
        asked = set(content_words(question))
        covered.append(len(asked & there) / len(asked) if asked else 0.0)
        runs.append(len(longest_run(question, own)))
        names = [n for r in sample.reference_context_ids or () for n in r.any_of if n in texts]
        ranks.append(rank_of(ranking, question, [numbers[name] for name in names]) or 10**9)
    count = len(given.samples)
    shares = [sum(covered) / count]
    shares += [
        sum(hits) / count
        for hits in (
            [share == 1 for share in covered],
            [run >= 6 for run in runs],
            [run >= 7 for run in runs],
            [audit.counts.get(Problem.POINTS, 0)],
            [rank == 1 for rank in ranks],
            [rank <= 10 for rank in ranks],
        )
    ]
    cells = " | ".join(f"{share:.3f}" for share in shares)
    return f"| {given.name} | {count} | {cells} |"


def sources(sample: Sample, texts: dict[str, str]) -> Sequence[str]:
    """Return the texts of a sample's references."""
    names = (name for r in sample.reference_context_ids or () for name in r.any_of)
    return [texts[name] for name in names if name in texts]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    folder = parser.parse_args().data
    print("| questions | | words in source | all of them | run ≥ 6 | run ≥ 7 | pointing | "
          "BM25 rank 1 | rank 10 |")  # fmt: skip
    print("|---|---|---|---|---|---|---|---|---|")
    given = [read(folder / where, name, least) for name, where, least in SETS]
    for one in (*given, demo(), *map(copied, given)):
        print(line(one), flush=True)


if __name__ == "__main__":
    main()
