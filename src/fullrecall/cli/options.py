"""Options that several commands have, and readers of option values."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import partial
from math import inf, nan
from pathlib import Path
from typing import Annotated, Any, TypeAlias, TypeVar

import typer
from typer import Argument, Option

from fullrecall.cli.addresses import loaded
from fullrecall.errors import ParameterError
from fullrecall.measures import MEASURES, Measure, Recall, Threshold, parse, parse_threshold
from fullrecall.measures.budgets import Cut
from fullrecall.measures.text import parse_cut

Read = TypeVar("Read")

_OWN = re.compile(r"\s*(\S+?:[^\W\d]\w*)")
"""A user's own measure, by its module or file and its name."""


def within(least: int, most: float = inf) -> Callable[[float | None], float | None]:
    """Return a check that refuses numbers outside this range."""

    # typer's own check of a range does not name the value.
    def checked(value: float | None) -> float | None:
        if value is not None and not least <= value <= most:
            limits = f"from {least} to {most}" if most < inf else f"at least {least}"
            raise typer.BadParameter(f"must be {limits}, got {value:g}")
        return value

    return checked


def read_share(text: str) -> float:
    """Read a number from 0 to 1, such as `0.9`."""
    # typer's own message does not name the value.
    try:
        share = float(text)
    except ValueError:
        share = nan
    if not 0 <= share <= 1:
        raise typer.BadParameter(f"must be a number from 0 to 1, such as 0.9, got {text}")
    return share


def read_cuts(text: str) -> tuple[Cut, ...]:
    """Read one k or several, such as `5` or `1,5,3calls`: each once.

    Numbers of contexts come first, ascending, then budgets.
    """
    cuts = dict.fromkeys(_parsed(parse_cut, part.strip()) for part in text.split(","))
    return tuple(sorted(cuts, key=lambda cut: cut if isinstance(cut, int) else inf))


def read_cut(text: str) -> Cut:
    """Read one k, such as `5` or `3calls`."""
    ks = read_cuts(text)
    if len(ks) > 1:
        raise typer.BadParameter(f"must be one k, got {text!r}")
    return ks[0]


def read_measure(text: str) -> Measure:
    """Read a measure such as `recall@5`, or one of your own: `app.py:RBP@5`."""
    return _parsed(parse, _with_own(text))


def read_threshold(text: str) -> Threshold:
    """Read a threshold such as `recall@10>=0.9`."""
    return _parsed(parse_threshold, _with_own(text))


def _with_own(text: str) -> str:
    """Load the user's measure that a text names; return the text without its file."""
    match = _OWN.match(text)
    if match is None:
        return text
    own = loaded(match[1], "--measure")
    own = own() if isinstance(own, type) else own
    if not isinstance(own, Measure):
        raise bad_option("--measure", f"{match[1]} is not a measure: derive it from Measure")
    MEASURES[own.text] = own
    return own.text + text[match.end() :]


def _parsed(reader: Callable[[str], Read], text: str) -> Read:
    try:
        return reader(text)
    except ParameterError as error:
        raise typer.BadParameter(str(error)) from None


def measures_of(ks: Iterable[Cut] | None, named: Iterable[Measure] | None) -> tuple[Measure, ...]:
    """Return the measures to show: recall at each given k, and the `named` measures."""
    return tuple(dict.fromkeys([*(Recall @ k for k in ks or ()), *(named or ())]))


def bad_option(option: str, problem: str) -> typer.BadParameter:
    """Return the error for the value of an option: the option, then the problem."""
    return typer.BadParameter(problem, param_hint=option)


# Options by the kind of their value; each command adds its help. With a parser, the type may be
# Any: typer refuses unions, and reads a tuple as several values.
count = partial(Option, metavar="N", callback=within(0))
positive = partial(Option, metavar="N", callback=within(1))
number = partial(positive, "--number", "-n")
first_k = partial(positive, "--k", "-k", metavar="K")
k = partial(Option, "--k", "-k", metavar="K", parser=read_cut)
ks = partial(Option, "--k", "-k", "--ks", metavar="K[,K...]", parser=read_cuts)
measure = partial(Option, "--measure", "-m", metavar="MEASURE", parser=read_measure)
file = partial(Option, metavar="FILE")
output = partial(file, "--output", "-o")

ReportArgument: TypeAlias = Annotated[
    Path, Argument(metavar="REPORT", help="Report saved by `evaluate --output`.")
]
SetArgument: TypeAlias = Annotated[Path, Argument(metavar="SET", help="A file of samples.")]
KsOption: TypeAlias = Annotated[
    Any,
    ks(help="Recall of the first K contexts, in place of the default measures; beside --measure."),
]
MeasuresOption: TypeAlias = Annotated[
    list[Measure] | None,
    measure(
        help="Measure to show, such as recall@5, 'ndcg(gain=exponential)@10', or your own, "
        "app.py:RBP@5; repeatable. "
        "Default: recall at 1, 3, 5, 10, and over all retrieved contexts."
    ),
]
DiagnosedCorpusOption: TypeAlias = Annotated[
    Path | None,
    file(
        help="Indexed contexts: JSON Lines with id and text, also as .gz; or a folder of documents."
    ),
]
DeeperRetrieverOption: TypeAlias = Annotated[
    str | None,
    Option(
        metavar="MODULE:NAME",
        help="Retriever as `evaluate --retriever` takes it, such as app:search or "
        "path/app.py:search; asked for more contexts wherever something was missed.",
    ),
]
JsonOption: TypeAlias = Annotated[bool, Option("--json", help="Print JSON and nothing else.")]
MarkdownOption: TypeAlias = Annotated[
    Path | None, file(help="Append the result as Markdown, for instance to $GITHUB_STEP_SUMMARY.")
]
ConfidenceOption: TypeAlias = Annotated[
    float,
    Option(metavar="0…1", parser=read_share, help="Confidence of intervals, bounds, and outcomes."),
]
ScoreOption: TypeAlias = Annotated[
    str | None,
    Option(
        metavar="NAME", help="Score to use, such as id_recall. Default: the only one that fits."
    ),
]
SlicesOption: TypeAlias = Annotated[
    str | None,
    Option(
        metavar="FIELD",
        help="Show each value of a field too: a key of the metadata (kind), group, or source.",
    ),
]
SeedOption: TypeAlias = Annotated[int, Option(metavar="N", help="Random seed.")]
BaseUrlOption: TypeAlias = Annotated[
    str | None,
    Option(
        metavar="URL", help="Endpoint of openai:MODEL, for vLLM, Ollama, LM Studio, and others."
    ),
]
BudgetCallsOption: TypeAlias = Annotated[
    int | None, positive(help="Maximum requests; the rest is unscored.")
]
ConcurrencyOption: TypeAlias = Annotated[
    int, Option(metavar="N", help="Maximum concurrent requests.")
]
StoreOption: TypeAlias = Annotated[
    str | None,
    Option(
        metavar="FILE|URL",
        help="Save model answers in this file (.sqlite) or on this Redis server (redis://HOST/0) "
        "to resume a stopped run.",
    ),
]
