"""Reports of random samples of every kind, for files to hold."""

from __future__ import annotations

import random
from typing import Any

from tests.containment_judge import ContainmentJudge

from fullrecall import ClaimRecall, IdRecall, Report, TextRecall, evaluate
from fullrecall.measures import AP, RR, Measure, Precision, Recall, nDCG
from fullrecall.scorers import Scorer

MEASURES: tuple[Measure, ...] = (Recall, Recall @ 1, Recall @ 5, nDCG @ 10, Precision @ 3, RR, AP)

_WORDS = "ash birch cedar elm fir hazel larch maple oak pine".split()


def samples(count: int, seed: int = 1) -> list[dict[str, Any]]:
    """Return samples: graded, any-of, united, with texts, without IDs, empty, with null fields."""
    rng = random.Random(seed)
    return [_sample(rng, number) for number in range(count)]


def scorers() -> tuple[Scorer, ...]:
    """Return one scorer of each kind."""
    return IdRecall(), TextRecall(), ClaimRecall(judge=ContainmentJudge())


def report(count: int = 300, *, seed: int = 1, by: tuple[Scorer, ...] | None = None) -> Report:
    """Return the report of random samples."""
    return evaluate(samples(count, seed), by or scorers(), progress=False)


def _text(rng: random.Random) -> str:
    return " ".join(rng.choices(_WORDS, k=rng.randint(1, 8)))


def _ids(rng: random.Random, most: int) -> list[str]:
    return list({f"d{rng.randrange(25)}" for _ in range(rng.randint(0, most))})


def _sample(rng: random.Random, number: int) -> dict[str, Any]:
    made: dict[str, Any] = {"user_input": _text(rng)}
    if number % 7:
        made["id"] = f"q{number}"
    if number % 5 == 0:
        made |= {"group": f"g{rng.randrange(9)}", "metadata": {"kind": rng.choice("ab"), "n": [1]}}
    contexts = [{"id": name, "text": _text(rng)} for name in _ids(rng, 9)]
    match number % 6:
        case 0:
            made["retrieved_context_ids"] = [one["id"] for one in contexts]
        case 1:
            made["retrieved_contexts"] = contexts
            made["reference_contexts"] = [_text(rng), [_text(rng), _text(rng)]]
        case 2:
            ranks = sorted(rng.randint(1, 4) for _ in contexts)
            made["retrieval"] = {"contexts": contexts, "ranks": ranks}
        case 3:
            made["retrieved_contexts"] = contexts
            made["reference_claims"] = [_text(rng), {"text": _text(rng), "importance": "okay"}]
        case 4:
            made["retrieved_contexts"] = [*contexts, {"text": "\ud83d half"}]
    references: list[Any] = [
        _ids(rng, 3),
        {name: rng.choice([0, 1, 2]) for name in _ids(rng, 3)},
        [[name, "d1"] for name in _ids(rng, 2)],
        None,
    ]
    chosen = rng.choice(references)
    return made if chosen is None else made | {"reference_context_ids": chosen}
