"""Record the results of LangChain's retrievers and tools within a block of code."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager

from fullrecall import Retrieval, Sample
from fullrecall._util.variables import set_within
from fullrecall.observe import ToolDocuments
from fullrecall.observe.captured import Captured
from fullrecall.observe.turns import of_question
from fullrecall.samples.retrieval import FailedCalls
from langchain_fullrecall.documents import DocumentIdKey
from langchain_fullrecall.record import LangChainReading, Level
from langchain_fullrecall.recorder import LangChainRecorder, capturing
from langchain_fullrecall.selfcheck import broken


class LangChainCapture(Captured):
    """The calls recorded in a block, which may still be running. Thread-safe.

    If the runs of the block had different questions, as with `batch`, a sample gets the runs that
    asked its `user_input`, and earlier runs whose answers or documents those runs used.
    """

    def __init__(self, reading: LangChainReading, recorder: LangChainRecorder) -> None:
        self._reading = reading
        self._recorder = recorder

    def retrieval(self, question: str | None = None) -> Retrieval:
        """Return the record of the block; with a question, only of the runs that asked it.

        Earlier runs whose answers or documents those runs used are included. If no run asked the
        question, the record is of all runs.

        A block without a retriever call gives a record with an `error`. Raises `InputError` for
        documents that cannot be read.
        """
        recorder = self._recorder
        steps = of_question(recorder.log.steps, question)
        present = {step.id for step in steps}
        errors = [step.error for step in steps if step.error and step.parent not in present]
        responses = [text for run, text in recorder.answered.items() if run in present]
        return self._reading.retrieval(
            steps,
            question=question,
            response=responses[-1] if len(responses) == 1 else None,
            partial=recorder.partial or broken(),
            unseen=f"the run failed: {errors[0]}" if errors else "no retriever was called",
        )

    def _retrieval_for(self, sample: Sample) -> Retrieval:
        return self.retrieval(sample.user_input)


@contextmanager
def capture_retrievals(
    *,
    id_key: DocumentIdKey = None,
    collapse: bool = False,
    which: Level = "outermost",
    name: str | Sequence[str] = (),
    failed_calls: FailedCalls = "unscored",
    other_tools: Collection[str] = (),
    tool_documents: ToolDocuments = None,
) -> Iterator[LangChainCapture]:
    """Record the results of LangChain's retrievers and tools within the block, at any depth.

        with capture_retrievals() as seen:
            answer = chain.invoke(question)
        sample = seen.sample(user_input=question, reference_context_ids=["d1"])

    Works with `invoke`, `ainvoke`, `batch`, streams that are read within the block, tools that
    return documents as their artifact, and graphs, with tracing on or off. Blocks in concurrent
    tasks and threads each see their own calls; a block within a block sees its own, and the outer
    one sees both. A thread that the application starts is recorded only if it is passed the
    block's context: LangChain and `asyncio.to_thread` pass it, a plain `ThreadPoolExecutor` does
    not (`executor.submit(contextvars.copy_context().run, search, question)` does).

    Only LangChain's retrievers and tools are recorded: not a bare `vectorstore.similarity_search`,
    nor a function under `@traceable(run_type="retriever")`. The options are those of `observed`.
    """
    reading = LangChainReading(
        id_key=id_key,
        collapse=collapse,
        which=which,
        name=name,
        failed_calls=failed_calls,
        other_tools=other_tools,
        tool_documents=tool_documents,
    )
    recorder = LangChainRecorder(outer=capturing.get())
    with set_within(capturing, recorder):
        yield LangChainCapture(reading, recorder)
