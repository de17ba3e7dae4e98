"""Documented data of other tools is read unchanged, and gives the tools' numbers.

Where a tool's number is wrong, the test names it and says why fullrecall's differs. The tools'
numbers were computed with ragas 0.4.3, deepeval 4.3.1, llama-index-core 0.14.25, ranx 0.3.21,
ir-measures 0.4.3 and pytrec_eval-terrier 0.5.11, with scripted judges. The tools need not be
installed here, since models with the same fields replace their objects.
"""

from __future__ import annotations

import json
from collections import defaultdict
from statistics import fmean
from types import SimpleNamespace
from typing import Any

import pytest

from fullrecall import ClaimRecall, IdRecall, LLMJudge, Sample, TextRecall, evaluate
from fullrecall import read as datasets
from fullrecall.errors import InputError
from fullrecall.judge.models.scripted import ScriptedChatModel
from fullrecall.measures import AP, MeanPrecision, Recall, nDCG, parse
from fullrecall.scorers.result import Result, Status

FRANCE = (  # The context of low recall in ragas's documentation.
    "France, in Western Europe, encompasses medieval cities, alpine villages and Mediterranean "
    "beaches. The country is also renowned for its wines and sophisticated cuisine. Lascaux's "
    "ancient cave drawings, Lyon's Roman theater and the vast Palace of Versailles attest to its "
    "rich history."
)


class Model:
    """A pydantic model of another tool, with attributes and `model_dump`."""

    def __init__(self, fields: dict[str, Any], **given: Any) -> None:
        assert given.keys() <= fields.keys()
        self._fields = {**fields, **given}
        self.__dict__.update(self._fields)

    def model_dump(self) -> dict[str, Any]:
        """Return all fields, also those that were not given."""
        return dict(self._fields)


def single_turn_sample(**given: Any) -> Model:
    """Return a model of ragas's `SingleTurnSample`: the fields of 0.4.3, None by default."""
    names = (
        "user_input", "retrieved_contexts", "reference_contexts", "retrieved_context_ids",
        "reference_context_ids", "response", "multi_responses", "reference", "rubrics",
        "persona_name", "query_style", "query_length",
    )  # fmt: skip
    return Model(dict.fromkeys(names), **given)


class LLMTestCase(SimpleNamespace):
    """A stand-in for deepeval's class, which is recognized by its module."""

    __module__ = "deepeval.test_case.llm_test_case"


def llm_test_case(**given: Any) -> LLMTestCase:
    """Return a model of deepeval's `LLMTestCase`: the fields of 4.3.1."""
    names = (
        "input", "actual_output", "expected_output", "context", "retrieval_context", "metadata",
        "tools_called", "comments", "expected_tools", "token_cost", "input_token_count",
        "output_token_count", "completion_time", "name", "tags", "mcp_servers",
        "mcp_tools_called", "mcp_resources_called", "mcp_prompts_called",
        "custom_column_key_values", "expectations", "expected_labels",
    )  # fmt: skip
    return LLMTestCase(**{**dict.fromkeys(names), "flaky": False, "multimodal": False, **given})


def one_row(row: object, scorer: Any) -> Result:
    """Return the result of one row, which is read unchanged."""
    (sample,) = datasets.from_rows([row])
    result: Result = scorer.score(sample)
    return result


def judge_that_leaves_out() -> tuple[ClaimRecall, ScriptedChatModel]:
    """Return claim recall by a judge that supports the first claim and omits the other claims."""
    first = {"id": 1, "verdict": "supported", "together": False}
    cited = {**first, "citations": [{"context": 1, "quote": "c"}]}
    model = ScriptedChatModel([json.dumps({"verdicts": [cited]})])
    return ClaimRecall(judge=LLMJudge(model), split="sentences"), model


class TestRagas:
    """The examples of ragas's documentation are read as rows and as objects."""

    def test_non_llm_context_precision(self) -> None:
        """Ragas documents 0.9999999999, which is 1.0 without its 1e-10 in the denominator."""
        sample = single_turn_sample(
            retrieved_contexts=["The Eiffel Tower is located in Paris."],
            reference_contexts=[
                "Paris is the capital of France.",
                "The Eiffel Tower is one of the most famous landmarks in Paris.",
            ],
        )
        assert one_row(sample, TextRecall())[MeanPrecision] == 1.0

    def test_llm_context_recall_of_the_documentation(self) -> None:
        """Ragas documents 1.0, which is wrong: Paris being a capital says nothing about the tower.

        The number is disputed in ragas's issues 2623 and 2895. A strict judge, such as the built-in
        one, gives 0.0.
        """
        sample = single_turn_sample(
            user_input="Where is the Eiffel Tower located?",
            response="The Eiffel Tower is located in Paris.",
            reference="The Eiffel Tower is located in Paris.",
            retrieved_contexts=["Paris is the capital of France."],
        )
        result = one_row(sample, ClaimRecall())
        assert result.score == 0.0
        assert result.missed == ("The Eiffel Tower is located in Paris.",)

    def test_claims_of_the_documentation_of_0_1(self) -> None:
        """Ragas documents 0.5, since one of two claims, on place and capital, is supported."""
        row = {
            "question": "Where is France and what is it's capital?",
            "ground_truth": "France is in Western Europe and its capital is Paris.",
            "contexts": [FRANCE],
            "reference_claims": ["France is in Western Europe.", "Its capital is Paris."],
        }
        assert one_row(row, ClaimRecall()).score == 0.5

    def test_no_reference_ids_are_counted(self) -> None:
        """Without reference IDs ragas gives NaN and drops it; here the sample is counted."""
        rows = [
            single_turn_sample(retrieved_context_ids=["a"], reference_context_ids=[]),
            single_turn_sample(retrieved_context_ids=["a"], reference_context_ids=["a"]),
        ]
        score = evaluate(datasets.from_rows(rows), IdRecall(), progress=False).summary()[0]
        assert (score.mean, score.scored, score.undefined) == (1.0, 1, 1)

    def test_similar_enough_is_one_question(self) -> None:
        """Ragas gives one pair recall 0.0 (`>`) and precision 1.0 (`>=`); here both use `>=`."""
        sample = single_turn_sample(retrieved_contexts=["ac"], reference_contexts=["ab"])
        assert one_row(sample, TextRecall()).score == 1.0
        assert one_row(sample, TextRecall(comparison="gt")).score == 0.0
        assert one_row(sample, TextRecall())[MeanPrecision] == 1.0

    def test_a_duplicated_reference_is_one_target(self) -> None:
        """A repeated reference is one target; ragas counts it twice, and gives 2/3."""
        sample = single_turn_sample(
            retrieved_contexts=["abcd"], reference_contexts=["abcd", "abcd", "zzzzzzzz"]
        )
        assert one_row(sample, TextRecall(comparison="gt")).score == 0.5

    def test_a_judge_that_leaves_claims_out(self) -> None:
        """If a judge omits claims, ragas gives 1.0; here the claims are asked for again."""
        scorer, model = judge_that_leaves_out()
        sample = single_turn_sample(
            user_input="q", retrieved_contexts=["c"], reference="One is. Two is. Three is."
        )
        result = one_row(sample, scorer)
        assert result.status is Status.UNSCORED
        assert [claim for claim, _ in result.unmeasured] == ["Two is.", "Three is."]
        assert len(model.requests) > 1


class TestDeepeval:
    """`LLMTestCase`s are read as objects and as dicts."""

    SHOES = {  # noqa: RUF012 - the example of its documentation
        "input": "What if these shoes don't fit?",
        "actual_output": "We offer a 30-day full refund at no extra cost.",
        "expected_output": "You are eligible for a 30 day full refund at no extra cost.",
        "retrieval_context": [
            "All customers are eligible for a 30 day full refund at no extra cost."
        ],
    }

    def test_the_documented_test_case(self) -> None:
        """Objects, dicts and plain rows give the same sample, whose one sentence is found."""
        expected = Sample(
            user_input=self.SHOES["input"],
            response=self.SHOES["actual_output"],
            reference=self.SHOES["expected_output"],
            retrieved_contexts=self.SHOES["retrieval_context"],
        )
        cases = [llm_test_case(**self.SHOES), self.SHOES]
        assert list(datasets.from_rows(cases)) == [expected, expected]
        assert ClaimRecall().score(expected).score == 1.0

    def test_all_that_a_test_case_may_have(self) -> None:
        """`context` is the reference contexts, and fields that no scorer uses are left out."""
        case = llm_test_case(
            input="q",
            name="case 1",
            context=["ideal"],
            retrieval_context=["plain"],
            metadata={"locale": "en"},
            tags=["t"],
            token_cost=0.1,
        )
        (sample,) = datasets.from_rows([case])
        assert sample == Sample(
            id="case 1",
            user_input="q",
            reference_contexts=["ideal"],
            retrieved_contexts=["plain"],
            metadata={"locale": "en"},
        )

    def test_goldens(self) -> None:
        """A golden without a retrieval is unscored, not an empty retrieval."""
        golden = {"input": "q", "expected_output": "A tower.", "additional_metadata": {"n": 1}}
        (sample,) = datasets.from_rows([golden])
        assert sample.metadata == {"n": 1}
        assert ClaimRecall().score(sample).status is Status.UNSCORED

    @pytest.mark.parametrize(
        ("given", "status", "score"),
        [
            ({"retrieval_context": []}, Status.SCORED, 0.0),
            ({"expected_output": ""}, Status.UNDEFINED, None),
        ],
    )
    def test_nothing_to_judge(self, given: Any, status: Status, score: float | None) -> None:
        """With nothing to judge, deepeval still gives 1.0; here no judge is asked."""
        scorer, model = judge_that_leaves_out()
        case = llm_test_case(
            **{"input": "q", "expected_output": "One.", "retrieval_context": ["c"], **given}
        )
        (sample,) = datasets.from_rows([case])
        result = scorer.score(sample)
        assert (result.status, result.score) == (status, score)
        assert model.requests == []


class TestLlamaIndexMetrics:
    """Rows of `expected_ids` and `retrieved_ids` give LlamaIndex's metrics."""

    @pytest.mark.parametrize(
        ("expected", "retrieved", "measure", "value"),
        [
            (["id1", "id2", "id3"], ["id3", "id1", "id2", "id4"], "hit", 1.0),
            (["id1", "id2", "id3", "id4"], ["id5", "id1"], "rr", 0.5),
            (["id1", "id2", "id3", "id4"], ["id5", "id1"], "precision", 0.5),
            (["id1", "id2", "id3", "id4"], ["id5", "id1"], "ap", 0.125),
            (["id1", "id2", "id3", "id4"], ["id5", "id1"], "ndcg", 0.24630238874073),
            (["id1", "id2"], ["id1", "id7", "id15", "id2"], "ndcg", 0.8772153153380493),
        ],
    )
    def test_the_same_numbers(
        self, expected: list[str], retrieved: list[str], measure: str, value: float
    ) -> None:
        """HitRate, MRR, Precision, Recall, AveragePrecision and NDCG are equal."""
        result = IdRecall().score(expected_ids=expected, retrieved_ids=retrieved)
        assert result[parse(measure)] == pytest.approx(value)

    def test_duplicates_do_not_exceed_one(self) -> None:
        """No score exceeds 1; LlamaIndex gives AP 1.5 and nDCG 1.31 for ["a", "a", "b"]."""
        result = IdRecall().score(expected_ids=["a", "b"], retrieved_ids=["a", "a", "b"])
        assert result[AP] == pytest.approx((1 + 2 / 3) / 2)
        assert result[nDCG] == pytest.approx(0.9197207891481876)

    def test_a_perfect_list_of_a_duplicated_expectation(self) -> None:
        """A perfect list gets nDCG 1; LlamaIndex gives 0.61 for a repeated expected ID."""
        assert IdRecall().score(expected_ids=["a", "a"], retrieved_ids=["a", "b"])[nDCG] == 1.0


class TestQrelsAndRuns:
    """The dicts of ranx, pytrec_eval and ir_measures, and ranx's objects, are read."""

    QRELS = {"q_1": {"d_12": 5, "d_25": 3}, "q_2": {"d_11": 6, "d_22": 1}}  # noqa: RUF012 - ranx's
    RUN = {  # noqa: RUF012 - ranx's
        "q_1": {"d_12": 0.9, "d_23": 0.8, "d_25": 0.7, "d_36": 0.6, "d_32": 0.5, "d_35": 0.4},
        "q_2": {"d_12": 0.9, "d_11": 0.8, "d_25": 0.7, "d_36": 0.6, "d_22": 0.5, "d_35": 0.4},
    }

    @pytest.mark.parametrize(
        ("measure", "k", "ranx"),
        [
            ("recall", None, 1.0),
            ("recall", 1, 0.25),
            ("recall", 3, 0.75),
            ("precision", 5, 0.4),
            ("f1", None, 0.5),
            ("hit", None, 1.0),
            ("rr", None, 0.75),
            ("ap", 5, 0.6416666666666666),
            ("ndcg", 5, 0.7861261099276952),
            ("ndcg", None, 0.7861261099276952),
        ],
    )
    def test_the_example_of_ranx(self, measure: str, k: int | None, ranx: float) -> None:
        """The example of ranx's README gives the numbers of ranx and ir_measures."""
        samples = datasets.from_qrels_run(self.QRELS, self.RUN)
        cut = parse(measure) if k is None else parse(measure) @ k
        values = [IdRecall().score(sample)[cut] for sample in samples]
        assert fmean(value for value in values if value is not None) == pytest.approx(ranx)
        assert len(values) == 2

    def test_objects_of_ranx(self) -> None:
        """Objects of ranx are read by `to_dict()`, which returns defaultdicts."""
        qrels = SimpleNamespace(to_dict=lambda: defaultdict(dict, self.QRELS))
        run = SimpleNamespace(to_dict=lambda: defaultdict(dict, self.RUN))
        expected = list(datasets.from_qrels_run(self.QRELS, self.RUN))
        assert list(datasets.from_qrels_run(qrels, run)) == expected

    def test_a_higher_relevance_level(self) -> None:
        """At relevance level 4 recall is 1.0, as `R(rel=4)@3` of ir_measures."""
        samples = datasets.from_qrels_run(self.QRELS, self.RUN)
        assert [IdRecall().score(sample)[Recall(min_grade=4) @ 3] for sample in samples] == [
            1.0,
            1.0,
        ]

    def test_equal_scores_in_the_order_of_trec_eval_or_of_ranx(self) -> None:
        """Equal scores are ordered as in trec_eval, or in the run's order as in ranx."""
        run = {"q": {"low": 0.1, "b": 1.0, "c": 1.0, "a": 1.000000001}}
        (as_trec_eval,) = datasets.from_qrels_run({"q": {"b": 1}}, run)
        (as_ranx,) = datasets.from_qrels_run({"q": {"b": 1}}, run, ties="order")
        assert as_trec_eval.retrieved_context_ids == ("c", "b", "a", "low")
        assert as_ranx.retrieved_context_ids == ("a", "b", "c", "low")

    def test_queries_of_one_side_only(self) -> None:
        """Queries of one side only, an error or 0 in ranx, are counted by kind here."""
        samples = datasets.from_qrels_run({"q1": {"a": 1}, "q2": {"a": 1}}, {"q2": {}, "q3": {}})
        statuses = {sample.id: IdRecall().score(sample).status for sample in samples}
        assert statuses == {
            "q1": Status.UNSCORED,
            "q2": Status.SCORED,
            "q3": Status.UNJUDGED,
        }

    def test_no_relevant_document(self) -> None:
        """Without a relevant document a query is undefined, or 0 with `zero_division=0.0`."""
        (sample,) = datasets.from_qrels_run({"q": {"d": 0}}, {"q": {"d": 1.0}})
        assert IdRecall().score(sample).status is Status.UNDEFINED
        assert IdRecall().score(sample)[Recall(zero_division=0.0)] == 0.0

    def test_grades_between_whole_numbers(self) -> None:
        """A grade of 0.5 counts by the threshold; ranx silently reads 0."""
        (sample,) = datasets.from_qrels_run({"q": {"d": 0.5, "e": 1}}, {"q": {"d": 1.0}})
        assert IdRecall().score(sample).score == 0.5
        assert IdRecall().score(sample)[Recall(min_grade=1)] == 0.0

    def test_ids_that_are_numbers(self) -> None:
        """Numeric IDs are read; ranx raises TypeError."""
        (sample,) = datasets.from_qrels_run({1: {7: 1}}, {"1": {"7": 0.5}})
        assert IdRecall().score(sample).score == 1.0

    @pytest.mark.parametrize(
        ("qrels", "run", "says"),
        [
            ({}, RUN, "qrels must be {query: {document: number}}, got dict {}"),
            (QRELS, {}, "run must be {query: {document: number}}, got dict {}"),
            (QRELS, [1], "run must be {query: {document: number}}, got list [1]: read_trec reads"),
            ("qrels.txt", RUN, "qrels must be {query: {document: number}}, got str 'qrels.txt'"),
            (
                QRELS,
                {"q_1": ["d"]},
                "run: query 'q_1' must have {document: number}, got ['d']",
            ),
            (
                QRELS,
                {"q_1": {"d": float("nan")}},
                "run: query 'q_1': a score must be a finite number",
            ),
            (QRELS, {"q_1": {"d": "0.5"}}, "run: query 'q_1': a score must be a number, got '0.5'"),
            (QRELS, {"q_1": {1.5: 1.0}}, "run: query 'q_1': 1.5 is not an ID"),
            ({"q": {"d": "x"}}, RUN, "qrels: query 'q': reference_context_ids: a grade must be"),
            ({1: {}, "1": {}}, RUN, "qrels: two queries are named '1'"),
            ({1.5: {}}, RUN, "qrels: 1.5 is not an ID"),
        ],
    )
    def test_invalid_qrels_and_runs_are_refused(self, qrels: Any, run: Any, says: str) -> None:
        """Invalid qrels or runs are errors that name the side and the query."""
        with pytest.raises(InputError) as caught:
            list(datasets.from_qrels_run(qrels, run))
        assert str(caught.value).startswith(says)
