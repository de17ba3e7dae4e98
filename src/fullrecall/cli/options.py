"""What options read and are called, wherever a command has them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from math import inf
from typing import Annotated, Any, NamedTuple, TypeAlias, TypeVar

import typer

from fullrecall.errors import ParameterError
from fullrecall.measures import Measure, Recall, Threshold, parse, parse_threshold, unaliased
from fullrecall.measures.budgets import Cut
from fullrecall.measures.text import ALIASES, parse_cut

T = TypeVar("T")


class Kind(NamedTuple):
    """How the text of an option is read: by a parser, or with a check behind its type's own."""

    metavar: str | None = None
    parser: Callable[[str], Any] | None = None
    check: Callable[[Any], Any] | None = None

    def settings(self) -> dict[str, Any]:
        """Return the option as typer declares it."""
        return {"parser": self.parser, "callback": self.check}


def within(least: int, most: float = inf) -> Callable[[float | None], float | None]:
    """Return a check that refuses other numbers than these; None is no number."""

    # typer's own check of a range does not name the value.
    def checked(value: float | None) -> float | None:
        if value is not None and not least <= value <= most:
            limits = f"from {least} to {most}" if most < inf else f"at least {least}"
            raise typer.BadParameter(f"must be {limits}, got {value:g}")
        return value

    return checked


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
    """Read a measure such as `recall@5`."""
    return _parsed(parse, _by_own_name(text))


def read_threshold(text: str) -> Threshold:
    """Read a threshold such as `recall@10>=0.9`."""
    return _parsed(parse_threshold, _by_own_name(text))


def _by_own_name(text: str) -> str:
    """Return a measure by fullrecall's name, and say so where it was called as elsewhere."""
    own_name, alias = unaliased(text)
    if alias is not None:
        typer.echo(f"{alias} is {ALIASES[alias.lower()]} here: the mean over questions", err=True)
    return own_name


def _parsed(reader: Callable[[str], T], text: str) -> T:
    try:
        return reader(text)
    except ParameterError as error:
        raise typer.BadParameter(str(error)) from None


def measures_of(ks: Iterable[Cut] | None, named: Iterable[Measure] | None) -> tuple[Measure, ...]:
    """Return what to show: recall at each k that is given, and the measures that are named."""
    return tuple(dict.fromkeys([*(Recall @ k for k in ks or ()), *(named or ())]))


Share: TypeAlias = Annotated[float, Kind("0…1", check=within(0, 1))]
Positive: TypeAlias = Annotated[int, Kind("N", check=within(1))]
Count: TypeAlias = Annotated[int, Kind("N", check=within(0))]
CutText: TypeAlias = Annotated[Cut, Kind("K", read_cut)]
Cuts: TypeAlias = Annotated[tuple[Cut, ...], Kind("K[,K...]", read_cuts)]
MeasureText: TypeAlias = Annotated[Measure, Kind("MEASURE", read_measure)]
ThresholdText: TypeAlias = Annotated[Threshold, Kind("MEASURE>=0…1|MEASURE<=0…1", read_threshold)]

_FLAGS: Mapping[str, tuple[str, ...]] = {
    "as_json": ("--json",),
    "k": ("--k", "-k"),
    "ks": ("--k", "-k", "--ks"),
    "measure": ("--measure", "-m"),
    "n": ("--number", "-n"),
    "output": ("--output", "-o"),
    "quiet": ("--quiet", "-q"),
    "retrievers": ("--retriever", "-r"),
    "scorer": ("--scorer", "-s"),
    "scores": ("--score",),
}
"""Options that are not called as their parameters are, or in one letter too."""


def bad_option(option: str, problem: str) -> typer.BadParameter:
    """Return the error for the value of an option: the option, then what is wrong with it."""
    return typer.BadParameter(problem, param_hint=option)


def flags_of(name: str) -> tuple[str, ...]:
    """Return how an option is written, by the name of its parameter."""
    return _FLAGS.get(name, (f"--{name.replace('_', '-')}",))


class Common:
    """Options that several commands have.

    - `as_json`: Print JSON and nothing else.
    - `base_url URL`: Endpoint of openai:MODEL, for vLLM, Ollama, LM Studio, and others.
    - `budget_calls`: Maximum requests; the rest is unscored.
    - `budget_tokens`: Maximum prompt plus completion tokens.
    - `confidence`: Confidence of intervals, bounds, and outcomes.
    - `deadline SECONDS`: Time limit for the run; the rest is unscored. Default: none.
    - `documents`: A folder or a file of what is searched.
    - `corpus PATH`: What is indexed.
    - `judge JUDGE`: Judge of claims.
    - `k K`: Count the first K contexts.
    - `retriever MODULE:NAME`: A Python function that retrieves.
    - `ks`: Recall of the first K contexts, in place of the default measures; beside --measure.
    - `markdown`: Append the result as Markdown, for instance to $GITHUB_STEP_SUMMARY.
    - `max_concurrency`: Maximum concurrent requests.
    - `measure`: Measure to show, such as recall@5 or 'ndcg(gain=exponential)@10'; repeatable.
      Default: recall at 1, 3, 5, 10, and over all retrieved contexts.
    - `quiet`: Show no progress.
    - `report`: Report saved by `evaluate --output`.
    - `samples SET`: A file of samples.
    - `score`: Score to use, such as id_recall. Default: the only one that fits.
    - `seed`: Random seed.
    - `store`: Save model answers here (.sqlite) to resume a stopped run.
    - `timeout SECONDS`: Time limit per request; retried once.
    """
