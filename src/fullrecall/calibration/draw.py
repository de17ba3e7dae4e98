"""Draw claims to label: a stratified sample, with the chance of each claim to be drawn."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from hashlib import sha256
from math import fsum, sqrt
from pathlib import Path
from typing import NamedTuple

from fullrecall._util.allocation import allocation
from fullrecall._util.parameters import check_k
from fullrecall.calibration.judged import JudgedClaim, JudgedClaims, judged_claims, labels_by_item
from fullrecall.calibration.labels import HumanLabels, Label, as_labels
from fullrecall.show import spreadsheet
from fullrecall.stats.evaluation import Evaluation

FEWEST = 2
"""Claims drawn from each stratum, if it has as many: a single claim shows no spread."""


class ToLabel(NamedTuple):
    """A claim to be labeled, with the texts that a rater needs to decide.

    The rater sets `label` to "supported", "not_supported" or "partial": do the `contexts`, in
    their order, support the `claim`? `probability` is the chance that the claim had to be drawn;
    `verdict` is the judge's, empty if it is hidden.
    """

    item: str
    sample: str
    score: str
    question: str | None
    claim: str
    contexts: tuple[str, ...]
    verdict: str
    label: str
    rater: str
    probability: float


def to_label(
    report: Evaluation,
    n: int,
    path: str | Path | None = None,
    *,
    seed: int = 0,
    score: str | None = None,
    show_verdicts: bool = False,
    labels: HumanLabels = (),
) -> tuple[ToLabel, ...]:
    """Return `n` claims to label, or all if there are fewer; see `Report.to_label`."""
    check_k(n, "n")
    if path is not None:
        spreadsheet.check_new(path)
    judged = judged_claims(report, score)
    labels_of = labels_by_item(judged, as_labels(labels))
    to_label = []
    for claim, probability in draw(judged, n, seed=seed):
        answers = [label for label in labels_of.get(claim.item, ()) if label.label is not None]
        to_label += [
            ToLabel(
                claim.item,
                claim.sample,
                judged.method.name,
                judged.rows[claim.row].sample.user_input,
                claim.target,
                tuple(judged.texts[claim.row]),
                claim.verdict if show_verdicts else "",
                label.label or "",
                label.rater,
                probability,
            )
            for label in answers or [Label(claim.sample, claim.target, None)]
        ]
    if path is not None:
        spreadsheet.write_new(path, _cells(to_label))
    return tuple(to_label)


def _cells(drawn: Sequence[ToLabel]) -> list[Sequence[object]]:
    """Return a header and one row for each claim, with each context in its own column."""
    most = max((len(claim.contexts) for claim in drawn), default=0)
    contexts = [f"context_{rank + 1}" for rank in range(most)]
    verdict = ["verdict"] if any(claim.verdict for claim in drawn) else []
    names = ("rater", "sample", "score", "item", "probability")
    rows: list[Sequence[object]] = [["label", "claim", "question", *contexts, *verdict, *names]]
    for claim in drawn:
        texts = [*claim.contexts, *[""] * (most - len(claim.contexts))]
        shown = [claim.verdict] if verdict else []
        rest = [getattr(claim, name) for name in names]
        rows.append([claim.label, claim.claim, claim.question, *texts, *shown, *rest])
    return rows


def draw(judged: JudgedClaims, n: int, *, seed: int = 0) -> list[tuple[JudgedClaim, float]]:
    """Return `n` of the claims, or all if there are fewer, each with its chance to be drawn.

    By Pareto sampling, whose actual chances differ by a few percent in strata of a few claims:
    Rosén, "On sampling with probability proportional to size", Journal of Statistical Planning and
    Inference 62(2), 1997. The random numbers depend only on `seed` and the claim, so a larger draw
    has nearly all claims of a smaller one: Ohlsson, "Coordination of samples using permanent random
    numbers", in "Business Survey Methods", Wiley, 1995.
    """
    by_stratum: defaultdict[str, list[JudgedClaim]] = defaultdict(list)
    for claim in judged.to_be_labeled:
        by_stratum[claim.stratum].append(claim)
    # Claims are sorted by verdict, so that the order of samples does not change the draw.
    parts = [claims for _, claims in sorted(by_stratum.items())]
    # A stratum's share is by the square root of its size: a compromise between proportional, best
    # for the mean, and equal, best for the agreement on each verdict. Bankier, "Power allocations:
    # determining sample sizes for subnational areas", American Statistician 42(3), 1988.
    roots = [sqrt(fsum(claim.share for claim in claims)) for claims in parts]
    counts = allocation(roots, list(map(len, parts)), n, fewest=FEWEST)
    chosen: list[tuple[JudgedClaim, float]] = []
    for claims, count in zip(parts, counts, strict=True):
        chances = _proportional(claims, count)
        ranks = {claim.item: _rank(claim.item, chances[claim.item], seed) for claim in claims}
        first = sorted(claims, key=lambda claim: ranks[claim.item])[:count]
        chosen += [(claim, chances[claim.item]) for claim in first]
    # The claims are sorted by sample, so that a rater reads contexts once; the order within a
    # sample hides the verdict.
    return sorted(chosen, key=lambda drawn: (drawn[0].row, drawn[0].item))


def _proportional(claims: Sequence[JudgedClaim], n: int) -> Mapping[str, float]:
    """Return chances proportional to the claims' shares, at most 1, that add up to `n`.

    Then all labels of a stratum have the same weight, except those of claims with chance 1.
    """
    certain: set[str] = set()
    while True:
        uncertain = [claim for claim in claims if claim.item not in certain]
        left, total = n - len(certain), fsum(claim.share for claim in uncertain)
        # Shares are sums of floats: a share that is just enough must not fail by rounding.
        over = {claim.item for claim in uncertain if left * claim.share >= total * (1 - 1e-12)}
        if not over:
            break
        certain |= over
    return {
        claim.item: 1.0 if claim.item in certain else left * claim.share / total for claim in claims
    }


def _rank(item: str, chance: float, seed: int) -> float:
    """Return a claim's random rank: the lowest ranks are drawn."""
    if chance >= 1.0:
        return -1.0
    # 48 bits are exact in a float and below 1; `hash` and `random` may differ between Pythons.
    number = int.from_bytes(sha256(f"{seed} {item}".encode()).digest()[:6], "big") / 2**48
    return number / (1 - number) * (1 - chance) / chance
