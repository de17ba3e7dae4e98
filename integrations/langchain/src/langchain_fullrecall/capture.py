"""What LangChain's retrievers and tools return within a block of code."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any, Unpack

from fullrecall import Context, Retrieval, Sample
from langchain_fullrecall.options import Options, reading_of
from langchain_fullrecall.outputs import Output
from langchain_fullrecall.record import Reading, Seen, retrieval_of
from langchain_fullrecall.recorder import Recorder, capturing
from langchain_fullrecall.tree import Node

_UNSEEN = "no retriever was called"


class Capture:
    """What was seen in a block, which may go on still. Safe under threads."""

    def __init__(self, reading: Reading, recorder: Recorder) -> None:
        self._reading = reading
        self._recorder = recorder

    def retrieval(self, question: str | None = None) -> Retrieval:
        """Return the record of the block; of several questions, of the runs that were asked this.

        Where nothing was observed its `error` says so. Raises `InputError` for what cannot be
        read as documents.
        """
        seen = self._seen(question)
        if seen.unseen is None or seen.retrieval.error is not None:
            return seen.retrieval
        found = seen.retrieval
        return Retrieval(
            found.contexts, calls=found.calls, response=found.response, error=seen.unseen
        )

    def contexts(self) -> list[Context] | None:
        """Return what was retrieved: an empty list where that was nothing.

        None where no retriever was called or all calls failed: `sample` keeps the reason. Raises
        `InputError` for what cannot be read as documents.
        """
        contexts = self._seen(None).retrieval.contexts
        return None if contexts is None else list(contexts)

    def sample(self, sample: Sample | Mapping[str, Any] | None = None, /, **fields: Any) -> Sample:
        """Return a sample, or the one with these fields, with what was retrieved and answered.

        Where several runs of the block were asked different questions, as by `batch`, those that
        were asked the sample's `user_input` count. Raises `InputError` for what makes no sample.
        """
        given = sample.to_dict() if isinstance(sample, Sample) else dict(sample or {})
        made = Sample(**{**given, **fields})
        return made.with_retrieval(self.retrieval(made.user_input))

    def _seen(self, question: str | None) -> Seen:
        roots = self._recorder.roots
        asked = [root for root in roots if question is not None and root.query == question]
        chosen = asked or list(roots)
        responses = [root.response for root in chosen if root.response is not None]
        output = Output(response=responses[-1] if len(responses) == 1 else None)
        return retrieval_of(chosen, output, self._reading, _unseen(chosen))


def _unseen(roots: list[Node]) -> str:
    failed = [root.error for root in roots if root.error is not None]
    return f"the run failed: {failed[0]}" if failed else _UNSEEN


@contextmanager
def capture_retrievals(**options: Unpack[Options]) -> Iterator[Capture]:
    """Record what LangChain's retrievers and tools return within the block, however deep.

        with capture_retrievals() as seen:
            answer = chain.invoke(question)
        sample = seen.sample(user_input=question, reference_context_ids=["d1"])

    Works with `invoke`, `ainvoke`, `batch`, streams that are read within the block, tools that
    return documents as their artifact, and graphs, with tracing on or off. Blocks in concurrent
    tasks and threads each see their own calls; a block within a block sees its own, and the outer
    one sees both. Threads that the application starts see the block only where they are passed
    its context: LangChain's own and `asyncio.to_thread` do, a plain `ThreadPoolExecutor` does not
    (`executor.submit(contextvars.copy_context().run, search, question)` does).

    Not seen is what is not a LangChain retriever or tool: `vectorstore.similarity_search` alone,
    or a function under `@traceable(run_type="retriever")`. Options are those of `observed`.
    """
    recorder = Recorder(outer=capturing.get())
    token = capturing.set(recorder)
    try:
        yield Capture(reading_of(**options), recorder)
    finally:
        # An abandoned async generator is closed in another context, where nothing was set.
        with suppress(ValueError):
            capturing.reset(token)
