"""`fullrecall choose FILE --retriever NAME=MODULE:FUNCTION …`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fullrecall.cli.options import at_least, level, measures_option
from fullrecall.cli.scorers import ScorerName, scorer_name
from fullrecall.measures import Measure

if TYPE_CHECKING:
    from fullrecall.run.retrievers import RetrieverLike

HELP = """\
Asks every retriever the same questions, stops asking those that are known to be worse, and \
names the best one, or says CANNOT TELL with about how many more questions would settle it. A name \
is wrong in at most 5% of uses, for any number of retrievers and however often you go on.

Examples:
  fullrecall choose questions.jsonl -r bm25=app.py:bm25 -r dense=app.py:dense
  fullrecall choose questions.jsonl -r a=app:a -r b=app:b --state race.json
  fullrecall choose questions.jsonl -r a=app:a -r b=app:b --handicap a=0.05
"""


def choose(
    files: Annotated[
        list[Path],
        typer.Argument(
            metavar="FILE",
            show_default=False,
            help="Questions with their references, in one file or several, as for evaluate.",
        ),
    ],
    *,
    retriever: Annotated[
        list[str],
        typer.Option(
            "--retriever",
            "-r",
            metavar="NAME=MODULE:FUNCTION",
            show_default=False,
            help="Retriever to ask, such as bm25=app.py:search; at least two.",
        ),
    ],
    measure: Annotated[
        list[Measure] | None,
        measures_option("Measure to choose by, such as recall@5. Default: the score itself."),
    ] = None,
    scorer: Annotated[
        ScorerName | None,
        typer.Option(
            "--scorer",
            "-s",
            metavar="NAME",
            parser=scorer_name,
            show_default=False,
            help=f"{', '.join(ScorerName)}. Default: the first that the first sample has fields "
            "for.",
        ),
    ] = None,
    state: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.json",
            show_default=False,
            help="Go on from this file, and keep what this call finds: with more questions, or "
            "after an interruption.",
        ),
    ] = None,
    handicap: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=0…1",
            show_default=False,
            help="Prefer a cheap retriever unless another is better by more; repeatable.",
        ),
    ] = None,
    confidence: Annotated[
        float, typer.Option(metavar="0…1", callback=level, help="Confidence in the name.")
    ] = 0.95,
    max_concurrency: Annotated[
        int,
        typer.Option(
            metavar="N",
            callback=at_least(1),
            help="Maximum concurrent calls; 1 measures seconds one by one.",
        ),
    ] = 16,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Show no progress.")] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the choice as JSON and nothing else.")
    ] = False,
) -> None:
    """Race retrievers, print the choice, and exit with 0, or with 3 for CANNOT TELL; see `HELP`."""
    import json
    import sys
    from contextlib import redirect_stdout
    from itertools import chain

    from fullrecall import read
    from fullrecall.cli.console import fail, noting, write
    from fullrecall.cli.job import unretrieved
    from fullrecall.cli.problems import explained
    from fullrecall.cli.scorers import Settings, chosen
    from fullrecall.errors import FullrecallError
    from fullrecall.evaluation.contest import choose as choosing

    if measure and len(measure) > 1:
        raise typer.BadParameter(f"expected one, got {len(measure)}", param_hint="--measure")
    retrievers = _retrievers(retriever)
    handicaps = {name: _number(value) for name, value in map(_pair, handicap or ())}
    try:
        samples = [
            unretrieved(sample) for sample in chain.from_iterable(read.read(file) for file in files)
        ]
        if not samples:
            fail("no questions", *(f"{file} has none" for file in files))
        (used,) = chosen([] if scorer is None else [scorer], Settings(), samples[0])
        with noting(), redirect_stdout(sys.stderr):
            found = choosing(
                samples,
                used,
                retrievers,
                measure[0] if measure else None,
                file=state,
                handicaps=handicaps,
                confidence=confidence,
                progress=not (quiet or as_json),
                max_concurrency=max_concurrency,
            )
    except (FullrecallError, OSError) as error:
        fail(*explained(error))
    write(f"{json.dumps(found.to_dict(), indent=2)}\n" if as_json else str(found))
    if found.winner is None:
        raise typer.Exit(3)


def _retrievers(named: list[str]) -> dict[str, RetrieverLike]:
    from fullrecall.cli.retriever import retriever_of

    found: dict[str, RetrieverLike] = {}
    for text in named:
        name, place = _pair(text, "--retriever")
        if name in found:
            raise typer.BadParameter(f"{name!r} is named twice", param_hint="--retriever")
        found[name] = retriever_of(place)
    if len(found) < 2:  # noqa: PLR2004 - one has nothing to be compared with
        raise typer.BadParameter(f"expected at least 2, got {len(found)}", param_hint="--retriever")
    return found


def _pair(text: str, option: str = "--handicap") -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not (name and equals and value):
        raise typer.BadParameter(f"expected NAME=…, got {text!r}", param_hint=option)
    return name, value


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise typer.BadParameter(
            f"expected a number, got {text!r}", param_hint="--handicap"
        ) from None
