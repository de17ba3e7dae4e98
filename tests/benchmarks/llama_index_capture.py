"""What a capture costs: LlamaIndex engines that are not attached, attached, and observed.

Three ways to ask the same engine (k nodes, one postprocessor, no model), the
calls interleaved: with our handlers not installed, installed but the engine not attached, and the
engine attached. Then memory over many queries of an attached engine.
"""

from __future__ import annotations

import argparse
import gc
import time
import tracemalloc
from collections.abc import Callable, Sequence
from typing import Any

from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.instrumentation import get_dispatcher  # type: ignore[attr-defined]
from llama_index.core.llms import MockLLM
from llama_index.core.postprocessor import SimilarityPostprocessor
from llama_index.core.query_engine import RetrieverQueryEngine
from llama_index.core.response_synthesizers.no_text import NoText
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode

from llama_index.evaluation.fullrecall import attach
from llama_index.evaluation.fullrecall.observation import handlers


class Brings(BaseRetriever):
    """Returns k nodes of 400 characters with four metadata fields."""

    def __init__(self, k: int) -> None:
        self._nodes = [
            TextNode(
                id_=f"n{n}",
                text=f"{n} " + "word " * 80,
                metadata={"title": f"t{n}", "page": n, "author": "a", "source": "s"},
            )
            for n in range(k)
        ]
        super().__init__()

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return [NodeWithScore(node=node, score=1.0) for node in self._nodes]


def engine(k: int) -> RetrieverQueryEngine:
    """Return an engine with a filter that keeps all."""
    return RetrieverQueryEngine(
        Brings(k),
        NoText(llm=MockLLM()),
        node_postprocessors=[SimilarityPostprocessor(similarity_cutoff=0.1)],
    )


def without_handlers(call: Callable[[], Any]) -> float:
    """Return the CPU seconds of a call without our handlers."""
    root = get_dispatcher()
    events, spans = list(root.event_handlers), list(root.span_handlers)
    root.event_handlers = [one for one in events if one is not handlers._events]
    root.span_handlers = [one for one in spans if one is not handlers._spans]
    try:
        return timed(call)
    finally:
        root.event_handlers, root.span_handlers = events, spans


def timed(call: Callable[[], Any]) -> float:
    """Return the CPU seconds of a call."""
    begin = time.process_time_ns()
    call()
    return (time.process_time_ns() - begin) / 1e9


def costs(k: int, rounds: int) -> dict[str, tuple[float, float]]:
    """Return the least milliseconds of each way, and their ratio to no handlers at all.

    The least of many calls is what a call takes where no other process is in the way.
    """
    plain, attached = engine(k), engine(k)
    with attach(attached, keep=1):
        ways: dict[str, Callable[[], float]] = {
            "no handlers": lambda: without_handlers(lambda: plain.query("q")),
            "not attached": lambda: timed(lambda: plain.query("q")),
            "attached": lambda: timed(lambda: attached.query("q")),
        }
        for way in ways.values():
            way()
        gc.collect()
        gc.freeze()
        gc.disable()
        spent = [{name: way() for name, way in ways.items()} for _ in range(rounds)]
        gc.enable()
        gc.unfreeze()
    least = {name: min(one[name] for one in spent) for name in ways}
    return {name: (1000 * one, one / least["no handlers"]) for name, one in least.items()}


def memory(queries: int, k: int, keep: int) -> list[int]:
    """Return the traced bytes after each tenth of the queries."""
    attached = engine(k)
    sizes = []
    tracemalloc.start()
    with attach(attached, keep=keep):
        for number in range(1, queries + 1):
            attached.query("q")
            if number % max(1, queries // 10) == 0:
                gc.collect()
                sizes.append(tracemalloc.get_traced_memory()[0])
    tracemalloc.stop()
    return sizes


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--k", type=int, nargs="+", default=[10, 100])
    parser.add_argument("--rounds", type=int, default=2000)
    parser.add_argument("--queries", type=int, default=10_000)
    given = parser.parse_args(arguments)
    print("| k | way | ms | of no handlers |\n|---:|---|---:|---:|")
    for k in given.k:
        for name, (milliseconds, ratio) in costs(k, given.rounds).items():
            print(f"| {k} | {name} | {milliseconds:.2f} | {ratio:.2f} |")
    sizes = memory(given.queries, 10, keep=100)
    shown = ", ".join(f"{size / 1e6:.2f}" for size in sizes)
    print(f"\n{given.queries} queries, keep=100; MB after each tenth: {shown}")


if __name__ == "__main__":
    main()
