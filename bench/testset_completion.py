"""Measure how many references `complete` recovers on complete judgments.

    python bench/testset_completion.py DATA/retrieval_cranfield

All labels are hidden except one for each question: a random one, or an easy one, drawn by 1 / rank.
A judge that knows the judgments answers without errors or with given error rates; people's labels
are the judgments. BM25, TF-IDF vectors and LSA are made here.
"""

from __future__ import annotations

import argparse
import csv
import json
import random
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple
from zlib import crc32

import numpy as np
from ranking import Ranking

from fullrecall._util.vocabulary import content_words
from fullrecall.judge import Citation, Flow, Verdict
from fullrecall.samples import Sample
from fullrecall.testset import complete

LABELS = 600
DIMENSIONS = 512


class Data(NamedTuple):
    """A collection with its judgments: texts by ID, questions by ID, relevant IDs by question."""

    texts: dict[str, str]
    questions: dict[str, str]
    relevant: dict[str, set[str]]


def read(folder: Path) -> Data:
    """Return a folder's collection: corpus.jsonl, queries.jsonl, qrels.tsv; grades from 1 on."""
    texts = {row["id"]: row["text"] for row in rows(folder / "corpus.jsonl") if row["text"].strip()}
    asked = {row["id"]: row["text"] for row in rows(folder / "queries.jsonl")}
    relevant: dict[str, set[str]] = {}
    with (folder / "qrels.tsv").open(encoding="utf-8") as file:
        for query, document, grade in list(csv.reader(file, delimiter="\t"))[1:]:
            if float(grade) >= 1 and document in texts:
                relevant.setdefault(query, set()).add(document)
    return Data(texts, {query: asked[query] for query in asked if query in relevant}, relevant)


def rows(path: Path) -> list[dict[str, Any]]:
    """Return the objects of a JSON Lines file."""
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def retrievers(data: Data) -> dict[str, Callable[[str], list[dict[str, str]]]]:
    """Return three retrievers of the whole collection: BM25, hashed TF-IDF, LSA of 100."""
    names, texts = list(data.texts), list(data.texts.values())
    bm25 = Ranking(texts)
    asked = list(data.questions.values())
    vectors = hashed([*texts, *asked])
    number = {question: len(texts) + at for at, question in enumerate(asked)}
    left, sizes, _ = np.linalg.svd(vectors, full_matrices=False)
    dense = left[:, :100] * sizes[:100]
    dense = dense / np.maximum(np.linalg.norm(dense, axis=1, keepdims=True), 1e-9)

    def listed(scores: Any) -> list[dict[str, str]]:
        order = np.argsort(-scores, kind="stable")[:200]
        return [{"id": names[at], "text": texts[at]} for at in order]

    return {
        "BM25": lambda question: listed(bm25.scores(question)),
        "TF-IDF": lambda question: listed(vectors[: len(texts)] @ vectors[number[question]]),
        "LSA": lambda question: listed(dense[: len(texts)] @ dense[number[question]]),
    }


def hashed(texts: Sequence[str]) -> Any:
    """Return one unit vector for each text, an array of shape (texts, 512) of 32-bit floats.

    A term weighs (1 + log of its count) · log(texts / texts that have it); its place and sign are
    those of a CRC, so that they are the same on every machine. A text without words is 0.
    """
    counted = [Counter(content_words(text)) for text in texts]
    having = Counter(term for counts in counted for term in counts)
    positions = {term: _position(term) for term in having}
    vectors = np.zeros((len(texts), DIMENSIONS), dtype=np.float32)
    rarity = {term: np.log1p(len(texts) / count) for term, count in having.items()}
    for row, counts in zip(vectors, counted, strict=True):
        for term, count in counts.items():
            at, sign = positions[term]
            row[at] += sign * (1 + np.log(count)) * rarity[term]
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors / np.where(lengths > 0, lengths, 1)


def _position(term: str) -> tuple[int, int]:
    number = crc32(term.encode("utf-8", "surrogatepass"))
    return number % DIMENSIONS, 1 if number >> 31 else -1


def rank_of(ranking: Ranking, question: str, numbers: Sequence[int]) -> int | None:
    """Return the 1-based rank of the best of these texts; None if none has a query word."""
    scores = ranking.scores(question)
    best = max(numbers, key=lambda number: (scores[number], -number), default=None)
    if best is None or scores[best] <= 0:
        return None
    return int((scores > scores[best]).sum() + (scores[:best] == scores[best]).sum()) + 1


@dataclass
class Oracle:
    """A judge that knows the judgments, and errs at given rates, the same way each time."""

    data: Data
    sensitivity: float = 1.0
    specificity: float = 1.0
    name: str = "oracle"
    by_text: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.by_text = {text: name for name, text in self.data.texts.items()}
        self.asked = {question: query for query, question in self.data.questions.items()}

    def attribute(self, targets: Any, contexts: Any, **_: Any) -> Flow[list[Verdict]]:
        """Raise: no question has claims here."""
        raise NotImplementedError

    def relevance(
        self, contexts: Sequence[str], *, question: str | None, reference: str | None
    ) -> Flow[list[Verdict]]:
        """Return a verdict for each context."""
        yield from ()
        return [self._verdict(text, question or "") for text in contexts]

    def _verdict(self, text: str, question: str) -> Verdict:
        name = self.by_text[text]
        truth = name in self.data.relevant[self.asked[question]]
        luck = random.Random(f"{question}{name}").random()
        said = luck < self.sensitivity if truth else luck >= self.specificity
        return Verdict("supported", (Citation(0, ""),)) if said else Verdict("not_supported")


def seeded(data: Data, ranking: Ranking, seed: int, *, easy: bool) -> list[Sample]:
    """Return the questions with one label each: random, or drawn by 1 / its BM25 rank."""
    draw = random.Random(seed)
    numbers = {name: at for at, name in enumerate(data.texts)}
    samples = []
    for query, question in data.questions.items():
        known = sorted(data.relevant[query])
        weights = [1.0] * len(known)
        if easy:
            ranks = [rank_of(ranking, question, [numbers[name]]) or 10_000 for name in known]
            weights = [1 / rank for rank in ranks]
        (label,) = draw.choices(known, weights)
        samples.append(Sample(id=query, user_input=question, reference_context_ids=[label]))
    return samples


def measured(data: Data, judge: Oracle, seed: int, *, easy: bool, **sizes: int) -> str:
    """Return a line of the table: pool and completeness of one run."""
    searches = retrievers(data)
    ranking = Ranking(data.texts.values())
    samples = seeded(data, ranking, seed, easy=easy)
    done = complete(samples, searches, judge, progress=False, seed=seed, **sizes)
    asked = {question: query for query, question in data.questions.items()}
    by_text = judge.by_text
    labels = {
        pair.item: by_text[pair.context] in data.relevant[asked[pair.question]]
        for pair in done.to_label(10**6)
    }
    kept = {pair.item for pair in done.to_label(LABELS)}
    drawn = {item: said for item, said in labels.items() if item in kept}
    labeled = done.with_labels(drawn, second=drawn, error=0)
    hidden = sum(map(len, data.relevant.values())) - len(samples)
    added = sum(labels[one.item] for one in labeled.accepted)
    share = labeled.estimate.complete
    right = labeled.estimate.right
    cells = [
        "easy" if easy else "random",
        f"{judge.sensitivity:g}/{judge.specificity:g}",
        f"{seeds_in_pool(done):.2f}",
        f"{added / hidden:.2f}",
        "-" if right is None else f"{right.value:.2f}",
        "-" if share is None else f"{share.value:.2f} [{share.low:.2f}, {share.high:.2f}]",
        f"{true_share(data, labeled):.2f}",
    ]
    return f"| {' | '.join(cells)} |"


def seeds_in_pool(done: Any) -> float:
    """Return the share of the labels that some retriever has within the depth."""
    found = sum(any(pair.named for pair in pairs) for pairs in done.pool.pairs)
    return found / len(done.parsed)


def true_share(data: Data, labeled: Any) -> float:
    """Return the completeness of the given references within the frame."""
    named = relevant = 0
    names = list(data.questions)
    for number, pairs in enumerate(labeled.pool.pairs):
        for pair in pairs:
            is_relevant = pair.context.id in data.relevant[names[number]]
            relevant += is_relevant
            named += bool(pair.named)
    return named / relevant if relevant else 1.0


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("--depth", type=int, default=20)
    parser.add_argument("--seeds", type=int, default=1)
    options = parser.parse_args()
    data = read(options.data)
    print("| seed label | judge | seeds in pool | hidden ones found | finds right | complete | "
          "in truth |")  # fmt: skip
    print("|---|---|---|---|---|---|---|")
    for seed in range(options.seeds):
        for easy in (False, True):
            for rates in ((1.0, 1.0), (0.95, 0.99), (0.85, 0.95)):
                judge = Oracle(data, *rates)
                print(measured(data, judge, seed, easy=easy, depth=options.depth), flush=True)


if __name__ == "__main__":
    main()
