"""Count the real pairs of retrievers that `compare` decides, with its guarantee and as likely.

    python bench/decided.py FOLDER FOLDER

needs nothing beside fullrecall. Each folder has `corpus.jsonl` (`id`, `title`, `text`),
`queries.jsonl` (`id`, `text`) and `qrels.tsv` (query, document, grade). Six
retrievers answer every question; each of their 15 pairs whose mean recall at 5 differs by at
least 0.01 is compared on questions drawn with replacement, so that the true direction is known.
Writes `bench/decided.json`, whose table docs/decisions.md quotes.
"""

from __future__ import annotations

import json
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping
from itertools import combinations
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from fullrecall import IdRecall, Report, Sample, compare, evaluate
from fullrecall.measures import Recall

FIGURES = Path(__file__).with_suffix(".json")
SIZES = (50, 100, 200, 400)
DRAWS = 20
K = 5
LEAST = 0.01
"""Pairs whose means differ by less are left out: no direction matters there."""

Terms: TypeAlias = Callable[[str], list[str]]


def words(text: str) -> list[str]:
    """Return the words of a text."""
    return re.findall(r"[a-z0-9]+", text.lower())


def stems(text: str) -> list[str]:
    """Return the first five letters of each word."""
    return [word[:5] for word in words(text)]


def grams(text: str) -> list[str]:
    """Return the runs of four letters."""
    line = " ".join(words(text))
    return [line[at : at + 4] for at in range(len(line) - 3)]


RETRIEVERS: Mapping[str, tuple[Terms, float, float]] = {
    "words": (words, 1.2, 0.75),
    "words, length ignored": (words, 1.2, 0.0),
    "words, counted once": (words, 0.0, 0.0),
    "stems": (stems, 1.2, 0.75),
    "stems, full length": (stems, 1.2, 1.0),
    "runs of letters": (grams, 1.2, 0.75),
}
"""BM25 by its terms, k1 and b."""


def read(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the rows of a JSON Lines file."""
    with path.open(encoding="utf-8") as lines:
        yield from map(json.loads, lines)


def found(folder: Path, terms: Terms, k1: float, b: float) -> dict[str, list[str]]:
    """Return the IDs of the best five documents for each question that has a relevant one."""
    documents = [
        (row["id"], Counter(terms(f"{row.get('title', '')} {row['text']}")))
        for row in read(folder / "corpus.jsonl")
    ]
    lengths = np.array([sum(counts.values()) for _, counts in documents])
    norms = k1 * (1 - b + b * lengths / lengths.mean())
    postings: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for number, (_, counts) in enumerate(documents):
        for term, count in counts.items():
            postings[term].append((number, count))
    best = {}
    for row in read(folder / "queries.jsonl"):
        scores = np.zeros(len(documents))
        for term in set(terms(row["text"])):
            pairs = postings.get(term)
            if not pairs:
                continue
            rows, counts = np.array(pairs).T
            weight = np.log(1 + (len(documents) - len(pairs) + 0.5) / (len(pairs) + 0.5))
            scores[rows] += weight * counts * (k1 + 1) / (counts + norms[rows])
        best[row["id"]] = [documents[at][0] for at in np.argsort(-scores, kind="stable")[:K]]
    return best


def relevant(folder: Path) -> dict[str, list[str]]:
    """Return the relevant documents of each question."""
    judged: dict[str, list[str]] = defaultdict(list)
    for line in (folder / "qrels.tsv").read_text(encoding="utf-8").splitlines():
        question, *_, document, grade = line.split("\t")
        if grade.lstrip("-").isdigit() and int(grade) > 0:
            judged[question].append(document)
    return judged


def reports_of(folder: Path) -> dict[str, Report]:
    """Return the report of each retriever, on the questions in one order."""
    judged = relevant(folder)
    answers = {name: found(folder, *rest) for name, rest in RETRIEVERS.items()}
    return {
        name: evaluate(
            [
                Sample(expected_ids=judged[question], retrieved_ids=lists[question])
                for question in lists
                if question in judged
            ],
            IdRecall(),
            progress=False,
        )
        for name, lists in answers.items()
    }


def figures_of(folder: Path) -> list[dict[str, Any]]:
    """Return, for each number of questions, the shares of comparisons that are decided."""
    reports = reports_of(folder)
    means = {name: report.values(Recall @ K) for name, report in reports.items()}
    pairs = [
        (a, b)
        for a, b in combinations(reports, 2)
        if abs(means[a].mean() - means[b].mean()) >= LEAST
    ]
    rows = []
    for n in SIZES:
        rng = np.random.default_rng(n)
        counts: Counter[str] = Counter()
        for a, b in pairs:
            truth = "better" if means[b].mean() > means[a].mean() else "worse"
            for _ in range(DRAWS):
                drawn = rng.integers(0, len(means[a]), n).tolist()
                before, after = reports[a].selected(drawn), reports[b].selected(drawn)
                change = compare(before, after, Recall @ K)["id_recall"].main
                for tier, said in (("sure", change.outcome), ("likely", change.likely)):
                    if said in ("better", "worse"):
                        counts[tier] += 1
                        counts[f"{tier} wrong"] += said != truth
        total = len(pairs) * DRAWS
        shares = {
            each: counts[each] / total for each in ("sure", "likely", "sure wrong", "likely wrong")
        }
        rows.append(
            {"collection": folder.name.rpartition("_")[2], "pairs": len(pairs), "n": n, **shares}
        )
    return rows


def table(rows: list[dict[str, Any]]) -> str:
    """Return the table of the documentation."""
    heads = (
        "collection (pairs) | questions | shown | shown or likely | wrong: shown | wrong: likely"
    )
    lines = [f"| {heads} |", "|---|---:|---:|---:|---:|---:|"]
    for row in rows:
        either = row["sure"] + row["likely"]
        lines.append(
            f"| {row['collection']} ({row['pairs']}) | {row['n']} | {row['sure']:.0%} "
            f"| {either:.0%} | {row['sure wrong']:.1%} | {row['likely wrong']:.1%} |"
        )
    return "\n".join(lines)


if __name__ == "__main__":
    measured = [row for folder in sys.argv[1:] for row in figures_of(Path(folder))]
    FIGURES.write_text(json.dumps(measured, indent=1) + "\n", encoding="utf-8")
    print(table(measured))
