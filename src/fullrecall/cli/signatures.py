"""How a function becomes a command: its parameters are the options, its docstring is the help.

Parameters before the `*` are arguments, those behind it options. What an option does is said once:
in the docstring of the command, as "- `name METAVAR`: What it does.", else in that of
`fullrecall.cli.options.Common`. `@taking(Gate, "margin slices")` adds parameters of a Python
function or class to the command, with their types and defaults. They reach it as keywords.

The first paragraph of a command's docstring is for who reads the code: the help begins with the
summary of `fullrecall.cli.commands` instead.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator, Mapping
from inspect import Parameter, Signature
from pathlib import Path
from typing import Annotated, Any, NamedTuple, get_args, get_origin, get_type_hints

import typer

from fullrecall.cli.console import INTERRUPTED, fail, warnings_as_notes
from fullrecall.cli.options import Common, Kind, flags_of
from fullrecall.cli.problems import explained
from fullrecall.errors import FullrecallError

_BULLET = re.compile(
    r"^- `(?P<name>\w+)(?: (?P<metavar>[^`]+))?`: (?P<text>.*(?:\n  .*)*)\n?", re.MULTILINE
)
_HEADING = re.compile(r"\n\n[A-Z][\w ]*:\n*(?=\n\n|\Z)")
_TYPES: Mapping[str, Any] = {"bool": bool, "int": int, "float": float, "str": str}


class Description(NamedTuple):
    """What a docstring says of a parameter, below which heading of it."""

    text: str
    metavar: str | None = None
    heading: str | None = None


def taking(source: Any, names: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Add parameters of `source`, by their names, to a command's own."""
    parameters = inspect.signature(source).parameters
    taken = [
        Parameter(
            name,
            Parameter.KEYWORD_ONLY,
            default=parameters[name].default,
            annotation=_type_of(str(parameters[name].annotation)),
        )
        for name in names.split()
    ]

    def added(function: Callable[..., None]) -> Callable[..., None]:
        function.__dict__["takes"] = [*taken, *getattr(function, "takes", ())]
        return function

    return added


def command_of(function: Callable[..., None]) -> Callable[..., None]:
    """Return a function for typer, which declares the options and prints what goes wrong."""
    described, _ = descriptions(inspect.getdoc(function) or "")
    for name, common in _COMMON.items():
        own = described.get(name, common)
        described[name] = own._replace(metavar=own.metavar or common.metavar)
    parameters = list(_parameters(function, described))

    def run(**values: Any) -> None:
        try:
            with warnings_as_notes():
                function(**values)
        except (FullrecallError, OSError) as error:
            fail(*explained(error, values))
        except KeyboardInterrupt:
            raise typer.Exit(INTERRUPTED) from None

    # typer reads types and defaults from here; the function itself takes any keyword.
    run.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return run


def help_of(function: Callable[..., None]) -> str:
    """Return what a command's docstring says of it: no first paragraph, no options."""
    _, rest = descriptions(inspect.getdoc(function) or "")
    return rest.partition("\n\n")[2].strip()


def descriptions(doc: str) -> tuple[dict[str, Description], str]:
    """Return what a docstring says of each parameter, and the docstring without it."""
    described: dict[str, Description] = {}
    for match in _BULLET.finditer(doc):
        above = doc[: match.start()].rpartition("\n\n")[2].partition("\n")[0]
        heading = above.removesuffix(":") if re.fullmatch(r"[A-Z][\w ]*:", above) else None
        text = " ".join(match["text"].split())
        described[match["name"]] = Description(text, match["metavar"], heading)
    return described, _HEADING.sub("", _BULLET.sub("", doc))


_COMMON, _ = descriptions(inspect.getdoc(Common) or "")


def _parameters(
    function: Callable[..., None], described: Mapping[str, Description]
) -> Iterator[Parameter]:
    """Yield the parameters of a command: its own, then those that it takes over."""
    hints = get_type_hints(function, include_extras=True)
    taken = {parameter.name: parameter for parameter in getattr(function, "takes", ())}
    own = [
        parameter.replace(annotation=hints[parameter.name])
        for parameter in inspect.signature(function).parameters.values()
        if parameter.kind is not Parameter.VAR_KEYWORD and parameter.name not in taken
    ]
    for parameter in (*own, *taken.values()):
        is_option = parameter.kind is Parameter.KEYWORD_ONLY
        description = described.get(parameter.name, Description(""))
        yield (_option if is_option else _argument)(parameter, description)


def _type_of(annotation: str) -> Any:
    """Return what an option reads for a parameter that Python annotates so."""
    # Read as text: some names in it are imported for type checkers alone.
    several = re.match(r"(?:Sequence|list)\[(\w+)", annotation)
    name = re.match(r"\w+", several[1] if several else annotation)
    kind = _TYPES.get(name.group() if name else "", str)
    kind = Path if "Path" in annotation or annotation.startswith("StoreLike") else kind
    return list[kind] if several else kind  # type: ignore[valid-type]


def _argument(parameter: Parameter, described: Description) -> Parameter:
    kind, read = _parts(parameter.annotation)
    metavar = described.metavar or parameter.name.upper()
    info = typer.Argument(
        metavar=metavar, show_default=False, help=described.text, **read.settings()
    )
    return parameter.replace(annotation=Annotated[kind, info])


def _option(parameter: Parameter, described: Description) -> Parameter:
    kind, read = _parts(parameter.annotation)
    # typer would read a tuple as several values, and refuses most unions, whatever parses them.
    kind = kind if read.parser is None or get_origin(kind) is list else Any
    default = None if parameter.default == () else parameter.default
    metavar = described.metavar or read.metavar or _metavar(kind)
    flags = flags_of(parameter.name)
    if kind is bool:
        flags = (f"{flags[0]}/--no-{flags[0][2:]}",) if default else flags
        default = bool(default)
    info = typer.Option(
        *flags,
        metavar=None if kind is bool else metavar,
        # By identity: 0 equals False, and is a default to be shown.
        show_default=not any(default is none for none in (None, False, Parameter.empty)),
        rich_help_panel=described.heading,
        help=described.text,
        **read.settings(),
    )
    read_as: Any = kind if default is not None else kind | None
    return parameter.replace(default=default, annotation=Annotated[read_as, info])


def _parts(kind: Any) -> tuple[Any, Kind]:
    """Return the type of a parameter, and how it is read, of `Annotated[type, Kind(…)] | None`."""
    if type(None) in get_args(kind):
        kind = next(member for member in get_args(kind) if member is not type(None))
    if get_origin(kind) is list:
        inner, read = _parts(get_args(kind)[0])
        return list[inner], read  # type: ignore[valid-type]
    if get_origin(kind) is Annotated:
        base, read, *_ = get_args(kind)
        return base, read
    return kind, Kind()


def _metavar(kind: Any) -> str:
    names = {int: "N", float: "0…1", Path: "FILE"}
    return names.get(get_args(kind)[0] if get_args(kind) else kind, "NAME")
