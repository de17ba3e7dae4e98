"""Measure how well labels follow their corpus: precision and recall of each outcome.

    python bench/testset_follow.py DATA/retrieval_cranfield [DATA/retrieval_clapnq …]

Each corpus is renamed, renumbered (old IDs then name other texts), cut into chunks of 60 words
without their document's ID, edited (a tenth of the documents, in one of five ways), thinned by a
tenth, and all of these at once. The change of each document is the truth. Then the same retriever,
BM25 of chunks, is scored by the old labels on the old corpus and by those that followed on the new
one. `texts` are precision and recall of the new texts that a label names, against all texts that
were cut from its document.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from time import process_time

sys.path.insert(0, str(Path(__file__).parent))

from ranking import Ranking
from testset_completion import Data, read

from fullrecall import IdRecall, Sample, evaluate
from fullrecall.measures import Recall
from fullrecall.read import Document
from fullrecall.samples import CorpusIndex, stale_label
from fullrecall.testset import LabelStatus, anchor, follow

K = 10
Corpus = list[tuple[str, Document]]
"""Each document of the new corpus with the ID of the old one that it was made of."""

Truth = dict[str, LabelStatus]


def renamed(data: Corpus, truth: Truth, draw: random.Random) -> Corpus:
    """Return the corpus with new, meaningless IDs."""
    moved(truth)
    return [(old, Document(f"n{draw.getrandbits(64):x}", one.text)) for old, one in data]


def renumbered(data: Corpus, truth: Truth, draw: random.Random) -> Corpus:
    """Return the corpus with each ID given to the next text."""
    moved(truth)
    names = [one.id for _, one in data]
    return [
        (old, Document(name, one.text))
        for (old, one), name in zip(data, names[-1:] + names[:-1], strict=True)
    ]


def chunked(data: Corpus, truth: Truth, draw: random.Random) -> Corpus:
    """Return chunks of 60 words, 10 of them shared with the next."""
    moved(truth)
    found = []
    for old, one in data:
        there = one.text.split(" ")
        for start in range(0, max(1, len(there) - 10), 50):
            text = " ".join(there[start : start + 60])
            found.append((old, Document(f"{one.id}/{start}", text)))
    return found


def overlapping(data: Corpus, truth: Truth, draw: random.Random) -> Corpus:
    """Return chunks of 60 words, 40 of them shared with the next."""
    moved(truth)
    chunks = []
    for old, document in data:
        there = document.text.split(" ")
        for start in range(0, max(1, len(there) - 40), 20):
            text = " ".join(there[start : start + 60])
            chunks.append((old, Document(f"{document.id}/{start}", text)))
    return chunks


def edited(data: Corpus, truth: Truth, draw: random.Random) -> Corpus:
    """Return the corpus with a tenth of the documents edited."""
    names = sorted({old for old, _ in data})
    chosen = set(draw.sample(names, len(names) // 10))
    for name in chosen & truth.keys():
        truth[name] = LabelStatus.CHANGED
    return [
        (old, one._replace(text=edit(one.text, draw)) if old in chosen else one)
        for old, one in data
    ]


def edit(text: str, draw: random.Random) -> str:
    """Return a text with a word replaced, inserted, or removed, or without a part."""
    there = text.split(" ")
    at = draw.randrange(len(there))
    kind = draw.randrange(5)
    if kind == 0:
        there[at] = "1,492"
    elif kind == 1:
        there.insert(max(1, at), "not")
    elif kind == 2:
        del there[at]
    elif kind == 3:
        del there[at : at + 15]
    else:
        for place in draw.sample(range(len(there)), max(1, len(there) // 10)):
            there[place] = f"word{place}"
    return " ".join(there)


def thinned(data: Corpus, truth: Truth, draw: random.Random) -> Corpus:
    """Return the corpus without a tenth of its documents."""
    names = sorted({old for old, _ in data})
    chosen = set(draw.sample(names, len(names) // 10))
    for name in chosen & truth.keys():
        truth[name] = LabelStatus.GONE
    return [(old, one) for old, one in data if old not in chosen]


def moved(truth: Truth) -> None:
    """Note that the same text has another ID now."""
    for name, status in truth.items():
        if status is LabelStatus.SAME:
            truth[name] = LabelStatus.MOVED


Change = Callable[[Corpus, Truth, random.Random], Corpus]

CHANGES: dict[str, tuple[Change, ...]] = {
    "renamed": (renamed,),
    "renumbered": (renumbered,),
    "chunked": (chunked,),
    "overlapping": (overlapping,),
    "edited": (edited,),
    "thinned": (thinned,),
    "edited, renamed": (edited, renamed),
    "edited, chunked": (edited, chunked),
    "all": (thinned, edited, chunked, renamed),
}


def recall(samples: list[Sample], documents: list[Document]) -> str:
    """Return BM25's recall@10 with its interval, and how many samples have no stale label."""
    index = CorpusIndex.of(documents)
    fresh = [sample for sample in samples if stale_label(sample, index) is None]
    ranking = Ranking(document.text for document in documents)

    def search(question: str) -> list[dict[str, str]]:
        return [{"id": documents[at].id} for at in ranking.best(question, K)]

    score = evaluate(fresh, IdRecall(), retriever=search, progress=False).summary(Recall @ K)[0]
    if score.mean is None or score.interval is None:
        return "no sample has a score"
    low, high, _ = score.interval
    return f"{score.mean:.3f} [{low:.3f}, {high:.3f}] of {len(fresh)}"


def rows(data: Data, seed: int, *, score: bool) -> Iterator[str]:
    """Yield a line for each change: precision and recall of the four, then recall."""
    old = [Document(name, text) for name, text in data.texts.items()]
    samples = anchor(
        [
            Sample(
                id=query, user_input=question, reference_context_ids=sorted(data.relevant[query])
            )
            for query, question in data.questions.items()
        ],
        old,
    )
    if score:
        yield f"  before: recall@{K} {recall(samples, old)}"
    for name, changes in CHANGES.items():
        draw = random.Random(f"{seed}:{name}")
        truth = dict.fromkeys(
            (n for s in samples for r in s.reference_context_ids or () for n in r.any_of),
            LabelStatus.SAME,
        )
        corpus: Corpus = [(one.id, one) for one in old]
        for change in changes:
            corpus = change(corpus, truth, draw)
        began = process_time()
        done = follow(samples, [one for _, one in corpus])
        spent = process_time() - began
        line = f"  {name:16} {spent:5.1f} s"
        pairs = Counter((truth[label.reference], label.status) for label in done.labels)
        for status in LabelStatus:
            right = pairs[status, status]
            true = sum(count for (one, _), count in pairs.items() if one is status)
            said = sum(count for (_, one), count in pairs.items() if one is status)
            line += f"  {status} {share(right, said)}/{share(right, true)} ({true})"
        origin = {one.id: source for source, one in corpus}
        wrong = sum(
            label.status is not LabelStatus.GONE
            and any(origin[now] != label.reference for now in label.now)
            for label in done.labels
        )
        sizes = Counter(source for source, _ in corpus)
        named = [(label.reference, now) for label in done.labels for now in label.now]
        right = sum(origin[now] == reference for reference, now in named)
        held = sum(sizes[label.reference] for label in done.labels if label.now)
        yield f"{line}  elsewhere {wrong}  texts {share(right, len(named))}/{share(right, held)}"
        if score and name in ("renamed", "chunked", "overlapping", "all"):
            yield f"    after: recall@{K} {recall(list(done.samples), [one for _, one in corpus])}"


def share(part: int, whole: int) -> str:
    """Return a share with three decimals; a dash without any item."""
    return f"{part / whole:.3f}" if whole else "-"


def main() -> None:
    """Print the table of each collection."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--score", action="store_true", help="also the recall of BM25")
    options = parser.parse_args()
    for folder in options.folders:
        print(f"{folder.name}: precision/recall of each status (how many there are)")
        for line in rows(read(folder), options.seed, score=options.score):
            print(line, flush=True)


if __name__ == "__main__":
    main()
