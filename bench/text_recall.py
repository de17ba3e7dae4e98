"""Compare `TextRecall` with ragas's `NonLLMContextRecall` on the same texts.

The texts come from a seeded model of words. Some references are among the retrieved texts
unchanged, some as noisy copies at edit rates around the threshold, some not at all. All decisions
are compared, reference by reference, before anything is timed. ragas runs without its telemetry.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import random
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from side_by_side import CLOCKS, Contender, comparison, interleaved, say, setting

from fullrecall import Sample, TextRecall, evaluate

THRESHOLD = 0.5
SCORER = TextRecall(comparison="gt", threshold=THRESHOLD)
CHUNKS, REFERENCES = 20, 5
SHORTEST, LONGEST = 500, 1_500
KINDS = {"equal": 2, "noisy": 2, "stranger": 1}
"""What becomes of a reference among the retrieved texts, by weight."""
EDIT_RATES = (0.02, 0.1, 0.25, 0.4, 0.48, 0.5, 0.52, 0.6)


@dataclass(frozen=True)
class Texts:
    """One sample's texts, with the kind of each reference."""

    retrieved: list[str]
    references: list[str]
    kinds: list[str]


class WordModel:
    """Texts of made-up words, with English letters' and Zipf's word frequencies."""

    LETTERS = "etaoinshrdlucmfwypvbgkjqxz"
    WEIGHTS = (
        12, 9, 8, 7.5, 7, 6.7, 6.3, 6, 6, 4.2, 4, 2.8, 2.7, 2.4, 2.4, 2.3, 2, 2, 1.9, 1.5, 1, 0.8,
        0.2, 0.1, 0.1, 0.1,
    )  # fmt: skip

    def __init__(self, seed: int, words: int = 5_000) -> None:
        self.random = random.Random(seed)
        lengths = self.random.choices(range(2, 12), (3, 6, 7, 6, 5, 4, 3, 2, 1, 1), k=words)
        self._words = ["".join(self._letters(length)) for length in lengths]
        self._frequencies = [1 / (rank + 2) for rank in range(words)]

    def text(self) -> str:
        """Return a text of 500 to 1,500 characters."""
        length = self.random.randint(SHORTEST, LONGEST)
        words = self.random.choices(self._words, self._frequencies, k=length)
        return " ".join(words)[:length]

    def noisy(self, text: str, rate: float) -> str:
        """Return `text` with the share `rate` of its characters replaced by digits.

        No text has a digit: the similarity to the original is 1 - rate exactly.
        """
        characters = list(text)
        for position in self.random.sample(range(len(text)), round(rate * len(text))):
            characters[position] = self.random.choice("0123456789")
        return "".join(characters)

    def _letters(self, length: int) -> list[str]:
        return self.random.choices(self.LETTERS, self.WEIGHTS, k=length)


def make(samples: int, seed: int = 7, *, relevant_first: bool = False) -> list[Texts]:
    """Return the texts of so many samples.

    The copies of references are at random ranks or, with `relevant_first`, at the first ranks, as
    for a perfect retriever.
    """
    model = WordModel(seed)
    return [_make_one(model, relevant_first=relevant_first) for _ in range(samples)]


def _make_one(model: WordModel, *, relevant_first: bool) -> Texts:
    references = [model.text() for _ in range(REFERENCES)]
    kinds = model.random.choices(list(KINDS), list(KINDS.values()), k=REFERENCES)
    retrieved = []
    for text, kind in zip(references, kinds, strict=True):
        if kind == "equal":
            retrieved.append(text)
        elif kind == "noisy":
            retrieved.append(model.noisy(text, model.random.choice(EDIT_RATES)))
    retrieved += [model.text() for _ in range(CHUNKS - len(retrieved))]
    if not relevant_first:
        model.random.shuffle(retrieved)
    return Texts(retrieved, references, kinds)


def samples_of(texts: Sequence[Texts]) -> list[Sample]:
    """Return the texts as fullrecall's samples."""
    return [
        Sample(retrieved_contexts=one.retrieved, reference_contexts=one.references) for one in texts
    ]


def decisions(texts: Sequence[Texts]) -> list[list[bool]]:
    """Return which references `TextRecall` finds, sample by sample."""
    found = []
    for one, sample in zip(texts, samples_of(texts), strict=True):
        by_text = {
            finding.target.any_of[0]: finding.found_at()
            for finding in SCORER.score(sample).findings
        }
        found.append([by_text[reference] for reference in one.references])
    return found


def rapidfuzz_decisions(texts: Sequence[Texts]) -> list[list[bool]]:
    """Return the decisions of a bare loop over RapidFuzz, computed as ragas does, without ragas."""
    from rapidfuzz.distance import Levenshtein

    return [
        [
            max(1 - Levenshtein.normalized_distance(chunk, wanted) for chunk in one.retrieved)
            > THRESHOLD
            for wanted in one.references
        ]
        for one in texts
    ]


def ragas_decisions(texts: Sequence[Texts]) -> list[list[bool]]:
    """Return which references ragas finds: its score of each reference alone."""
    from ragas.dataset_schema import SingleTurnSample

    metric = _ragas_metric()

    async def found() -> list[list[bool]]:
        return [
            [
                await metric.single_turn_ascore(
                    SingleTurnSample(retrieved_contexts=one.retrieved, reference_contexts=[wanted])
                )
                == 1.0
                for wanted in one.references
            ]
            for one in texts
        ]

    return asyncio.run(found())


def ours(texts: Sequence[Texts]) -> list[Contender]:
    """Return fullrecall's ways, and the bare loop that does the same arithmetic."""
    prepared = samples_of(texts)
    return [
        Contender("TextRecall.score", lambda: [SCORER.score(sample).score for sample in prepared]),
        Contender(
            "TextRecall.score, building the Sample",
            lambda: [SCORER.score(sample).score for sample in samples_of(texts)],
        ),
        Contender(
            "evaluate(…, TextRecall).summary()",
            lambda: evaluate(prepared, SCORER, progress=False).summary(),
        ),
        Contender("rapidfuzz, bare loop", lambda: rapidfuzz_decisions(texts)),
    ]


def ragas(texts: Sequence[Texts]) -> list[Contender]:
    """Return ragas's ways: awaited sample by sample, and by its `evaluate`."""
    from ragas import EvaluationDataset
    from ragas import evaluate as ragas_evaluate
    from ragas.dataset_schema import SingleTurnSample

    metric = _ragas_metric()
    prepared = [
        SingleTurnSample(retrieved_contexts=one.retrieved, reference_contexts=one.references)
        for one in texts
    ]

    async def each() -> list[float]:
        return [await metric.single_turn_ascore(sample) for sample in prepared]

    def whole() -> object:
        dataset = EvaluationDataset(samples=prepared)
        return ragas_evaluate(dataset, [metric], show_progress=False)

    return [
        Contender("ragas, single_turn_ascore", lambda: asyncio.run(each())),
        Contender("ragas, evaluate", whole),
    ]


def _ragas_metric() -> Any:
    from ragas.metrics._context_recall import NonLLMContextRecall

    return NonLLMContextRecall(threshold=THRESHOLD)


def check(texts: Sequence[Texts], *others: Callable[[Sequence[Texts]], list[list[bool]]]) -> None:
    """Raise `ValueError` unless all contenders decide as `TextRecall` on every reference."""
    expected = decisions(texts)
    for other in others:
        if other(texts) != expected:
            raise ValueError(f"{other.__name__} differs from TextRecall")


def main() -> None:
    """Check the decisions, time the contenders, print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--samples", type=int, default=1_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--clock", choices=CLOCKS, default="wall")
    parser.add_argument("--relevant-first", action="store_true", help="rank copies first")
    asked = parser.parse_args()
    os.environ["RAGAS_DO_NOT_TRACK"] = "true"  # No benchmark sends telemetry.
    texts = make(asked.samples, relevant_first=asked.relevant_first)
    check(texts, rapidfuzz_decisions, ragas_decisions)
    kinds = Counter(
        (kind, found)
        for one, row in zip(texts, decisions(texts), strict=True)
        for kind, found in zip(one.kinds, row, strict=True)
    )
    told = ", ".join(
        f"{count} {kind} {'found' if found else 'missed'}"
        for (kind, found), count in sorted(kinds.items())
    )
    say(f"Decisions identical on {asked.samples * REFERENCES:,} references: {told}.\n")
    contenders = [*ours(texts), *ragas(texts)]
    seconds = interleaved(contenders, asked.rounds, CLOCKS[asked.clock])
    say(
        comparison(
            contenders,
            seconds,
            units={"TextRecall.score": "TextRecall.score"},
            per=asked.samples * CHUNKS * REFERENCES,
            per_name="pair",
        )
    )
    say("\n" + setting("fullrecall", "rapidfuzz", "ragas"))


if __name__ == "__main__":
    main()
