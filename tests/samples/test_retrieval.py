"""The record of a retrieval does not depend on the order in which its parts arrived."""

from __future__ import annotations

import html
import json
import random
from collections.abc import Callable
from contextlib import suppress
from inspect import signature
from typing import Any
from xml.sax.saxutils import escape

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.observe.calls import of_calls

from fullrecall import ClaimRecall, Context, IdRecall, Sample, SpanRecall, TextRecall
from fullrecall.errors import ReportError
from fullrecall.files.reports.records import ResultRecord, plain_result
from fullrecall.measures import AP, F1, RR, AllFound, Hit, MeanPrecision, Precision, Recall, nDCG
from fullrecall.samples.calls import Call, failures
from fullrecall.samples.context import as_contexts
from fullrecall.samples.prompts import read_in
from fullrecall.samples.retrieval import Retrieval


def call(ids: str, source: str = "search", query: str | None = None, **fields: Any) -> Call:
    """Return a call that returned contexts of these one-letter IDs."""
    return Call(source, query, tuple(Context(f"text {one}", id=one) for one in ids), **fields)


def failed(source: str = "search", query: str | None = None, **fields: Any) -> Call:
    """Return a call that failed."""
    return Call(source, query, error="TimeoutError: 30 s", **fields)


def ids(contexts: tuple[Context, ...] | None) -> str | None:
    """Return the IDs of contexts as letters."""
    return None if contexts is None else "".join(context.id or "-" for context in contexts)


def test_one_call_is_its_list() -> None:
    """One call's ranks are the order of its list, duplicates included, without a union."""
    record = of_calls([call("bab")])
    assert (ids(record.contexts), record.ranks, record.line) == ("bab", None, "")


def test_several_calls_are_united_by_rank() -> None:
    """A context has its rank in its own call, or its best rank if several calls have it."""
    record = of_calls([call("ab", query="one"), call("ca", query="two")])
    assert (ids(record.contexts), record.ranks) == ("acb", (1, 1, 2))
    assert record.line == "union of 2 calls"


CALLS = st.lists(
    st.builds(
        call,
        st.text("abcdef", max_size=5),
        source=st.sampled_from(["dense", "sparse"]),
        query=st.sampled_from(["one", "two", None]),
    ),
    min_size=1,
    max_size=5,
)


@given(CALLS, st.randoms(use_true_random=False))
@settings(max_examples=100, deadline=None)
def test_shuffling_the_calls_changes_nothing(calls: list[Call], rng: random.Random) -> None:
    """Contexts and ranks, and so every score, are the same for any order of the calls."""
    shuffled = rng.sample(calls, len(calls))
    one, other = of_calls(calls), of_calls(shuffled)
    assert (one.contexts, one.ranks, one.line) == (other.contexts, other.ranks, other.line)


@given(CALLS)
@settings(max_examples=70, deadline=None)
def test_the_first_k_are_the_first_k_of_each_call(calls: list[Call]) -> None:
    """A context has a rank of at most k if and only if it is in the first k of some call."""
    record = of_calls(calls)
    ranks = record.ranks or range(1, len(record.contexts or ()) + 1)
    for k in range(1, 6):
        within = {c.id for c, rank in zip(record.contexts or (), ranks, strict=True) if rank <= k}
        assert within == {c.id for one in calls for c in (one.contexts or ())[:k]}


def test_a_failed_call_leaves_the_sample_unscored() -> None:
    """Contexts of the other calls are kept, and count with `failed_calls="score"`."""
    calls = [call("ab", query="one"), failed(query="two"), call("c", query="three")]
    record = of_calls(calls)
    assert record.error is not None
    assert record.error.startswith("1 of 3 calls failed (search: TimeoutError: 30 s)")
    assert (ids(record.contexts), record.line) == ("acb", "union of 3 calls, 1 failed")
    scored = of_calls(calls, failed_calls="score")
    assert (scored.error, ids(scored.contexts)) == (None, "acb")
    assert scored.line == "union of 3 calls, 1 failed"
    two = of_calls(calls[:2], failed_calls="score")
    assert (two.error, two.ranks, two.line) == (None, None, "1 of 2 calls failed")


def test_a_failure_counts_unless_it_was_recovered() -> None:
    """A failure below a call counts, unless a retry recovered it or the call failed too."""
    calls = [call("a", "both", children=(failed("dense"), failed("sparse", recovered=True)))]
    assert [each.source for each in failures(calls)] == ["dense"]
    assert [each.source for each in failures([failed("a", children=(failed("b"),))])] == ["a"]


def test_a_reorderer_is_no_ranking() -> None:
    """Contexts after a reorderer keep their earlier ranks, alone and among several calls."""
    base = call("abcd", "dense")
    long = call("acdb", "LongContextReorder", children=(base,), reorders=True)
    record = of_calls([long])
    assert (ids(record.contexts), record.line) == ("abcd", "ranks before LongContextReorder")
    fewer = call("da", "LongContextReorder", children=(base,), reorders=True)
    assert ids(of_calls([fewer]).contexts) == "ad"
    union = of_calls([long, call("x", query="q")])
    assert (ids(union.contexts), union.ranks) == ("axbcd", (1, 1, 2, 3, 4))


def test_stages_are_named_and_ordered() -> None:
    """A stage comes before the one that took its contexts; the final list is not a stage."""
    fused = call("ab", "fused", children=(call("a", "x"), call("b", "x"), failed("y")))
    top = call("a", "rerank", children=(fused,))
    record = of_calls([top], failed_calls="score")
    stages = [("x", "a", "fused"), ("x 2", "b", "fused"), ("fused", "ab", None)]
    assert [(s.name, ids(s.contexts), s.into) for s in record.stages] == stages
    assert ids(record.at_stage("rerank")) == "a"
    assert record.at_stage("other") is None


LONG = "The Seine rises in Burgundy and flows through Paris to Le Havre, where it meets the sea."


@pytest.mark.parametrize(
    ("prompt", "read"),
    [
        (f"Answer from:\n{LONG}\nQuestion: …", "yes"),
        (LONG.replace(" ", "\n  "), "yes"),
        (json.dumps({"documents": [f"{LONG}\nand more"]}), "yes"),
        (json.dumps(json.dumps([LONG])), "yes"),
        (f"Answer from:\n{LONG[:50]}…", "partly"),
        (f"Answer from: …{LONG[-50:]}", "partly"),
        ("Which river flows through Paris?", "no"),
        ("", "no"),
    ],
)
def test_a_context_is_looked_up_in_the_prompt(prompt: str, read: str) -> None:
    """A context is looked up without white space and escapes; a cut text counts as partly read."""
    assert read_in([Context(LONG)], [prompt]) == (read,)


@pytest.mark.parametrize("escaped", [html.escape, escape])
def test_escapes_of_html_and_xml_are_undone(escaped: Any) -> None:
    """HTML and XML escapes are undone, because prompts escape documents inside elements."""
    text = 'Cars & <b>vans</b> wait on "Pier 3", 2 < 3.'
    assert read_in([Context(text)], [f"<document>{escaped(text)}</document>"]) == ("yes",)


@pytest.mark.parametrize(
    ("parts", "read"),
    [
        ([(0, 60), (60, None)], "yes"),
        ([(60, None), (0, 60)], "yes"),
        ([(0, 80), (40, None)], "yes"),  # These chunks overlap.
        ([(0, 60), (60, 110), (110, None)], "yes"),
        ([(0, -7), (-7, None)], "yes"),
        ([(0, 60), (61, None)], "partly"),
        ([(0, 60), (60, -1)], "partly"),
        ([(1, 60), (60, None)], "partly"),
        ([(0, 60)], "partly"),
    ],
)
def test_a_text_that_several_prompts_have_in_parts_was_read(
    parts: list[tuple[int, int | None]], read: str
) -> None:
    """A text split over prompts, as synthesizers do, was read; omitted parts were not."""
    text = "".join(f"{LONG} Ships reach Rouen, and barges go on to Paris.".split())
    prompts = [f"Answer from: {text[start:end]} ~ and no more" for start, end in parts]
    assert read_in([Context(text)], prompts) == (read,)
    assert read_in([Context(text)], [" … ".join(prompts)])[0] == "partly", "one prompt: a cut text"


def test_escapes_are_undone() -> None:
    """Escapes of `json.dumps` are undone: umlauts, quotes, and surrogate pairs."""
    texts = ['Ein "Mädchen" ging zum Fluß, 🗼 und ein \\ dazu.\tEnde', "kurz"]
    contexts = [*map(Context, texts), Context(id="x"), Context("kürzer")]
    assert read_in(contexts, [json.dumps(texts)]) == ("yes", "yes", None, "no")
    assert read_in(contexts, [repr(texts)]) == ("yes", "yes", None, "no")
    assert read_in(contexts, []) == ("no", "no", None, "no")


def test_the_number_of_read_contexts_is_noted() -> None:
    """One line says how many of the contexts with text were read."""
    contexts = [Context(LONG), Context("b"), Context(id="x")]
    record = of_calls([Call("s", contexts=tuple(contexts))], prompts=[LONG[:60]], response="said")
    assert (record.read, record.line) == (("partly", "no", None), "0 of 2 in the prompt, 1 in part")
    assert of_calls([call("ab")], prompts=None).read is None


RECORDS = st.builds(
    lambda calls, kind, text: of_calls(
        calls, failed_calls="score", response=text, prompts=[text] if kind else None
    ),
    st.lists(
        st.one_of(
            st.builds(
                call,
                st.text("abc", max_size=3),
                children=st.tuples(st.builds(call, st.text("abxy"))),
            ),
            st.builds(failed, st.sampled_from("pq")),
        ),
        max_size=4,
    ),
    st.booleans(),
    st.text(max_size=5),
)


@given(RECORDS)
@settings(max_examples=70, deadline=None)
def test_a_record_is_saved_as_it_is(record: Retrieval) -> None:
    """A record is equal after JSON, alone and in a sample, and no part is written twice."""
    plain = json.loads(json.dumps(record.to_dict()))
    assert Retrieval.from_dict(plain) == record
    sample = Sample(retrieval=record, expected_ids=["a"])
    saved = json.dumps(sample.to_dict())
    assert Sample(**json.loads(saved)) == sample
    texts = [context.text for context in record.contexts or ()]
    assert all(saved.count(f'"{text}"') == texts.count(text) for text in texts)


KINDS: dict[str, Any] = {
    "none": None, "one": 1, "zero": 0, "below": -1, "part": 1.5, "nan": float("nan"),
    "infinite": float("inf"), "flag": True, "empty": "", "text": "x", "bytes": b"x",
    "object": object(), "list": [], "nones": [None], "ones": [1], "zeros": [0], "parts": [-1.5],
    "flags": [True], "texts": ["x"], "objects": [object()], "mapping": {}, "grades": {"a": 1},
    "names": {"a": "x"}, "lists": {1: ["x"]},
}  # fmt: skip
"""A value of every kind."""

REST: dict[type, dict[str, Any]] = {
    Context: {"text": "x"}, Call: {"source": "s"}, Retrieval: {"contexts": ["x"]}, Sample: {},
}  # fmt: skip
"""The arguments beside the tested one."""

TAKEN: dict[tuple[type, str], str] = {
    (Context, "text"): "empty text",  # An ID or a text is required.
    (Context, "id"): "none one zero below empty text",
    (Context, "score"): "none one zero below part",
    (Context, "metadata"): "none mapping grades names lists",
    (Context, "source"): "none one zero below empty text",
    (Context, "start"): "none",  # without an end
    (Context, "end"): "none",
    (Call, "source"): "text",
    (Call, "query"): "none empty text",
    (Call, "contexts"): "none list texts",
    (Call, "error"): "none empty text",
    (Call, "children"): "list",
    (Call, "recovered"): "flag",
    (Call, "reorders"): "flag",
    (Retrieval, "contexts"): "none list texts",
    (Retrieval, "calls"): "list",
    (Retrieval, "ranks"): "none ones",
    (Retrieval, "response"): "none empty text",
    (Retrieval, "read"): "none nones",
    (Retrieval, "error"): "none empty text",
    (Retrieval, "retrieved"): "none list texts",
    (Retrieval, "call_numbers"): "none ones",
    (Retrieval, "seconds"): "none nones ones zeros parts",
    (Retrieval, "other_ids"): "none mapping lists",
    (Retrieval, "part_ids"): "none mapping lists",
    (Sample, "id"): "none one zero below empty text",
    (Sample, "user_input"): "none empty text texts",
    (Sample, "retrieved_contexts"): "none list texts grades",
    (Sample, "retrieved_context_ids"): "none list nones ones zeros texts",
    (Sample, "reference"): "none empty text texts",
    (Sample, "reference_contexts"): "none empty text list texts",
    (Sample, "reference_context_ids"): (
        "none one zero below empty text list ones zeros texts mapping grades"
    ),
    (Sample, "reference_claims"): "none list texts",
    (Sample, "reference_entities"): "none list texts",
    (Sample, "forbidden_ids"): "none list ones zeros texts",
    (Sample, "forbidden_contexts"): "none list texts",
    (Sample, "superseded"): "none mapping grades names",
    (Sample, "answerable"): "none one zero flag",
    (Sample, "judged"): "none one zero flag",
    (Sample, "response"): "none empty text texts",
    (Sample, "group"): "none one zero below empty text",
    (Sample, "retrieval"): "none mapping",
    (Sample, "metadata"): "none mapping grades names lists",
}
"""The kinds of values that each field takes."""


def test_every_field_is_among_those_with_kinds() -> None:
    """A new field of a record needs a row in the table of the kinds that it takes."""
    fields = [(kind, name) for kind in REST for name in signature(kind).parameters]
    named = [field for field in fields if field[0] is not Sample]
    assert [*TAKEN] == [*named, *((Sample, name) for name in Sample.names())]


@pytest.mark.parametrize(("kind", "name"), TAKEN, ids=lambda each: getattr(each, "__name__", each))
def test_a_field_takes_only_values_of_its_kinds(kind: type, name: str) -> None:
    """Every other value is a `ValueError`, never another error, and never a value by chance."""
    taken = []
    for label, value in KINDS.items():
        with suppress(ValueError):
            kind(**{**REST[kind], name: value})
            taken.append(label)
    assert set(taken) == set(TAKEN[kind, name].split())


@pytest.mark.parametrize(
    ("make", "why"),
    [
        (lambda: Call(""), "source must be a non-empty str, got ''"),
        (lambda: Call("a", query=1), "query must be a str, got 1"),  # type: ignore[arg-type]
        (lambda: Call("a", contexts=(), error="e"), "has contexts and an error"),
        (lambda: Retrieval("ab"), "expected a list"),
        (lambda: Retrieval(["a"], ranks=[]), "1 contexts but 0 ranks"),
        (lambda: Retrieval(["a"], ranks=[0]), "ranks must be whole numbers >= 1"),
        (lambda: Retrieval(["a", "b"], ranks=[2, 1]), "ranks must be ascending"),
        (lambda: Retrieval(["a"], ranks=[True]), "ranks must be whole numbers"),
        (lambda: Retrieval(["a"], read=["maybe"]), "read must be 'yes', 'partly', 'no' or None"),  # type: ignore[list-item]
        (lambda: Retrieval(["a"], read=[]), "1 contexts but 0 read"),
        (lambda: Retrieval(error=1), "error must be a str"),  # type: ignore[arg-type]
        (lambda: Retrieval(calls=["a"]), "expected a Call, or a mapping"),  # type: ignore[list-item]
        (lambda: Retrieval.from_dict({"context": []}), "unknown field 'context'"),
        (
            lambda: Retrieval.from_dict({"calls": [{"source": "a", "contexts": [0]}]}),
            "no context 0",
        ),
        (
            lambda: Retrieval.from_dict({"calls": [{"source": "a", "recovered": 1}]}),
            "recovered must be true or false",
        ),
        (lambda: as_contexts([1]), "item 0: expected a str, a Context"),
    ],
)
def test_an_invalid_record_is_refused(make: Callable[[], object], why: str) -> None:
    """An invalid record is an error with the field and the value."""
    with pytest.raises(ValueError, match=why):
        make()


MEASURES = [
    measure @ k if k else measure
    for measure in (Recall, Precision, F1, Hit, AllFound, RR, AP, nDCG, MeanPrecision)
    for k in (None, 1, 2, 3)
]
SCORERS = [IdRecall(), TextRecall(), SpanRecall(min_run=4), ClaimRecall()]


def scored(calls: list[Call]) -> dict[str, object]:
    """Return every measure of every scorer, with the missed targets and the reason."""
    sample = Sample(
        retrieval=of_calls(calls),
        reference_context_ids={"a": 1, "b": 2, "z": 3},
        reference_contexts=["text a", "text c", "text z"],
        reference_claims=["text b is here.", "text z is not."],
    )
    found: dict[str, object] = {}
    for scorer in SCORERS:
        result = scorer.score(sample)
        found |= {f"{scorer.kind}.{measure!r}": result[measure] for measure in MEASURES}
        found[scorer.kind] = (result.status, result.reason, result.missed, result.findings)
    return found


@pytest.mark.rooms
@given(CALLS, st.randoms(use_true_random=False))
@settings(max_examples=25, deadline=None)
def test_no_number_depends_on_the_order_of_the_calls(calls: list[Call], rng: random.Random) -> None:
    """No score or finding depends on the order of calls: a judge gets one order of contexts."""
    assert scored(calls) == scored(rng.sample(calls, len(calls)))


@pytest.mark.rooms
@given(CALLS)
@settings(max_examples=50, deadline=None)
def test_measures_of_a_union_are_those_of_its_definition(calls: list[Call]) -> None:
    """Measures of a union use the first k of each call, each context once."""
    found = scored(calls)
    united = len([one for one in calls if one.contexts is not None]) > 1
    best: dict[str, int] = {}
    rows = []
    for one in calls:
        for rank, context in enumerate(one.contexts or (), start=1):
            rows.append((rank, context.id or ""))
            best[context.id or ""] = min(rank, best.get(context.id or "", rank))
    wanted = {"a", "b", "z"}
    for k in (1, 2, 3):
        seen = {name for name, rank in best.items() if rank <= k}
        count = len(seen) if united else len([row for row in rows if row[0] <= k])
        hits = len(wanted & seen)
        assert found[f"id_recall.Recall @ {k}"] == pytest.approx(hits / 3)
        assert found[f"id_recall.Hit @ {k}"] == float(hits > 0)
        assert found[f"id_recall.Precision @ {k}"] == pytest.approx(hits / count if count else 0)
        first = min((rank for name, rank in best.items() if name in wanted), default=None)
        assert found[f"id_recall.RR @ {k}"] == (1 / first if first and first <= k else 0.0)
    assert all(0 <= value <= 1 for value in found.values() if isinstance(value, float))


@pytest.mark.rooms
def test_the_order_within_a_call_counts() -> None:
    """A union's nDCG and average precision are 1 if every call has its targets first."""
    first = scored([call("bx", query="1"), call("ay", query="2"), call("z", query="3")])
    later = scored([call("xb", query="1"), call("ya", query="2"), call("z", query="3")])
    assert [first[f"id_recall.{name}"] for name in ("nDCG", "AP", "MeanPrecision")] == [1, 1, 1]
    assert all(
        later[f"id_recall.{name}"] < 1  # type: ignore[operator]
        for name in ("nDCG", "AP", "MeanPrecision")
    )


def test_a_result_says_how_its_list_came_about() -> None:
    """The reason of a result names the union, or the failed call that left it unscored."""
    calls = [call("ab", query="1"), call("c", query="2")]
    result = IdRecall().score(retrieval=of_calls(calls, prompts=["text a"]), expected_ids=["a"])
    assert result.reason == "1 of 1 found in 3 retrieved; union of 2 calls; 1 of 3 in the prompt"
    assert result.ranks == (1, 1, 2)
    broken = IdRecall().score(retrieval=of_calls([*calls, failed(query="3")]), expected_ids=["a"])
    assert (broken.score, broken.reason[:41]) == (None, "no retrieval: 1 of 3 calls failed (search")


def test_a_saved_result_keeps_its_ranks() -> None:
    """A saved report keeps its numbers, and impossible ranks are refused."""
    sample = Sample(
        retrieval=of_calls([call("xa", query="1"), call("yb", query="2")]),
        expected_ids=["a", "b"],
    )
    result = IdRecall().score(sample)
    plain = json.loads(json.dumps(plain_result(result, result.score)))
    assert ResultRecord.read(plain).result(result.method) == result
    for ranks in ([1, 1, 2], [1, 1, 2, 1], [0, 1, 1, 2]):
        with pytest.raises(ReportError, match="ranks"):
            ResultRecord.read({**plain, "ranks": ranks})


@pytest.mark.parametrize("seed", range(20))
def test_a_sample_with_another_retrieval_is_that_of_its_fields(seed: int) -> None:
    """`with_retrieval` replaces the retrieval, takes its response if any, and keeps the rest."""
    rng = random.Random(seed)
    fields: dict[str, Any] = {
        "id": "q",
        "user_input": "what?",
        "reference": "that",
        "reference_contexts": [["a text", "another"], "third"],
        "reference_context_ids": rng.choice(
            [["a", "b"], [1, 2], {"a": 2, "b": 1}, [["a", "c"], "b"], []]
        ),
        "reference_claims": ["It stands."],
        "reference_entities": ["Ada"],
        "forbidden_ids": ["x"],
        "superseded": {"old": "new"},
        "answerable": rng.choice([True, None]),
        "response": "an answer",
        "group": "g",
        "metadata": {"kind": "k"},
        "retrieved_contexts": [{"id": "z", "text": "old"}],
    }
    kept = {name: value for name, value in fields.items() if rng.random() < 0.6}
    sample = Sample(**kept)
    record = rng.choice(
        [
            Retrieval([Context("new", id="a")], response="a newer answer"),
            Retrieval([Context("new", id="a")]),
            Retrieval(error="it failed"),
        ]
    )
    kept.pop("retrieved_contexts", None)
    if record.response is not None:
        kept["response"] = record.response
    expected = Sample(**kept, retrieval=record)
    got = sample.with_retrieval(record)
    assert got == expected
    assert got.to_dict() == expected.to_dict()
    contexts = sample.with_retrieval(["a text", {"id": "b"}])
    assert [context.id for context in contexts.retrieved_contexts or ()] == [None, "b"]
    assert contexts.response == sample.response
    got.metadata["new"] = 1  # type: ignore[index]
    assert "new" not in sample.metadata


def test_searches_of_an_agent_are_united_by_their_ranks() -> None:
    """The best rank of a document counts, and the first call that returned it."""
    record = Retrieval.of_calls(
        ("oslo", ["d7", "d1"]),
        ("oslo city", [{"id": "d2"}]),
        ("norway", [("d4", 0.9), ("d7", 0.2)]),
    )
    assert [context.id for context in record.contexts or ()] == ["d7", "d2", "d4", "d1"]
    assert record.ranks == (1, 1, 1, 2)
    assert record.call_numbers == (1, 2, 3, 1)
    assert [call.query for call in record.calls] == ["oslo", "oslo city", "norway"]
    assert Retrieval.from_dict(record.to_dict()) == record
    later = Retrieval.of_calls(("a", ["d1", "d2"]), ("b", ["d2"]))
    assert (later.ranks, later.call_numbers) == ((1, 1), (1, 1))
    assert Retrieval.of_calls(("a", []), ("b", [])).contexts == ()


@pytest.mark.parametrize("search", ["oslo", ("oslo",), (["d1"], "oslo"), ["oslo", ["d1"]]])
def test_searches_that_are_no_pairs_are_refused(search: Any) -> None:
    """Searches must be pairs of query and list: a query alone or a swapped pair is an error."""
    with pytest.raises(ValueError, match=r"expected a pair \(query, found\)"):
        Retrieval.of_calls(search)


def test_chunks_of_one_id_are_joined_at_the_rank_of_the_first() -> None:
    """The texts of all chunks stay, each once; contexts without an ID stay apart."""
    texts = (("one", "a"), ("no ID", None), ("two", "a"), ("one", "a"))
    chunks = [Context(text, id=own) for text, own in texts]
    joined = Retrieval(contexts=chunks).collapsed().contexts
    assert [(each.id, each.text) for each in joined or ()] == [("a", "one\n\ntwo"), (None, "no ID")]


def test_a_record_without_contexts_has_none_to_join() -> None:
    """A failed retrieval without contexts stays as it is when contexts are joined by ID."""
    failed = Retrieval(error="down")
    assert failed.collapsed() == failed
