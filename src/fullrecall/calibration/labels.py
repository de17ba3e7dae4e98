"""Labels: human verdicts on judged claims, and the files that contain them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import NamedTuple, TypeAlias

from fullrecall._util.values import shown
from fullrecall.errors import InputError
from fullrecall.files.rows import in_file
from fullrecall.files.sheets import sheet_rows
from fullrecall.files.text_files import FilePath, existing_file
from fullrecall.judge.judge import VerdictLabel
from fullrecall.judge.verdicts import label_of


class Label(NamedTuple):
    """One rater's label of one claim: do the judged contexts support it?

    The claim is identified by `item`, from `Report.to_label`, or by its `sample` (as in
    `Row.label`) and `target`. `label` is None for a claim that was drawn but is not yet labeled.
    `probability`, in (0, 1], is the chance with which the claim was drawn; None if it was not
    drawn. `rater` names the rater if there are several.
    """

    sample: str
    target: str
    label: VerdictLabel | None
    probability: float | None = None
    item: str = ""
    rater: str = ""


HumanLabels: TypeAlias = Iterable[Label] | Mapping[tuple[str, str], object]
"""Labels, or a mapping from (sample, claim) to a label."""


def as_label(value: object) -> VerdictLabel | None:
    """Return the label that a word means; None for None and "".

    Raises `InputError` for other values.
    """
    word = "" if value is None else str(value).strip().lower()
    if not word:
        return None
    # Raters cannot answer "contradicted", so "false" means "not supported".
    label = "not_supported" if word == "false" else label_of(word)
    if label is None or label == "contradicted":
        raise InputError(
            f"label must be supported, not_supported, partial, or empty, got {shown(value)}",
            field="label",
        )
    return label


def as_labels(labels: HumanLabels) -> tuple[Label, ...]:
    """Convert labels in any form; raise `InputError` for a value that is not a label."""
    if isinstance(labels, Mapping):
        for key in labels:
            if not isinstance(key, tuple) or len(key) != 2:  # noqa: PLR2004 - a pair
                raise InputError(f"a label's key must be (sample, claim), got {shown(key)}")
        labels = [Label(str(key[0]), key[1], as_label(word)) for key, word in labels.items()]
    return tuple(map(_checked, labels))


def as_probability(value: object) -> float:
    """Return a value as a probability; raise `InputError` unless it is a number in (0, 1]."""
    try:
        # Spreadsheets in many European locales write a decimal comma.
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


_TEXTS = ("item", "sample", "claim", "rater")


def read_labels(path: FilePath, *more: FilePath) -> tuple[Label, ...]:
    """Return the labels in files that `Report.to_label` wrote and raters filled in.

    The files are CSV or JSON Lines; a CSV file may have semicolons and a byte order mark, as
    spreadsheets save it. The fields are `label` ("supported", "not_supported", "partial" or empty;
    also yes and no), and either `item`, or `sample` and `claim`. The fields `probability` and
    `rater` may be left out. With several files, each file's name is its rater's name, unless its
    column `rater` has one. Raises `InputError`, with the file and the line, for an invalid label
    and for a claim that one rater labels twice.
    """
    names = [existing_file(file) for file in (path, *more)]
    stems = Counter(Path(name).stem for name in names)
    labels: list[Label] = []
    for name in names:
        rater = ""
        if more:
            rater = Path(name).stem if stems[Path(name).stem] == 1 else name
        labels += in_file(name, _labels(name, rater), kind="")
    return tuple(labels)


def _labels(name: str, rater: str) -> Iterator[Label]:
    first_lines: dict[tuple[str, ...], int] = {}
    with closing(sheet_rows(name, (("label",), ("item", "claim", "target")))) as rows:
        for line, row in rows:
            try:
                label = _label(row, rater)
            except InputError as error:
                raise error.at(line=line) from None
            about = (label.item,) if label.item else (label.sample, label.target)
            first = first_lines.setdefault((label.rater, *about), line)
            if first != line:
                raise InputError(
                    f"this claim is labeled on line {first:,} already: keep one of the two, or "
                    "name their raters",
                    line=line,
                )
            yield label


def _label(row: Mapping[str, object], rater: str) -> Label:
    if "label" not in row:
        raise InputError(
            f"no label: expected the field label, got {', '.join(row) or 'no fields'}",
            field="label",
        )
    named = {**row, "claim": row.get("claim", row.get("target"))}
    for name in _TEXTS:
        if not isinstance(named.get(name), str | None):
            raise InputError(f"{name} must be a text, got {shown(named[name])}", field=name)
    item, sample, claim, own_rater = (str(named.get(name) or "") for name in _TEXTS)
    if not item.strip() and not (sample and claim):
        raise InputError("no claim named: expected an item, or a sample and a claim", field="item")
    drawn = row.get("probability")
    return Label(
        sample,
        claim,
        as_label(row["label"]),
        None if drawn is None or not str(drawn).strip() else as_probability(drawn),
        item.strip(),
        own_rater.strip() or rater,
    )
