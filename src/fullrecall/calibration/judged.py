"""The judged claims of a report, and stratified draws of claims to label."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from math import fsum, sqrt
from pathlib import Path
from typing import NamedTuple

from fullrecall._util.allocation import allocation
from fullrecall._util.parameters import check_k
from fullrecall._util.values import shown
from fullrecall.calibration.labels import HumanLabels, Label, as_labels
from fullrecall.errors import InputError, ParameterError, ReportError
from fullrecall.measures import Recall
from fullrecall.measures.findings import Finding
from fullrecall.scorers.result import Method, Result, Status
from fullrecall.show import spreadsheet
from fullrecall.stats.evaluation import Evaluation
from fullrecall.stats.named import index_of
from fullrecall.table.row import Row


class JudgedClaim(NamedTuple):
    """One claim with the judge's finding.

    - `item`: a hash of the sample's label, the claim, and the contexts by which it was judged. It
      is the same in every report in which these three are equal, by any judge.
    - `row`: the index of its sample among the scored rows; `sample`: the label of that row.
    - `target`: the text of the claim; `finding`: the judge's finding.
    - `share`: its share of the sample's recall; the shares of a sample add up to 1.
    - `credit`: the credit that the judge gave it, in [0, 1].
    - `needs_no_label`: whether its sample has no retrieved context; then none supports it.
    """

    item: str
    row: int
    sample: str
    target: str
    share: float
    credit: float
    finding: Finding
    needs_no_label: bool

    @property
    def is_supported(self) -> bool:
        """Whether the judge called the claim fully supported."""
        return self.credit >= 1.0

    @property
    def verdict(self) -> str:
        """The judge's verdict in the words of labels: "supported", "partial" or "not_supported"."""
        if self.is_supported:
            return "supported"
        return "partial" if self.credit or self.finding.verdict == "partial" else "not_supported"

    @property
    def stratum(self) -> str:
        """The claim's stratum in a draw: its verdict, and whether one of its quotes was not found.

        The judge's errors are more alike within a stratum than between strata.
        """
        if any(quote.verified is False for quote in self.finding.evidence or ()):
            return f"{self.verdict}, a quote not found"
        return self.verdict


@dataclass(frozen=True)
class JudgedClaims:
    """The judged claims of one score; `rows` are the scored samples, in report order.

    `texts` are each row's judged contexts. `cluster` has the group of each row, or the row's index
    if it has no group. `unscored` counts samples without a score, `unmeasured` the claims without a
    verdict in scored samples.
    """

    method: Method
    rows: Sequence[Row]
    cluster: Sequence[Hashable]
    texts: Sequence[Sequence[str]]
    claims: Sequence[JudgedClaim]
    unscored: int
    unmeasured: int

    @cached_property
    def credits(self) -> list[float]:
        """The judged recall of each row, in [0, 1]."""
        parts: list[list[float]] = [[] for _ in self.rows]
        for claim in self.claims:
            parts[claim.row].append(claim.share * claim.credit)
        return [fsum(part) for part in parts]

    @cached_property
    def to_be_labeled(self) -> list[JudgedClaim]:
        """The claims that raters can label: those with retrieved contexts."""
        return [claim for claim in self.claims if not claim.needs_no_label]


def judged_claims(report: Evaluation, score: str | None = None) -> JudgedClaims:
    """Return the judged claims of a score; None selects the only recall by a judge.

    Raises `ReportError` in four cases: the score is ambiguous or not in the report; it is not a
    recall; the report keeps no rows; or no scored sample has a retrieved context.
    """
    if not isinstance(report, Evaluation):
        raise ParameterError(f"must be a Report, got {shown(report)}", "report")
    score_index = index_of(report.methods, _judged_score(report) if score is None else score)
    method = report.methods[score_index]
    if method.headline != Recall:
        raise ReportError(f"{method.name} is not a recall: it judges contexts, not missing targets")
    results = [row.results[score_index] for row in report.rows]
    scored = [
        (row, result, group)
        for row, result, group in zip(report.rows, results, report.table.groups, strict=True)
        if result.status is Status.SCORED
    ]
    if not any(result.retrieved for _, result, _ in scored):
        raise ReportError(
            f"no sample has a claim that {method.name} judged by a context: nothing to calibrate"
        )
    cluster = [at if group is None else group for at, (_, _, group) in enumerate(scored)]
    texts = [
        [context.label for context in (row.sample.retrieved_contexts or ())[: result.retrieved]]
        for row, result, _ in scored
    ]
    claims: list[JudgedClaim] = []
    claim_counts: Counter[str] = Counter()
    for at, (row, result, _) in enumerate(scored):
        for finding in result.findings:
            # JSON, because any separator may occur in a text.
            content = json.dumps([row.label, finding.target.label, texts[at]])
            # Repeated claims of a sample are separate items, distinguished by their order.
            claim_counts[content] += 1
            again = str(claim_counts[content]) if claim_counts[content] > 1 else ""
            claims.append(_claim(f"{content}{again}", at, row, result, finding))
    return JudgedClaims(
        method,
        [row for row, _, _ in scored],
        cluster,
        texts,
        claims,
        sum(result.status is Status.UNSCORED for result in results),
        sum(len(result.unmeasured) for _, result, _ in scored),
    )


def _claim(content: str, at: int, row: Row, result: Result, finding: Finding) -> JudgedClaim:
    # Begin with a letter, so that no spreadsheet reads it as a number.
    item = f"c{sha256(content.encode()).hexdigest()[:16]}"
    share, credit = 1 / len(result.findings), finding.credit_at()
    target, needs_no_label = finding.target.label, result.retrieved == 0
    return JudgedClaim(item, at, row.label, target, share, credit, finding, needs_no_label)


def _judged_score(report: Evaluation) -> str:
    """Return the name of the only recall by a judge; raise `ReportError` for none or several."""
    judged = [m.name for m in report.methods if m.headline == Recall and m.parameters.get("judge")]
    if not judged:
        names = ", ".join(method.name for method in report.methods)
        raise ReportError(
            f"no judge decided any score of the report, which has {names}: evaluate with "
            "ClaimRecall(judge=…), on the command line --scorer claim_recall"
        )
    if len(judged) != 1:
        raise ReportError(
            f"expected one recall by a judge, got {', '.join(judged)}: name the score"
        )
    return judged[0]


def labels_by_item(judged: JudgedClaims, labels: Sequence[Label]) -> dict[str, list[Label]]:
    """Return the labels of each labeled claim, by its item.

    Raises `InputError` for labels of unknown or ambiguous claims, and for a claim with two labels
    by one rater.
    """
    items_named: defaultdict[tuple[str, str], list[str]] = defaultdict(list)
    for claim in judged.claims:
        items_named[claim.sample, claim.target].append(claim.item)
    by_item: dict[str, list[Label]] = {claim.item: [] for claim in judged.claims}
    strangers = []
    for label in labels:
        items = [label.item] if label.item else items_named[label.sample, label.target]
        if len(items) > 1:
            raise InputError(
                f"the sample {label.sample!r} has the claim {label.target!r} more than once: "
                "set the label's item, as Report.to_label does"
            )
        if not items or items[0] not in by_item:
            strangers.append(label)
            continue
        earlier_labels = by_item[items[0]]
        if any(earlier.rater == label.rater for earlier in earlier_labels):
            who = f" by {label.rater}" if label.rater else ""
            raise InputError(
                f"the claim {label.target!r} of the sample {label.sample!r} is labeled{who} "
                "twice: keep one, or name its rater"
            )
        earlier_labels.append(label)
    if strangers:
        raise InputError(
            f"{len(strangers):,} of {len(labels):,} labels match no claim that "
            f"{judged.method.name} judged by the same contexts, such as {strangers[0].target!r} "
            f"of the sample {strangers[0].sample!r}: they are of another report, or of another "
            "score"
        )
    return {item: labels for item, labels in by_item.items() if labels}


FEWEST = 2
"""The fewest claims drawn from each stratum, if it has as many, since one claim has no spread."""


class ToLabel(NamedTuple):
    """A claim to be labeled, with the texts that a rater needs to decide.

    The rater sets `label` to "supported", "not_supported" or "partial": do the `contexts`, in their
    order, support the `claim`? `probability` is the chance with which the claim was drawn;
    `verdict` is the judge's, or "" if it is hidden.
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
    """Return `n` random claims, or all if there are fewer, each with its chance to be drawn.

    This is Pareto sampling. In strata of a few claims, the actual chances differ from the returned
    ones by a few percent: Rosén, "On sampling with probability proportional to size", Journal of
    Statistical Planning and Inference 62(2), 1997. The random numbers depend only on `seed` and the
    claim, so a larger draw has nearly all claims of a smaller one: Ohlsson, "Coordination of
    samples using permanent random numbers", in "Business Survey Methods", Wiley, 1995.
    """
    by_stratum: defaultdict[str, list[JudgedClaim]] = defaultdict(list)
    for claim in judged.to_be_labeled:
        by_stratum[claim.stratum].append(claim)
    # Sort the strata by name, so that the order of samples does not change the draw.
    parts = [claims for _, claims in sorted(by_stratum.items())]
    # The share of a stratum in the draw follows the square root of its size, a compromise between
    # proportional shares (best for the mean) and equal shares (best for the agreement on each
    # verdict). Bankier, "Power allocations: determining sample sizes for subnational areas",
    # American Statistician 42(3), 1988.
    roots = [sqrt(fsum(claim.share for claim in claims)) for claims in parts]
    counts = allocation(roots, list(map(len, parts)), n, fewest=FEWEST)
    chosen: list[tuple[JudgedClaim, float]] = []
    for claims, count in zip(parts, counts, strict=True):
        chances = _proportional(claims, count)
        ranks = {claim.item: _rank(claim.item, chances[claim.item], seed) for claim in claims}
        first = sorted(claims, key=lambda claim: ranks[claim.item])[:count]
        chosen += [(claim, chances[claim.item]) for claim in first]
    # Sort the claims by sample, so that a rater reads contexts once. Within a sample, sort them by
    # hash, which does not reveal the verdict.
    return sorted(chosen, key=lambda drawn: (drawn[0].row, drawn[0].item))


def _proportional(claims: Sequence[JudgedClaim], n: int) -> Mapping[str, float]:
    """Return each claim's chance to be drawn; the chances add up to `n`.

    The chances are proportional to the claims' shares, but at most 1. All labels of a stratum then
    have the same weight, except those of claims with chance 1.
    """
    certain: set[str] = set()
    while True:
        uncertain = [claim for claim in claims if claim.item not in certain]
        left, total = n - len(certain), fsum(claim.share for claim in uncertain)
        # Allow for rounding, so that a claim whose share is just large enough gets the chance 1.
        over = {claim.item for claim in uncertain if left * claim.share >= total * (1 - 1e-12)}
        if not over:
            break
        certain |= over
    return {
        claim.item: 1.0 if claim.item in certain else left * claim.share / total for claim in claims
    }


def _rank(item: str, chance: float, seed: int) -> float:
    """Return a claim's random rank for the draw; 0.0 for a claim whose chance is 1.

    The claims with the lowest ranks are drawn, so a claim with rank 0.0 always is.
    """
    # Not `hash` or `random`, which may differ between versions of Python. 48 bits are exact in a
    # float, so that the number stays below 1.
    number = int.from_bytes(sha256(f"{seed} {item}".encode()).digest()[:6], "big") / 2**48
    return number / (1 - number) * (1 - chance) / chance
