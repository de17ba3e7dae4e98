"""Missed targets are counted from columns, and their list is made when it is read."""

import pytest

from fullrecall import IdRecall, evaluate
from fullrecall.table.row import Row
from fullrecall.table.table import Table


def test_only_the_targets_that_are_read_are_made(monkeypatch: pytest.MonkeyPatch) -> None:
    """Counting makes no row of missed targets, and a slice makes only its own rows."""
    rows = [{"retrieved_ids": ["a"], "expected_ids": ["a", f"b{n}", "c"]} for n in range(300)]
    report = evaluate(rows, [IdRecall(), IdRecall(name="again")], progress=False)
    made: list[int] = []
    row_of = Table.row

    def counted(table: Table, row: int) -> Row:
        made.append(row)
        return row_of(table, row)

    monkeypatch.setattr(Table, "row", counted)
    missed = report.missed()
    assert (len(missed), made) == (1_200, [])
    assert [each.target for each in missed[2:6]] == ["b0", "c", "b1", "c"]
    assert set(made) == {0, 1}
    assert missed[-1] == list(missed)[-1] == missed[1_199]
    assert missed[::400] == [missed[0], missed[400], missed[800]]
    assert missed == list(missed) != missed[1:]
    assert str(missed).endswith(" and 1,180 more")
