"""The benchmarks' own code, at tiny size, without the peers and without a clock."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

FOLDER = Path(__file__).parent
SCRIPTS = tuple(
    sorted(path.stem for path in FOLDER.glob("*.py") if not path.stem.startswith("test_"))
)


@pytest.fixture
def script(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A benchmark as its own script sees it: with its folder first on the path."""
    monkeypatch.syspath_prepend(str(FOLDER))
    yield import_module(request.param)
    for name in SCRIPTS:
        sys.modules.pop(name, None)


def with_script(name: str) -> pytest.MarkDecorator:
    """Return the mark that hands the script of this name to a test."""
    return pytest.mark.parametrize("script", [name], indirect=True)


@with_script("id_recall")
def test_every_way_of_id_recall_agrees_with_the_set_loop(script: Any) -> None:
    """What the benchmark times gives the unit's numbers, whichever way it is asked for."""
    script.check_ours(script.make(20))


@with_script("id_recall")
def test_id_recall_finds_a_way_that_differs(script: Any) -> None:
    """The comparison is not empty: numbers that are off by a little are refused."""
    expected = script.set_loop(script.make(3))
    with pytest.raises(ValueError, match="somebody differs"):
        script._equal("somebody", [[value + 1e-6 for value in row] for row in expected], expected)


@with_script("id_recall")
def test_half_of_the_relevant_ids_are_retrieved(script: Any) -> None:
    """The random queries are what the description says."""
    queries = script.make(50)
    for retrieved, relevant in queries.pairs():
        assert len(set(retrieved)) == len(retrieved) == script.RETRIEVED
        assert len(set(retrieved) & set(relevant)) == len(relevant) // 2


@with_script("text_recall")
@pytest.mark.parametrize("relevant_first", [False, True])
def test_text_recall_decides_as_the_bare_loop_does(script: Any, *, relevant_first: bool) -> None:
    """Every reference is decided as RapidFuzz's plain similarity decides it."""
    texts = script.make(4, relevant_first=relevant_first)
    script.check(texts, script.rapidfuzz_decisions)
    found = script.decisions(texts)
    assert any(map(any, found))
    assert not all(map(all, found))


@with_script("text_recall")
def test_text_recall_finds_a_way_that_differs(script: Any) -> None:
    """The comparison is not empty: one decision that differs is refused."""
    texts = script.make(2)

    def wrong(texts: Any) -> list[list[bool]]:
        rows: list[list[bool]] = script.decisions(texts)
        rows[-1][-1] = not rows[-1][-1]
        return rows

    with pytest.raises(ValueError, match="wrong differs"):
        script.check(texts, wrong)


@pytest.mark.parametrize("script", ["id_recall", "text_recall"], indirect=True)
def test_contenders_run_and_make_a_table(script: Any) -> None:
    """Each of fullrecall's contenders is timed once, and has a row of its own."""
    contenders = script.ours(script.make(2))
    seconds = script.interleaved(contenders, rounds=1)
    units = {"unit": contenders[0].title}
    text = script.comparison(contenders, seconds, units=units, per=2, per_name="query")
    assert len({contender.title for contender in contenders}) == len(contenders)
    assert len(text.splitlines()) == 2 + len(contenders)
    assert "1.00 (1.00-1.00)" in text.splitlines()[2]


@with_script("import_time")
def test_import_time_measures_what_is_installed(script: Any, monkeypatch: Any) -> None:
    """An import that fails is left out; the others have a time for each round."""
    monkeypatch.setitem(script.STATEMENTS, "missing", "import no_such_package_at_all")
    times = script.measure(["bare interpreter", "fullrecall", "missing"], rounds=1)
    assert list(times) == ["bare interpreter", "fullrecall"]
    assert len(times["fullrecall"].importing) == len(times["fullrecall"].process) == 1
    assert "fullrecall" in script.shown(times, unit="fullrecall")


@with_script("memory")
def test_memory_scores_every_row_of_its_file(script: Any, tmp_path: Path) -> None:
    """The child process reports the rows and the mean that the file was made with."""
    pytest.importorskip("resource")
    mean = script.write(tmp_path / "samples.jsonl", 30)
    run = script.measure(tmp_path / "samples.jsonl")
    assert run.scored == 30
    assert run.mean == pytest.approx(mean)
    assert run.peak_mib > 0


@with_script("memory")
def test_memory_would_see_it_grow(script: Any, tmp_path: Path) -> None:
    """The peak is the child's own: keeping all rows shows in it, keeping the totals does not."""
    if not Path("/proc/self/status").exists():
        pytest.skip("the system tells no peak that is the child's own")
    script.write(tmp_path / "samples.jsonl", 5_000)
    kept = script.measure(tmp_path / "samples.jsonl", "rows")
    totals = script.measure(tmp_path / "samples.jsonl", "summary")
    assert kept.peak_mib > totals.peak_mib * 1.2


@with_script("page")
def test_the_page_is_of_the_size_that_is_said(script: Any) -> None:
    """Each sample has as many contexts as the description says, of that many documents."""
    report = script.report_of(8, 30)
    contexts = [row.sample.retrieved_contexts for row in report]
    assert [len(each) for each in contexts] == [script.RETRIEVED] * 8
    assert len({context.text for each in contexts for context in each}) <= 30
    assert all(score.scored == 8 for score in report.summary())
    assert report.to_html().count('"q":"What is said of ') == 8
