"""Recall as a LangSmith evaluator, for `langsmith.evaluate` and whatever else takes one."""

from __future__ import annotations

from collections.abc import Sequence
from threading import Lock
from typing import TYPE_CHECKING

from langsmith.evaluation.evaluator import EvaluationResult, EvaluationResults, RunEvaluator

from fullrecall import IdRecall, InputError, Scorer
from fullrecall.evaluation.run import check_scorers
from langchain_fullrecall.asking import RetrieverLike, as_retriever
from langchain_fullrecall.documents import DocumentReader, IdKey
from langchain_fullrecall.feedback import feedback, seen_as, views
from langchain_fullrecall.measurement import Asking, Case, Measured, ameasure, measure, unscored
from langchain_fullrecall.outputs import question
from langchain_fullrecall.references import example_fields
from langchain_fullrecall.retrieval import Retrieval, brief
from langchain_fullrecall.runs import read_run
from langchain_fullrecall.selection import Level, Selection, as_selection
from langchain_fullrecall.summary_evaluator import RecallSummary

if TYPE_CHECKING:
    from uuid import UUID

    from langsmith.schemas import Example, Run

_making = Lock()  # not one for each evaluator: an evaluator with a lock could not be pickled


class RecallRunEvaluator(RunEvaluator):
    """Scores a run by what was retrieved in it and what its example says should have been.

    - `scorer`: any fullrecall scorer; its label ("id_recall@5") is the feedback's key.
    - `id_key`, `source_key`, `collapse`: where a document's ID and place stand, and whether the
      chunks of one ID count once, as `contexts` takes them.
    - `documents_key`: the key of the run's outputs that holds the documents. Without it they are
      looked for under the usual names, then in the retriever runs that were traced.
    - `which`: of several and of nested retriever runs, those that count. "outermost": whose
      documents are merged or reranked already; "innermost": their parts; or a `Selection` by
      name, tag, order, or whatever else. All but the first come before the run's outputs.
    - `ks`, `measures`: more scores of the same findings, each a feedback of its own:
      `ks=(1, 5)`, `measures=("ndcg",)` give "id_recall@1", "id_recall.ndcg@5" and so on.
    - `reference_key`: the key of the example's outputs that holds the reference. Without it
      references are found by the names that `Sample` takes.
    - `input_key`: the key of the inputs that holds the question.
    - `retriever`: is asked the question where the run shows no retrieval.

    A run that cannot be measured has no score, and a comment that says why. One evaluator may
    serve many threads. Raises `ParameterError`, naming the parameter, for values out of range.
    """

    def __init__(
        self,
        scorer: Scorer | None = None,
        *,
        id_key: IdKey = None,
        source_key: str | None = None,
        collapse: bool = False,
        documents_key: str | None = None,
        which: Level | Selection = "outermost",
        ks: Sequence[int] = (),
        measures: Sequence[str] = (),
        reference_key: str | None = None,
        input_key: str | None = None,
        retriever: RetrieverLike | None = None,
    ) -> None:
        (self.scorer,) = check_scorers([IdRecall() if scorer is None else scorer])
        self._views = views(self.scorer.method, ks, measures)
        self._reader = DocumentReader(id_key, source_key, collapse)
        self._documents_key = documents_key
        self._selection = as_selection(which)
        self._reference_key = reference_key
        self._input_key = input_key
        self._asking = None if retriever is None else Asking(as_retriever(retriever), self._reader)
        self._summary: RecallSummary | None = None

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.scorer!r})"

    @property
    def feedback_keys(self) -> list[str]:
        """The keys of the feedback that this evaluator gives."""
        return [view.label for view in self._views]

    @property
    def summary(self) -> RecallSummary:
        """The summary evaluator of this evaluator's scores; see `RecallSummary`.

        `evaluate(target, …, evaluators=[evaluator], summary_evaluators=[evaluator.summary])`.
        From when it is first asked for, the evaluator keeps every run's result for it.
        """
        with _making:
            if self._summary is None:
                self._summary = RecallSummary(self._measured, self._views)
            return self._summary

    def evaluate_run(
        self,
        run: Run,
        example: Example | None = None,
        evaluator_run_id: UUID | None = None,  # noqa: ARG002 - LangSmith passes it
    ) -> EvaluationResult | EvaluationResults:
        """Return the feedback for a run. Raises nothing: what fails is said in the comment."""
        return self._told(run, self._measured(run, example))

    async def aevaluate_run(
        self,
        run: Run,
        example: Example | None = None,
        evaluator_run_id: UUID | None = None,  # noqa: ARG002 - LangSmith passes it
    ) -> EvaluationResult | EvaluationResults:
        """Return the same as `evaluate_run`, without blocking."""
        try:
            measured = await ameasure(self._case(run, example), self.scorer, self._asking)
        except Exception as error:  # noqa: BLE001 - LangSmith drops the row of what raises
            measured = unscored(self.scorer, _reason(error))
        return self._told(run, measured)

    def _measured(self, run: Run, example: Example | None) -> Measured:
        try:
            return measure(self._case(run, example), self.scorer, self._asking)
        except Exception as error:  # noqa: BLE001 - LangSmith drops the row of what raises
            return unscored(self.scorer, _reason(error))

    def _told(self, run: Run, measured: Measured) -> EvaluationResult | EvaluationResults:
        if self._summary is not None:
            self._summary.remember(run.id, measured)
        told = [
            feedback(measured._replace(result=seen_as(measured.result, view)))
            for view in self._views
        ]
        return told[0] if len(told) == 1 else EvaluationResults(results=told)

    def _case(self, run: Run, example: Example | None) -> Case:
        output = read_run(run, self._reader, self._selection, self._documents_key)
        inputs = (example.inputs if example is not None else None) or run.inputs
        outputs = (example.outputs if example is not None else None) or {}
        fields = example_fields(outputs, self._reference_key, self.scorer, self._reader)
        return Case(
            output.retrieval or Retrieval(unseen="the run says nothing of one"),
            question(inputs, self._input_key),
            {**fields, "response": output.response},
        )


def _reason(error: Exception) -> str:
    """Return why a run cannot be scored: input errors speak for themselves, others are named."""
    return str(error) if isinstance(error, InputError) else brief(error)
