"""What parts come to: merged row by row as they arrive, and reported with what is missing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from fullrecall.distributed.identity import Identity
from fullrecall.distributed.ranges import Runs, count, in_words, joined, runs_of, without
from fullrecall.distributed.totals.parts import Parts, missing_in_words
from fullrecall.distributed.totals.sums import GroupSums, SampleSums
from fullrecall.errors import ReportError
from fullrecall.report.tally import Tallies

_SHOWN = 3
"""Failures that a report quotes."""

_MOST_BAD_ROWS = 1_000

_BLOCK = 256
"""So many cells have one key: what is close together is merged together."""


class Whole:
    """The parts of one evaluation, merged as far as they go.

    Made of JSON texts, each what one key has: a bucket's group sums below `buckets`, and a block
    of parts from there on. Merging in any order, as often as you like, gives the same.
    """

    def __init__(self, identity: Identity, size: int, buckets: int) -> None:
        self._identity = identity
        self._size = size
        self._buckets = buckets
        self._parts: Parts[SampleSums] = Parts(size)
        self._groups: dict[int, Parts[GroupSums]] = {}
        self._folded: dict[int, dict[str, Any]] = {}
        self._bad_rows: dict[int, str] = {}

    @property
    def bad_rows(self) -> dict[int, str]:
        """The rows that could not be read, with the reasons: the first 1,000 by position."""
        return dict(sorted(self._bad_rows.items())[:_MOST_BAD_ROWS])

    def add(self, runs: Runs, sums: SampleSums, groups: Mapping[int, GroupSums]) -> None:
        """Add a part that has these rows."""
        self._parts.add(runs, sums)
        for bucket, content in groups.items():
            self._bucket(bucket).add(runs, content)

    def add_bad_rows(self, bad_rows: Mapping[int, str]) -> None:
        """Note rows that could not be read."""
        self._bad_rows |= bad_rows
        if len(self._bad_rows) > 2 * _MOST_BAD_ROWS:
            self._bad_rows = self.bad_rows

    def fail(self, runs: Runs, why: str) -> None:
        """Note that rows came to nothing, and why."""
        self._parts.failures[runs] = why

    def add_text(self, text: str) -> None:
        """Add what `texts` wrote; raises `ReportError` for what it cannot write."""
        from fullrecall.report.file import parsed

        try:
            plain = parsed(text)
            kind = plain["kind"]
            identity = plain["identity"]
        except (ValueError, TypeError, KeyError, ReportError) as error:
            raise ReportError(f"it holds no totals: {error!r}") from None
        self._identity.check(identity)
        try:
            if kind == "parts":
                self._parts.merge(Parts.from_dict(plain["parts"], SampleSums))
                self.add_bad_rows({int(row): str(why) for row, why in plain["bad_rows"]})
            elif kind == "groups":
                self._bucket(plain["bucket"]).merge(Parts.from_dict(plain["parts"], GroupSums))
            else:
                self._add_folded(plain["bucket"], plain["folded"])
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            if isinstance(error, ReportError):
                raise
            raise ReportError(f"it holds damaged totals: {error!r}") from None

    def texts(self) -> Iterator[tuple[int, int, str]]:
        """Yield what was merged: a key, how many samples it counts, and a text for `add_text`."""
        covered = self._parts.covered
        if covered or self._parts.failures:
            first = min(runs[0][0] for runs in (covered, *self._parts.failures) if runs)
            key = self._buckets + first // self._size // _BLOCK
            yield (
                key,
                count(covered),
                self._text(
                    "parts", parts=self._parts.to_dict(), bad_rows=list(self.bad_rows.items())
                ),
            )
        for bucket, parts in sorted(self._groups.items()):
            yield bucket, 0, self._text("groups", bucket=bucket, parts=parts.to_dict())
        for bucket, folded in sorted(self._folded.items()):
            yield bucket, 0, self._text("folded", bucket=bucket, folded=folded)

    def fold(self, empty: Tallies) -> None:
        """Make one value of each group: all that its bucket has must be here."""
        for bucket, parts in self._groups.items():
            tallies, check = empty.emptied(), 0
            for content in parts.contents():
                tallies.put_groups(content.sums)
                check += content.check
            tallies.fold_groups()
            self._add_folded(bucket, {"check": check, "totals": tallies.to_dict()})
        self._groups.clear()

    def tallies(self, empty: Tallies) -> Tallies:
        """Return the totals of all parts.

        Raises `ReportError` where rows are in two parts that are not the same, and where groups
        were lost on the way.
        """
        tallies = empty.emptied()
        checks: dict[int, int] = {}
        for content in self._parts.contents():
            tallies.merge(content.tallies)
            for bucket, check in content.checks.items():
                checks[bucket] = checks.get(bucket, 0) + check
        for bucket, check in sorted(checks.items()):
            if self._group_totals(bucket, tallies) != check:
                raise ReportError(
                    f"the groups of bucket {bucket} are not those of the parts: report all rows "
                    "that the scorer made, or all that were merged of them, and no others; where "
                    "rows were scored in several batches, leave all but one out"
                )
        return tallies

    def stopped(self, planned: Runs | None) -> str | None:
        """Return which of the planned rows are missing, and what failed; None where none is."""
        covered = self._parts.covered
        if planned is None:
            planned = ((0, covered[-1][1]),) if covered else ()
        told = [missing_in_words(planned, covered)]
        beyond = without(covered, planned)
        if beyond:
            told.append(f"rows that are not planned are there: {in_words(beyond)}")
        told += failures_in_words(self._parts.failures, covered)
        return "; ".join(filter(None, told)) or None

    def _bucket(self, bucket: int) -> Parts[GroupSums]:
        # A part without groups has nothing for any bucket.
        return self._groups.setdefault(bucket, Parts(self._size, gaps=True))

    def _group_totals(self, bucket: int, tallies: Tallies) -> int:
        """Add the groups of a bucket to the totals; return their check."""
        found = 0
        if bucket in self._groups:
            for content in self._groups[bucket].contents():
                tallies.put_groups(content.sums)
                found += content.check
        if bucket in self._folded:
            folded = self._folded[bucket]
            tallies.merge(Tallies.from_dict(folded["totals"]))
            found += folded["check"]
        return found

    def _add_folded(self, bucket: int, folded: dict[str, Any]) -> None:
        known = self._folded.setdefault(bucket, folded)
        if known != folded:
            raise ReportError(
                f"bucket {bucket} was merged in two places: group by the column fullrecall_key "
                "before you merge, so that each group is in one place"
            )

    def _text(self, kind: str, **plain: Any) -> str:
        from fullrecall.report.file import as_line

        return as_line({"kind": kind, "identity": self._identity.to_dict(), **plain})


def failures_in_words(failures: Mapping[Runs, str], covered: Runs) -> list[str]:
    """Return what failed and did not come later, a sentence for each of the first."""
    left = {runs: why for runs, why in sorted(failures.items()) if without(runs, covered)}
    told = [f"rows {in_words(runs)} failed: {why}" for runs, why in list(left.items())[:_SHOWN]]
    if len(left) > _SHOWN:
        rest = joined(run for runs in list(left)[_SHOWN:] for run in runs)
        told.append(f"{len(left) - _SHOWN:,} more batches failed, of rows {in_words(rest)}")
    return told


def planned_runs(rows: int | range | Sequence[range]) -> Runs:
    """Return the rows of a plan: so many from 0 on, or those of ranges."""
    if isinstance(rows, int):
        return ((0, rows - 1),) if rows else ()
    ranges: Iterable[range] = [rows] if isinstance(rows, range) else rows
    return joined(run for each in ranges for run in _runs_of_range(each))


def _runs_of_range(rows: range) -> Runs:
    if not rows:
        return ()
    return ((rows[0], rows[-1]),) if rows.step == 1 else runs_of(rows)
