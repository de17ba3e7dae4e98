"""Measure a judge's accuracy on labeled claims, and on true claims with one detail changed."""

from __future__ import annotations

import random
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, reduce
from typing import Any, NamedTuple

from fullrecall._util.parameters import check_k, listed
from fullrecall.errors import InputError
from fullrecall.judge.judge import Judge
from fullrecall.judge.models.retries import Retries
from fullrecall.judge.usage import MOST, Usage
from fullrecall.lexical import falsified
from fullrecall.report import Report, evaluate
from fullrecall.run.address import StoreLike
from fullrecall.run.budget import Budget
from fullrecall.samples.sample import Sample
from fullrecall.scorers import ClaimRecall

LABELED = "labeled"
"""The kind of pairs that people labeled; pairs of other kinds are made from these."""


class Pair(NamedTuple):
    """A claim with contexts, and whether they support it in full.

    `kind` is "labeled" or, for a true claim that was made false, the kind of the changed detail,
    such as "number" or "only" (`fullrecall.lexical.falsified`).
    """

    claim: str
    contexts: tuple[str, ...]
    supported: bool
    kind: str = LABELED
    question: str | None = None


class Judgment(NamedTuple):
    """A pair and the judge's label of its claim, which is None without a verdict."""

    pair: Pair
    label: str | None

    @property
    def supported(self) -> bool | None:
        """Whether the judge found the claim supported in full; None without a verdict."""
        return None if self.label is None else self.label == "supported"


@dataclass(frozen=True)
class Examination:
    """The judgments of a judge on pairs, and its measured accuracy; immutable.

    `judge` is the judge's name; `judgments` has one judgment for each pair; `usage` has the
    requests and their tokens; `seconds` is the time taken. `report` has one sample for each pair,
    for `calibrate`. `rules` are the kinds of false claims for which the judge has a rule. The share
    of false claims of these kinds that the judge finds supported does not predict this share for
    other kinds.
    """

    judge: str
    judgments: tuple[Judgment, ...]
    usage: Usage
    seconds: float
    report: Report = field(repr=False, compare=False)
    rules: frozenset[str] = frozenset()

    @cached_property
    def labeled(self) -> tuple[Judgment, ...]:
        """The judgments on labeled pairs that have a verdict."""
        labeled = (judgment for judgment in self.judgments if judgment.pair.kind == LABELED)
        return tuple(judgment for judgment in labeled if judgment.supported is not None)

    @property
    def unscored(self) -> int:
        """The number of labeled pairs without a verdict."""
        return sum(judgment.pair.kind == LABELED for judgment in self.judgments) - len(self.labeled)

    @property
    def balanced_accuracy(self) -> float | None:
        """The mean of the shares of supported and of unsupported claims that were judged right.

        Only labeled pairs with a verdict count. None unless there are claims of both kinds.
        """
        right: dict[bool, list[bool]] = {True: [], False: []}
        for judgment in self.labeled:
            right[judgment.pair.supported].append(judgment.supported is judgment.pair.supported)
        if not all(right.values()):
            return None
        return sum(sum(matches) / len(matches) for matches in right.values()) / 2

    @property
    def errors(self) -> Mapping[str, tuple[int, int, int]]:
        """How many false claims of each kind exist, were found supported, and are unscored."""
        verdicts: defaultdict[str, list[bool | None]] = defaultdict(list)
        for judgment in self.judgments:
            if not judgment.pair.supported:
                verdicts[judgment.pair.kind].append(judgment.supported)
        return {
            kind: (len(own), own.count(True), own.count(None)) for kind, own in verdicts.items()
        }

    def false_credit(self, *, ruled: bool) -> tuple[float, int] | None:
        """Return the mean share of false claims found supported, and the number of kinds.

        Each share is of one kind's claims with a verdict. The mean is over the kinds for which the
        judge has a rule (`ruled`), or over the other kinds; labeled claims do not count. None if no
        such kind has a verdict.
        """
        shares = [
            wrong / (count - silent)
            for kind, (count, wrong, silent) in self.errors.items()
            if kind != LABELED and (kind in self.rules) is ruled and count > silent
        ]
        return (sum(shares) / len(shares), len(shares)) if shares else None

    def to_dict(self) -> dict[str, Any]:
        """Return the figures as plain JSON values."""
        return {
            "judge": self.judge,
            "labeled": len(self.labeled),
            "unscored": self.unscored,
            "balanced_accuracy": self.balanced_accuracy,
            "false_claims": {
                kind: {
                    "claims": n,
                    "supported": wrong,
                    "unscored": silent,
                    "rule": kind in self.rules,
                }
                for kind, (n, wrong, silent) in self.errors.items()
            },
            "false_credit": {
                name: None if credit is None else {"mean": credit[0], "kinds": credit[1]}
                for name, ruled in (("with a rule", True), ("without a rule", False))
                for credit in [self.false_credit(ruled=ruled)]
            },
            **self.usage._asdict(),
            "seconds": round(self.seconds, 3),
        }


def examine(
    judge: Judge,
    pairs: Iterable[Pair],
    *,
    details: bool = True,
    per_kind: int | None = None,
    seed: int = 0,
    max_concurrency: int = 16,
    timeout: float | None = 60.0,
    deadline: float | None = None,
    retries: Retries | int = MOST,
    store: StoreLike | None = None,
    budget: Budget | None = None,
    progress: bool = True,
) -> Examination:
    """Return the judgments of a judge on labeled pairs, and its accuracy.

    - `details`: whether the judge also gets false claims. Each is a true claim of these pairs with
      one detail made false; there are thirty kinds of such details.
    - `per_kind`: the most false claims of each kind, drawn by `seed`; None takes all.
    - `max_concurrency`, `timeout`, `deadline`, `retries`, `store`, `budget`, `progress`: those of
      `evaluate`.

    Raises `InputError` without a pair, and the errors of `evaluate`.
    """
    if per_kind is not None:
        check_k(per_kind, "per_kind")
    examined = listed(pairs, "pairs", Pair, "Pair")
    if not examined:
        raise InputError("no labeled claims: pass at least one")
    if details:
        examined += _false_details(examined, seed, per_kind)
    began = time.perf_counter()
    report = evaluate(
        _samples(examined),
        ClaimRecall(judge=judge),
        max_concurrency=max_concurrency,
        timeout=timeout,
        deadline=deadline,
        retries=retries,
        store=store,
        budget=budget,
        progress=progress,
    )
    seconds = time.perf_counter() - began
    results = [row.results[0] for row in report.rows]
    labels = [next((finding.verdict for finding in result.findings), None) for result in results]
    judgments = map(Judgment, examined, labels)
    usage = reduce(Usage.plus, (result.usage for result in results), Usage())
    rules = frozenset(getattr(judge, "rules", ()))
    return Examination(judge.name, tuple(judgments), usage, seconds, report, rules)


def _false_details(pairs: Sequence[Pair], seed: int, per_kind: int | None) -> Iterator[Pair]:
    true = [(pair.claim, pair.contexts) for pair in pairs if pair.supported]
    by_kind: defaultdict[str, list[Pair]] = defaultdict(list)
    for falsification in falsified(true, seed=seed):
        false_pair = Pair(
            falsification.false, falsification.contexts, supported=False, kind=falsification.detail
        )
        by_kind[falsification.detail].append(false_pair)
    chance = random.Random(seed)  # noqa: S311 - a choice that can be repeated, no secret
    for made_pairs in by_kind.values():
        drawn = min(per_kind or len(made_pairs), len(made_pairs))
        yield from chance.sample(made_pairs, drawn)


def _samples(pairs: Sequence[Pair]) -> Iterator[Sample]:
    for number, pair in enumerate(pairs, start=1):
        yield Sample(
            id=str(number),
            user_input=pair.question,
            retrieved_contexts=pair.contexts,
            reference_claims=[pair.claim],
        )
