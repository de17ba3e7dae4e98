"""Labels: what people say of claims that a judge has judged."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from fullrecall._util.values import shown
from fullrecall.errors import InputError
from fullrecall.judge.labels import as_label

if TYPE_CHECKING:
    from fullrecall.judge.judge import VerdictLabel


class Label(NamedTuple):
    """What one person says of one claim: is it supported by the contexts that were judged?

    The claim is named by `item`, as `Report.to_label` gives it, or by its `sample` (as in
    `Row.label`) and `target`. `label` is None for a claim that was drawn and is not yet labeled.
    `probability`, in (0, 1], is the chance that the claim had to be drawn; None where it came from
    no drawing. `rater` names the person where there are several.
    """

    sample: str
    target: str
    label: VerdictLabel | None
    probability: float | None = None
    item: str = ""
    rater: str = ""


HumanLabels: TypeAlias = Iterable[Label] | Mapping[tuple[str, str], object]
"""Labels, or a mapping from (sample, claim) to a label."""


def as_labels(labels: HumanLabels) -> tuple[Label, ...]:
    """Return labels given in any form; raise `InputError` for what is none."""
    if isinstance(labels, Mapping):
        for key in labels:
            if not isinstance(key, tuple) or len(key) != 2:  # noqa: PLR2004 - a pair
                raise InputError(f"a label's key must be (sample, claim), got {shown(key)}")
        labels = [Label(str(key[0]), key[1], as_label(word)) for key, word in labels.items()]
    return tuple(map(_checked, labels))


def as_probability(value: object) -> float:
    """Return a chance to be drawn; raise `InputError` for what is none."""
    try:
        # Spreadsheets of half Europe write a comma.
        number = float(value.replace(",", ".") if isinstance(value, str) else value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        number = 0.0
    if not 0 < number <= 1:
        raise InputError(
            f"probability must be above 0 and at most 1, got {shown(value)}: leave the column as "
            "Report.to_label wrote it",
            field="probability",
        )
    return number


def _checked(label: object) -> Label:
    if not isinstance(label, Label):
        raise InputError(
            f"labels must be Label objects or a mapping from (sample, claim), got {shown(label)}: "
            "fullrecall.read.read_labels reads a file of them"
        )
    drawn = label.probability
    return label._replace(
        label=as_label(label.label), probability=None if drawn is None else as_probability(drawn)
    )
