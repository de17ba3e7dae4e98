"""Recall as a LangSmith evaluator, a LangChain string evaluator, and a plain function."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import copy
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from langchain_core.runnables import RunnableConfig
from langchain_core.runnables.config import set_config_context
from langsmith import trace
from langsmith.evaluation.evaluator import EvaluationResult, EvaluationResults, RunEvaluator

from fullrecall import Retrieval, Sample
from fullrecall.errors import InputError, ParameterError
from fullrecall.measures import Measure
from fullrecall.observe import ROOT, ToolDocuments, brief
from fullrecall.observe.messages import answer_of, question_of, turn_of
from fullrecall.run.alone import SingleScoring
from fullrecall.run.evaluate import CorpusLike
from fullrecall.run.retrievers import RetrieverLike, as_retriever
from fullrecall.samples import Retriever
from fullrecall.samples.retrieval import FailedCalls, View
from fullrecall.scorers import Method, Result, Scorer
from langchain_fullrecall.documents import DocumentIdKey, DocumentLike
from langchain_fullrecall.feedback import comment, evaluator_info
from langchain_fullrecall.live import live_run, watch
from langchain_fullrecall.measurement import Measured, ObservedSample, ameasure, measure
from langchain_fullrecall.outputs import checked_key, held, separate_lists, unwrapped
from langchain_fullrecall.record import LangChainReading, Level
from langchain_fullrecall.recorder import LangChainRecorder, conversation
from langchain_fullrecall.references import example_fields, reference_fields
from langchain_fullrecall.retriever import (
    LangChainObservable,
    ObservedLangChainRetriever,
    runnable_of,
)
from langchain_fullrecall.selfcheck import broken
from langchain_fullrecall.stored import StoredRun, unseen_in
from langchain_fullrecall.summary import RecallSummary

if TYPE_CHECKING:
    from uuid import UUID

    from langchain_core.callbacks import Callbacks
    from langsmith.schemas import Example, Run


class RecallStringEvaluator(RunEvaluator):
    """Score the contexts retrieved by a retriever, a chain or an agent against a reference.

        RecallStringEvaluator(IdRecall(), Recall @ 5, nDCG @ 10, id_key="source")

    One object serves every place: `langsmith.evaluate(…, evaluators=[evaluator])`, LangChain's
    `RunEvalConfig`, `evaluate_strings`, and a plain function of `inputs`, `outputs` and
    `reference_outputs`. All give the same score. `langchain_fullrecall.classic` has a subclass of
    this class that is also a `StringEvaluator` of `langchain-classic`.

    - `scorer`: any fullrecall scorer. `measures`: the measures to report, each as a feedback of
      its own: "id_recall@5", "id_recall.ndcg@10". Default: the scorer's headline measure.
    - `documents_key`: the key of the outputs that holds the documents. Default: the usual names,
      then the traced retriever and tool runs, then an agent's messages.
    - `reference_key`: the key of the example's outputs that holds the reference. Default: the
      names that `Sample` takes. `input_key`: the key of the inputs that holds the question.
    - `retriever`: a `Retriever`, or anything that `observed` takes, to ask the question if the run
      shows no retrieval.
    - `keep`: whether LangSmith keeps the sample and its findings beside the score, so that
      `report_of` need not score again. The sample and the findings hold the retrieved texts.
    - `view`: which list of a run's record is scored: "contexts", the final one; "retrieved", which
      includes contexts that a later step dropped; or "read", the contexts in the model's prompt.
    - `corpus`: the corpus that the retriever searches, as for `fullrecall.evaluate`: a sample
      whose reference is out of date in this corpus is unscored.
    - `id_key`, `collapse`, `which`, `name`, `failed_calls`, `other_tools`,
      `tool_documents`: those of `observed`. A
      `which`, `name` or `view` other than the default is part of the key:
      "id_recall[bm25]@5".

    A run that cannot be measured has no score, and a comment that says why. One evaluator may
    serve many threads; it pickles if its scorer does. Raises `ParameterError`, naming the
    parameter, for values out of range.
    """

    requires_reference = True  # Without a reference there is no score.
    requires_input = True  # The question is only needed if there is a `retriever` to ask.

    def __init__(
        self,
        scorer: Scorer | None = None,
        /,
        *measures: Measure,
        documents_key: str | None = None,
        reference_key: str | None = None,
        input_key: str | None = None,
        retriever: LangChainObservable | RetrieverLike | None = None,
        keep: bool = True,
        view: View = "contexts",
        corpus: CorpusLike | None = None,
        id_key: DocumentIdKey = None,
        collapse: bool = False,
        which: Level = "outermost",
        name: str | Sequence[str] = (),
        failed_calls: FailedCalls = "unscored",
        other_tools: Collection[str] = (),
        tool_documents: ToolDocuments = None,
    ) -> None:
        self._scoring = SingleScoring.of(scorer, measures, view, corpus)
        self.scorer, self.measures = self._scoring.scorer, self._scoring.measures
        self._reading = LangChainReading(
            id_key=id_key,
            collapse=collapse,
            which=which,
            name=name,
            failed_calls=failed_calls,
            other_tools=other_tools,
            tool_documents=tool_documents,
            documents_key=documents_key,
        )
        self._reference_key = reference_key
        self._input_key = input_key
        self._keep = keep
        if retriever is not None and not isinstance(retriever, Retriever):
            # `documents_key` is for the target's outputs; the retriever's may have other keys.
            reading = replace(self._reading, documents_key=None)
            retriever = ObservedLangChainRetriever(runnable_of(retriever), reading)
        self._retriever = None if retriever is None else as_retriever(retriever)
        self._summary: RecallSummary | None = None
        watch(self)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(map(repr, (self.scorer, *self.measures)))})"

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_summary": None}  # The summary's memory belongs to this process.

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        watch(self)

    @property
    def feedback_keys(self) -> list[str]:
        """The keys of the feedback that this evaluator gives, one for each measure."""
        return [*self._keys]

    @property
    def _keys(self) -> dict[str, Measure]:
        return {self.method.label(each): each for each in self.measures}

    @property
    def method(self) -> Method:
        """The method of the scorer, with the selected calls and the view in its name."""
        method, calls, view = self.scorer.method, self._reading.label, self._scoring.view
        label = ",".join(filter(None, (calls, "" if view == "contexts" else view)))
        return replace(method, name=f"{method.name}[{label}]") if label else method

    @property
    def evaluation_name(self) -> str:
        """The first of the feedback keys."""
        return self.feedback_keys[0]

    def each(self) -> list[RecallStringEvaluator]:
        """Return one evaluator for each measure, for `evaluators` in `evaluate_comparative`."""
        evaluators = [copy(self) for _ in self.measures]
        for evaluator, single in zip(evaluators, self.measures, strict=True):
            evaluator.measures = (single,)
        return evaluators

    @property
    def summary(self) -> RecallSummary:
        """The summary evaluator of this evaluator's scores; see `RecallSummary`.

        `evaluate(target, …, evaluators=[evaluator], summary_evaluators=[evaluator.summary])`.
        From its first use on, the evaluator keeps every run's result for it.
        """
        if self._summary is None:
            self._summary = RecallSummary(self.measure_run, self._keys)
        return self._summary

    def evaluate_run(
        self, run: Run, example: Example | None = None, evaluator_run_id: UUID | None = None
    ) -> EvaluationResult | EvaluationResults:
        """Return the feedback for a run. Never raises: the comment reports a failure."""
        with self._traced(run, evaluator_run_id) as source_run:
            measured = self.measure_run(run, example)
        return self._feedback(run, measured, source_run)

    async def aevaluate_run(
        self, run: Run, example: Example | None = None, evaluator_run_id: UUID | None = None
    ) -> EvaluationResult | EvaluationResults:
        """Return the feedback of `evaluate_run`, without blocking the event loop."""
        with self._traced(run, evaluator_run_id) as source_run:
            case = self._read(self._case_of, run, example)
            measured = self._named(await ameasure(case, self._scoring, self._retriever))
        return self._feedback(run, measured, source_run)

    @contextmanager
    def _traced(self, run: Run, run_id: UUID | None) -> Iterator[UUID | None]:
        """Trace a block as the run of this evaluator, with a judge's calls below it.

        Scorers without a judge make no requests, so they need no trace. Yields the ID of the run,
        or None without a trace.
        """
        if getattr(self.scorer, "judge", None) is None or run_id is None:
            yield None
            return
        name, inputs = self.evaluation_name, {"run": str(run.id)}
        with trace(name, run_id=run_id, inputs=inputs, project_name="evaluators"):
            yield run_id

    def measure_run(self, run: Run, example: Example | None) -> Measured:
        """Return a run's sample and result, with a hint about its IDs. Never raises."""
        case = self._read(self._case_of, run, example)
        return self._named(measure(case, self._scoring, self._retriever))

    def _read(self, read: Callable[..., ObservedSample], *given: Any) -> ObservedSample:
        """Return the sample that `read` returns, or a sample with the reason why it failed."""
        try:
            return read(*given)
        except Exception as error:  # noqa: BLE001 - LangSmith drops the row if it raises
            problem = str(error) if isinstance(error, InputError) else brief(error)
            return ObservedSample(Sample(), problem=problem)

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
        """Return the score of `outputs` for `inputs` and `reference_outputs`.

        Evaluators of openevals, pytest and LangSmith are called in this form. The score is a
        mapping with `key`, `score` and `comment`, or a list of them for several measures.
        `evaluate_comparative` calls the evaluator with `(runs, example)`, to compare the runs by
        one measure. If the evaluator has several measures, pass `evaluators=evaluator.each()`.
        """
        if runs is not None:
            return self._compared(runs, example)
        case = self._read(self._case_of_outputs, inputs, outputs, reference_outputs)
        measured = measure(case, self._scoring, self._retriever)
        scores = [
            {"key": key, "score": measured.result[each], "comment": comment(measured, each)}
            for key, each in self._keys.items()
        ]
        return scores[0] if len(scores) == 1 else scores

    def evaluate_strings(
        self,
        *,
        prediction: object = None,
        reference: object = None,
        input: object = None,  # noqa: A002 - LangChain's name
        retrieved_documents: Iterable[DocumentLike] | None = None,
        callbacks: Callbacks = None,
        tags: list[str] | None = None,
        metadata: dict[str, Any] | None = None,
        include_run_info: bool = False,
    ) -> dict[str, Any]:
        """Return the score of a prediction, as LangChain's evaluators do.

        - `prediction`: the documents that a retriever returned; the output of a chain or an agent
          that holds them; or an answer, together with `retrieved_documents`.
        - `reference`: the reference in the scorer's own form (IDs, texts, an answer), or a mapping
          with the names that `Sample` takes.
        - `input`: the question. Without documents, the `retriever`, if any, is asked this question,
          with the `callbacks`, `tags` and `metadata`.
        - `include_run_info`: LangChain's own evaluation chain sets it; the dictionary then has only
          the keys that this chain reads.

        The dictionary has these items: the `key` and the `score` of the first measure (None without
        a score); `value`, the status, such as "scored" or "unscored"; `reasoning`; `scores`, by
        key; and `result`, the `Result`, which gives every other measure.

        Raises `InputError` for values that cannot be read.
        """
        retriever, config = self._call(callbacks, tags, metadata)
        case = self._case_of_strings(prediction, reference, input, retrieved_documents)
        with set_config_context(config) as context:
            measured = context.run(measure, case, self._scoring, retriever)
        return self._returned(measured, in_chain=include_run_info)

    async def aevaluate_strings(
        self,
        *,
        prediction: object = None,
        reference: object = None,
        input: object = None,  # noqa: A002 - LangChain's name
        retrieved_documents: Iterable[DocumentLike] | None = None,
        callbacks: Callbacks = None,
        tags: list[str] | None = None,
        metadata: dict[str, Any] | None = None,
        include_run_info: bool = False,
    ) -> dict[str, Any]:
        """Return the dictionary of `evaluate_strings`, without blocking the event loop."""
        retriever, config = self._call(callbacks, tags, metadata)
        case = self._case_of_strings(prediction, reference, input, retrieved_documents)
        with set_config_context(config) as context:
            measuring = ameasure(case, self._scoring, retriever)
            measured = await asyncio.create_task(measuring, context=context)
        return self._returned(measured, in_chain=include_run_info)

    def _call(
        self, callbacks: Callbacks, tags: list[str] | None, metadata: dict[str, Any] | None
    ) -> tuple[Retriever | None, RunnableConfig]:
        """Return the retriever for this call, and the config with which scorers run."""
        retriever = self._retriever
        config = RunnableConfig(callbacks=callbacks, tags=tags or [], metadata=metadata or {})
        if isinstance(retriever, ObservedLangChainRetriever):
            retriever = retriever.with_config(config)
        return retriever, config

    def _named(self, measured: Measured) -> Measured:
        return measured._replace(result=replace(measured.result, method=self.method))

    def _feedback(
        self, run: Run, measured: Measured, source_run: UUID | None
    ) -> EvaluationResult | EvaluationResults:
        if self._summary is not None:
            self._summary.remember(run.id, measured)
        results = [
            # Without a score, `value` is empty too: LangSmith's tables would show a text in `value`
            # instead of the score, and would not average its column.
            EvaluationResult(
                key=key,
                score=measured.result[each],
                comment=comment(measured, each),
                evaluator_info=evaluator_info(measured, whole=self._keep and position == 0),
                source_run_id=source_run,
            )
            for position, (key, each) in enumerate(self._keys.items())
        ]
        return results[0] if len(results) == 1 else EvaluationResults(results=results)

    def _compared(self, runs: Sequence[Run], example: Example | None) -> dict[str, Any]:
        if len(self.measures) > 1:
            raise ParameterError(
                "a comparison takes one measure: pass evaluators=evaluator.each(), which gives "
                "one evaluator for each"
            )
        measured = {run.id: self.measure_run(run, example) for run in runs}
        first = self.measures[0]
        return {
            "key": self.evaluation_name,
            "scores": {run_id: each.result[first] for run_id, each in measured.items()},
            "comment": {str(run_id): comment(each, first) for run_id, each in measured.items()},
        }

    def _returned(self, measured: Measured, *, in_chain: bool) -> dict[str, Any]:
        measured = self._named(measured)
        result: Result = measured.result
        first = self.measures[0]
        if in_chain:
            # LangChain's own chain passes every key to an EvaluationResult, with its own key and
            # comment. Any other key than its fields, such as "reasoning", would lose the score.
            return {"score": result[first], "evaluator_info": evaluator_info(measured)}
        return {
            "key": self.evaluation_name,
            "score": result[first],
            "value": str(result.status),
            "reasoning": comment(measured, first),
            "scores": {key: result[each] for key, each in self._keys.items()},
            "result": result,
        }

    def _case_of(self, run: Run, example: Example | None) -> ObservedSample:
        """Return a run as a sample; the retrieval is read from its recorded steps or its trace."""
        outputs = (example.outputs if example is not None else None) or {}
        inputs = (example.inputs if example is not None else None) or run.inputs
        fields = example_fields(outputs, self._reference_key, self.scorer, self._reading)
        output = unwrapped(run.outputs or {})
        if not run.error:
            whole = output if isinstance(output, Mapping) else run.outputs
            checked_key(whole, self._reading.documents_key)
        recorded = live_run(run) or StoredRun(run)
        unseen = unseen_in(run)
        query = question_of(inputs, self._input_key)
        retrieval = self._reading.retrieval(
            recorded.steps,
            output,
            root=recorded.root,
            question=query,
            response=answer_of(run.outputs or {}),
            partial=recorded.partial or broken(),
            unseen=unseen,
        )
        return self._case(retrieval, _turned(query, output), fields, unseen)

    def _case_of_output(
        self, output: object, query: str | None, fields: Mapping[str, Any]
    ) -> ObservedSample:
        """Return an output as a sample, without any record of its run."""
        unseen = (
            f"no documents are known: {held(output)}; return them, pass documents_key=, or "
            "retrieved_documents="
        )
        recorder = LangChainRecorder()
        recorder.log.begin_call(None)
        output = unwrapped(output)
        turn = turn_of(output, query)
        if turn is None:
            separate_lists(output, recorder.log)
            recorder.log.end_call(output)
        else:
            conversation(turn.messages, recorder.log)
            recorder.log.end_call(turn.answer)
        retrieval = self._reading.retrieval(
            recorder.log.steps,
            output,
            root=ROOT,
            response=answer_of(output),
            partial=turn and turn.partial,
            unseen=unseen,
        )
        return self._case(retrieval, _turned(query, output), fields, unseen)

    def _case(
        self,
        retrieval: Retrieval,
        query: str | None,
        fields: Mapping[str, Any],
        unseen: str | None = None,
    ) -> ObservedSample:
        """Return a retrieval as a sample.

        `unseen` is the error of a record in which no retrieval was observed. If the record has this
        error, a retriever may be asked instead.
        """
        sample = Sample(user_input=query, **fields).with_retrieval(retrieval)
        nothing = retrieval.contexts is None and not retrieval.calls and retrieval.error == unseen
        return ObservedSample(sample, unseen if nothing else None)

    def _case_of_strings(
        self, prediction: object, reference: object, inputs: object, documents: Any
    ) -> ObservedSample:
        fields = reference_fields(reference, self.scorer, self._reading)
        query = question_of(inputs, self._input_key)
        if documents is not None:
            retrieval = Retrieval(self._reading.contexts(documents), response=answer_of(prediction))
            return self._case(retrieval, query, fields)
        checked_key(prediction, self._reading.documents_key)
        return self._case_of_output(prediction, query, fields)

    def _case_of_outputs(self, inputs: Any, outputs: Any, references: Any) -> ObservedSample:
        if isinstance(references, Mapping):
            fields = example_fields(references, self._reference_key, self.scorer, self._reading)
        else:
            fields = reference_fields(references, self.scorer, self._reading)
        return self._case_of_output(outputs, question_of(inputs, self._input_key), fields)


def _turned(query: str | None, output: object) -> str | None:
    """Return `query`; if it is None, return the question of the last turn in an agent's output."""
    turn = turn_of(output) if query is None else None
    return query if turn is None else turn.question
