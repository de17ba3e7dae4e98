"""Options and arguments that several commands take, and checks of their values."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Annotated, TypeVar

import typer

from fullrecall.errors import ParameterError
from fullrecall.measures import Measure, Recall, Threshold, parse, parse_threshold, unaliased
from fullrecall.measures.budgets import Cut, parse_budget
from fullrecall.measures.text import ALIASES

Read = TypeVar("Read")


def at_least(least: int) -> Callable[[int | None], int | None]:
    """Return a callback that refuses whole numbers below `least`; None is no number."""

    def checked(value: int | None) -> int | None:
        if value is not None and value < least:
            raise typer.BadParameter(f"must be a whole number of at least {least}, got {value}")
        return value

    return checked


def above_zero(value: float | None) -> float | None:
    """Refuse numbers that are not above zero; None is no number."""
    if value is not None and not value > 0:
        raise typer.BadParameter(f"must be above 0, got {value:g}")
    return value


def share(value: float | None) -> float | None:
    """Refuse numbers outside of 0 to 1; None is no number."""
    if value is not None and not 0 <= value <= 1:
        raise typer.BadParameter(f"must be from 0 to 1, got {value:g}")
    return value


def level(value: float) -> float:
    """Refuse numbers that are no level of confidence, 0 and 1 among them."""
    if not 0 < value < 1:
        raise typer.BadParameter(f"must be between 0 and 1, such as 0.95, got {value:g}")
    return value


def cuts(text: str | None) -> tuple[Cut, ...]:
    """Read one k or several, such as `5` or `1,5,3calls`: each once; None is none.

    Numbers of contexts come first, ascending, then budgets.
    """
    ranks, budgets = set(), dict[Cut, None]()
    for part in text.split(",") if text is not None else ():
        budget = _read(parse_budget, part.strip())
        if budget is not None:
            budgets[budget] = None
            continue
        if not part.strip().isascii() or not part.strip().isdecimal() or int(part) < 1:
            raise typer.BadParameter(
                "must be whole numbers of at least 1, such as 5 or 1,5,10, or budgets such as "
                f"3calls, got {text!r}"
            )
        ranks.add(int(part))
    return (*sorted(ranks), *budgets)


def one_cut(text: str | None) -> str | None:
    """Refuse what is not one k that `cuts` can read."""
    if len(cuts(text)) > 1:
        raise typer.BadParameter(f"must be one k, got {text!r}")
    return text


def _checked_cuts(text: str | None) -> str | None:
    """Refuse what `cuts` cannot read."""
    cuts(text)
    return text


def measure(text: str) -> Measure:
    """Read a measure such as `recall@5`."""
    return _read(parse, _ours(text))


def threshold(text: str) -> Threshold:
    """Read a threshold such as `recall@10>=0.9`."""
    return _read(parse_threshold, _ours(text))


def _ours(text: str) -> str:
    """Return a measure by our name; says so where it has another one elsewhere."""
    ours, alias = unaliased(text)
    if alias is not None:
        typer.echo(f"{alias} is {ALIASES[alias.lower()]} here: the mean over questions", err=True)
    return ours


def cut(ks: Iterable[Cut], measures: Iterable[Measure] | None) -> tuple[Measure, ...]:
    """Return what to show: recall at each k that is given, and the measures that are named."""
    return tuple(dict.fromkeys([*(Recall @ k for k in ks), *(measures or ())]))


ReportPath = Annotated[
    Path,
    typer.Argument(
        metavar="REPORT", show_default=False, help="Report saved by `evaluate --output`."
    ),
]

Confidence = Annotated[
    float,
    typer.Option(metavar="0…1", callback=level, help="Confidence of intervals and bounds."),
]

MEASURE_HELP = (
    "Measure to show, such as recall@5 or 'ndcg(gain=exponential)@10'; repeatable. "
    "Default: recall at 1, 3, 5, 10, and over all retrieved contexts."
)


def measures_option(help_: str = MEASURE_HELP, panel: str | None = None) -> typer.models.OptionInfo:
    """Return the option `--measure`."""
    found: typer.models.OptionInfo = typer.Option(
        "--measure",
        "-m",
        metavar="MEASURE",
        parser=measure,
        show_default=False,
        rich_help_panel=panel,
        help=help_,
    )
    return found


Measures = Annotated[list[Measure] | None, measures_option()]

CUTS_HELP = "Recall of the first K contexts, in place of the default measures; beside --measure."


def cuts_option(help_: str = CUTS_HELP, panel: str | None = None) -> typer.models.OptionInfo:
    """Return the option `--k`, whose text `cuts` reads."""
    found: typer.models.OptionInfo = typer.Option(
        "--k",
        "-k",
        "--ks",
        metavar="K[,K...]",
        callback=_checked_cuts,
        show_default=False,
        rich_help_panel=panel,
        help=help_,
    )
    return found


Cuts = Annotated[str | None, cuts_option()]


def _read(reader: Callable[[str], Read], text: str) -> Read:
    try:
        return reader(text)
    except ParameterError as error:
        raise typer.BadParameter(str(error)) from None
