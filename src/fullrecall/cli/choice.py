"""`fullrecall choose FILE --retriever NAME=MODULE:FUNCTION …`."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import redirect_stdout
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Annotated, Any

import typer
from typer import Argument, Option

from fullrecall.cli import options, source
from fullrecall.cli.console import fail, show_result
from fullrecall.cli.options import retriever_of
from fullrecall.measures import Measure
from fullrecall.run.contest import choose as choice_of
from fullrecall.run.retrievers import RetrieverLike
from fullrecall.show import terminal


def choose(
    files: Annotated[
        list[Path],
        Argument(
            metavar="FILE",
            help="Questions with their references, in one file or several, as for evaluate.",
        ),
    ],
    *,
    retrievers: Annotated[
        list[str],
        Option(
            "--retriever",
            "-r",
            metavar="[NAME=]MODULE:FUNCTION",
            help="Retriever to ask, such as bm25=app.py:search; at least two. Its name is the "
            "function's by default.",
        ),
    ],
    k: Annotated[
        Any,
        options.k(
            help="Choose by recall of the first K contexts. Default: of all retrieved contexts."
        ),
    ] = None,
    measure: Annotated[
        list[Measure] | None, options.measure(help="Measure to choose by, such as ndcg@10.")
    ] = None,
    scorer: Annotated[
        source.ScorerName | None,
        source.scorer_option(
            help="id_recall, text_recall, span_recall, entity_recall, claim_recall. Default: the "
            "first that the first sample has fields for."
        ),
    ] = None,
    rows: source.RowsOption = None,
    field: source.FieldOption = None,
    state: Annotated[
        Path | None,
        Option(
            metavar="FILE.json",
            help="Continue from this file, with more questions or after an interruption, and "
            "save this call's answers in it.",
        ),
    ] = None,
    quiet: Annotated[bool, Option("--quiet", "-q", help="Show no progress.")] = False,
    as_json: options.JsonOption = False,
    within: Annotated[
        float,
        options.share(help="Name all within this distance of the best, the cheapest first."),
    ] = 0.0,
    confidence: options.ConfidenceOption = 0.95,
    max_concurrency: Annotated[
        int, Option(metavar="N", help="Maximum concurrent calls; 1 measures seconds one by one.")
    ] = 16,
) -> None:
    """Choose among retrievers by asking the same questions.

    Asks every retriever the same questions, stops asking those that are known to be worse, and
    names the best one, or says CANNOT TELL with about how many more questions would settle it.
    The named retriever is wrong in at most 5% of uses, for any number of retrievers and however
    often you go on.

    Examples:
      fullrecall choose questions.jsonl -r app.py:bm25 -r app.py:dense --k 10
      fullrecall choose questions.jsonl -r app.py:a -r app.py:b --within 0.02
      fullrecall choose questions.jsonl -r a=app:a -r b=app:b --state race.json
    """
    measures = options.measures_of(() if k is None else (k,), measure)
    if len(measures) > 1:
        raise options.bad_option("--k, --measure", f"expected one measure, got {len(measures)}")
    by_name = _retrievers(retrievers)
    read = partial(source.samples_of, rows=rows, field=field)
    samples = [source.unretrieved(sample) for sample in chain.from_iterable(map(read, files))]
    if not samples:
        fail("no questions", *(f"{file} has none" for file in files))
    (chosen_scorer,) = source.scorers_of([] if scorer is None else [scorer], {}, samples[0])
    # Send a retriever's prints to standard error: they are not part of the command's output.
    with redirect_stdout(sys.stderr):
        choice = choice_of(
            samples,
            chosen_scorer,
            by_name,
            measures[0] if measures else None,
            file=state,
            progress=not (quiet or as_json),
            within=within,
            confidence=confidence,
            max_concurrency=max_concurrency,
        )
    parts = [choice.sentence, "", *terminal.parts(*choice.sheets)]
    show_result(choice.to_dict, parts, as_json=as_json)
    if choice.winner is None:
        raise typer.Exit(3)


def _retrievers(addresses: Sequence[str]) -> dict[str, RetrieverLike]:
    by_name: dict[str, RetrieverLike] = {}
    for text in addresses:
        name, _, source = text.rpartition("=")
        name = name or source.rpartition(":")[2]
        if name in by_name:
            raise options.bad_option(
                "--retriever", f"{name!r} is named twice: name each, NAME={source}"
            )
        by_name[name] = retriever_of(source)
    if len(by_name) < 2:  # noqa: PLR2004 - the message names it
        raise options.bad_option("--retriever", f"expected at least 2, got {len(by_name)}")
    return by_name
