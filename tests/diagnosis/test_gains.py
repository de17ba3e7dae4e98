"""Predicted gains are those measured after the fix, for the known defects of the benchmark."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from pathlib import Path
from random import Random
from typing import Any

import pytest

from fullrecall import Context, Sample

FOLDER = Path(__file__).parents[2] / "bench"
DEFECTS = (
    *("wrong_suffix", "letter_case", "node_ids", "chunk_ids", "directory", "other_field"),
    *("both_at_once", "small_k", "repeated", "crowded"),
)


@pytest.fixture(scope="module")
def gains() -> Iterator[Any]:
    """The benchmark's module."""
    sys.path.insert(0, str(FOLDER))
    yield import_module("diagnosis_gains")
    sys.path.remove(str(FOLDER))
    sys.modules.pop("diagnosis_gains", None)


def index(contexts: Sequence[Context]) -> Callable[[str, int], Sequence[Context]]:
    """Return a search that ranks by how many words of the question a text has.

    Ties are ranked by text: copies rank beside their original, as in an index of real scores.
    """
    words = [set((context.text or "").split()) for context in contexts]

    def search(question: str, k: int) -> Sequence[Context]:
        wanted = set(question.split())
        order = sorted(
            range(len(contexts)), key=lambda n: (-len(wanted & words[n]), contexts[n].text or "")
        )
        return [contexts[n] for n in order if wanted & words[n]][:k]

    return search


@pytest.fixture(scope="module")
def setting(gains: Any) -> Any:
    """Return two hundred documents of random words, and questions of some words of one document."""
    random = Random(5)
    vocabulary = [f"{first}{rest}" for first in "bdfgklm" for rest in ("alo", "ironas", "utesid")]
    vocabulary += [f"{word}{end}" for word in vocabulary for end in ("n", "rium", "tion", "s")]
    contexts = [
        Context(" ".join(random.choices(vocabulary, k=24)), id=f"page-{n}") for n in range(200)
    ]
    samples = []
    for n in range(0, 200, 2):
        own = random.sample((contexts[n].text or "").split(), 4)
        words = [*own, *random.choices(vocabulary, k=3)]
        random.shuffle(words)
        question = " ".join(words)
        samples.append(
            Sample(id=str(n), user_input=question, reference_context_ids=[contexts[n].id])
        )
    return gains.Setting("synthetic", contexts, samples, index)


def test_every_defect_is_tested(gains: Any) -> None:
    """Each defect of the benchmark has a test."""
    assert tuple(defect.__name__ for defect in gains.DEFECTS) == DEFECTS


@pytest.mark.long
@pytest.mark.parametrize("name", DEFECTS)
def test_what_mends_a_defect_gains_what_was_predicted(gains: Any, setting: Any, name: str) -> None:
    """The fix of a defect is proposed, and its measured gain equals the prediction."""
    changes = list(gains.measured(getattr(gains, name)(setting), held_out=False))
    assert changes
    for change, gain in changes:
        assert change.samples == len(setting.samples)
        assert gains.holds(change, gain), change.text
        assert gain == pytest.approx(change.gain), change.text


@pytest.mark.long
def test_gains_are_predicted_for_other_questions(gains: Any, setting: Any) -> None:
    """Gains that one half predicts are mostly in the interval on the other half."""
    within = [
        gains.holds(change, gain)
        for name in ("wrong_suffix", "small_k", "repeated", "chunk_ids")
        for change, gain in gains.measured(getattr(gains, name)(setting), held_out=True)
    ]
    assert len(within) >= 8
    assert sum(within) >= 0.75 * len(within)
