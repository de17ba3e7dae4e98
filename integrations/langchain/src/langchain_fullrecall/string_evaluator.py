"""Recall as one of LangChain's string evaluators, and as a LangSmith evaluator at once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

from langchain_classic.evaluation.schema import StringEvaluator
from langchain_core.runnables import RunnableConfig

from fullrecall import ParameterError, Scorer
from fullrecall.identifiers import shown
from langchain_fullrecall.documents import DocumentLike
from langchain_fullrecall.feedback import comment, evaluator_info
from langchain_fullrecall.measurement import Asking, Case, Measured, ameasure, measure
from langchain_fullrecall.outputs import answer, question, read_output
from langchain_fullrecall.references import reference_fields
from langchain_fullrecall.retrieval import Retrieval
from langchain_fullrecall.run_evaluator import RecallRunEvaluator

if TYPE_CHECKING:
    from langchain_core.callbacks import Callbacks


class RecallStringEvaluator(RecallRunEvaluator, StringEvaluator):
    """Scores what a retriever or a chain returned against what it should have brought.

    It is called directly, by `evaluate_strings`; and it is handed to `langsmith.evaluate`,
    `RunEvalConfig` and whatever else takes a LangChain or a LangSmith evaluator. Everywhere it
    gives the same score. Its parameters are those of `RecallRunEvaluator`.
    """

    @property
    def evaluation_name(self) -> str:
        """The score's name, with its cut-off."""
        return self.scorer.method.label

    @property
    def requires_reference(self) -> bool:
        """Whether it is to be handed a reference: yes. Without one it gives no score."""
        return True

    @property
    def requires_input(self) -> bool:
        """Whether it is to be handed the question: yes. It does without, unless it retrieves."""
        return True

    def evaluate_strings(
        self,
        *,
        prediction: object = None,
        reference: object = None,
        input: object = None,  # noqa: A002 - LangChain's name
        retrieved_documents: Iterable[DocumentLike] | None = None,
        k: int | None = None,
        **kwargs: Any,
    ) -> dict[str, Any]:
        """Return the score of a prediction, as LangChain's evaluators do.

        - `prediction`: the documents that a retriever returned; the output of a chain that holds
          them; or an answer, together with `retrieved_documents`.
        - `reference`: what should have been retrieved, in the scorer's own form (IDs, texts, an
          answer), or a mapping with the names that `Sample` takes.
        - `input`: the question; a `retriever` is asked it where no documents are given.
        - `k`: the scorer's cut-off, for this call.
        - `kwargs`: `callbacks`, `tags` and `metadata` for the retriever.

        The dictionary has the score's `key`; `score`, None where there is none; `value`,
        "scored", "undefined" or "unscored"; `reasoning`; and the `Result` as `result`, which
        has the score at every other k (`result.at[3]`) and all other measures.

        Raises `InputError` for values that cannot be read, `ParameterError` for `k` below 1.
        """
        return self._evaluate_strings(
            prediction=prediction,
            reference=reference,
            input=input,
            retrieved_documents=retrieved_documents,
            k=k,
            **kwargs,
        )

    async def aevaluate_strings(
        self,
        *,
        prediction: object = None,
        reference: object = None,
        input: object = None,  # noqa: A002 - LangChain's name
        retrieved_documents: Iterable[DocumentLike] | None = None,
        k: int | None = None,
        **kwargs: Any,
    ) -> dict[str, Any]:
        """Return the same as `evaluate_strings`, without blocking."""
        return await self._aevaluate_strings(
            prediction=prediction,
            reference=reference,
            input=input,
            retrieved_documents=retrieved_documents,
            k=k,
            **kwargs,
        )

    def _check_evaluation_args(self, reference: object = None, input_: object = None) -> None:
        """Take both or neither: LangChain would warn of the one and raise for the other."""

    def _evaluate_strings(
        self,
        *,
        prediction: object = None,
        reference: object = None,
        input: object = None,  # noqa: A002 - LangChain's name
        retrieved_documents: Iterable[DocumentLike] | None = None,
        k: int | None = None,
        **kwargs: Any,
    ) -> dict[str, Any]:
        scorer = _cut_at(self.scorer, k)
        asking, in_chain = self._call(**kwargs)
        case = self._case_of_strings(prediction, reference, input, retrieved_documents, scorer)
        return _returned(measure(case, scorer, asking), in_chain=in_chain)

    async def _aevaluate_strings(
        self,
        *,
        prediction: object = None,
        reference: object = None,
        input: object = None,  # noqa: A002 - LangChain's name
        retrieved_documents: Iterable[DocumentLike] | None = None,
        k: int | None = None,
        **kwargs: Any,
    ) -> dict[str, Any]:
        scorer = _cut_at(self.scorer, k)
        asking, in_chain = self._call(**kwargs)
        case = self._case_of_strings(prediction, reference, input, retrieved_documents, scorer)
        return _returned(await ameasure(case, scorer, asking), in_chain=in_chain)

    def _call(
        self,
        *,
        callbacks: Callbacks = None,
        tags: list[str] | None = None,
        metadata: dict[str, Any] | None = None,
        include_run_info: bool = False,
    ) -> tuple[Asking | None, bool]:
        """Return how the retriever is asked in this call, and whether LangChain's chain calls.

        Any other argument is a `TypeError`: a mistyped `retrieved_documents` must not pass.
        """
        config = RunnableConfig(callbacks=callbacks, tags=tags or [], metadata=metadata or {})
        asking = None if self._asking is None else self._asking._replace(config=config)
        return asking, include_run_info

    def _case_of_strings(
        self,
        prediction: object,
        reference: object,
        given: object,
        documents: Iterable[DocumentLike] | None,
        scorer: Scorer,
    ) -> Case:
        if documents is None:
            output = read_output(prediction, self._reader, self._documents_key)
            if output.items is not None:
                retrieval = Retrieval(self._reader.contexts(output.items))
            else:
                retrieval = output.retrieval or Retrieval(unseen=_no_documents(prediction))
        else:
            retrieval = Retrieval(self._reader.contexts(documents))
        fields = reference_fields(reference, scorer, self._reader)
        return Case(
            retrieval,
            question(given, self._input_key),
            {**fields, "response": answer(prediction)},
        )


def _cut_at(scorer: Scorer, k: int | None) -> Scorer:
    if k is None:
        return scorer
    try:
        cut: Scorer = replace(cast("Any", scorer), k=k)
    except TypeError:  # no dataclass, or one without a k
        raise ParameterError(f"k={k!r} is given, but {scorer.method.name} has no k") from None
    return cut


def _no_documents(prediction: object) -> str:
    if isinstance(prediction, Mapping):
        held = f"holds {', '.join(map(repr, prediction))}" if prediction else "is empty"
        what = f"the prediction {held}: documents_key= names the key of the documents"
    else:
        what = f"the prediction is {shown(prediction)}"
    return f"{what}; retrieved_documents= takes the documents themselves"


def _returned(measured: Measured, *, in_chain: bool) -> dict[str, Any]:
    result = measured.result
    if in_chain:
        # LangChain's own chain makes an EvaluationResult of whatever is returned to it, with its
        # own key and comment: "reasoning", or any key that is no field, would cost the score.
        return {"score": result.score, "evaluator_info": evaluator_info(measured)}
    return {
        "key": result.method.label,
        "score": result.score,
        "value": str(result.status),
        "reasoning": comment(measured),
        "result": result,
    }
