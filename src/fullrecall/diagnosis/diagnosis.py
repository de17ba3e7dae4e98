"""The result of `diagnose`: each miss with its cause, and the changes to make."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any

from fullrecall._util.counts import counted
from fullrecall._util.dataframes import Backend, frame_of
from fullrecall._util.naming import parameter
from fullrecall._util.parameters import check_k
from fullrecall.diagnosis.causes import FIXES, Cause, Diagnosed
from fullrecall.diagnosis.effects import Change
from fullrecall.show import spreadsheet
from fullrecall.show.output import written
from fullrecall.show.sheet import Line, Section, Sheet
from fullrecall.show.shown import Shown
from fullrecall.show.text import NOTHING, one_line, shown
from fullrecall.stats.evaluation import Evaluation
from fullrecall.stats.plain import plain, plain_of


@dataclass(frozen=True, repr=False)
class Diagnosis(Shown):
    """The changes to make, and the causes of all misses of a report. Iterates over the misses.

    `changes` are ordered: first those without additional contexts, then by gain per context.
    `scores` are the labels of the scorers that measure recall, with or without misses. `samples` is
    the number of diagnosed samples, and `drawn_from` the number of all samples of the report; it is
    larger if only a random draw was diagnosed.
    """

    misses: Sequence[Diagnosed]
    scores: Sequence[str]
    samples: int
    changes: Sequence[Change] = ()
    drawn_from: int | None = None
    of: str = field(default="", compare=False)
    """The report that was diagnosed, as described by `described`."""

    def __iter__(self) -> Iterator[Diagnosed]:
        return iter(self.misses)

    def __len__(self) -> int:
        return len(self.misses)

    def counts(self, score: str | None = None) -> dict[Cause, int]:
        """Return the number of misses by cause, the most frequent first.

        `score` is a scorer's label; None counts the misses of all scorers.
        """
        counts = Counter(miss.cause for miss in self.misses if score in (None, miss.score))
        order = list(Cause)
        return dict(sorted(counts.items(), key=lambda pair: (-pair[1], order.index(pair[0]))))

    @property
    def fixes(self) -> Mapping[Cause, str]:
        """The fix for each cause that occurs, the most frequent cause first."""
        named = {name: parameter(name) for name in ("corpus", "id_key", "retriever")}
        return {cause: FIXES[cause].format(**named) for cause in self.counts()}

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return {
            "samples": self.samples,
            "drawn_from": self.drawn_from or self.samples,
            **plain_of(self, "changes"),
            "causes": plain(self.counts()),
            **plain_of(self, "fixes", "misses"),
        }

    def to_frame(self, *, backend: Backend = "pandas") -> Any:
        """Return one row per miss, with the fields of `Diagnosed`.

        `backend` and the errors are those of `Report.to_frame`.
        """
        columns = {name: int if name == "rank" else str for name in Diagnosed._fields}
        return frame_of(columns, self._rows(), backend, "Diagnosis.to_frame()")

    def to_json(self, path: str | Path | None = None) -> str:
        """Return changes, causes, and misses as a JSON object, and write it to `path` if given."""
        content = {"kind": "fullrecall diagnosis", **self.to_dict()}
        return written(json.dumps(content, indent=1) + "\n", path)

    def to_csv(self, path: str | Path | None = None, *, delimiter: str = ",") -> str:
        """Return the misses as CSV, and write it to `path` if given.

        Each miss is one line, with the fields of `Diagnosed`. Safety in spreadsheets and
        `delimiter` are as in `Report.to_csv`.
        """
        text = spreadsheet.table([Diagnosed._fields, *self._rows()], delimiter)
        return written(text, path, spreadsheet.BOM)

    def to_markdown(self, path: str | Path | None = None, *, misses: int = 3) -> str:
        """Return the diagnosis in GitHub's Markdown, and write it to `path` if given.

        It has the changes, the causes, and `misses` examples of each cause. Raises `ParameterError`
        for `misses` below 0.
        """
        from fullrecall.show import markdown

        check_k(misses, "misses", least=0)
        title = f"Diagnosis of {counted(len(self.misses), 'missed target')}"
        return written(markdown.text_of(title, *self.sheets, examples(self, misses)), path)

    def _rows(self) -> list[tuple[Any, ...]]:
        return [tuple(miss.values()) for miss in plain(self.misses)]

    @property
    def sheets(self) -> Sequence[Sheet]:
        """The changes by their gain, and the causes of each score's misses with their fixes."""
        size = self.drawn_from or self.samples
        drawn = f" drawn at random of {size:,}" if size != self.samples else ""
        samples = f"{counted(self.samples, 'sample')}{drawn}"
        if not self.misses:
            return [Sheet([], [], [f"Nothing was missed in {samples}."])]
        notes = [f"Diagnosed from {samples}."] if drawn else []
        return [_changes(self), _causes(self, notes)]

    def __repr__(self) -> str:
        missed = f"{counted(len(self.misses), 'target')} missed"
        return f"Diagnosis({missed} in {counted(self.samples, 'sample')})\n{self}"


def described(report: Evaluation) -> str:
    """Describe a report: its number of samples, its mean scores, and a digest of its scores."""
    import numpy as np

    digest, means = sha256(repr(report.table.ids).encode("utf-8", "backslashreplace")), []
    for method in report.methods:
        values = report.values(method.headline, score=method.name)
        scored = values[~np.isnan(values)]
        digest.update(values.tobytes())
        means.append(f"{method.name} {shown(scored.mean() if len(scored) else None)}")
    samples = counted(len(report), "sample")
    return f"report {digest.hexdigest()[:8]} ({', '.join([samples, *means])})"


def examples(diagnosis: Diagnosis, most: int) -> Sheet:
    """Return a table of up to `most` misses of each cause."""
    sections: dict[str, list[Line]] = {str(cause): [] for cause in diagnosis.counts()}
    for miss in diagnosis.misses:
        lines = sections[str(miss.cause)]
        if len(lines) < most:
            target, detail = one_line(miss.target, 80), one_line(miss.detail, 200)
            lines.append(Line(one_line(miss.sample, 40), [miss.score, target, detail]))
    return Sheet(
        ["score", "target", "why"],
        [Section(_words(cause), lines) for cause, lines in sections.items() if lines],
        corner="sample",
        sides="lltt",
    )


def _changes(diagnosis: Diagnosis) -> Sheet:
    several = len(diagnosis.scores) > 1
    lines = [
        Line(
            change.action,
            [
                change.gain_text,
                "" if change.cost is None else change.cost.text,
                *[change.score] * several,
            ],
        )
        for change in diagnosis.changes
    ]
    heads = ["gain", "cost", *["score"] * several]
    sides = f"trl{'l' * several}"
    return Sheet(heads, [Section("", lines)], (), "What to change", "what to change", sides)


def _causes(diagnosis: Diagnosis, notes: list[str]) -> Sheet:
    by_score = {score: Counter(diagnosis.counts(score)) for score in diagnosis.scores}
    lines = [
        Line(_words(cause), [_cell(counts[cause], counts.total()) for counts in by_score.values()])
        for cause in diagnosis.counts()
    ]
    missed = Line("missed", [f"{counts.total():,}" for counts in by_score.values()])
    fixes = [f"{_words(cause)}: {fix}" for cause, fix in diagnosis.fixes.items()]
    sections = [Section("cause", lines), Section("targets", [missed])]
    return Sheet(list(by_score), sections, [*fixes, *notes])


def _words(cause: object) -> str:
    return str(cause).replace("_", " ")


def _cell(count: int, total: int) -> str:
    return f"{count:,} ({count / total:.0%})" if count else NOTHING
