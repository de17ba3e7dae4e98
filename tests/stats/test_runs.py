"""Several reports are compared in one table: each mean beside its change from the baseline."""

from __future__ import annotations

from fullrecall import IdRecall, Report, Sample, compare, evaluate
from fullrecall.measures import Recall
from fullrecall.show.sheet import cell_of


def report(found: int) -> Report:
    """Return a report of forty samples, and this many of them are found."""
    samples = [
        Sample(id=str(n), expected_ids=["d"], retrieved_ids=["d" if n < found else "x", "y"])
        for n in range(40)
    ]
    return evaluate(samples, IdRecall(), progress=False)


def test_each_line_has_its_means_and_changes() -> None:
    """A line has the mean of each measure, its change, interval and verdict, and the cost."""
    runs = compare({"one": report(10), "two": report(10), "three": report(40)}, Recall, Recall @ 1)
    (sheet, *_) = runs.sheets
    heads = [cell_of(head).text for head in sheet.heads]
    assert heads[::4][:2] == ["id_recall", "id_recall@1"]
    lines = {
        cell_of(line.label).text: [cell_of(c).text for c in line.cells] for line in sheet.lines
    }
    assert {len(cells) for cells in lines.values()} == {len(heads)}
    for name, mean in (("one", "0.250"), ("two", "0.250"), ("three", "1.000")):
        cells = next(cells for label, cells in lines.items() if label.startswith(name))
        assert cells[:8:4] == [mean, mean]
        assert cells[-1].startswith("2 contexts")
        if name == "three":
            assert cells[1] == cells[5] == "+.750"
