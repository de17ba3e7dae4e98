"""Batches: any table in, the same kind out, and the report over them is that of the whole."""

from __future__ import annotations

import inspect
import json
import pickle
import random
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fullrecall
from fullrecall import (
    BatchScorer,
    Budget,
    ClaimRecall,
    IdRecall,
    LLMJudge,
    Report,
    Sample,
    SpanRecall,
    TextRecall,
    errors,
    evaluate,
    scorers,
)
from fullrecall.distributed.batches import score_batch
from fullrecall.errors import InputError, ParameterError, ReportError, RunStopped
from fullrecall.evaluation.store import Store
from fullrecall.judges import Cascade, EmbeddedJudge, LexicalJudge, Panel, VerbatimJudge
from fullrecall.models import ChatRequest, Completion, Failure, Message
from fullrecall.models.openai import OpenAIChatModel
from fullrecall.testing import ContainmentJudge, ScriptedChatModel

np = pytest.importorskip("numpy", reason="needs the pandas extra")
pa = pytest.importorskip("pyarrow", reason="needs the parquet extra")
pd = pytest.importorskip("pandas", reason="needs the pandas extra")
pl = pytest.importorskip("polars", reason="needs the test extra")

SCORERS = (IdRecall(), SpanRecall(), ClaimRecall(judge=ContainmentJudge()))


def rows(count: int = 24) -> list[dict[str, Any]]:
    """Return rows of all statuses, with gaps, nested contexts and groups, numbered by `place`."""
    rng = random.Random(3)
    texts = [f"The tower number {n} was finished in {1880 + n}." for n in range(8)]
    made = []
    for place in range(count):
        ranked = rng.sample(range(8), 5)
        row: dict[str, Any] = {
            "place": place,
            "id": f"q{place}" if place % 3 else None,
            "user_input": f"Question “{place}”, with a \u2028 in it?" if place % 7 else None,
            "retrieved_contexts": [
                {
                    "id": f"d{n}",
                    "text": texts[n],
                    "score": 1 / (rank + 1) if place % 2 else None,
                    "metadata": {"page": n} if n % 2 else None,
                }
                for rank, n in enumerate(ranked)
            ]
            if place % 5
            else None,
            "reference_context_ids": [f"d{n}" for n in rng.sample(range(8), 2)],
            "reference_contexts": [texts[rng.randrange(8)]] if place % 4 else [],
            "reference_claims": [texts[rng.randrange(8)], "The tower is red."],
            "group": f"g{place % 4}" if place % 6 else None,
            "metadata": {"lang": "en", "pages": [place, 1]} if place % 2 else {"other": 0.5},
            "retrieval": None if place % 10 else {"error": "TimeoutError: 30 s"},
        }
        made.append(row)
    return made


def without_gaps(row: dict[str, Any]) -> dict[str, Any]:
    """Return what a row gives of itself."""
    return {name: value for name, value in row.items() if value is not None and name != "place"}


def plain(some: list[dict[str, Any]], how: Any = SCORERS, **options: Any) -> Report:
    """Return the report of `evaluate` over the rows, without any table."""
    samples = [Sample(**without_gaps(row)) for row in some]
    return evaluate(samples, how, progress=False, **options)


def saved(report: Report, folder: Path) -> bytes:
    """Return the bytes of a report's file."""
    report.save(folder / "report.jsonl")
    return (folder / "report.jsonl").read_bytes()


def lists(some: list[dict[str, Any]]) -> dict[str, list[Any]]:
    """Return the rows as columns."""
    return {name: [row[name] for row in some] for name in rows(1)[0]}


def arrow_table(some: list[dict[str, Any]]) -> Any:
    """Return the rows as an Arrow table of one schema, whichever rows they are."""
    return pa.Table.from_pylist(some, schema=pa.Table.from_pylist(rows()).schema)


def arrow_batch(some: list[dict[str, Any]]) -> Any:
    """Return the rows as an Arrow record batch."""
    return pa.RecordBatch.from_pylist(some, schema=arrow_table([]).schema)


def frame(some: list[dict[str, Any]]) -> Any:
    """Return the rows as a data frame of Python objects, with labels of its own."""
    index = [f"row {row['place']}" for row in some]
    columns = {
        name: pd.Series(values, index=index, dtype="int64" if name == "place" else "object")
        for name, values in lists(some).items()
    }
    return pd.DataFrame(columns, index=index)


def arrays(some: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the rows as NumPy columns, as Ray hands them out: lists inside are arrays too."""
    columns: dict[str, Any] = {}
    for name, values in lists(some).items():
        column = np.empty(len(values), dtype=object)
        for place, value in enumerate(values):
            column[place] = np.array(value, dtype=object) if isinstance(value, list) else value
        columns[name] = column
    columns["place"] = columns["place"].astype("int64")
    return columns


KINDS: dict[str, Callable[[list[dict[str, Any]]], Any]] = {
    "table": arrow_table,
    "record batch": arrow_batch,
    "frame": frame,
    "frame from Arrow": lambda some: arrow_table(some).to_pandas(),
    "frame of Arrow's types": lambda some: arrow_table(some).to_pandas(types_mapper=pd.ArrowDtype),
    "frame of polars": lambda some: pl.from_arrow(arrow_table(some)),
    "lists": lists,
    "arrays": arrays,
}


class TestWhatComesOut:
    """A table of the kind that came in: flat columns for people, one with everything."""

    @pytest.mark.parametrize("kind", KINDS)
    def test_the_report_is_the_plain_one(self, kind: str, tmp_path: Path) -> None:
        """From every kind of table, byte for byte: gaps, arrays and nested contexts included."""
        scorer = BatchScorer(SCORERS, position="place")
        scores = scorer(KINDS[kind](rows()))
        assert type(scores) is type(KINDS[kind](rows()))
        report = scorer.report(scores)
        assert saved(report, tmp_path) == saved(plain(rows()), tmp_path)
        assert str(report.summary()) == str(plain(rows()).summary())
        statuses = {result.status for row in report for result in row.results}
        assert len(statuses) == 3

    def test_the_columns_are_those_of_the_data_frame(self) -> None:
        """`to_frame` and a batch agree in names and values; a sample without an ID has none."""
        scores = score_batch(frame(rows()), SCORERS, rename={"place": None})
        expected = plain(rows()).to_frame()
        own = ["fullrecall_problem", "fullrecall_row"]
        assert list(scores.columns) == [*expected.columns, *own]
        for name in expected.columns.drop("sample"):
            left, right = list(scores[name]), list(expected[name])
            assert [x if x == x else None for x in left] == [x if x == x else None for x in right]  # noqa: PLR0124 - NaN
        named = [None if pd.isna(own) else own for own in scores["sample"]]
        assert named == [row["id"] for row in rows()]

    def test_a_frame_keeps_its_labels(self) -> None:
        """Scores of a data frame can be joined to it."""
        scores = score_batch(frame(rows()), IdRecall(), position="place")
        assert list(scores.index) == list(frame(rows()).index)

    def test_a_lazy_index_of_batches(self) -> None:
        """`over` takes a batch at a time, as Spark hands them out."""
        scorer = BatchScorer(IdRecall(), position="place")
        taken = []

        def batches() -> Iterator[Any]:
            for start in (0, 10, 20):
                taken.append(start)
                yield arrow_table(rows()[start : start + 10])

        scored = scorer.over(batches())
        assert not taken
        assert len(next(scored)) == 10
        assert taken == [0]

    @pytest.mark.parametrize("keep", ["rows", "summary"])
    def test_schema_and_meta_are_what_comes_out(self, keep: Any) -> None:
        """What Spark and Dask are told beforehand is what they get."""
        scorer = BatchScorer(SCORERS, position="place", keep=keep)
        made = scorer(frame(rows()))
        assert list(scorer.meta.columns) == list(made.columns)
        assert list(scorer.meta.dtypes) == list(made.dtypes)
        assert not len(scorer.meta)
        table = scorer(arrow_table(rows()))
        spark = {"string": "string", "double": "double", "int64": "long"}
        told = [f"`{field.name}` {spark[str(field.type)]}" for field in table.schema]
        assert scorer.schema == ", ".join(told)

    def test_no_rows_no_scores(self) -> None:
        """A partition may be empty; the columns are there all the same."""
        scorer = BatchScorer(SCORERS, position="place")
        scores = scorer(frame([]))
        assert list(scores.columns) == list(scorer.meta.columns)
        assert len(scores) == len(scorer.report(scores)) == len(scorer.report([])) == 0
        totals = BatchScorer(SCORERS, position="place", keep="summary")
        assert len(totals.report(totals(frame([])), rows=0)) == len(totals.report([], rows=0)) == 0

    def test_a_number_may_have_become_a_float(self) -> None:
        """A position that a gap elsewhere made a float is the whole number that it was."""
        batch = {"n": np.array([1.0, 0.0]), "expected_ids": [["a"], ["b"]]}
        scorer = BatchScorer(IdRecall(), position="n")
        report = scorer.report(scorer({**batch, "retrieved_ids": [["a"], ["a"]]}))
        assert [row.results[0].score for row in report] == [0.0, 1.0]


class TestPartsAndWhole:
    """However a data set is parted, the report over the parts is that of the whole."""

    @settings(max_examples=60, deadline=None)
    @given(
        cuts=st.lists(st.integers(0, 24), max_size=6),
        kinds=st.lists(st.sampled_from(sorted(KINDS)), min_size=7, max_size=7),
        rng=st.randoms(use_true_random=False),
    )
    def test_any_partition(self, cuts: list[int], kinds: list[str], rng: random.Random) -> None:
        """Rows in any order, in parts of any size and kind that come in any order."""
        how = IdRecall()
        shuffled = rows()
        rng.shuffle(shuffled)
        edges = [0, *sorted(cuts), len(shuffled)]
        parts = [
            KINDS[kind](shuffled[start:end])
            for kind, start, end in zip(kinds, edges, edges[1:], strict=False)
        ]
        rng.shuffle(parts)
        whole = plain(rows(), how)

        scorer = BatchScorer(how, position="place")
        report = scorer.report(map(scorer, parts))
        assert list(report) == list(whole)
        assert report.methods == whole.methods

        totals = BatchScorer(how, position="place", keep="summary")
        summary = totals.report(map(totals, parts), rows=24)
        assert summary.complete
        assert str(summary.summary()) == str(whole.summary())
        assert summary.totals() == whole.totals()

    def test_without_a_position_the_batches_order_counts(self) -> None:
        """Where the engine keeps the order, no column is needed."""
        scorer = BatchScorer(IdRecall())
        batches = [lists(rows()[start : start + 7]) for start in range(0, 24, 7)]
        for batch in batches:
            del batch["place"]
        assert list(scorer.report(map(scorer, batches))) == list(plain(rows(), IdRecall()))

    def test_totals_are_small(self) -> None:
        """What a worker sends of a summary stops growing with its rows, with the 1,024th ID."""
        scorer = BatchScorer(IdRecall(), keep="summary", position="place", rename={"group": None})
        (few,) = scorer(lists(rows(1_700)))["fullrecall_totals"]
        (many,) = scorer(lists(rows(5_000)))["fullrecall_totals"]
        assert len(many) < 1.05 * len(few)
        assert scorer(lists(rows(8)))["samples"] == [8]


class TestJudges:
    """Models are asked by the engine, in the worker."""

    def judged(self) -> ScriptedChatModel:
        """Return a model that finds the first claim supported and the other not."""
        verdicts = [
            {"id": 1, "verdict": "supported", "together": False,
             "citations": [{"context": 1, "quote": "tower"}]},
            {"id": 2, "verdict": "not_supported", "together": False, "citations": []},
        ]  # fmt: skip
        return ScriptedChatModel([Completion(json.dumps({"verdicts": verdicts}), 100, 20)])

    def test_as_in_the_plain_run(self, tmp_path: Path) -> None:
        """The verdicts, the evidence and what they cost are in the report."""
        scorer = BatchScorer(ClaimRecall(judge=LLMJudge(self.judged())), position="place")
        report = scorer.report(scorer(part) for part in (lists(rows()[:9]), lists(rows()[9:])))
        whole = plain(rows(), ClaimRecall(judge=LLMJudge(self.judged())))
        assert saved(report, tmp_path) == saved(whole, tmp_path)
        assert sum(row.results[0].usage.calls for row in report) == 19

    def test_a_store_is_shared(self, tmp_path: Path) -> None:
        """What one batch was answered, another one with the same store does not ask again."""
        model = self.judged()
        scorer = BatchScorer(
            ClaimRecall(judge=LLMJudge(model)), position="place", store=tmp_path / "answers.sqlite"
        )
        first = scorer(lists(rows()))
        asked = len(model.requests)
        assert asked == 19
        assert scorer(lists(rows())) == first
        assert len(model.requests) == asked

    def test_the_store_is_found_from_any_directory(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Workers run elsewhere: a relative path is that of where the scorer was made."""
        monkeypatch.chdir(tmp_path)
        scorer = BatchScorer(ClaimRecall(judge=LLMJudge(self.judged())), store="answers.sqlite")
        (tmp_path / "elsewhere").mkdir()
        monkeypatch.chdir(tmp_path / "elsewhere")
        batch = lists(rows())
        del batch["place"]
        scorer(batch)
        assert (tmp_path / "answers.sqlite").exists()
        assert not list((tmp_path / "elsewhere").iterdir())

    def test_a_key_that_is_refused_ends_the_job_on_request(self) -> None:
        """Not a job of nothing but unscored samples: the error crosses processes."""
        model = ScriptedChatModel([Completion("", failure=Failure.DENIED, detail="no such key")])
        scorer = BatchScorer(
            ClaimRecall(judge=LLMJudge(model)),
            position="place",
            failed_batches="raise",
            tries=1,
        )
        with pytest.raises(RunStopped, match="no such key") as stopped:
            scorer(lists(rows()))
        again = pickle.loads(pickle.dumps(stopped.value))  # noqa: S301
        assert str(again) == str(stopped.value)
        assert list(again.report) == list(stopped.value.report or ())


class TestMistakes:
    """Each is named, with the way out."""

    @pytest.mark.parametrize(
        ("batch", "problem"),
        [
            ([1, 2], r"expected a data frame, an Arrow table or a mapping .* got list"),
            ("rows", "expected a data frame, an Arrow table"),
            ({"id": ["a"], "user_input": ["q", "p"]}, "must have one length, got {'id': 1"),
            ({"user_input": "q"}, "must be a list or an array, got 'q': for one sample"),
            ({"user_input": None}, "'user_input' must be a list or an array, got None"),
        ],
    )
    def test_what_is_no_batch(self, batch: Any, problem: str) -> None:
        """A sample is none, and neither is a list."""
        with pytest.raises(InputError, match=problem):
            score_batch(batch, IdRecall())

    @pytest.mark.parametrize("package", ["ray", "pyspark", "dask"])
    def test_an_engine_s_own_table(self, package: str) -> None:
        """It has batches, and the error says how it hands them out."""
        dataset = type("Dataset", (), {"__module__": f"{package}.data", "columns": ()})()
        with pytest.raises(InputError, match=rf"expected one batch, got {package}'s Dataset.*map"):
            score_batch(dataset, IdRecall())
        with pytest.raises(InputError, match=r"scorer\.report\(scores\.\w+\("):
            BatchScorer(IdRecall()).report(dataset)

    @pytest.mark.parametrize("kind", [arrow_table, frame])
    def test_two_columns_of_one_name(self, kind: Any) -> None:
        """Neither is dropped in silence."""
        batch = kind(rows())
        if kind is frame:
            batch = pd.concat([batch, batch[["id"]]], axis=1)
        else:
            batch = batch.append_column("id", batch.column("id"))
        with pytest.raises(InputError, match="two columns 'id'"):
            score_batch(batch, IdRecall(), position="place")

    def test_a_column_of_no_sample(self) -> None:
        """As in a file: what is not known is named, and how to leave it out."""
        with pytest.raises(InputError, match=r"'place'.*rename=\{'place': None\}"):
            score_batch(lists(rows()), IdRecall())

    def test_a_row_that_is_no_sample_has_its_position(self) -> None:
        """Which row it is, is told by its position: the worker's own count says nothing."""
        batch = {"n": [40, 41], "id": ["a", "b"], "retrieved_ids": [["a"], "b"]}
        with pytest.raises(
            InputError, match="sample 41: retrieved_context_ids: expected a list"
        ) as met:
            score_batch(batch, IdRecall(), position="n", bad_rows="raise")
        assert met.value.line == 41

    @pytest.mark.parametrize("value", [None, 1.5, "1", float("nan"), -1])
    def test_a_position_is_a_whole_number(self, value: Any) -> None:
        """A gap in it would put a row anywhere."""
        with pytest.raises(InputError, match=r"n must hold whole numbers >= 0, got") as met:
            score_batch({"n": [0, value], "id": ["a", "b"]}, IdRecall(), position="n")
        assert met.value.line == 2

    def test_no_column_of_that_name(self) -> None:
        """A mistyped position is met before anything is scored."""
        with pytest.raises(InputError, match=r"no column 'n', which position names: .* 'place'"):
            score_batch(lists(rows()), IdRecall(), position="n")

    @pytest.mark.parametrize(
        ("options", "problem"),
        [
            ({"keep": "all"}, "keep must be one of 'rows', 'summary', got 'all'"),
            ({"bad_rows": "drop"}, "bad_rows must be one of 'quarantine', 'raise'"),
            ({"failed_batches": "drop"}, "failed_batches must be one of 'report', 'raise'"),
            ({"keep": "summary"}, 'keep="summary" needs position='),
            ({"part_size": 0}, "part_size must be a whole number >= 1"),
            ({"buckets": True}, "buckets must be"),
            ({"tries": 0}, "tries must be"),
            ({"position": "fullrecall_key"}, "name of a column of scores"),
            ({"position": "user_input"}, "name of a column of scores"),
            ({"position": "fullrecall_row"}, "name of a column of scores"),
            ({"max_concurrency": 0}, "max_concurrency"),
            ({"timeout": -1}, "timeout"),
            ({"retries": -1}, "a whole number >= 0"),
            ({"rename": {"a": "no_field"}}, "no_field"),
            (
                {"store": 7},
                "store must be a path or a redis:// URL here, got int",
            ),
            ({"store": "redis://:pw@host/0"}, "URL without a password.*set REDIS_PASSWORD"),
            ({"rate": 5}, "budget and rate need store='redis://…', .*got store=None"),
            ({"budget": Budget(calls=5), "store": "a.sqlite"}, "budget and rate need store="),
            ({"store": "redis://host/0", "rate": 0}, "rate must be a number of requests per sec"),
        ],
    )
    def test_options_are_checked_at_once(self, options: Any, problem: str) -> None:
        """Not by the first worker, an hour later."""
        with pytest.raises(ParameterError, match=problem):
            BatchScorer(IdRecall(), **options)

    def test_an_open_store_is_no_path(self, tmp_path: Path) -> None:
        """It is this process's own."""
        with (
            Store(tmp_path / "answers.sqlite") as store,
            pytest.raises(ParameterError, match="a path or a redis:// URL here, got Store"),
        ):
            BatchScorer(IdRecall(), store=store)  # type: ignore[arg-type]

    @pytest.mark.parametrize("keep", ["rows", "summary"])
    def test_scores_of_another_scorer(self, keep: Any) -> None:
        """Rows that another scorer made are refused, not misread."""
        scores = score_batch(lists(rows()), TextRecall(), position="place", keep=keep)
        other = BatchScorer(TextRecall(threshold=0.7), position="place", keep=keep)
        with pytest.raises(ReportError, match=r"row 1: .*it was scored with other scorers"):
            other.report(scores, rows=24)

    def test_what_are_no_scores(self) -> None:
        """The batch itself, or a column that was lost on the way."""
        scorer = BatchScorer(IdRecall(), position="place")
        with pytest.raises(ReportError, match="no column 'fullrecall_row'"):
            scorer.report(lists(rows()))
        scores = scorer(lists(rows()))
        for cell in (None, float("nan"), "no JSON", "[]", "{}"):
            scores["fullrecall_row"][3] = cell
            with pytest.raises(ReportError, match="row 4: fullrecall_row holds no result"):
                scorer.report(scores)

    def test_one_position_for_two_rows(self) -> None:
        """A row that comes twice counts once; two rows that share a position are a mistake."""
        scorer = BatchScorer(IdRecall(), position="place")
        scores = scorer(lists(rows()))
        assert list(scorer.report([scores, scores], rows=24)) == list(scorer.report(scores))
        other = scorer({"place": [0], "retrieved_ids": [["x"]], "expected_ids": [["x"]]})
        with pytest.raises(ReportError, match="two rows have place=0, but differ"):
            scorer.report([scores, other])


def chat_model() -> OpenAIChatModel:
    """Return a model that has been used: connections are open."""
    pytest.importorskip("openai", reason="needs the openai extra")
    model = OpenAIChatModel(
        "m", base_url="http://127.0.0.1:9/v1", temperature=1.0, options={"seed": 1}
    )
    with pytest.raises(ConnectionError):
        model.complete(ChatRequest((Message("user", "Are you there?"),)))
    return model


JUDGES: dict[str, Callable[[], Any]] = {
    "none": lambda: None,
    "LexicalJudge": LexicalJudge,
    "EmbeddedJudge": EmbeddedJudge,
    "LLMJudge": lambda: LLMJudge(chat_model()),
    "Panel": lambda: Panel([LLMJudge(chat_model()), LLMJudge(chat_model(), sample=1)]),
    "Cascade": lambda: Cascade([VerbatimJudge(), EmbeddedJudge(), LLMJudge(chat_model())]),
}
FOUND = Sample(
    id="a",
    user_input="Where does the cat sit?",
    retrieved_contexts=[{"id": "d", "text": "The cat sat on the mat."}],
    reference="The cat sat on the mat.",
    reference_contexts=["The cat sat on the mat."],
    reference_context_ids=["d"],
    reference_claims=["The cat sat on the mat."],
    reference_entities=["cat"],
    response="On the mat.",
)


class Scored(NamedTuple):
    """A scorer's class and whether it takes a judge."""

    scorer: type[Any]
    takes_judge: bool


def _every_scorer() -> Iterator[Scored]:
    for name in scorers.__all__:
        scorer = getattr(scorers, name)
        if (
            inspect.isclass(scorer)
            and issubclass(scorer, scorers.FindingScorer)
            and not inspect.isabstract(scorer)
        ):
            yield Scored(scorer, "judge" in inspect.signature(scorer).parameters)


EVERY_SCORER = tuple(_every_scorer())
"""Those that the package exports: a new one joins by itself."""

ERRORS = (
    errors.FullrecallError("plain"),
    errors.InputError("no list", path="a.csv", line=3, field="id"),
    errors.ParameterError("k is a whole number"),
    errors.ReportError("no report"),
    errors.StoreError("no store"),
    errors.RunStopped("no such model"),
    errors.JudgeError("no entities"),
    errors.MissingExtraError("pandas", "pandas", "a batch as a data frame"),
    errors.Interrupted(plain(rows(4))),
)


class TestPickling:
    """Whatever a job sends to its workers arrives there, and works."""

    def test_the_scorers_are_all_there(self) -> None:
        """The list is made by looking; it has at least what the top level exports."""
        exported = {
            value
            for value in map(partial(getattr, fullrecall), fullrecall.__all__)
            if isinstance(value, type) and issubclass(value, scorers.FindingScorer)
        }
        assert {each.scorer for each in EVERY_SCORER} >= exported
        assert len(exported) > 2
        assert sum(each.takes_judge for each in EVERY_SCORER) == 5

    @pytest.mark.parametrize("judge", JUDGES)
    @pytest.mark.parametrize("each", EVERY_SCORER, ids=lambda each: each.scorer.__name__)
    def test_every_scorer_with_every_judge(self, each: Scored, judge: str) -> None:
        """After use too: a copy has the same method, asks the same, and scores the same."""
        if not each.takes_judge and judge != "none":
            with pytest.raises(TypeError, match="judge"):
                each.scorer(judge=JUDGES[judge]())
            return
        scorer = each.scorer(judge=JUDGES[judge]()) if each.takes_judge else each.scorer()
        asks = judge in ("LLMJudge", "Panel", "Cascade")
        before = None if asks else scorer.score(FOUND)
        first = next(scorer.flow(FOUND)) if judge == "LLMJudge" else None
        copy = pickle.loads(pickle.dumps(BatchScorer(scorer)))  # noqa: S301
        (received,) = copy.scorers
        assert received == scorer
        assert received.method == scorer.method
        if not asks:
            assert received.score(FOUND) == before
        if first is not None:
            (again,) = next(received.flow(FOUND))
            assert again.request == first[0].request
            assert again.model.name == first[0].model.name

    def test_connections_stay_behind(self) -> None:
        """A model's copy opens its own, and the one that is sent keeps what it has."""
        model = chat_model()
        (opened,) = model._clients.values()
        copy = pickle.loads(pickle.dumps(model))  # noqa: S301
        assert len(copy._clients) == 0
        assert list(model._clients.values()) == [opened]
        assert copy == model

    def test_what_a_judge_has_split_goes_along(self) -> None:
        """A worker does not ask for the parts of a text that its driver has."""
        judge = LLMJudge(chat_model())
        flow = judge.split("one and two", kind="claims")
        next(flow)
        with pytest.raises(StopIteration):
            flow.send([Completion('{"items": ["one", "two"]}')])
        (asked,) = next(pickle.loads(pickle.dumps(judge)).split("one and two", kind="claims"))  # noqa: S301
        assert asked.known is not None

    @pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
    def test_every_error_crosses_processes(self, error: Any) -> None:
        """An error that cannot be sent hides what went wrong in a worker."""
        copy = pickle.loads(pickle.dumps(error))  # noqa: S301
        assert type(copy) is type(error)
        assert str(copy) == str(error)
        for name in ("path", "line", "field", "problem", "name"):
            assert getattr(copy, name, None) == getattr(error, name, None)
        report = getattr(error, "report", None)
        assert list(getattr(copy, "report", None) or ()) == list(report or ())

    def test_no_error_is_left_out(self) -> None:
        """A new error joins the list above."""
        own = {
            value
            for value in vars(errors).values()
            if isinstance(value, type) and value.__module__ == errors.__name__
        }
        assert {type(error) for error in ERRORS} == own
