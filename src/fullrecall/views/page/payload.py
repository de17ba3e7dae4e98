"""What the page's script reads: an index of all samples, and their details in blocks.

The index is what the table sorts and filters by, and is read at once. Details, contexts and texts
come in blocks that are read when a sample is opened or searched. Each text and each context stands
once, however many samples hold it, and is named by its number.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from json.encoder import encode_basestring as as_text
from typing import TYPE_CHECKING, Any

from fullrecall.views.page.census import Turns, Worst, worst_of
from fullrecall.views.page.choices import Rows, Subject
from fullrecall.views.page.details import Details
from fullrecall.views.page.document import ScriptJson, as_json, escaped
from fullrecall.views.page.readings import STATUSES, Reading

if TYPE_CHECKING:
    from fullrecall.results.pairs import Gap
    from fullrecall.table.row import Row
    from fullrecall.views.page.causes import Causes
    from fullrecall.views.page.slices import Grouping

SAMPLES_IN_BLOCK = 100
"""Samples whose details are read together."""

_QUESTION_SHOWN = 300
"""Characters of a question that the table can show; the details have all of it."""

_GAPS: Mapping[Gap, str] = {
    "only_before": "only before",
    "only_after": "only after",
    "unscored": "unscored",
    "undefined": "undefined",
    "undefined_in_one": "undefined in one",
    "no_common_targets": "no common targets",
}
"""Why a score of a sample is not compared, by its number."""

_GAP_NUMBERS = {gap: number for number, gap in enumerate(_GAPS)}


class Payload:
    """The data of a page as JSON: samples are added one by one, `choice` is what it opens with.

    `worst` are those of the last report that miss something, `newly` those that did not in the
    first one, and `mended` the other way round.
    """

    def __init__(self, subject: Subject, choice: int, causes: Causes) -> None:
        self._subject = subject
        self._choice = choice
        self._causes = causes
        self._details = Details(causes, SAMPLES_IN_BLOCK)
        self._entries: list[str] = []
        self.rows: list[Row] = []
        """The first row of each sample that was added."""
        self.worst, self.newly, self.mended = Worst(), Worst(), Worst()

    def add(self, rows: Rows, readings: Sequence[Reading]) -> None:
        """Add a sample with its row in each report, None where one does not have it."""
        sample_row = next(row for row in rows if row is not None)
        causes = self._details.add(rows, sample_row, readings)
        self._note(rows, sample_row, readings)
        self._entries.append(_entry(rows, sample_row, readings, causes))
        self.rows.append(sample_row)

    def blocks(
        self, turns: Sequence[Turns], groupings: Sequence[Grouping]
    ) -> list[tuple[str, ScriptJson]]:
        """Return the data, each block with the ID that the script reads it by."""
        subject, blocks = self._subject, dict(self._details.blocks())
        index: dict[str, Any] = {
            "sides": subject.names,
            "choices": [choice.label for choice in subject.choices],
            "first": self._choice,
            "scores": [self._score(nth) for nth in range(len(subject.columns))],
            "causes": [[line.cause, line.name] for line in self._causes.lines],
            "statuses": [str(status) for status in STATUSES],
            "gaps": list(_GAPS.values()),
            "groupings": [
                {"name": grouping.field, "values": [line.value for line in grouping.lines]}
                for grouping in groupings
            ],
            "turns": [turn._asdict() for turn in turns],
            "samples": [],
            "perBlock": SAMPLES_IN_BLOCK,
            "contextsPerBlock": self._details.contexts_per_block,
            "texts": self._details.texts_per_block,
        }
        before, after = as_json(index).split('"samples":[]', 1)
        entries = self._entries
        if groupings:
            entries = [
                _with_groups(entry, [grouping.numbers(row) for grouping in groupings])
                for entry, row in zip(entries, self.rows, strict=True)
            ]
        whole = escaped(f'{before}"samples":[{",".join(entries)}]{after}')
        return [("index", whole), *blocks.items()]

    def _score(self, nth: int) -> dict[str, Any]:
        column, choices = self._subject.columns[nth], self._subject.choices
        measures = [choice.measures[nth] for choice in choices]
        labels = [column.method.label(measure) for measure in measures]
        return {
            "letter": column.letter,
            "name": column.method.name,
            "measures": [
                {"label": label, "k": cut_measure.amount}
                for label, cut_measure in zip(labels, measures, strict=True)
            ],
        }

    def _note(self, rows: Rows, row: Row, readings: Sequence[Reading]) -> None:
        """Put a sample on the lists of the first screen that it belongs to."""
        position, last = len(self.rows), len(rows) - 1
        now = worst_of(readings, self._choice, last)
        if now is not None and now[1]:
            self.worst.add(now, position, row)
        before = worst_of(readings, self._choice, 0) if last else None
        if now is None or before is None:
            return
        if now[1] and not before[1]:
            self.newly.add(now, position, row)
        if before[1] and not now[1]:
            self.mended.add(before, position, row)


def _entry(rows: Rows, sample_row: Row, readings: Sequence[Reading], causes: str) -> str:
    """Return as JSON what the table shows of a sample: on each side, for each score, three values.

    They are the number of its status, and by each choice its value, None where there is none, and
    how many targets it missed.
    """
    sides = [
        "null"
        if row is None
        else f"[{','.join([each.cells[side].figures.json for each in readings])}]"
        for side, row in enumerate(rows)
    ]
    question = sample_row.sample.user_input or ""
    brief = question if len(question) <= _QUESTION_SHOWN else f"{question[:_QUESTION_SHOWN]}…"
    entry = f'"l":{as_text(sample_row.label)},"q":{as_text(brief)}'
    if sample_row.sample.group is not None:
        entry += f',"g":{as_text(sample_row.sample.group)}'
    if causes:
        entry += f',"c":{causes}'
    if len(rows) > 1:
        gaps = [None if each.gap is None else _GAP_NUMBERS[each.gap] for each in readings]
        entry += f',"n":{as_json(gaps)}'
    return f'{{{entry},"v":[{",".join(sides)}]}}'


def _with_groups(entry: str, numbers: Sequence[Sequence[int]]) -> str:
    """Return an entry with the numbers of field and value of its sample."""
    pairs = [[nth, number] for nth, of in enumerate(numbers) for number in of]
    return f'{entry[:-1]},"s":{as_json(pairs)}}}' if pairs else entry
