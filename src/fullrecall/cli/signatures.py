"""How a function becomes a command: its parameters are the options, its docstring is the help.

Parameters before the `*` are arguments, those behind it options. What an option does is said once:

- in the docstring of the command, as "- `name METAVAR`: What it does.";
- else in that of `fullrecall.cli.options.Common`;
- else in that of the Python function or class that takes it: `@taking(Gate, "margin point")` adds
  its parameters to the command, with their types and defaults. They reach it as keywords.

The first paragraph of a command's docstring is for who reads the code: the help begins with the
summary of `fullrecall.cli.commands` instead.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator, Mapping
from functools import wraps
from inspect import Parameter, Signature
from pathlib import Path
from typing import Annotated, Any, NamedTuple, get_args, get_origin, get_type_hints

import typer

from fullrecall.cli.console import fail, noting
from fullrecall.cli.exits import INTERRUPTED
from fullrecall.cli.options import FLAGS, METAVARS, Common, Kind
from fullrecall.cli.problems import explained
from fullrecall.errors import FullrecallError

_BULLET = re.compile(
    r"^- `(?P<name>\w+)(?: (?P<metavar>[^`]+))?`: (?P<text>.*(?:\n  .*)*)\n?", re.MULTILINE
)
_SENTENCE = re.compile(r".*?(?=[;.](?:\s|$)|: |$)", re.DOTALL)
_TYPES: Mapping[str, Any] = {"bool": bool, "int": int, "float": float, "str": str}


class Description(NamedTuple):
    """What a docstring says of a parameter, below which heading of it."""

    text: str
    metavar: str | None = None
    heading: str | None = None


class Taken(NamedTuple):
    """Parameters that a command takes over from a Python function or class."""

    source: Any
    names: tuple[str, ...]
    prefix: str
    heading: str | None


def taking(
    source: Any, names: str, *, prefix: str = "", heading: str | None = None
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Add parameters of `source`, by their names, to a command's own.

    `prefix` stands before their names on the command line, `heading` over them in the help.
    """

    def added(function: Callable[..., None]) -> Callable[..., None]:
        source_part = Taken(source, tuple(names.split()), prefix, heading)
        function.__dict__.setdefault("takes", []).insert(0, source_part)
        return function

    return added


def command_of(function: Callable[..., None]) -> Callable[..., None]:
    """Return a function for typer, which declares the options and prints what goes wrong."""
    own, _ = descriptions(inspect.getdoc(function) or "")
    parameters = [*_own(function, own), *_of_sources(function, own)]
    # Options as the help lists them: in the order of its headings.
    order = list(own)
    parameters.sort(key=lambda parameter: (parameter.kind, _order(parameter, order)))

    @wraps(function)
    def run(**values: Any) -> None:
        try:
            with noting():
                function(**values)
        except (FullrecallError, OSError) as error:
            fail(*explained(error, values))
        except KeyboardInterrupt:
            raise typer.Exit(INTERRUPTED) from None

    run.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    del run.__wrapped__
    return run


def _order(parameter: Parameter, documented: list[str]) -> int:
    """Return where an option stands in the help; arguments stay as they are."""
    if parameter.kind is Parameter.POSITIONAL_OR_KEYWORD:
        return 0
    name = parameter.name
    return documented.index(name) if name in documented else len(documented)


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
    rest = _BULLET.sub("", doc)
    return described, re.sub(r"\n\n[A-Z][\w ]*:\n*(?=\n\n|\Z)", "", rest)


_COMMON, _ = descriptions(inspect.getdoc(Common) or "")


def _own(function: Callable[..., None], own: Mapping[str, Description]) -> Iterator[Parameter]:
    """Yield the parameters of a command itself."""
    hints = get_type_hints(function, include_extras=True)
    sources = getattr(function, "takes", ())
    of_sources = {f"{source.prefix}{name}" for source in sources for name in source.names}
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind is Parameter.VAR_KEYWORD or parameter.name in of_sources:
            continue
        described = own.get(parameter.name) or _COMMON.get(parameter.name) or Description("")
        kind = hints[parameter.name]
        if parameter.kind is Parameter.POSITIONAL_OR_KEYWORD:
            yield _argument(parameter, kind, described)
        else:
            yield _option(parameter.name, kind, parameter.default, described)


def _of_sources(
    function: Callable[..., None], own: Mapping[str, Description]
) -> Iterator[Parameter]:
    """Yield the parameters that a command takes over."""
    for source_part in getattr(function, "takes", ()):
        signature = inspect.signature(source_part.source).parameters
        there, _ = descriptions(inspect.getdoc(source_part.source) or "")
        for name in source_part.names:
            default = signature[name].default
            called = f"{source_part.prefix}{name}"
            described = own.get(called) or _COMMON.get(called) or _in_short(there, name)
            described = described._replace(heading=described.heading or source_part.heading)
            kind = _type_of(str(signature[name].annotation))
            yield _option(called, kind, default, described)


def _in_short(there: Mapping[str, Description], name: str) -> Description:
    """Return the first statement of what Python's documentation says of a parameter."""
    described = there.get(name, Description(""))
    match = _SENTENCE.match(described.text)
    text = match.group() if match else described.text
    return described._replace(text=f"{text[:1].upper()}{text[1:]}.".replace("`", ""))


def _type_of(annotation: str) -> Any:
    """Return what an option reads for a parameter that Python annotates so."""
    several = re.match(r"(?:Sequence|list)\[(\w+)", annotation)
    name = re.match(r"\w+", several[1] if several else annotation)
    kind = _TYPES.get(name.group() if name else "", str)
    kind = Path if "Path" in annotation or annotation.startswith("StoreLike") else kind
    return list[kind] if several else kind  # type: ignore[valid-type]


def _argument(parameter: Parameter, kind: Any, described: Description) -> Parameter:
    kind, read = _parts(kind)
    metavar = described.metavar or METAVARS.get(parameter.name, parameter.name.upper())
    info = typer.Argument(
        metavar=metavar, show_default=False, help=described.text, **read.settings()
    )
    annotation = Annotated[kind, info]
    return parameter.replace(annotation=annotation)


def _option(name: str, kind: Any, default: Any, described: Description) -> Parameter:
    kind, read = _parts(kind)
    kind = kind if read.parser is None or get_origin(kind) is list else Any
    flags = FLAGS.get(name, (f"--{name.replace('_', '-')}",))
    if kind is bool:
        flags = (f"{flags[0]}/--no-{flags[0][2:]}",) if default is True else flags
        default = bool(default)
    elif default == ():
        default = None
    metavar = described.metavar or METAVARS.get(name) or read.metavar or _metavar(kind)
    info = typer.Option(
        *flags,
        metavar=None if kind is bool else metavar,
        show_default=not any(default is none for none in (None, False, Parameter.empty)),
        rich_help_panel=described.heading,
        help=described.text,
        **read.settings(),
    )
    read_as: Any = kind if default is not None else kind | None
    annotation = Annotated[read_as, info]
    return Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


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
