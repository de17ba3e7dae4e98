"""Which claim of a report each label is about."""

from __future__ import annotations

from collections.abc import Sequence

from fullrecall.calibration.judged import JudgedClaim, JudgedClaims
from fullrecall.calibration.labels import Label
from fullrecall.errors import InputError


def labels_by_item(judged: JudgedClaims, labels: Sequence[Label]) -> dict[str, list[Label]]:
    """Return the labels of each claim; raise `InputError` for those of none, and for doubles."""
    items = {claim.item for claim in judged.claims}
    named: dict[tuple[str, str], list[JudgedClaim]] = {}
    for claim in judged.claims:
        named.setdefault((claim.sample, claim.target), []).append(claim)
    by_item: dict[str, list[Label]] = {}
    strangers = []
    for label in labels:
        item = label.item or _item(named.get((label.sample, label.target), []))
        if item not in items:
            strangers.append(label)
            continue
        others = by_item.setdefault(item, [])
        if any(other.rater == label.rater for other in others):
            who = f" by {label.rater}" if label.rater else ""
            raise InputError(
                f"the claim {label.target!r} of the sample {label.sample!r} is labeled{who} "
                "twice: keep one, or name its rater"
            )
        others.append(label)
    if strangers:
        first = strangers[0]
        raise InputError(
            f"{len(strangers):,} of {len(labels):,} labels match no claim that "
            f"{judged.method.name} judged by the same contexts, such as {first.target!r} of the "
            f"sample {first.sample!r}: they are of another report, or of another score"
        )
    return by_item


def _item(claims: Sequence[JudgedClaim]) -> str:
    if len(claims) > 1:
        raise InputError(
            f"the sample {claims[0].sample!r} has the claim {claims[0].target!r} more than once: "
            "set the label's item, as Report.to_label does"
        )
    return claims[0].item if claims else ""
