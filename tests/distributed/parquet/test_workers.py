"""Workers that write the rows of a report: killed, repeated, lost, cut in any way, at once."""

from __future__ import annotations

import os
import pickle
import random
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from fullrecall.distributed.ranges import count, in_words, runs_of, without
from hypothesis import given, settings
from hypothesis import strategies as st

from fullrecall import BatchScorer, IdRecall, Report, Sample, TextRecall, compare, evaluate
from fullrecall.distributed import batches
from fullrecall.distributed.parquet import assembly, manifest, part, staging
from fullrecall.errors import InputError, ParameterError, ReportError
from fullrecall.measures import AP, Recall, nDCG
from fullrecall.report.signature import MANIFEST

pa = pytest.importorskip("pyarrow", reason="needs the parquet extra")

ROWS = 60
RUNS = int(os.environ.get("FULLRECALL_RUNS", "15"))
Table = dict[str, list[Any]]
SCORERS = (IdRecall(), TextRecall(), TextRecall(threshold=0.9, name="strict"))
MEASURES = (Recall @ 1, Recall @ 3, nDCG @ 5, AP)


@pytest.fixture(autouse=True)
def _small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have a few rows be many parts, small ones and large ones; wait for nothing."""
    monkeypatch.setattr(part, "GROUP", 8)
    monkeypatch.setattr(assembly, "GROUP", 8)
    monkeypatch.setattr(batches, "_PAUSE_SECONDS", 0)


def row(place: int) -> dict[str, Any]:
    """Return a row: of all statuses, some in groups, one in 13 no sample at all."""
    rng = random.Random(place)
    found: Any = [f"d{rng.randrange(9)}" for _ in range(6)]
    return {
        "place": place,
        "id": f"q{place}" if place % 5 else None,
        "user_input": f"what {place}?",
        "retrieved_ids": "no list" if place % 13 == 7 else found if place % 11 else None,
        "expected_ids": [f"d{rng.randrange(9)}" for _ in range(place % 4)],
        "retrieved_contexts": [f"text {one}" for one in found] if place % 3 == 0 else None,
        "reference_contexts": [f"text {found[0]}", "else"] if place % 3 == 0 else None,
        "group": f"g{place % 9}" if place % 2 else None,
    }


def table(places: Sequence[int]) -> Table:
    """Return the rows at these places as columns."""
    made = [row(place) for place in places]
    return {name: [each[name] for each in made] for name in row(0)}


def scorer(folder: Path, **options: Any) -> BatchScorer:
    """Return a scorer whose workers write to a folder."""
    return BatchScorer(SCORERS, position="place", output=folder / "report.parquet", **options)


def plain(places: Sequence[int]) -> Report:
    """Return the report over these rows, which a scorer of rows gives in one batch."""
    how = BatchScorer(SCORERS, position="place")
    return how.report(how(table(places)), rows=[range(place, place + 1) for place in places])


def check_same(opened: Report, expected: Report) -> None:
    """Fail unless two reports have the same rows and figures."""
    assert list(opened) == list(expected)
    expected.stopped = opened.stopped
    assert opened.summary(*MEASURES).to_dict() == expected.summary(*MEASURES).to_dict()
    assert opened.groups == expected.groups
    assert opened.bad_rows == expected.bad_rows


@settings(max_examples=RUNS, deadline=None)
@given(
    cuts=st.lists(st.integers(0, ROWS), max_size=12),
    other=st.lists(st.integers(0, ROWS), max_size=6),
    order=st.sampled_from(["in order", "in blocks", "scattered"]),
    lost=st.sets(st.integers(0, 12), max_size=4),
    rng=st.randoms(use_true_random=False),
)
def test_any_splits_orders_repeats_and_losses(  # noqa: PLR0917 - what is drawn
    tmp_path_factory: pytest.TempPathFactory,
    cuts: list[int],
    other: list[int],
    order: str,
    lost: set[int],
    rng: random.Random,
) -> None:
    """The report is that of one run over the rows that came, and says which did not.

    Rows come in parts of any size and order, some twice, some in other cuts too.
    """
    folder = tmp_path_factory.mktemp("job")
    places = list(range(ROWS))
    if order == "scattered":
        rng.shuffle(places)
    elif order == "in blocks":
        places = places[40:] + places[:40]
    edges = sorted({0, *cuts, ROWS})
    parts = [places[start:end] for start, end in pairwise(edges)]
    kept = [one for number, one in enumerate(parts) if number not in lost]
    kept += [places[a:b] for a, b in pairwise(sorted(set(other)))]
    how = scorer(folder)
    made = [pickle.loads(pickle.dumps(how))(table(one)) for one in kept]  # noqa: S301
    made += [how(table(one)) for one in kept if rng.random() < 0.3]  # tried again: another file
    made += [made[rng.randrange(len(made))] for _ in range(3) if made]  # the same one
    rng.shuffle(made)
    report = how.report(made, rows=ROWS)
    there = sorted({place for one in kept for place in one})
    check_same(report, plain(there))
    missing = without(((0, ROWS - 1),), runs_of(there))
    told = f"{count(missing)} of {ROWS} rows are missing: {in_words(missing)}"
    assert report.stopped == (told if missing else None)
    assert report.complete == (not missing)
    again = Report.open(folder / "report.parquet")
    assert (list(again), again.stopped) == (list(report), report.stopped)
    files = [file.name for file in (folder / "report.parquet").iterdir()]
    assert sorted(files) == sorted([
        MANIFEST, *(one.file for one in manifest.read(folder / "report.parquet").parts)
    ])  # fmt: skip


def test_parts_in_order_are_not_written_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The driver moves them, and reads none of their rows."""

    def read(*_: Any) -> Any:
        raise AssertionError("a part was read")

    how = scorer(tmp_path)
    made = [how(table(range(start, start + 12))) for start in range(0, ROWS, 12)]
    with monkeypatch.context() as patch:
        patch.setattr(part.Part, "batches", read)
        report = how.report(made[::-1], rows=ROWS)
    check_same(report, plain(range(ROWS)))


def test_small_parts_become_large_ones(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A batch for each row is no file for each row."""
    monkeypatch.setattr(assembly, "GROUP", 20)
    how = scorer(tmp_path)
    report = how.report([how(table([place])) for place in range(ROWS)], rows=ROWS)
    check_same(report, plain(range(ROWS)))
    assert len(list((tmp_path / "report.parquet").glob("*.parquet"))) == ROWS // 20


@pytest.mark.parametrize("kind", ["arrow", "record batch", "pandas", "polars"])
def test_tables_of_any_kind(tmp_path: Path, kind: str) -> None:
    """What an engine's batches are, its table of parts is."""
    given: Any = {name: cells for name, cells in table(range(7)).items() if name != "place"}
    given = pa.table({**given, "place": list(range(7))})
    if kind == "record batch":
        (given,) = given.to_batches()
    elif kind in {"pandas", "polars"}:
        library = pytest.importorskip(kind)
        given = given.to_pandas() if kind == "pandas" else library.from_arrow(given)
    how = scorer(tmp_path)
    made = how(given)
    assert type(made) is type(given)
    assert list(how.meta.columns) == list(made.columns if kind == "pandas" else how._kept.types)
    assert list(how.report(made, rows=7)) == list(plain(range(7)))


def test_a_batch_that_always_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The report of the others, incomplete, with the error; a later success makes it whole."""
    how = scorer(tmp_path)
    full = part.write_table

    def failing(*given: Any, **options: Any) -> Any:
        raise OSError(28, "No space left on device")

    from fullrecall.distributed.parquet import written_rows

    made = [how(table(range(20)))]
    monkeypatch.setattr(written_rows, "write_table", failing)
    made.append(how(table(range(20, 40))))
    monkeypatch.setattr(written_rows, "write_table", full)
    made.append(how(table(range(40, ROWS))))
    report = how.report(made, rows=ROWS)
    assert report.stopped == (
        "20 of 60 rows are missing: 20 to 39; rows 20 to 39 failed: OSError: [Errno 28] No space "
        "left on device"
    )
    check_same(report, plain([*range(20), *range(40, ROWS)]))
    again = scorer(tmp_path)
    whole = again.report([again(table(range(start, start + 20))) for start in (0, 20, 40)])
    check_same(whole, plain(range(ROWS)))


_LIMITED = """
import pickle, resource, signal, sys
how, batch = pickle.load(sys.stdin.buffer)
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (2_000, 2_000))
sys.stdout.write(str(how(batch)))
"""


def test_a_disk_that_takes_half_a_part(tmp_path: Path) -> None:
    """Nothing of it stays, and the report says what failed."""
    pytest.importorskip("resource")
    how = scorer(tmp_path, tries=1)
    given = pickle.dumps((how, table(range(ROWS))))
    done = subprocess.run(
        [sys.executable, "-B", "-c", _LIMITED], input=given, capture_output=True, check=True
    )
    assert "File too large" in done.stdout.decode()
    folder = staging.job_folder(tmp_path / "report.parquet", how._job)
    assert list(folder.iterdir()) == []


_KILLED = """
import os, pickle, signal, sys
from pathlib import Path
how, batch = pickle.load(sys.stdin.buffer)
replaced = Path.replace
def killed(self, target):
    os.kill(os.getpid(), signal.SIGKILL)
Path.replace = killed
how(batch)
"""


def test_a_killed_worker_leaves_no_half_part(tmp_path: Path) -> None:
    """What it had begun is no part, and goes with the job; the batch that is tried again counts."""
    how = scorer(tmp_path)
    made = [how(table(range(30)))]
    given = pickle.dumps((how, table(range(30, ROWS))))
    done = subprocess.run([sys.executable, "-B", "-c", _KILLED], input=given, check=False)
    assert done.returncode == -signal.SIGKILL
    folder = staging.job_folder(tmp_path / "report.parquet", how._job)
    assert len(list(folder.glob(".part-*"))) == 1
    assert len(list(folder.glob("part-*"))) == 1
    made.append(how(table(range(30, ROWS))))
    check_same(how.report(made, rows=ROWS), plain(range(ROWS)))
    assert not folder.exists()


def test_two_drivers_in_one_directory(tmp_path: Path) -> None:
    """Each has a folder of its own, and the last one's report takes the place of the other's."""
    one, two = scorer(tmp_path), scorer(tmp_path)
    ours = [one(table(range(30))), one(table(range(30, ROWS)))]
    theirs = [two(table(range(20)))]
    first = one.report(ours, rows=ROWS)
    assert len(first) == ROWS
    theirs.append(two(table(range(20, 40))))
    second = two.report(theirs, rows=40)
    check_same(second, plain(range(40)))
    check_same(Report.open(tmp_path / "report.parquet"), replaced(second))
    with pytest.raises(ReportError, match="another run has replaced it"):
        first.summary()
    with pytest.raises(ReportError, match=r"is missing, with 30 samples: .*Report\.open"):
        one.report(ours, rows=ROWS)
    assert len(Report.open(tmp_path / "report.parquet")) == 40


def replaced(report: Report) -> Report:
    """Return a report that knows no more than its directory."""
    report.bad_rows = {}
    return report


def test_a_directory_that_is_being_written_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who comes second is told so, and leaves the parts of its workers where they are."""
    monkeypatch.setattr(staging, "_PATIENCE", 0.0)
    how = scorer(tmp_path)
    made = how(table(range(ROWS)))
    with (
        staging.alone(tmp_path / "report.parquet"),
        pytest.raises(ReportError, match="is being written by another run: wait"),
    ):
        how.report(made, rows=ROWS)
    check_same(how.report(made, rows=ROWS), plain(range(ROWS)))


def test_folders_of_jobs_that_never_ended(tmp_path: Path) -> None:
    """They are left alone for a day, and then removed by the next report."""
    old, other, how = scorer(tmp_path), scorer(tmp_path), scorer(tmp_path)
    for each in (old, other, how):
        made = each(table(range(ROWS)))
    path = tmp_path / "report.parquet"
    left = staging.job_folder(path, old._job)
    os.utime(left, (0, 0))
    how.report(made, rows=ROWS)
    assert not left.exists()
    assert staging.job_folder(path, other._job).is_dir()
    assert [len(list(path.glob(one))) for one in ("*.parquet", "manifest.json")] == [1, 1]


def test_reading_while_it_is_written(tmp_path: Path) -> None:
    """Until the end the old report is read; before the first there is none."""
    how = scorer(tmp_path)
    made = how(table(range(10)))
    with pytest.raises(ReportError, match="has no manifest"):
        Report.open(tmp_path / "report.parquet")
    old = how.report(made, rows=10)
    following = scorer(tmp_path)
    made = following(table(range(ROWS)))
    assert len(old.summary()[0].method.name) == len("id_recall")
    check_same(Report.open(tmp_path / "report.parquet"), replaced(plain(range(10))))
    check_same(following.report(made, rows=ROWS), plain(range(ROWS)))


def changed_file(text: Path) -> None:
    """Cut a file in half."""
    text.write_bytes(text.read_bytes()[: text.stat().st_size // 2])


def swapped(text: Path) -> None:
    """Put another part of the job in the place of a file."""
    other = next(one for one in sorted(text.parent.iterdir()) if one != text)
    text.write_bytes(other.read_bytes())


@pytest.mark.parametrize("attack", [changed_file, swapped, Path.unlink])
@pytest.mark.parametrize("overlap", [False, True])
def test_a_part_that_was_changed_before_the_end(
    tmp_path: Path, attack: Callable[[Path], None], *, overlap: bool
) -> None:
    """It is refused by name: by the driver where it reads it, else when it is read."""
    how = scorer(tmp_path)
    made = [how(table(range(start, start + 20))) for start in (0, 20, 40)]
    if overlap:
        made.append(how(table(range(5, 25))))
    folder = staging.job_folder(tmp_path / "report.parquet", how._job)
    (path,) = folder.glob("part-20-39-*")
    attack(path)
    with pytest.raises(ReportError, match=r"part-20-39-\w+\.parquet"):
        how.report(made, rows=ROWS).summary()


def test_parts_of_others_are_refused(tmp_path: Path) -> None:
    """Of another scorer, of rows of other data, and what is no part at all."""
    how = scorer(tmp_path)
    made = how(table(range(10)))
    other = BatchScorer(IdRecall(), position="place", output=tmp_path / "report.parquet")
    with pytest.raises(ReportError, match="scored with other scorers"):
        how.report([made, other(table(range(10)))], rows=10)
    with pytest.raises(ReportError, match="no column 'fullrecall_part'"):
        how.report(BatchScorer(SCORERS, position="place")(table(range(10))), rows=10)
    with pytest.raises(ReportError, match="row 2: fullrecall_part names no part"):
        how.report([made, {"samples": [1], "fullrecall_part": ["{}"]}], rows=10)
    wrong = table(range(10)) | {"id": [f"other {n}" for n in range(10)]}
    with pytest.raises(ReportError, match=r"positions 0 to 9 stand for different samples"):
        how.report([made, how(wrong)], rows=10)
    few = {name: cells[3:6] for name, cells in wrong.items()}
    with pytest.raises(ReportError, match=r"position 3 stand.* for different samples"):
        how.report([made, how(few)], rows=10)
    check_same(how.report(made, rows=10), plain(range(10)))


def test_a_position_twice_in_one_batch(tmp_path: Path) -> None:
    """The same row counts once; two rows of one number are refused."""
    how = scorer(tmp_path)
    check_same(how.report(how(table([0, 1, 1, 2])), rows=3), plain(range(3)))
    how = scorer(tmp_path)
    twice = table([0, 1, 2]) | {"place": [0, 1, 1]}
    with pytest.raises(ReportError, match="position 1 stand"):
        how.report(how(twice), rows=3)


def test_what_is_wrong_with_the_job_is_said_at_once(tmp_path: Path) -> None:
    """Before anything is scored, with the way out."""
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.tex").write_text("x")
    (tmp_path / "file.parquet").write_text("x")
    for output, options, message in (
        ("a.parquet", {"position": None}, "output needs position="),
        ("a.parquet", {"keep": "summary"}, 'output needs keep="rows"'),
        ("mine", {}, "has other files than a report's"),
        ("file.parquet", {}, "is a file"),
        ("none/a.parquet", {}, "output: no directory"),
    ):
        with pytest.raises(ParameterError, match=message):
            BatchScorer(IdRecall(), **({"position": "n", "output": tmp_path / output} | options))
    with pytest.raises(ParameterError, match="object stores are not supported"):
        BatchScorer(IdRecall(), position="n", output="s3://bucket/a.parquet")
    with pytest.raises(InputError, match="no column 'place'"):
        scorer(tmp_path)({"id": ["a"]})


def test_no_rows_at_all(tmp_path: Path) -> None:
    """Empty batches and no batches are an empty report."""
    how = scorer(tmp_path)
    report = how.report([how(table([]))], rows=0)
    assert (len(report), report.complete) == (0, True)
    assert scorer(tmp_path).report([], rows=5).stopped == "5 of 5 rows are missing: 0 to 4"


def test_samples_without_ids_compare_by_position(tmp_path: Path) -> None:
    """However the rows came, sample n is that at position n."""
    some = [row(place) | {"id": None} for place in range(20)]
    given = {name: [each[name] for each in some] for name in some[0]}
    places = list(range(20))
    random.Random(1).shuffle(places)
    shuffled = {name: [cells[n] for n in places] for name, cells in given.items()}
    one, two = scorer(tmp_path), BatchScorer(
        SCORERS, position="place", output=tmp_path / "other.parquet"
    )  # fmt: skip
    before, after = one.report(one(given), rows=20), two.report(two(shuffled), rows=20)
    assert compare(before, after)[0].main.difference == 0
    assert [replace(a, position=0) for a in before] == [replace(b, position=0) for b in after]


def test_rows_equal_those_of_evaluate(tmp_path: Path) -> None:
    """What workers write is what one process would."""
    good = [place for place in range(ROWS) if place % 13 != 7]
    samples = [
        Sample(**{k: v for k, v in row(place).items() if k != "place" and v is not None})
        for place in good
    ]
    how = scorer(tmp_path)
    report = how.report(how(table(good)))
    assert list(report) == list(evaluate(samples, SCORERS, progress=False))
