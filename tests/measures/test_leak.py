"""Leak measures forbidden contexts, and contexts for unanswerable questions."""

import random
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from fullrecall import (
    ClaimRecall,
    Context,
    Gate,
    IdRecall,
    LLMJudge,
    Report,
    Retrieval,
    Sample,
    TextRecall,
    compare,
    evaluate,
)
from fullrecall.errors import InputError
from fullrecall.judge.models.scripted import ScriptedChatModel
from fullrecall.measures import Leak, Recall, parse
from fullrecall.samples.calls import Call
from fullrecall.scorers.result import Result, Status
from fullrecall.stats.change import verdict_of


def _score(**fields: Any) -> Result:
    return IdRecall().score(**fields)


def test_a_forbidden_id_within_k_leaks() -> None:
    """Leak is 1 if a forbidden ID is within k, else 0, for any recall."""
    result = _score(
        retrieved_context_ids=["a", "b", "c"], reference_context_ids=["a"], forbidden_ids=["c", "x"]
    )
    assert [result[Leak @ k] for k in (1, 2, 3, 9)] == [0.0, 0.0, 1.0, 1.0]
    assert result[Leak] == 1.0
    assert result[Recall] == 1.0


def test_it_is_undefined_only_where_nothing_is_forbidden() -> None:
    """Forbidden IDs are looked for even if recall is undefined or references are missing."""
    seen = {"retrieved_context_ids": ["a"]}
    assert _score(**seen, reference_context_ids=["a"])[Leak] is None
    assert _score(**seen, forbidden_ids=[])[Leak] is None
    for references in ([], None):
        result = _score(**seen, reference_context_ids=references, forbidden_ids=["a"])
        assert (result.status, result[Leak]) == (Status.UNDEFINED, 1.0)
    unseen = _score(reference_context_ids=["a"], forbidden_ids=["b"])
    assert (unseen.status, unseen[Leak]) == (Status.UNSCORED, None)
    failed = _score(retrieval=Retrieval(error="down"), forbidden_ids=["b"])
    assert (failed.status, failed[Leak]) == (Status.UNSCORED, None)


def test_a_scorer_that_cannot_score_changes_nothing() -> None:
    """A sample that text recall cannot score has the same leaks."""
    sample = Sample(retrieved_context_ids=["a"], reference_contexts=["text"], forbidden_ids=["a"])
    assert TextRecall().score(sample).status is Status.UNSCORED
    report = evaluate([sample], TextRecall())
    assert report.table.values(0, Leak).tolist() == [1.0]
    summary = report.summary(Leak)[0][Leak]
    assert (summary.mean, summary.samples, summary.undefined) == (1.0, 1, 0)


def test_a_context_for_an_unanswerable_question_leaks() -> None:
    """With `answerable=False`, recall is undefined, and any returned context is a leak."""
    for ids, leak in (([], 0.0), (["a"], 1.0)):
        for references in (None, ["a"]):
            result = _score(
                retrieved_context_ids=ids, reference_context_ids=references, answerable=False
            )
            assert (result.status, result[Leak], result[Recall]) == (Status.UNDEFINED, leak, None)


def test_an_unanswerable_question_costs_no_request() -> None:
    """An unanswerable question costs no request."""
    model = ScriptedChatModel([])
    scorer = ClaimRecall(judge=LLMJudge(model))
    result = scorer.score(retrieved_contexts=["t"], reference_claims=["c"], answerable=False)
    assert (result.status, result[Leak]) == (Status.UNDEFINED, 1.0)
    assert result.usage.calls == 0


def test_the_successor_of_a_superseded_reference_is_the_target() -> None:
    """A superseded reference means its last successor, and the old document is forbidden."""
    chain = {"old": "newer", "newer": "newest"}
    sample = Sample(
        retrieved_context_ids=["old", "newest"],
        reference_context_ids={"old": 2, "newer": 1, "other": 1},
        superseded=chain,
    )
    assert [(r.any_of, r.grade) for r in sample.reference_context_ids or ()] == [
        (("newest",), 2.0),
        (("other",), 1.0),
    ]
    result = IdRecall().score(sample)
    assert (result[Recall], result[Leak @ 1]) == (0.5, 1.0)
    assert Sample(**sample.to_dict()) == sample


@pytest.mark.parametrize(
    ("fields", "named"),
    [
        ({"superseded": {"a": "b", "b": "a"}}, "supersede itself"),
        ({"superseded": {"a": "a"}}, "supersede itself"),
        ({"superseded": {"a": "b", "b": "c", "c": "b"}}, "'b' comes to supersede itself"),
        ({"superseded": ["a"]}, "expected a mapping"),
        ({"forbidden_ids": "a"}, "expected a list"),
        ({"forbidden_ids": [""]}, "blank"),
        ({"answerable": "no"}, "expected true or false"),
        ({"forbidden_contexts": ["a", " "]}, "item 1: expected a text"),
        ({"forbidden_contexts": ["a"], "reference_contexts": [["b", "a"]]}, "and forbidden"),
        ({"forbidden_ids": ["a"], "reference_context_ids": ["a"]}, "is a reference and forbidden"),
    ],
)
def test_wrong_values(fields: dict[str, Any], named: str) -> None:
    """A value of the wrong form is named, and contradictory fields are refused."""
    with pytest.raises(InputError, match=named):
        Sample(**fields)


def test_leak_is_blind_to_the_order_of_forbidden_ids() -> None:
    """Leak depends on k, and not on the order of forbidden IDs or of a mapping."""
    rng = random.Random(3)
    for _ in range(200):
        ids = rng.sample("abcdefgh", rng.randint(0, 8))
        forbidden = rng.sample("abcdefghij", rng.randint(1, 4))
        shuffled = rng.sample(forbidden, len(forbidden))
        results = [
            _score(retrieved_context_ids=ids, forbidden_ids=each) for each in (forbidden, shuffled)
        ]
        for k in (1, 3, 8):
            expected = float(bool(set(ids[:k]) & set(forbidden)))
            assert [result[Leak @ k] for result in results] == [expected] * 2


_PAGE = "The salary of every employee of the firm is a matter for the board, and for it alone."


@pytest.mark.parametrize(
    ("forbidden", "retrieved", "leak"),
    [
        ("the salary is 5", {"text": "Here  the salary\nis 5."}, 1.0),
        ("the salary is 5", {"text": "the salary is 6"}, 0.0),
        (_PAGE, {"text": f"so: {_PAGE[20:70]}"}, 1.0),
        (_PAGE, {"text": "The salary of every employee is public."}, 0.0),
        (
            {"id": "x", "source": "d", "start": 10, "end": 20},
            {"text": "t", "source": "d", "start": 19, "end": 30},
            1.0,
        ),
        (
            {"id": "x", "source": "d", "start": 10, "end": 20},
            {"text": "t", "source": "d", "start": 20, "end": 30},
            0.0,
        ),
        (
            {"id": "x", "source": "d", "start": 10, "end": 20},
            {"text": "t", "source": "e", "start": 10, "end": 20},
            0.0,
        ),
        ({"id": "x", "source": "d", "start": 10, "end": 20}, {"text": "t", "id": "x"}, 1.0),
        ({"id": "x", "source": "d", "start": 10, "end": 20}, {"text": "t", "id": "y"}, None),
        ({"id": "x"}, {"text": "t", "id": "y"}, 0.0),
        ({"id": "x"}, {"text": "t"}, None),
        ("the salary is 5", {"id": "y"}, None),
    ],
)
def test_forbidden_texts_and_ranges(forbidden: Any, retrieved: Any, leak: float | None) -> None:
    """A context leaks if it has a forbidden text, 32 characters of it, its range, or its ID."""
    result = _score(retrieved_contexts=[retrieved], forbidden_contexts=[forbidden])
    assert result[Leak] == leak
    beside = [retrieved, {"id": "z", "text": "the salary is 5"}]
    assert (
        _score(retrieved_contexts=beside, forbidden_contexts=[forbidden], forbidden_ids=["z"])[
            Leak @ 2
        ]
        == 1.0
    )
    assert _score(retrieved_contexts=[], forbidden_contexts=[forbidden])[Leak] == 0.0


@pytest.mark.parametrize("seed", range(3))
def test_any_long_run_of_a_forbidden_text_leaks(seed: int) -> None:
    """Any 47 successive characters of a forbidden text leak; other texts do not."""
    rng = random.Random(seed)
    text = "".join(rng.choice("abcdefgh") for _ in range(300))
    for _ in range(60):
        start = rng.randrange(len(text) - 47)
        chunk = f"{'z' * rng.randint(0, 9)}{text[start : start + 47]}{'z' * rng.randint(0, 9)}"
        assert _score(retrieved_contexts=[chunk], forbidden_contexts=[text])[Leak] == 1.0
        other = "".join(rng.choice("abcdefgh") for _ in range(300))
        assert _score(retrieved_contexts=[other], forbidden_contexts=[text])[Leak] == 0.0


def test_a_document_is_forbidden_under_any_of_its_ids() -> None:
    """A document with several IDs in the record leaks if any of them is forbidden."""
    record = Retrieval([{"id": "chunk 7", "text": "t"}], other_ids={"chunk 7": ["hr_7"]})
    sample = Sample(forbidden_ids=["hr_7"]).with_retrieval(record)
    assert IdRecall().score(sample)[Leak] == 1.0


def test_the_rate_of_empty_answers_stands_beside_the_leaks() -> None:
    """A summary counts the unanswerable questions that got an empty list."""
    samples = [
        Sample(id=str(n), retrieved_context_ids=[] if n < 3 else ["a"], answerable=False)
        for n in range(4)
    ]
    failed = Sample(id="f", retrieval=Retrieval(error="down"), answerable=False)
    answered = Sample(id="a", retrieved_context_ids=["a"], reference_context_ids=["a"])
    summary = evaluate([*samples, failed, answered], IdRecall()).summary(Leak)
    assert (summary.unanswerable, summary.empty) == (4, 3)
    assert summary.to_dict()["empty"] == 3
    shown = " ".join(str(summary).split())
    assert "3 of 4 unanswerable questions got an empty list (75%)" in shown


def test_zero_leaks_bound_the_rate() -> None:
    """0 leaks in 300 questions pass a gate of 1 %, with "at most 1.0%"; 0 in 298 do not."""
    for count, outcome in ((300, "pass"), (298, "cannot_tell")):
        report = evaluate(
            [
                Sample(id=str(n), retrieved_context_ids=["a"], forbidden_ids=["b"])
                for n in range(count)
            ],
            IdRecall(),
        )
        assert str(Gate(Leak @ 10 <= 0.01).check(report).outcome) == outcome
    shown = " ".join(str(report.summary(Leak @ 10)).split())
    assert "leak@10: 0 of 298 questions leak: at most 1.1% of such questions (95%)" in shown
    free = evaluate([Sample(retrieved_ids=["a"], expected_ids=["a"])], IdRecall())
    assert "leak: no question forbids anything" in " ".join(str(free.summary(Leak)).split())


def _filtered(*, after: bool) -> Retrieval:
    """Return a record of two contexts; with `after`, a filter kept the first from the prompt."""
    listed = [{"id": "secret", "text": "the salary"}, {"id": "open", "text": "the address"}]
    return Retrieval(
        listed,
        calls=[Call("search", "q", listed)],
        read=["no", "yes"] if after else ["yes", "yes"],
        retrieved=listed,
    )


def test_the_list_leaks_and_the_prompt_does_not() -> None:
    """If a filter runs after the retriever, the list leaks, and the contexts read do not."""
    sample = Sample(
        id="q",
        retrieval=_filtered(after=True),
        reference_context_ids=["open"],
        forbidden_ids=["secret"],
    )
    leaks = []
    for view in ("contexts", "read"):
        seen = _filtered(after=True).view(view)  # type: ignore[arg-type]  # a literal
        assert seen is not None
        leaks.append(IdRecall().score(sample.with_retrieval(seen))[Leak])
    assert leaks == [1.0, 0.0]


@pytest.mark.rooms
def test_what_leaked_is_listed_with_rank_and_step() -> None:
    """A report names the leaked contexts; its summary and its page show them first."""
    sample = Sample(
        id="q7",
        retrieval=_filtered(after=False),
        reference_context_ids=["open"],
        forbidden_ids=["secret"],
    )
    report = evaluate([sample], IdRecall())
    (leaked,) = report.leaked()
    assert leaked[0] == "q7"
    assert leaked[2:] == ("secret", 1, "search")
    shown = " ".join(str(report.summary(Recall, Leak @ 1)).split())
    assert "leak@1: 1 of 1 question leak" in shown
    assert "q7: secret at rank 1 from search" in shown
    page = report.to_html()
    assert page.index("LEAK") < page.index("q7: secret at rank 1 from search")
    assert report.leaked(1) == report.leaked()


@pytest.mark.rooms
def test_a_page_warns_of_forbidden_contexts_alone() -> None:
    """Contexts of unanswerable questions are counted, not flagged: most retrievers return some."""
    sample = Sample(id="q8", retrieved_ids=["a"], answerable=False)
    report = evaluate(
        [sample, Sample(id="q9", retrieved_ids=["b"], expected_ids=["b"])], IdRecall()
    )
    assert [leak.sample for leak in report.leaked()] == ["q8"]
    page = report.to_html()
    assert "LEAK" not in page
    assert "0 of 1 unanswerable question got an empty list" in page


@pytest.mark.parametrize("name", ["report.jsonl", "report.parquet"])
def test_saved_reports_keep_what_is_forbidden(tmp_path: Path, name: str) -> None:
    """A saved report keeps forbidden contexts, so that leaks can be measured later."""
    samples = [
        Sample(id="a", retrieved_context_ids=["x"], reference_context_ids=["x"]),
        Sample(id="b", retrieved_context_ids=["x"], forbidden_ids=["x", "z"]),
        Sample(id="c", retrieved_context_ids=["x"], answerable=False),
        Sample(id="d", retrieved_context_ids=["x"], answerable=True, forbidden_ids=["y"]),
        Sample(id="e", retrieved_context_ids=["x"], superseded={"x": "y"}),
        Sample(id="f", forbidden_ids=["x"]),
        Sample(id="g", retrieved_contexts=["a text"], forbidden_contexts=["text", {"id": "y"}]),
    ]
    report = evaluate(samples, IdRecall())
    report.save(tmp_path / name)
    loaded = Report.load(tmp_path / name)
    assert [row.sample for row in loaded.rows] == samples
    values = [str(one.table.values(0, Leak).tolist()) for one in (report, loaded)]
    assert values[0] == values[1] == "[nan, 1.0, 1.0, 0.0, 1.0, nan, 1.0]"
    assert loaded.leaked() == report.leaked()


def test_more_leaks_are_worse() -> None:
    """A higher leak rate is a loss in a comparison, in its wins and losses, and in a margin."""
    before, after = (
        evaluate(
            [Sample(id=str(n), retrieved_context_ids=ids, forbidden_ids=["b"]) for n in range(60)],
            IdRecall(),
        )
        for ids in (["a"], ["b"])
    )
    one = compare(before, after, Leak)["id_recall"][Leak]
    assert (one.difference, one.wins, one.losses) == (1.0, 0, 60)
    assert verdict_of(one).text.lower() == "worse"
    assert str(one.outcome) == "worse"
    other = compare(after, before, Leak)["id_recall"][Leak]
    assert (other.difference, str(other.outcome), other.wins) == (-1.0, "better", 60)
    assert Gate(Leak, margin=0.1).check(after, before).outcome == "fail"
    assert Gate(Leak, margin=0.1).check(before, after).outcome == "pass"


def test_unscored_samples_may_have_leaked() -> None:
    """A sample whose retriever failed may have leaked only if it forbids contexts."""
    good = [
        Sample(id=f"g{n}", retrieved_context_ids=["a"], forbidden_ids=["b"]) for n in range(300)
    ]
    failed = Retrieval(error="down")
    harmless = Sample(id="h", retrieval=failed, reference_context_ids=["a"])
    doubtful = Sample(id="d", retrieval=failed, forbidden_ids=["b"])
    gate = Gate(Leak <= 0.01)
    assert gate.check(evaluate([*good, harmless], IdRecall())).outcome == "pass"
    assert gate.check(evaluate([*good, doubtful], IdRecall())).outcome == "cannot_tell"


def test_csv_and_json_rows_carry_them(tmp_path: Path) -> None:
    """Forbidden contexts are read from CSV and JSON rows."""
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    from fullrecall.read import from_rows, read

    path = tmp_path / "rows.csv"
    path.write_text(
        "id,retrieved_context_ids,forbidden_ids,superseded,answerable,forbidden_contexts\n"
        'a,"[""x""]","[""x""]","{""y"": ""z""}",,"[""a text""]"\n'
        'b,"[""x""]",,,false,a text of four words\n'
    )
    first, second = read(path)
    assert (first.forbidden_ids, first.superseded, first.answerable) == (("x",), {"y": "z"}, None)
    assert first.forbidden_contexts == (Context("a text"),)
    assert second.answerable is False
    assert second.forbidden_contexts == (Context("a text of four words"),)
    frame = pandas.DataFrame([each.to_dict() for each in (first, second)])
    assert list(from_rows(frame)) == [first, second]
    frame.to_parquet(tmp_path / "rows.parquet")
    assert list(read(tmp_path / "rows.parquet")) == [first, second]
    lines = tmp_path / "rows.jsonl"
    lines.write_text(
        '{"retrieved_context_ids": ["x"], "forbidden_ids": ["x"], "answerable": true}\n'
    )
    assert [sample.forbidden for sample in read(lines)] == [("x",)]


def test_text_form() -> None:
    """Leak is parsed from its name."""
    assert parse("leak@10") == Leak @ 10
    for k, zero in product((None, 3), (None, 0.0)):
        measure = Leak(zero_division=zero) if k is None else Leak(zero_division=zero) @ k
        assert parse(measure.name) == measure


@pytest.mark.rooms
def test_the_command_line_scores_samples_that_only_forbid(tmp_path: Path) -> None:
    """The commands need neither references nor a scorer's name for samples that only forbid."""
    from tests.cli.command_line import run

    samples, report = tmp_path / "samples.jsonl", tmp_path / "report.jsonl"
    samples.write_text('{"retrieved_context_ids": ["a"], "forbidden_ids": ["b"]}\n' * 300)
    done = run("evaluate", samples, "--output", report, "--measure", "leak@10")
    assert done.exit_code == 0, done.output
    gate = run("gate", report, "--require", "leak@10<=0.01")
    assert gate.exit_code == 0, gate.output
    assert "PASS" in gate.output
