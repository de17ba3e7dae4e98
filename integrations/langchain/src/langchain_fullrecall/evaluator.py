"""Recall as an evaluator: LangSmith's, one of LangChain's string evaluators, and a function."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from threading import Lock
from typing import TYPE_CHECKING, Any, Unpack

from langchain_core.runnables import RunnableConfig
from langsmith.evaluation.evaluator import EvaluationResult, EvaluationResults, RunEvaluator

from fullrecall import IdRecall, Retrieval, Sample
from fullrecall.errors import ParameterError
from fullrecall.evaluation.run import check_scorers
from fullrecall.measures import Measure
from fullrecall.result import Method, Result
from fullrecall.retrieval import Retriever
from fullrecall.run.retrievers import RetrieverLike, as_retriever
from fullrecall.scorers import Scorer
from langchain_fullrecall.documents import DocumentLike
from langchain_fullrecall.feedback import comment, evaluator_info, feedback
from langchain_fullrecall.measurement import Case, Measured, ameasure, measure, unscored
from langchain_fullrecall.messages import turn_of
from langchain_fullrecall.options import Options, reading_of
from langchain_fullrecall.outputs import Output, answer, question, read_output
from langchain_fullrecall.record import reason, retrieval_of
from langchain_fullrecall.recorder import watch
from langchain_fullrecall.references import example_fields, reference_fields
from langchain_fullrecall.retriever import Observable, ObservedRetriever, observed
from langchain_fullrecall.summary import RecallSummary
from langchain_fullrecall.traces import node_of, unseen_in
from langchain_fullrecall.tree import Node

if TYPE_CHECKING:
    from uuid import UUID

    from langchain_core.callbacks import Callbacks
    from langsmith.schemas import Example, Run

_making = Lock()  # not one for each evaluator: an evaluator with a lock could not be pickled
_CLASSIC = "langchain_classic.evaluation.schema"


class RecallStringEvaluator(RunEvaluator):
    """Scores what a retriever, a chain or an agent retrieved against what it should have.

        RecallStringEvaluator(IdRecall(), Recall @ 5, nDCG @ 10, id_key="source")

    One object for every place: `langsmith.evaluate(…, evaluators=[evaluator])`, LangChain's
    `RunEvalConfig`, `evaluate_strings`, and a plain function of `inputs`, `outputs` and
    `reference_outputs`. Everywhere it gives the same score.

    - `scorer`: any fullrecall scorer. `measures`: what to report of its findings, each with a
      feedback of its own: "id_recall@5", "id_recall.ndcg@10". Default: recall over all that was
      retrieved.
    - `documents_key`: the key of the outputs that holds the documents. Default: the usual names,
      then the retriever and tool runs that were traced, then an agent's messages.
    - `reference_key`: the key of the example's outputs that holds the reference. Default: the
      names that `Sample` takes. `input_key`: the key of the inputs that holds the question.
    - `retriever`: is asked the question where the run shows no retrieval: what `observed` takes,
      or a `Retriever`.
    - `keep`: whether LangSmith keeps the sample and its findings beside the score, so that
      `report_of` needs to score nothing anew. They hold the texts that were retrieved.
    - `options`: `id_key`, `source_key`, `collapse`, `which`, `failed_calls`, as `observed` takes
      them. A `which` other than "outermost" is part of the key: "id_recall[bm25]@5".

    A run that cannot be measured has no score, and a comment that says why. One evaluator may
    serve many threads; it pickles if its scorer does. Raises `ParameterError`, naming the
    parameter, for values out of range.
    """

    def __init__(
        self,
        scorer: Scorer | None = None,
        /,
        *measures: Measure,
        documents_key: str | None = None,
        reference_key: str | None = None,
        input_key: str | None = None,
        retriever: Observable | RetrieverLike | None = None,
        keep: bool = True,
        **options: Unpack[Options],
    ) -> None:
        (self.scorer,) = check_scorers([IdRecall() if scorer is None else scorer])
        for given in measures:
            if not isinstance(given, Measure):
                raise ParameterError(f"expected a measure such as Recall @ 5, got {given!r}")
        self.measures = measures or (self.scorer.method.headline,)
        self._reading = reading_of(documents_key=documents_key, **options)
        self._reference_key = reference_key
        self._input_key = input_key
        self._keep = keep
        self._retriever = None if retriever is None else _retriever(retriever, options)
        self._summary: RecallSummary | None = None
        watch()
        if _CLASSIC in sys.modules:  # it takes two seconds to load: only where it is in use
            sys.modules[_CLASSIC].StringEvaluator.register(type(self))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(map(repr, (self.scorer, *self.measures)))})"

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_summary": None}  # what it remembers is this process's

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        watch()

    @property
    def feedback_keys(self) -> list[str]:
        """The keys of the feedback that this evaluator gives, one for each measure."""
        return [self.method.label(each) for each in self.measures]

    @property
    def method(self) -> Method:
        """How this evaluator scores: as its scorer does, by the name of what it looks at."""
        method, view = self.scorer.method, self._reading.selection.label
        return replace(method, name=f"{method.name}[{view}]") if view else method

    @property
    def evaluation_name(self) -> str:
        """The first of the keys."""
        return self.feedback_keys[0]

    @property
    def requires_reference(self) -> bool:
        """Whether it is to be passed a reference: yes. Without one it gives no score."""
        return True

    @property
    def requires_input(self) -> bool:
        """Whether it is to be passed the question: yes. It does without, unless it retrieves."""
        return True

    @property
    def summary(self) -> RecallSummary:
        """The summary evaluator of this evaluator's scores; see `RecallSummary`.

        `evaluate(target, …, evaluators=[evaluator], summary_evaluators=[evaluator.summary])`.
        From when it is first asked for, the evaluator keeps every run's result for it.
        """
        with _making:
            if self._summary is None:
                self._summary = RecallSummary(self.measure_run, self.measures, self.feedback_keys)
            return self._summary

    def evaluate_run(
        self,
        run: Run,
        example: Example | None = None,
        evaluator_run_id: UUID | None = None,  # noqa: ARG002 - LangSmith passes it
    ) -> EvaluationResult | EvaluationResults:
        """Return the feedback for a run. Raises nothing: what fails is said in the comment."""
        return self._feedback(run, self.measure_run(run, example))

    async def aevaluate_run(
        self,
        run: Run,
        example: Example | None = None,
        evaluator_run_id: UUID | None = None,  # noqa: ARG002 - LangSmith passes it
    ) -> EvaluationResult | EvaluationResults:
        """Return the same as `evaluate_run`, without blocking."""
        try:
            measured = await ameasure(self._case_of(run, example), self.scorer, self._retriever)
        except Exception as error:  # noqa: BLE001 - LangSmith drops the row of what raises
            measured = unscored(self.scorer, reason(error))
        return self._feedback(run, self._named(measured))

    def measure_run(self, run: Run, example: Example | None) -> Measured:
        """Return what a run comes to, with all that explains it. Raises nothing."""
        try:
            measured = measure(self._case_of(run, example), self.scorer, self._retriever)
        except Exception as error:  # noqa: BLE001 - LangSmith drops the row of what raises
            measured = unscored(self.scorer, reason(error))
        return self._named(measured)

    def __call__(
        self,
        runs: Sequence[Run] | None = None,
        example: Example | None = None,
        *,
        inputs: Any = None,
        outputs: Any = None,
        reference_outputs: Any = None,
        **_others: Any,
    ) -> Any:
        """Return the score as a function: of `inputs`, `outputs` and `reference_outputs`.

        That is the form of openevals, of pytest and of LangSmith's own functions: one mapping
        with `key`, `score` and `comment`, or a list of them where there are several measures.
        `(runs, example)` compares runs, as `evaluate_comparative` asks: by the first measure.
        """
        if runs is not None:
            return self._compared(runs, example)
        measured = self._measure_outputs(inputs, outputs, reference_outputs)
        found = [
            {"key": key, "score": measured.result[each], "comment": comment(measured, each)}
            for key, each in zip(self.feedback_keys, self.measures, strict=True)
        ]
        return found[0] if len(found) == 1 else found

    def evaluate_strings(
        self,
        *,
        prediction: object = None,
        reference: object = None,
        input: object = None,  # noqa: A002 - LangChain's name
        retrieved_documents: Iterable[DocumentLike] | None = None,
        **kwargs: Any,
    ) -> dict[str, Any]:
        """Return the score of a prediction, as LangChain's evaluators do.

        - `prediction`: the documents that a retriever returned; the output of a chain or an agent
          that holds them; or an answer, together with `retrieved_documents`.
        - `reference`: what should have been retrieved, in the scorer's own form (IDs, texts, an
          answer), or a mapping with the names that `Sample` takes.
        - `input`: the question; a `retriever` is asked it where no documents are given, with the
          `callbacks`, `tags` and `metadata` among `kwargs`.

        The dictionary has the first measure's `key` and its `score`, None where there is none;
        `value`: "scored", "undefined" or "unscored"; `reasoning`; `scores` by key; and the
        `Result` as `result`, which every other measure can be asked of.

        Raises `InputError` for values that cannot be read.
        """
        retriever, in_chain = self._call(**kwargs)
        case = self._case_of_strings(prediction, reference, input, retrieved_documents)
        return self._returned(measure(case, self.scorer, retriever), in_chain=in_chain)

    async def aevaluate_strings(
        self,
        *,
        prediction: object = None,
        reference: object = None,
        input: object = None,  # noqa: A002 - LangChain's name
        retrieved_documents: Iterable[DocumentLike] | None = None,
        **kwargs: Any,
    ) -> dict[str, Any]:
        """Return the same as `evaluate_strings`, without blocking."""
        retriever, in_chain = self._call(**kwargs)
        case = self._case_of_strings(prediction, reference, input, retrieved_documents)
        measured = await ameasure(case, self.scorer, retriever)
        return self._returned(measured, in_chain=in_chain)

    def _call(
        self,
        *,
        callbacks: Callbacks = None,
        tags: list[str] | None = None,
        metadata: dict[str, Any] | None = None,
        include_run_info: bool = False,
    ) -> tuple[Retriever | None, bool]:
        """Return the retriever of this call, and whether LangChain's own chain calls.

        It alone passes `include_run_info`. Any other argument is a `TypeError`: a mistyped
        `retrieved_documents` must not pass.
        """
        retriever = self._retriever
        if isinstance(retriever, ObservedRetriever):
            config = RunnableConfig(callbacks=callbacks, tags=tags or [], metadata=metadata or {})
            retriever = retriever.with_config(config)
        return retriever, include_run_info

    def _named(self, measured: Measured) -> Measured:
        return measured._replace(result=replace(measured.result, method=self.method))

    def _feedback(self, run: Run, measured: Measured) -> EvaluationResult | EvaluationResults:
        if self._summary is not None:
            self._summary.remember(run.id, measured)
        pairs = zip(self.feedback_keys, self.measures, strict=True)
        found = [
            feedback(measured, key, each, whole=self._keep and place == 0)
            for place, (key, each) in enumerate(pairs)
        ]
        return found[0] if len(found) == 1 else EvaluationResults(results=found)

    def _compared(self, runs: Sequence[Run], example: Example | None) -> dict[str, Any]:
        measured = {run.id: self.measure_run(run, example) for run in runs}
        first = self.measures[0]
        return {
            "key": self.feedback_keys[0],
            "scores": {run_id: one.result[first] for run_id, one in measured.items()},
            "comment": {str(run_id): comment(one, first) for run_id, one in measured.items()},
        }

    def _returned(self, measured: Measured, *, in_chain: bool) -> dict[str, Any]:
        measured = self._named(measured)
        result: Result = measured.result
        first = self.measures[0]
        if in_chain:
            # LangChain's own chain makes an EvaluationResult of whatever is returned to it, with
            # its own key and comment: "reasoning", or any key that is no field, would cost the
            # score.
            return {"score": result[first], "evaluator_info": evaluator_info(measured)}
        pairs = zip(self.feedback_keys, self.measures, strict=True)
        return {
            "key": self.feedback_keys[0],
            "score": result[first],
            "value": str(result.status),
            "reasoning": comment(measured, first),
            "scores": {key: result[each] for key, each in pairs},
            "result": result,
        }

    def _case_of(self, run: Run, example: Example | None) -> Case:
        reading = self._reading
        node = node_of(run)
        output = read_output(run.outputs or {}, reading.reader, reading.documents_key)
        inputs = (example.inputs if example is not None else None) or run.inputs
        outputs = (example.outputs if example is not None else None) or {}
        fields = example_fields(outputs, self._reference_key, self.scorer, reading.reader)
        asked = question(inputs, self._input_key)
        return self._case([node], output, run.outputs, asked, fields, unseen_in(run))

    def _case(  # noqa: PLR0917 - what each of four callers has read
        self,
        roots: Sequence[Node],
        output: Output,
        outputs: object,
        asked: str | None,
        fields: Mapping[str, Any],
        unseen: str,
    ) -> Case:
        """Return what was retrieved and what should have been, as one sample."""
        state = outputs
        if isinstance(outputs, Mapping) and "messages" not in outputs:
            state = outputs.get("output", outputs)
        turn = turn_of(state)
        seen = retrieval_of(roots, output, self._reading, unseen)
        if turn is not None and not seen.retrieval.calls and turn.tools and seen.unseen is not None:
            seen = retrieval_of(turn.tools, output, self._reading, unseen)
        if asked is None and turn is not None:
            asked = turn.question
        retrieval = seen.retrieval
        if retrieval.response is None and turn is not None and turn.answer is not None:
            retrieval = _answered(retrieval, turn.answer)
        sample = Sample(user_input=asked, **fields).with_retrieval(retrieval)
        return Case(sample, None if retrieval.error is not None else seen.unseen)

    def _case_of_strings(
        self,
        prediction: object,
        reference: object,
        given: object,
        documents: Iterable[DocumentLike] | None,
    ) -> Case:
        reader = self._reading.reader
        fields = reference_fields(reference, self.scorer, reader)
        asked = question(given, self._input_key)
        if documents is not None:
            found = Retrieval(reader.contexts(documents), response=answer(prediction))
            return Case(Sample(user_input=asked, **fields).with_retrieval(found))
        turn = turn_of(prediction)
        if turn is None:
            output = read_output(prediction, reader, self._reading.documents_key)
            output = output._replace(is_empty=False)
        else:
            output = Output(response=turn.answer, problem="its messages hold no documents")
        unseen = f"{output.problem}; retrieved_documents= takes the documents themselves"
        output = output._replace(problem=None)
        return self._case([], output, prediction, asked, fields, unseen)

    def _measure_outputs(self, inputs: Any, outputs: Any, references: Any) -> Measured:
        try:
            reader = self._reading.reader
            given = references if isinstance(references, Mapping) else {"reference": references}
            if references is None:
                given = {}
            if isinstance(references, Mapping):
                fields = example_fields(given, self._reference_key, self.scorer, reader)
            else:
                fields = reference_fields(references, self.scorer, reader)
            output = read_output(outputs, reader, self._reading.documents_key)
            unseen = output.problem or "the outputs hold no documents"
            asked = question(inputs, self._input_key)
            case = self._case([], output._replace(problem=None), outputs, asked, fields, unseen)
            return measure(case, self.scorer, self._retriever)
        except Exception as error:  # noqa: BLE001 - what fails is said in the comment
            return unscored(self.scorer, reason(error))


def _answered(retrieval: Retrieval, answer: str) -> Retrieval:
    return Retrieval(
        retrieval.contexts,
        calls=retrieval.calls,
        ranks=retrieval.ranks,
        read=retrieval.read,
        error=retrieval.error,
        response=answer,
    )


def _retriever(given: Any, options: Options) -> Retriever:
    if isinstance(given, Retriever):
        return as_retriever(given)
    return observed(given, **options)
