"""Experiments of LangSmith with several runs, summarized together."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from typing import Any
from uuid import UUID, uuid5

import langsmith
from langsmith.schemas import Example

from fullrecall import IdRecall
from langchain_apps.application import APPLICATIONS, Application
from langchain_apps.parts import shelf
from langchain_fullrecall import RecallStringEvaluator, offline_client, report_of

_EXAMPLES = UUID("0c4b3f0a-6a51-4d53-8b0a-94f6f0f3c1de")


def _examples(count: int) -> list[Example]:
    """Return examples; every second one asks for a document that is found."""
    names = ("timetable", "seals")
    return [
        Example(
            id=uuid5(_EXAMPLES, str(number)),
            inputs={"question": f"Question {number}"},
            outputs={"reference_context_ids": [names[number % 2]]},
        )
        for number in range(count)
    ]


def _target(inputs: dict[str, Any]) -> dict[str, Any]:
    return {"documents": shelf("timetable cafe").invoke(inputs["question"])}


async def _async_target(inputs: dict[str, Any]) -> dict[str, Any]:
    return {"documents": await shelf("timetable cafe").ainvoke(inputs["question"])}


def _repeated(evaluator: RecallStringEvaluator) -> Any:
    """Return the results of 12 examples, each asked three times."""
    with redirect_stdout(StringIO()), redirect_stderr(StringIO()):
        results = langsmith.evaluate(
            _target,
            data=_examples(12),
            evaluators=[evaluator],
            summary_evaluators=[evaluator.summary],
            client=offline_client(),
            upload_results=False,
            num_repetitions=3,
            max_concurrency=0,
        )
        list(results)
    return results


def _estimate(mean: float | None, interval: Any) -> Mapping[str, float | None]:
    low, high, _confidence = interval
    return {"mean": mean, "low": round(low, 3), "high": round(high, 3)}


def _by_summary() -> Mapping[str, float | None]:
    """Return the mean and its interval as LangSmith's summary has them."""
    results = _repeated(RecallStringEvaluator(IdRecall()))
    (feedback,) = results._summary_results["results"]
    return _estimate(feedback.score, feedback.evaluator_info["fullrecall"]["interval"])


def _by_report() -> Mapping[str, float | None]:
    report = report_of(_repeated(RecallStringEvaluator(IdRecall())))
    main = report.summary()[0].main
    return _estimate(main.mean, main.interval)


APPLICATIONS["repetitions"] = Application(
    "repetitions",
    "experiment",
    lambda: None,
    expects="",
    # The exact interval of 6 successes in 12: repetitions of an example do not count as examples.
    right={"mean": 0.5, "low": 0.211, "high": 0.789},
    in_notes=True,
    own_doors={"summary": _by_summary, "report": _by_report},
)


async def _awaited() -> Any:
    return await langsmith.aevaluate(
        _async_target,
        data=_examples(2),
        evaluators=[RecallStringEvaluator(IdRecall())],
        client=offline_client(),
        upload_results=False,
        max_concurrency=0,
    )


def _by_results() -> Mapping[str, float | None]:
    """Return the mean of the report of an asynchronous experiment's results."""
    with redirect_stdout(StringIO()), redirect_stderr(StringIO()):
        results = asyncio.run(_awaited())
    return {"mean": report_of(results).summary()[0].main.mean}


def _by_rows() -> Mapping[str, float | None]:
    """Return the mean of the report on the rows of an experiment's results."""

    async def rows() -> list[Any]:
        return [row async for row in await _awaited()]

    with redirect_stdout(StringIO()), redirect_stderr(StringIO()):
        listed = asyncio.run(rows())
    return {"mean": report_of(listed).summary()[0].main.mean}


APPLICATIONS["asynchronous_experiment"] = Application(
    "asynchronous_experiment",
    "experiment",
    lambda: None,
    expects="",
    right={"mean": 0.5},
    in_notes=True,
    own_doors={"results": _by_results, "rows": _by_rows},
)
