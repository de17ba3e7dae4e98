"""Measure the coverage and width of completeness intervals, on data with known labels.

    python bench/testset_completeness.py DATA/retrieval_cranfield --depth 20
    python bench/testset_completeness.py            (the standard library's pages)

Of each collection 25 questions are drawn. Some of their relevant documents are references: random
ones, or easy ones (drawn by 1 / rank). Three retrievers and a judge with sensitivity 0.85 and
specificity 0.95 make the frame. Labels are the judgments, some of them wrong: each person errs
independently. `made` worlds have no documents: 60 questions, retrievers with common results.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.insert(0, str(Path(__file__).parent))

import numpy as np
from testset_completion import Data, read, retrievers

from fullrecall.testset.completeness import KINDS, Stratum, completeness, drawn, missing, strata_of

SENSITIVITY, SPECIFICITY = 0.85, 0.95
ERROR = 0.05


class Cell(NamedTuple):
    """The errors of the data: shares of missing verdicts and wrong labels."""

    name: str
    silent: float = 0.0
    wrong: float = 0.0
    easy: bool = False
    share: float = 0.4


CELLS = (
    Cell("honest"),
    Cell("no verdict on 30 %", silent=0.3),
    Cell("no verdict on 60 %", silent=0.6),
    Cell("labels 1 % wrong", wrong=0.01),
    Cell("labels 3 % wrong", wrong=0.03),
    Cell("labels 5 % wrong", wrong=0.05),
    Cell("biased seeds", easy=True, share=0.2),
    Cell("60 % and 3 %", silent=0.6, wrong=0.03),
)


class Pair(NamedTuple):
    """A context in the frame of a question."""

    relevant: bool
    nearness: float
    best: int


def frames(data: Data, depth: int) -> dict[str, list[Pair]]:
    """Return the frame of each question."""
    searches = retrievers(data)
    found = {}
    for query, question in data.questions.items():
        ranks: dict[str, list[int]] = {}
        for search in searches.values():
            for rank, one in enumerate(search(question)[:depth], start=1):
                ranks.setdefault(one["id"], []).append(rank)
        found[query] = [
            Pair(name in data.relevant[query], sum(1 / (10 + r) for r in at), min(at))
            for name, at in ranks.items()
        ]
    return found


def made(depth: int, lift: float, questions: int, seed: int) -> dict[str, list[Pair]]:
    """Return frames of retrievers with common results: `lift` is the share that can be found."""
    draw = np.random.default_rng(seed)
    found = {}
    for question in range(questions):
        count = 1 + draw.poisson(5)
        relevant = np.arange(500) < count
        strength = draw.normal(lift * relevant, 1)
        ranks: dict[int, list[int]] = {}
        for _ in range(3):
            order = np.argsort(-(0.8 * strength + 0.6 * draw.normal(size=500)))
            for rank, at in enumerate(order[:depth], start=1):
                ranks.setdefault(int(at), []).append(rank)
        found[str(question)] = [
            Pair(bool(relevant[at]), sum(1 / (10 + r) for r in own), min(own))
            for at, own in ranks.items()
        ]
    return found


def world(frame: list[list[Pair]], cell: Cell, labels: int, draw: random.Random) -> Any:
    """Return the truth and the interval of one draw; None if the references name no document."""
    kinds, nearness, truth = [], [], []
    named = 0
    for pairs in frame:
        for pair in pairs:
            weight = 2 / (1 + pair.best) if cell.easy else 1.0
            in_set = pair.relevant and draw.random() < cell.share * weight
            draw.random()  # This unused draw keeps the worlds as published.
            named += in_set
            if in_set:
                continue
            silent = draw.random() < (cell.silent if pair.relevant else cell.silent / 2)
            said = draw.random() < (SENSITIVITY if pair.relevant else 1 - SPECIFICITY)
            kinds.append("no verdict" if silent else "yes" if said else "no")
            nearness.append(pair.nearness)
            truth.append(pair.relevant)
    if not named:
        return None
    strata = strata_of(kinds, nearness)
    said = {
        at: confirmed(relevant=truth[at], kind=kinds[at], wrong=cell.wrong, draw=draw)
        for at in drawn(strata, labels, draw.getrandbits(32))
    }
    counted = [
        Stratum(
            kind, len(members), sum(at in said for at in members),
            sum(said.get(at, False) for at in members),
        )
        for kind, members in zip(KINDS, strata, strict=True)
    ]  # fmt: skip
    total = missing(counted, ERROR if cell.wrong else 0.0)
    assert total is not None
    return named / (named + sum(truth)), completeness(named, total), len(said)


def confirmed(*, relevant: bool, kind: str, wrong: float, draw: random.Random) -> bool:
    """Return one person's labels; outside the judge's yeses, a second person confirms a yes."""
    first = relevant != (draw.random() < wrong)
    if not first or kind == "yes":
        return first
    return relevant != (draw.random() < wrong)


def cells(
    source: dict[str, list[Pair]], labels: int, seed: int, worlds: int, questions: int
) -> Iterator[str]:
    """Yield a line for each cell: coverage, mean width, bias."""
    for cell in CELLS:
        results = []
        for number in range(worlds):
            draw = random.Random(f"{seed}:{cell.name}:{number}")
            names = draw.sample(sorted(source), min(questions, len(source)))
            one = world([source[name] for name in names], cell, labels, draw)
            if one is not None:
                results.append(one)
        held = sum(share.low - 1e-9 <= truth <= share.high + 1e-9 for truth, share, _ in results)
        width = sum(share.width for _, share, _ in results) / len(results)
        bias = sum(share.value - truth for truth, share, _ in results) / len(results)
        mean = sum(truth for truth, _, _ in results) / len(results)
        used = sum(count for *_, count in results) / len(results)
        yield (
            f"  {cell.name:20} {held:4}/{len(results)} = {held / len(results):.3f}  "
            f"width {width:.2f}  truth {mean:.2f}  bias {bias:+.3f}  labels {used:.0f}"
        )


def own() -> Data:
    """Return the standard library's pages with people's questions."""
    from tests.stdlib_docs.collection import documents, questions

    texts = {page.id: page.text for page in documents()}
    asked, relevant = {}, {}
    for sample in questions():
        names = {n for r in sample.reference_context_ids or () for n in r.any_of} & texts.keys()
        if names and sample.user_input:
            asked[str(sample.id)], relevant[str(sample.id)] = sample.user_input, names
    return Data(texts, asked, relevant)


def main() -> None:
    """Print the table of each collection."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folders", nargs="*", type=Path)
    parser.add_argument("--depth", type=int, default=20)
    parser.add_argument("--labels", type=int, default=300)
    parser.add_argument("--worlds", type=int, default=200)
    parser.add_argument("--questions", type=int, default=25)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    sources = {folder.name: frames(read(folder), options.depth) for folder in options.folders}
    if not sources:
        sources["standard library"] = frames(own(), options.depth)
        for lift in (1, 3):
            name = f"made, lift {lift}" + (" (rare topics)" if lift == 1 else " (correlated)")
            sources[name] = made(options.depth, lift, 60, options.seed)
    for name, source in sources.items():
        print(f"{name}: coverage, mean width of the interval")
        for line in cells(source, options.labels, options.seed, options.worlds, options.questions):
            print(line, flush=True)


if __name__ == "__main__":
    main()
