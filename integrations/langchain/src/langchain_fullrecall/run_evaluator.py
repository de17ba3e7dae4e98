"""Recall as a LangSmith evaluator, for `langsmith.evaluate` and whatever else takes one."""

from __future__ import annotations

from typing import TYPE_CHECKING, get_args

from langsmith.evaluation.evaluator import EvaluationResult, RunEvaluator

from fullrecall import IdRecall, InputError, ParameterError, Scorer
from fullrecall.evaluation.run import check_scorers
from langchain_fullrecall.documents import DocumentReader, IdKey
from langchain_fullrecall.feedback import feedback
from langchain_fullrecall.measurement import Asking, Case, ameasure, measure, unscored
from langchain_fullrecall.outputs import question
from langchain_fullrecall.references import example_fields
from langchain_fullrecall.retrieval import Retrieval, brief
from langchain_fullrecall.retrievers import RetrieverLike, as_retriever
from langchain_fullrecall.runs import Which, read_run

if TYPE_CHECKING:
    from uuid import UUID

    from langsmith.schemas import Example, Run


class RecallRunEvaluator(RunEvaluator):
    """Scores a run by what was retrieved in it and what its example says should have been.

    - `scorer`: any fullrecall scorer; its label ("id_recall@5") is the feedback's key.
    - `id_key`, `source_key`: where a document's ID and place stand, as `contexts` takes them.
    - `documents_key`: the key of the run's outputs that holds the documents. Without it they are
      looked for under the usual names, then in the retriever runs that were traced.
    - `which`: of nested retriever runs the "outermost", whose documents are merged or reranked;
      or the "innermost", which then come before the run's outputs.
    - `reference_key`: the key of the example's outputs that holds the reference. Without it
      references are found by the names that `Sample` takes.
    - `input_key`: the key of the inputs that holds the question.
    - `retriever`: is asked the question where the run shows no retrieval.

    A run that cannot be measured has no score, and a comment that says why. An evaluator keeps
    nothing between runs, and one may serve many threads. Raises `ParameterError`, naming the
    parameter, for values out of range.
    """

    def __init__(
        self,
        scorer: Scorer | None = None,
        *,
        id_key: IdKey = None,
        source_key: str | None = None,
        documents_key: str | None = None,
        which: Which = "outermost",
        reference_key: str | None = None,
        input_key: str | None = None,
        retriever: RetrieverLike | None = None,
    ) -> None:
        if which not in get_args(Which):
            raise ParameterError(f'which is "outermost" or "innermost", got {which!r}')
        (self.scorer,) = check_scorers([IdRecall() if scorer is None else scorer])
        self._reader = DocumentReader(id_key, source_key)
        self._documents_key = documents_key
        self._which: Which = which
        self._reference_key = reference_key
        self._input_key = input_key
        self._asking = None if retriever is None else Asking(as_retriever(retriever), self._reader)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.scorer!r})"

    @property
    def feedback_keys(self) -> list[str]:
        """The keys of the feedback that this evaluator gives."""
        return [self.scorer.method.label]

    def evaluate_run(
        self,
        run: Run,
        example: Example | None = None,
        evaluator_run_id: UUID | None = None,  # noqa: ARG002 - LangSmith passes it
    ) -> EvaluationResult:
        """Return the feedback for a run. Raises nothing: what fails is said in the comment."""
        try:
            measured = measure(self._case(run, example), self.scorer, self._asking)
        except Exception as error:  # noqa: BLE001 - LangSmith drops the row of what raises
            measured = unscored(self.scorer, _reason(error))
        return feedback(*measured)

    async def aevaluate_run(
        self,
        run: Run,
        example: Example | None = None,
        evaluator_run_id: UUID | None = None,  # noqa: ARG002 - LangSmith passes it
    ) -> EvaluationResult:
        """Return the same as `evaluate_run`, without blocking."""
        try:
            measured = await ameasure(self._case(run, example), self.scorer, self._asking)
        except Exception as error:  # noqa: BLE001 - LangSmith drops the row of what raises
            measured = unscored(self.scorer, _reason(error))
        return feedback(*measured)

    def _case(self, run: Run, example: Example | None) -> Case:
        output = read_run(run, self._reader, self._which, self._documents_key)
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
