"""Options that several commands have, and readers of option values."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Collection, Iterable
from contextlib import redirect_stdout
from functools import partial
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from math import inf, nan
from operator import attrgetter
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias, TypeVar, cast

import typer
from typer import Argument, Option

from fullrecall._util.places import address_of
from fullrecall.errors import ParameterError
from fullrecall.files.reports.signature import is_report
from fullrecall.measures import MEASURES, Measure, Recall, Threshold, parse, parse_threshold
from fullrecall.measures.budgets import Cut
from fullrecall.measures.text import parse_cut

if TYPE_CHECKING:
    from fullrecall.judge import Judge
    from fullrecall.judge.models import ChatModel
    from fullrecall.run.retrievers import RetrieverLike


def retriever_of(address: str) -> RetrieverLike:
    """Return the retriever that `address` names, such as `app:search`.

    Raises `typer.BadParameter` if it cannot be loaded.
    """
    return cast("RetrieverLike", loaded(address, "--retriever"))


def loaded(address: str, option: str) -> Any:
    """Return the object that the value of an option names, such as `app:search`.

    Raises `typer.BadParameter` if it cannot be loaded.
    """
    source, _, name = address.rpartition(":")
    if not source or not name:
        raise bad_option(option, f"expected MODULE:NAME, such as app.py:search, got {address!r}")
    try:
        # Send the prints of a module to standard error, so that --json prints only JSON.
        with redirect_stdout(sys.stderr):
            return attrgetter(name)(_module(source))
    except (Exception, SystemExit) as error:  # A script may call sys.exit() while it is loaded.
        text = f"{type(error).__name__}: {error}".removesuffix(": ").replace("\n", " ")
        raise bad_option(option, f"cannot load {address!r}: {text}") from error


def _module(source: str) -> ModuleType:
    """Import a module by its name, or a Python file by its path, and return it.

    Like a script, a file can import the modules beside it.
    """
    if not source.endswith(".py"):
        # Add the working directory, which is not on the path of an installed command.
        sys.path.insert(0, str(Path.cwd()))
        return import_module(source)
    path = Path(source)
    if not path.is_file():
        raise FileNotFoundError(f"no file {path}")
    sys.path.insert(0, str(path.resolve().parent))
    spec = spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path} is not a Python file")
    module = module_from_spec(spec)
    # Register the module, since pickle and dataclasses look up a class's module there.
    sys.modules.setdefault(path.stem, module)
    spec.loader.exec_module(module)
    return module


Read = TypeVar("Read")

_OWN = re.compile(r"\s*(\S+?:[^\W\d]\w*)")
"""The address of a user's own measure: its module or file, and its name."""


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
    """Read one k or several, such as `5` or `1,5,3calls`, without duplicates.

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


# One option for each kind of value; each command adds its own help. If a parser returns a union or
# a tuple, declare the type `Any`: typer refuses unions, and reads a tuple as several values.
count = partial(Option, metavar="N", callback=within(0))
positive = partial(Option, metavar="N", callback=within(1))
number = partial(positive, "--number", "-n")
first_k = partial(positive, "--k", "-k", metavar="K")
k = partial(Option, "--k", "-k", metavar="K", parser=read_cut)
ks = partial(Option, "--k", "-k", "--ks", metavar="K[,K...]", parser=read_cuts)
measure = partial(Option, "--measure", "-m", metavar="MEASURE", parser=read_measure)
share = partial(Option, metavar="0…1", parser=read_share)
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
    share(help="Confidence of intervals, bounds, and outcomes."),
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


def judge_of(
    name: str | None, base_url: str | None = None, unsure: str | None = None
) -> Judge | None:
    """Return the judge that `--judge` names, or None for the default.

    With `unsure`, a band such as "0.3,0.65", the named judge is asked only about claims whose
    support by the built-in judge lies in this band.

    Raises `typer.BadParameter` for an unknown judge or options that do not fit it, and the judge's
    own error if it lacks a package or a key.
    """
    kind, _, folder = (name or "").partition(":")
    if base_url is not None and kind not in ("openai", "anthropic"):
        raise bad_option("--base-url", "needs --judge openai:MODEL")
    if unsure is not None:
        return _cascade(name, base_url, unsure)
    if name is None:
        return None
    # Import only the named judge, since each may need an extra.
    if name == "lexical":
        from fullrecall.lexical import LexicalJudge

        return LexicalJudge()
    if kind == "nli" and folder:
        from fullrecall.lexical.cross_encoder import CrossEncoderJudge

        return CrossEncoderJudge(folder)
    from fullrecall.judge import LLMJudge

    return LLMJudge(model_of(name, base_url, "--judge", "lexical, nli:FOLDER, "))


def _cascade(name: str | None, base_url: str | None, unsure: str) -> Judge:
    from fullrecall.judge import Cascade
    from fullrecall.lexical import LexicalJudge

    second = judge_of(name, base_url)
    if second is None:
        raise bad_option("--unsure", "needs --judge openai:MODEL, the judge to ask")
    try:
        low, high = map(float, unsure.split(","))
    except ValueError:
        raise bad_option(
            "--unsure", f"expected LOW,HIGH such as 0.3,0.65, got {unsure!r}"
        ) from None
    return Cascade(LexicalJudge(), second, unsure=(low, high))


def model_of(name: str, base_url: str | None, option: str, judges: str = "") -> ChatModel:
    """Return the model that an option names; `judges` lists the judges that it may also name."""
    kind, _, model = name.partition(":")
    if kind == "openai" and model:
        from fullrecall.judge.models.openai import OpenAIChatModel

        return OpenAIChatModel(model, base_url=base_url)
    if kind == "anthropic" and model:
        from fullrecall.judge.models.anthropic import AnthropicChatModel

        return AnthropicChatModel(model, base_url=base_url)
    meant = "" if ":" in name else f": did you mean openai:{name}?"
    if kind in ("openai", "anthropic"):
        meant = f": name a model of it, {kind}:MODEL"
    elif model:
        address = " http://localhost:11434/v1" if kind == "ollama" else " and its address"
        meant = f": for a server with OpenAI's interface, openai:{model} and --base-url{address}"
    kinds = f"{judges}openai:MODEL or anthropic:MODEL"
    raise bad_option(option, f"expected {kinds}, got {name!r}{meant}")


REPORTS = (".jsonl", ".parquet")


def check_output(
    path: Path,
    option: str = "--output",
    endings: Collection[str] = (),
    *,
    inputs: Iterable[Path | None] = (),
    replace: bool = False,
) -> None:
    """Raise `typer.BadParameter` if `path` cannot, or must not, be written.

    It must not be one of the `inputs`. Its name must have one of the `endings`, if any are given.
    Its directory must exist. An existing file may be written only if `replace` is True, and if the
    file is empty or was written by fullrecall. Of an address (s3://…), only the ending is checked.
    """
    is_here = address_of(path) is None
    read_from = [file for file in inputs if file is not None and file.exists()]
    if is_here and path.exists() and any(map(path.samefile, read_from)):
        raise bad_option(option, f"must not be an input file, got {path}")
    if endings and path.suffix not in endings:
        raise bad_option(option, f"must end in {' or '.join(endings)}, got {path.name!r}")
    if not is_here:
        return
    if not path.exists():
        if not path.parent.is_dir():
            raise bad_option(option, f"no directory {path.parent}")
        return
    if path.is_dir() and path.suffix != ".parquet":
        raise bad_option(option, f"{path} is a directory: name a file")
    if not _is_ours(path):
        raise bad_option(option, f"{path} exists and is not a saved report: name another file")
    if not replace:
        raise bad_option(option, f"{path} exists: name another file")


def _is_ours(path: Path) -> bool:
    """Return whether a file is empty or written by fullrecall, or a directory is a saved report."""
    if path.is_dir():
        return is_report(path)
    # Reports and pages name fullrecall at their beginning, so that any other file is kept.
    with path.open("rb") as file:
        head = file.read(1024)
    return not head or b"fullrecall" in head


def append(path: Path, text: str) -> None:
    """Add a text to a file, such as the one at $GITHUB_STEP_SUMMARY."""
    # UTF-8 cannot encode half of an emoji in a question; its escape is written instead.
    with path.open("a", encoding="utf-8", errors="backslashreplace") as file:
        file.write(text)
