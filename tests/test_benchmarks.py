"""The benchmarks' own code works at tiny size, without peers and without a clock."""

from __future__ import annotations

import json
import re
import sys
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.lexical.facts import facts
from tests.openai_protocol import Exchange, serving

from fullrecall import SpanRecall
from fullrecall.lexical.falsification import falsified

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.tools

FOLDER = Path(__file__).parents[1] / "bench"
SCRIPTS = tuple(sorted(path.stem for path in FOLDER.glob("*.py")))


@pytest.fixture
def script(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """The module of a benchmark, imported with its folder first on the path."""
    monkeypatch.syspath_prepend(str(FOLDER))
    yield import_module(request.param)
    for name in SCRIPTS:
        sys.modules.pop(name, None)


def with_script(name: str) -> pytest.MarkDecorator:
    """Return the mark that gives a test the script of this name."""
    return pytest.mark.parametrize("script", [name], indirect=True)


@with_script("id_recall")
def test_every_form_of_id_recall_agrees_with_the_set_loop(script: Any) -> None:
    """The timed calls give the set loop's numbers, in each of their forms."""
    script.check_ours(script.make(20))


@with_script("readme")
def test_the_pages_show_what_was_measured(script: Any) -> None:
    """The page has exactly the figures of figures.json."""
    figures = import_module("figures")
    said = figures.published()
    pages = {path.name: path.read_text("utf-8") for path in figures.PAGES}
    assert figures.wrong_pages(pages, said) == []
    rows = script.rows(script.Sizes(8, 1, 1, saved=30, loaded=3, diagnosed=5), peers=False)
    assert [row.title for row in rows] == [row.title for row in said]
    other = figures.Row(said[0].title, {figures.OURS: figures.Ratio(99, 99, 99)})
    wrong = figures.wrong_pages(pages, [other, *said[1:]])
    assert [name.split()[0] for name in wrong] == ["benchmarks.md", "README.md"]


@with_script("figures")
def test_a_figure_that_differs_from_what_is_measured_is_refused(script: Any) -> None:
    """A figure within the spread of the rounds passes; one beyond it, or another row, does not."""
    ratio = script.Ratio
    ours = script.Row("a", {"fullrecall": ratio(2.0, 1.8, 2.4)})
    times = {"fullrecall": ratio(5.0, 4.0, 6.0), "peer": ratio(4, 4, 4)}
    other = script.Row("b", times, {"limit": ratio(1, 1, 1)}, goal="≤ 4", price="3 s")
    page = f"# Page\n\n{script.BEGIN}\n{script.END}\n\nBelow.\n"
    page = script.written(page, script.page_table([ours, other]))
    assert page.startswith("# Page\n\n")
    assert page.endswith("\n\nBelow.\n")
    cells = "peer 4.00 (4.00-4.00) | peer | limit 1.00 (1.00-1.00) | 5.0 ×"
    assert f"| b | 5.00 (4.00-6.00) | 3 s | ≤ 4 | {cells} |" in page
    assert "| a | 2.00 (1.80-2.40) | - | - | - | - | - | - |" in page
    assert script.disagreements([ours, other], [ours, other]) == []
    slower = script.Row("a", {"fullrecall": ratio(3.1, 3.1, 3.2)})
    faster = script.Row("a", {"fullrecall": ratio(1.4, 1.3, 1.4)})
    assert script.disagreements([ours, other], [slower, other]) == [
        "a: published 2.00 (1.80-2.40), measured 3.10 (3.10-3.20)"
    ]
    assert script.disagreements([ours, other], [slower, other], slack=2.0) == []
    assert len(script.disagreements([ours, other], [faster, other])) == 1
    assert script.disagreements([ours, other], [ours]) == ["b: is no longer measured"]
    third, due = script.Row("c", ours.times), script.Row("c", {})
    assert "| c | not measured yet |" in script.page_table([due])
    for said in ([ours, other], [ours, other, due]):
        assert script.disagreements(said, [ours, other, third]) == ["c: is not published"]
    first = script.Row("b", {"fullrecall": ratio(5, 4, 6), "peer": ratio(7, 7, 7)})
    assert script.disagreements([first], [other]) == ["b: published as first, but peer is"]
    with pytest.raises(ValueError, match="must have a table"):
        script.shown("# Page\n")


@with_script("id_recall")
def test_id_recall_finds_a_way_that_differs(script: Any) -> None:
    """Numbers that differ slightly are refused, so the comparison is not empty."""
    expected = script.set_loop(script.make(3))
    with pytest.raises(ValueError, match="somebody differs"):
        script._equal("somebody", [[value + 1e-6 for value in row] for row in expected], expected)


@with_script("id_recall")
def test_half_of_the_relevant_ids_are_retrieved(script: Any) -> None:
    """Half of the relevant IDs of the random queries are retrieved."""
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
    """A single decision that differs is refused, so the comparison is not empty."""
    texts = script.make(2)

    def wrong(texts: Any) -> list[list[bool]]:
        rows: list[list[bool]] = script.decisions(texts)
        rows[-1][-1] = not rows[-1][-1]
        return rows

    with pytest.raises(ValueError, match="wrong differs"):
        script.check(texts, wrong)


@pytest.mark.parametrize("script", ["id_recall", "text_recall"], indirect=True)
def test_contenders_run_and_make_a_table(script: Any) -> None:
    """Each of fullrecall's contenders is timed once, and has its own row."""
    contenders = script.ours(script.make(2))
    seconds = script.interleaved(contenders, rounds=1)
    units = {"unit": contenders[0].title}
    text = script.comparison(contenders, seconds, units=units, per=2, per_name="query")
    assert len({contender.title for contender in contenders}) == len(contenders)
    assert len(text.splitlines()) == 2 + len(contenders)
    assert "1.00 (1.00-1.00)" in text.splitlines()[2]


@with_script("import_time")
def test_import_time_measures_what_is_installed(script: Any, monkeypatch: Any) -> None:
    """An import that fails is left out; the other imports have a time for each round."""
    monkeypatch.setitem(script.STATEMENTS, "missing", "import no_such_package_at_all")
    times = script.measure(["bare interpreter", "fullrecall", "missing"], rounds=1)
    assert list(times) == ["bare interpreter", "fullrecall"]
    assert len(times["fullrecall"].importing) == len(times["fullrecall"].process) == 1
    assert "fullrecall" in script.shown(times, unit="fullrecall")


@with_script("memory")
@pytest.mark.parametrize("suffix", ["jsonl", "parquet"])
@pytest.mark.parametrize("scores", ["id", "text"])
def test_memory_scores_every_row_of_its_file(
    script: Any, tmp_path: Path, suffix: str, scores: str
) -> None:
    """The child process reports the rows and the mean of its file."""
    pytest.importorskip("resource")
    pytest.importorskip("pyarrow", reason="needs the parquet extra")
    path = tmp_path / f"samples.{suffix}"
    mean = script.write(path, {"id": script.ids, "text": script.texts}[scores](30))
    run = script.measure(path, scores=scores)
    assert run.scored == 30
    assert 0 < run.mean < 1
    assert run.mean == pytest.approx(mean)
    assert run.peak_mib > 0


@with_script("memory")
def test_memory_would_see_it_grow(script: Any, tmp_path: Path) -> None:
    """The child's peak shows rows that are kept, and does not grow with written rows."""
    if not Path("/proc/self/status").exists():
        pytest.skip("the system tells no peak that is the child's own")
    growth = []
    for keep in (True, False):
        peaks = []
        # Lengths start at 50,000: until then the Parquet writer fills its first buffers, 10 to 40
        # MiB.
        for rows in (50_000, 150_000):
            script.write(tmp_path / "samples.jsonl", script.ids(rows))
            peaks.append(script.measure(tmp_path / "samples.jsonl", keep=keep).peak_mib)
        growth.append(peaks[1] - peaks[0])
    kept, streamed = growth
    assert kept > streamed * 2


@with_script("growth")
@pytest.mark.parametrize("kind", ["csv", "run", "lists"])
def test_growth_scores_what_it_writes(script: Any, tmp_path: Path, kind: str) -> None:
    """Each kind of file is read back with its rows and its mean."""
    if not Path("/proc/self/status").exists():
        pytest.skip("the system tells no peak that is the child's own")
    point = script.measure(tmp_path / f"samples.{kind}", kind, 20)
    assert point.rows == 20
    assert point.seconds > 0
    written = script.write
    script.write = lambda *given: written(*given) / 2
    with pytest.raises(ValueError, match="20 rows of mean"):
        script.measure(tmp_path / f"samples.{kind}", kind, 20)


@with_script("growth")
def test_the_page_has_the_table_of_growth(script: Any) -> None:
    """The page has every kind of input, at the lengths that the script measures."""
    said = script.PAGE.read_text("utf-8").partition(script.BEGIN)[2].partition(script.END)[0]
    assert all(f"| {name} |" in said for name in script.NAMES.values())
    lengths = [int(rows.replace(",", "")) for rows in re.findall(r" ([\d,]+) rows \|", said)]
    assert lengths == list(script.LENGTHS)[: len(lengths)]
    assert len(lengths) >= 3


@with_script("page")
def test_the_page_is_of_the_size_that_is_said(script: Any) -> None:
    """The samples have the number of contexts and documents that the description states."""
    report = script.report_of(8, 30)
    contexts = [row.sample.retrieved_contexts for row in report]
    assert [len(each) for each in contexts] == [script.RETRIEVED] * 8
    assert len({context.text for each in contexts for context in each}) <= 30
    assert all(score.scored == 8 for score in report.summary())
    assert report.to_html().count('"q":"What is said of ') == 8


@with_script("report_files")
def test_a_report_file_is_measured_whole(script: Any, tmp_path: Path) -> None:
    """A report's file is measured as a whole, and the table has a line for each operation."""
    found = script.measure(5, tmp_path)
    assert found["bytes"] == (tmp_path / "report.jsonl").stat().st_size
    assert found["save"] > 0
    assert found["load"] > 0
    lines = script.report_of({"one": [found], "other": [found]}, 5).splitlines()
    assert [line.split("|")[1].strip() for line in lines[2:]] == [
        "save, one",
        "save, other",
        "load, one",
        "load, other",
    ]
    assert all(line.endswith("| 1.00 (1.00-1.00) |") for line in lines[2:])


@with_script("calibration")
@pytest.mark.parametrize("samples", [0, 40])
def test_calibration_tries_each_mean_in_each_round(script: Any, samples: int) -> None:
    """Each round tries each mean, with people's labels of a judge's report."""
    rows = [
        {
            "claim": f"Town {n} lies on the river {n % 7}.",
            "contexts": [f"Town {n} lies on the river {n % (5 if n % 3 else 7)}."],
            "label": n % 2,
            "dataset": "made up",
            "question": f"Where is town {n // 2}?",
        }
        for n in range(60)
    ]
    other = {**rows[0], "claim": "Der Ort liegt am Fluss.", "contexts": ["Der Ort liegt da."]}
    report, labels = script.judged([*rows, other])
    # This sample is not judged, because it is German.
    assert len(report) == len(labels) == len(rows)
    found = script.measured(report, labels, samples=samples, n=30, rounds=2)
    assert len(found["prediction-powered, drawn by verdict"]) == 2
    assert all(0 <= one.low <= one.value <= one.high <= 1 for one in found["judged, as it is"])
    assert len(script.table(found, 0.5).splitlines()) == 2 + len(found)


@with_script("cascade")
def test_a_cascade_is_measured_with_a_second_judge_of_a_stated_accuracy(script: Any) -> None:
    """A second judge is right about as often as its stated accuracy."""
    rows = [
        {
            "claim": claim,
            "contexts": list(contexts) if label else ["It rained all day in the north."],
            "label": label,
            "dataset": f"set {n % 2}",
        }
        for n, (claim, contexts) in enumerate(facts(60))
        for label in (0, 1)
    ]
    claims = script.judged(rows)
    assert script.mean_over_sets(claims, claims.found) > 0.8
    lines = list(script.tables(claims))
    unsure, share, right, better = (cell.strip() for cell in lines[-1].strip("|").split("|"))
    assert (unsure, share) == ("0 to 1", "100%")
    assert 0.5 < float(right) < float(better) < 1


@with_script("local_judge")
def test_the_judge_is_trained_and_read_by_the_data_sets_left_out(
    script: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Weights are learned, tested on data sets left out, and without single features."""
    true = facts(24)
    false = [(one.false, one.contexts) for one in falsified(true) if one.detail == "name"]
    pairs = [
        {
            "claim": claim,
            "contexts": list(contexts),
            "label": label,
            "dataset": f"set {n % 3}",
            "source_id": f"source {n // 2}",
        }
        for label, rows in ((1, true), (0, false))
        for n, (claim, contexts) in enumerate(rows)
    ]
    rows = script.measured_rows(pairs)
    weights = script.trained(rows)
    assert set(weights["agreement"]) == {"set 0", "set 1", "set 2", "mean"}
    assert weights["agreement"]["mean"]["balanced_accuracy"] > 0.8
    script.ablation(rows)
    script.details(pairs)
    printed = capsys.readouterr().out
    for told in ("without rules", "coverage alone", "added detail"):
        assert told in printed


class _Endpoint(Exchange):
    """An endpoint that answers as the benchmark's own does, and keeps the requests."""

    protocol_version = "HTTP/1.1"
    answer: bytes
    seen: list[Any]

    def respond(self, body: Any) -> None:
        self.seen.append(body)
        self.send(200, self.answer)


@with_script("engine")
def test_the_engine_and_the_bare_client_send_the_same(script: Any) -> None:
    """The engine and the bare client send the same bodies, request by request."""
    asked = script.samples(3)
    sent = []
    for run, work in (
        (script.by_fullrecall, asked),
        (script.by_client, script.requests_of(asked)),
    ):
        handler = type("Handler", (_Endpoint,), {"answer": script.body(), "seen": []})
        with serving(handler) as base_url:
            run(work, base_url, 2)
        sent.append(sorted(json.dumps(body, sort_keys=True) for body in handler.seen))
    assert len(sent[0]) == 3
    assert sent[0] == sent[1]


@with_script("engine")
def test_the_engine_s_table_is_made_in_one_run(
    script: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """One run makes the engine's table, with both contenders at each concurrency."""
    sizes = "--samples 3 --latency 0.01 --concurrency 1 2 --rounds 1".split()
    monkeypatch.setattr(sys, "argv", ["engine.py", *sizes])
    script.main()
    lines = capsys.readouterr().out.splitlines()
    rows = [re.split(r" *\| *", line)[1:-1] for line in lines if line.startswith("|")]
    assert rows[0][:3] == ["concurrency", "samples", "wall / floor"]
    assert [row[:2] for row in rows[2:]] == [["1", "3"], ["2", "3"]]
    assert all(float(figure) > 0 for row in rows[2:] for figure in row[2:])


@with_script("ends")
def test_ends_are_timed(
    script: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each end of a run is timed in a process of its own, and has a cell."""
    monkeypatch.setattr(
        sys, "argv", ["ends.py", "--after", "0.1", "--kinds", "an iterator that waits"]
    )
    script.main()
    row = capsys.readouterr().out.splitlines()[-1]
    assert "s, incomplete" in row
    assert "s, interrupted" in row


@with_script("verdicts")
def test_verdicts_are_counted(script: Any, capsys: pytest.CaptureFixture[str]) -> None:
    """Every law and every race makes a row, at tiny size."""
    script.print_compare(sizes=(10,), draws=20)
    assert capsys.readouterr().out.count("\n") == 2 + len(script.NULLS) + 3 + len(script.GAINS)
    assert script.raced("typical", [0.9, 0.2], 60, 1, draws=20).best > 0.5
    for law, mean in script.RACES.items():
        assert script.raced(law, [mean] * 3, 10, 2, draws=20).worse <= 0.2


@with_script("power")
def test_powers_are_printed(script: Any) -> None:
    """The smallest n is found above which the power stays over the mark."""
    assert script.first(lambda n: n >= 7, 2, 100) == 7
    teeth = {n: 0.9 if n % 5 else n / 50 for n in range(200)}
    assert script.samples_for(teeth.__getitem__, 90, tooth=6) == 36
    assert script.pairs_for(script.Counts.of([]), 0.05) == script.usual_pairs_for(0, 0.05) == 59


@pytest.mark.frameworks
@with_script("span_growth")
def test_the_texts_of_span_growth_overlap_as_they_say(script: Any) -> None:
    """Texts of every kind overlap as stated, except dots between different words."""
    for kinds, size in ((script.by_references, 6), (script.by_length, 300)):
        for name, make in kinds(script.Writer()).items():
            for texts in (make(size), make(2 * size)):
                scored = SpanRecall().score(
                    reference_contexts=texts.references, retrieved_contexts=texts.contexts
                )
                assert (scored.score < 0.3) == ("dots" in name), (name, scored.score)
        table = script.growth(kinds(script.Writer()), [size, 2 * size], rounds=1)
        assert [len(row) for row in table] == [4] * len(kinds(script.Writer()))


@pytest.mark.frameworks
@with_script("observed")
def test_the_timed_observation_records_every_document(
    script: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every document of every question is recorded, and each framework has its three rows."""
    script.check()
    for contenders in script.frameworks(1).values():
        seconds = script.interleaved(contenders, 2, script.CLOCKS["cpu"])
        assert script.shown(seconds, 1).count("\n") == 1 + len(contenders) == 4
    monkeypatch.setattr(script, "DOCUMENTS", 11)
    with pytest.raises(ValueError, match="has not recorded every document"):
        script.check()


@with_script("decided")
def test_decisions_quote_the_decided_pairs(script: Any) -> None:
    """The table of real pairs has the figures that `bench/decided.py` wrote."""
    page = (FOLDER.parent / "docs" / "decisions.md").read_text(encoding="utf-8")
    assert script.table(json.loads(script.FIGURES.read_text(encoding="utf-8"))) in page


@with_script("decided")
def test_decided_pairs_of_a_small_collection(script: Any, tmp_path: Path) -> None:
    """Of two searches, one of which finds all and the other nothing, the first is better."""
    texts = [f"{'shared ' * 3}apple{n} tree" for n in range(60)]
    rows = [json.dumps({"id": str(n), "title": "", "text": text}) for n, text in enumerate(texts)]
    (tmp_path / "corpus.jsonl").write_text("\n".join(rows))
    asked = [json.dumps({"id": f"q{n}", "text": f"apple{n}"}) for n in range(60)]
    (tmp_path / "queries.jsonl").write_text("\n".join(asked))
    lines = ["query-id\tcorpus-id\tscore", *(f"q{n}\t{n}\t1" for n in range(60))]
    (tmp_path / "qrels.tsv").write_text("\n".join(lines))
    script.SIZES, script.DRAWS = (50,), 1
    (row,) = script.figures_of(tmp_path)
    assert row["sure"] == 1
    assert row["sure wrong"] == 0
