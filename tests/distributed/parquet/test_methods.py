"""Every public method of a report: a directory answers as memory does, or names the way out."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from tests.distributed.parquet.made import run, samples, stored

from fullrecall import Gate, Report, compare
from fullrecall.diagnosis import diagnose
from fullrecall.errors import FullrecallError
from fullrecall.measures import Hit, Recall, nDCG

pytest.importorskip("pyarrow", reason="needs the parquet extra")
pytest.importorskip("pandas", reason="needs the pandas extra")
pytest.importorskip("polars", reason="needs the test extra")
pytest.importorskip("matplotlib", reason="needs the plot extra")

ASKED = (Recall @ 3, nDCG @ 5)


@dataclass(frozen=True)
class Case:
    """What is asked of a report, in a folder of its own; `refused`: what a directory says to it."""

    name: str
    ask: Callable[[Report, Path], Any]
    refused: str | None = None


def written(method: str, ending: str, **options: Any) -> Callable[[Report, Path], Any]:
    """Return what writes an export, and returns it as text and as it stands in the file."""

    def ask(report: Report, folder: Path) -> Any:
        text = getattr(report, method)(folder / f"export.{ending}", **options)
        return text, (folder / f"export.{ending}").read_bytes()

    return ask


def saved(ending: str, read: str) -> Callable[[Report, Path], Any]:
    """Return what saves a report and reads it again."""

    def ask(report: Report, folder: Path) -> Any:
        report.save(folder / f"again.{ending}")
        again = getattr(Report, read)(folder / f"again.{ending}")
        return list(again), again.stopped, again.summary().to_dict()

    return ask


def in_place(report: Report, folder: Path) -> Any:
    """Save a report where it is, if it is somewhere."""
    path = getattr(report.rows, "folder", folder / "kept.parquet")
    report.save(path)
    return list(Report.open(path))


def drawn(report: Report, folder: Path) -> Any:
    """Return the lines of a plot."""
    del folder
    from matplotlib import pyplot as plt

    axes = report.plot(scores=["id_recall"], ks=[1, 3])
    lines = [line.get_xydata().tolist() for line in axes.get_lines()]
    plt.close(axes.figure)
    return lines


def asked(act: Callable[[Report], Any]) -> Callable[[Report, Path], Any]:
    """Return an act that needs no folder."""
    return lambda report, _: act(report)


CASES = [
    Case("summary", asked(lambda r: [r.summary().to_dict(), r.summary(*ASKED).to_dict()])),
    Case("metrics", asked(lambda r: [r.metrics(), r.metrics(*ASKED)])),
    Case("missed", asked(lambda r: [list(r.missed()), list(r.missed(2, score="id_recall"))])),
    Case("missed, by place", asked(lambda r: [r.missed()[0], r.missed()[-1], r.missed()[2:9:3]])),
    Case("missed, from the end", asked(lambda r: [r.missed()[-4:], len(r.missed(1))])),
    Case("smallest_k", asked(lambda r: r.smallest_k(0.1, Hit, score="id_recall", largest=4))),
    Case("slices", asked(lambda r: r.slices("kind", Recall @ 2, score="id_recall"))),
    Case("slices, a function", asked(lambda r: r.slices(len_of_id, score="id_recall"))),
    Case("slices, a field that none has", asked(lambda r: r.slices("none", score="id_recall"))),
    Case("to_frame, pandas", asked(lambda r: r.to_frame().to_csv())),
    Case("to_frame, polars", asked(lambda r: r.to_frame(*ASKED, backend="polars").to_dicts())),
    Case("to_frame, pyarrow", asked(lambda r: r.to_frame(backend="pyarrow").to_pydict())),
    Case("to_frame, another", asked(lambda r: r.to_frame(backend="excel"))),
    Case("to_arrow", asked(lambda r: r.to_arrow(*ASKED).read_all().to_pydict())),
    Case("findings_to_frame", asked(lambda r: r.findings_to_frame(backend="polars").to_dicts())),
    Case("plot", drawn),
    Case("to_junit", written("to_junit", "xml")),
    Case("to_markdown", written("to_markdown", "md")),
    Case("to_csv", written("to_csv", "csv", measures=ASKED)),
    Case("to_json", written("to_json", "json")),
    Case("to_html", written("to_html", "html", measures=ASKED)),
    Case("totals", asked(lambda r: Report.of_totals([r.totals("a")]).metrics())),
    Case("of_totals", asked(lambda r: Report.of_totals([r.totals()] * 2).metrics())),
    Case("merged", asked(lambda r: [*Report.merged([r, r[:5]])])),
    Case("tallies", asked(lambda r: Report.counted(r.methods, r.tallies).metrics())),
    Case("save, one file", saved("jsonl", "load")),
    Case("save, a directory", saved("parquet", "open")),
    Case("save, where it is", in_place),
    Case("load", saved("parquet", "load")),
    Case("open", saved("jsonl", "open")),
    Case("filter", asked(lambda r: list(r.filter(lambda row: row.position % 3)))),
    Case("drawn", asked(lambda r: list(r.drawn(9, seed=2)))),
    Case("drawn, none", asked(lambda r: r.drawn(0))),
    Case("by ID", asked(lambda r: r["q7"])),
    Case("by an ID that it has not", asked(lambda r: r["q777"])),
    Case("by place", asked(lambda r: [r[0], r[-1], *r[3:40:9]])),
    Case("by a place that it has not", asked(lambda r: r[10_000])),
    Case("rows", asked(lambda r: [*r, *r.rows[:2], *reversed(r.rows[-3:]), len(r)])),
    Case("rows, contained", asked(lambda r: [r[4] in r.rows, r.rows.index(r[4])])),
    Case("groups", asked(lambda r: r.groups)),
    Case("methods", asked(lambda r: r.methods)),
    Case("complete", asked(lambda r: [r.complete, r.stopped, r.bad_rows])),
    Case("keeps_rows", asked(lambda r: [r.keeps_rows, r.totaled, r.portions])),
    Case("to_label", asked(lambda r: r.to_label(3))),
    Case("repr", asked(lambda r: [repr(r), r._repr_html_()])),
    Case("of", asked(lambda r: [*Report.of(r.methods, r)])),
    Case("add", asked(lambda r: r.add(r[0])), refused=r"Report\.load\(path\) reads all"),
    Case("compare", asked(lambda r: compare(r, r[5:], *ASKED).to_dict())),
    Case("diagnose", asked(lambda r: diagnose(r).to_dict())),
    Case("gate", asked(lambda r: Gate(Recall >= 0.2, scores=["id_recall"]).check(r).to_dict())),
    Case("runs", asked(lambda r: Comparisons({"one": r, "two": r[:20]}).to_html())),
]


def len_of_id(row: Any) -> str:
    """Return the kind of a row: how long its ID is."""
    return str(len(row.sample.id or ""))


def said(case: Case, report: Report, folder: Path) -> Any:
    """Return what a report answers, or how it refuses."""
    folder.mkdir()
    try:
        return case.ask(report, folder)
    except (FullrecallError, KeyError, IndexError, ValueError) as error:
        return type(error), str(error)


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Report, Report]]:
    """Return a report in memory, and what is opened of it as a directory."""
    with pytest.MonkeyPatch.context() as patch:
        from fullrecall.distributed.parquet import directory, part

        patch.setattr(directory, "GROUP", 19)
        patch.setattr(part, "GROUP", 7)
        report = run(samples(random.Random(8), 50, repeats=0, groups=0.3))
        yield report, stored(report, tmp_path_factory.mktemp("reports") / "r.parquet")


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_same_or_the_way_out(
    tmp_path: Path, reports: tuple[Report, Report], case: Case
) -> None:
    """The same value, file, or error; what a directory cannot do, it says how to do."""
    kept, opened = reports
    if case.refused is not None:
        with pytest.raises(FullrecallError, match=case.refused):
            case.ask(opened, tmp_path)
        return
    assert said(case, opened, tmp_path / "opened") == said(case, kept, tmp_path / "kept")


def test_every_name_is_asked() -> None:
    """A method that is new is asked of both forms, too."""
    source = Path(__file__).read_text("utf-8")
    names = {name for name in [*vars(Report), *vars(run([]))] if not name.startswith("_")}
    # What a run paid is no part of what is saved; `evaluate` adds rows before there is a report.
    names -= {"spent", "add_found"}
    asked_for = {name for name in names if f".{name}" in source or f'"{name}"' in source}
    assert names - asked_for == set()
