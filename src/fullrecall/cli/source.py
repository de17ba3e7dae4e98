"""The samples of a command, from files, a TREC run, and references; and the scorers for them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import typer
from typer import Option

from fullrecall import read as datasets
from fullrecall._util.naming import parameter
from fullrecall.cli.options import bad_option, loaded
from fullrecall.errors import InputError
from fullrecall.samples.context import Context
from fullrecall.samples.sample import Sample
from fullrecall.scorers import FindingScorer

if TYPE_CHECKING:
    from fullrecall.files.rows import FileSamples
    from fullrecall.files.traces import Joined

reading_option = partial(Option, rich_help_panel="Reading the file")

RowsOption: TypeAlias = Annotated[
    str | None,
    reading_option(
        metavar="PATH",
        help="Where the rows are in the file: questions[], data[].qas[]; * for ID: row.",
    ),
]
FieldOption: TypeAlias = Annotated[
    list[str] | None,
    reading_option(
        metavar="NAME=PATH",
        help="Where a row has a field: 'expected_ids=evidence[].{doc_id}#{page}'; NAME= for one "
        "that the file lacks. Repeatable. Default: by the columns, as `fullrecall read` shows.",
    ),
]
RenameOption: TypeAlias = Annotated[
    list[str] | None,
    reading_option(
        metavar="OLD=NEW[,...]",
        help="Read column OLD as field NEW, or as metadata.NAME; OLD= leaves it out. Repeatable.",
    ),
]
FormatOption: TypeAlias = Annotated[
    str | None,
    reading_option(
        metavar="FORMAT",
        help="Read files as jsonl, json, yaml, csv, tsv, or parquet. Default: by their endings; "
        "jsonl for standard input.",
    ),
]
OtherToolsOption: TypeAlias = Annotated[
    list[str] | None,
    reading_option(
        metavar="TOOL",
        help="Traces: a tool that returns text but retrieves nothing. Repeatable.",
    ),
]
ToolDocumentsOption: TypeAlias = Annotated[
    list[str] | None,
    reading_option(
        metavar="TOOL=MODULE:NAME",
        help="Traces: Python function that returns the documents in a tool's result. Repeatable. "
        "Default: hits in lists, in envelopes, and in JSON text of these.",
    ),
]


def samples_of(
    file: Path,
    *,
    rows: str | None = None,
    field: Sequence[str] | None = None,
    rename: Sequence[str] | None = None,
    format: str | None = None,  # noqa: A002 - the option's name
    id_key: str | None = None,
    other_tools: Sequence[str] | None = None,
    tool_documents: Sequence[str] | None = None,
) -> FileSamples:
    """Return the samples of a file, read as the options say."""
    renamed = [(pair, *pair.rpartition("=")) for text in rename or () for pair in text.split(",")]
    return datasets.read(
        file,
        rows=rows,
        fields=fields_of(field),
        rename=_values("--rename", renamed, "OLD=NEW", "is renamed twice"),
        format=format,
        id_key=id_key,
        other_tools=other_tools or (),
        tool_documents=functions_of(tool_documents),
    )


def functions_of(texts: Sequence[str] | None) -> dict[str, Any]:
    """Return the function of each tool, from texts such as `search_kb=app.py:hits`."""
    option = "--tool-documents"
    functions = {}
    for text in texts or ():
        tool, equals, address = text.partition("=")
        if not (tool and equals):
            raise bad_option(option, f"must be TOOL=MODULE:NAME, got {text!r}")
        functions[tool] = loaded(address, option)
    return functions


def fields_of(texts: Sequence[str] | None) -> dict[str, str | None]:
    """Return the path of each field, from texts such as `expected_ids=evidence[].id`."""
    pairs = [(text, *text.partition("=")) for text in texts or ()]
    return _values("--field", pairs, "NAME=PATH", "has two paths")


def corpus_of(path: Path | None) -> Iterable[Context] | None:
    """Return a file's contexts, or a folder's documents with their IDs; None without a path."""
    if path is None or not path.is_dir():
        return None if path is None else datasets.read_contexts(path)
    return [Context(each.text, id=each.id) for each in datasets.documents_of(path)]


def joined_with(samples: Iterable[Sample], references: Path) -> Joined:
    """Return the samples with their references; errors in the references name their file."""
    try:
        return datasets.with_references(samples, datasets.read(references))
    except InputError as error:
        raise error.at(path=str(references)) from None


def samples_of_run(
    files: Sequence[Path], run: Path, ties: Any, **other_options: object
) -> Iterable[Sample]:
    """Return the samples of a TREC run.

    Raises `typer.BadParameter` if any of `other_options`, which apply to other files, is set.
    """
    for name, value in other_options.items():
        if value:
            raise bad_option(f"--{name.replace('_', '-')}", "must be left out with --run")
    if len(files) > 1:
        raise bad_option("--run", f"expected one FILE of qrels, got {len(files)}")
    return datasets.read_trec(files[0], run, ties=ties)


def unretrieved(sample: Sample) -> Sample:
    """Return a sample without its retrieval, so that a retriever is asked."""
    retrieved = ("retrieved_contexts", "retrieved_context_ids", "retrieval")
    return Sample(
        **{name: value for name, value in sample.to_dict().items() if name not in retrieved}
    )


def _values(
    option: str, parts: Iterable[tuple[str, str, str, str]], form: str, twice: str
) -> dict[str, str | None]:
    """Return values by their names, from texts split at "="; an empty value becomes None."""
    values: dict[str, str | None] = {}
    for text, name, equals, value in parts:
        if not (name and equals):
            raise bad_option(option, f"must be {form}, got {text!r}")
        if values.setdefault(name, value or None) != (value or None):
            raise bad_option(option, f"{name!r} {twice}")
    return values


class ScorerName(StrEnum):
    """The values of `--scorer`: the names of the scores, in the default order of preference.

    The most direct is first: IDs before texts, texts before claims, claims before entities. Spans
    need no threshold and hold for any chunking, so they come before similar texts. Claims come
    before entities because ragas, deepeval, and LangSmith's evaluators also measure recall by the
    reference answer's claims.
    """

    ID = "id_recall"
    SPAN = "span_recall"
    TEXT = "text_recall"
    CLAIM = "claim_recall"
    ENTITY = "entity_recall"


def read_scorer_name(text: str) -> ScorerName:
    """Read the name of a scorer."""
    if text not in list(ScorerName):
        letters = text.lower().replace("_", "")
        near = next((each for each in ScorerName if each.replace("_", "") == letters), None)
        way = f"did you mean {near}?" if near else f"choose one of {', '.join(ScorerName)}"
        raise typer.BadParameter(f"no scorer {text!r}: {way}")
    return ScorerName(text)


scorer_option = partial(typer.Option, "--scorer", "-s", metavar="NAME", parser=read_scorer_name)

_REFERENCES: Mapping[ScorerName, tuple[str, ...]] = {
    ScorerName.ID: ("reference_context_ids",),
    ScorerName.SPAN: ("reference_contexts",),
    ScorerName.TEXT: ("reference_contexts",),
    ScorerName.CLAIM: ("reference_claims", "reference"),
    ScorerName.ENTITY: ("reference_entities",),
}
"""The fields for each scorer, which needs one of them."""


def scorers_of(
    names: Sequence[ScorerName], options: Mapping[ScorerName, Mapping[str, Any]], first: Sample
) -> list[FindingScorer]:
    """Return the requested scorers; without any, the first one that `first` has fields for.

    A scorer is requested by name, or by an option of its own that is not None or False. Raises
    `ParameterError` for a value out of range, `typer.BadParameter` for an option that none of the
    scorers takes, `InputError` if `first` allows no scorer.
    """
    asking = {
        scorer: {name: value for name, value in own.items() if value not in (None, False)}
        for scorer, own in options.items()
    }
    implied = [scorer for scorer, own in asking.items() if own]
    chosen = list(dict.fromkeys(names)) or implied or possible(first)[:1]
    if not chosen:
        raise InputError(_none_allowed(first))
    # Refuse an option for a scorer that does not run, which would be ignored silently.
    for scorer in implied:
        if scorer not in chosen:
            name = next(iter(asking[scorer]))
            raise bad_option(parameter(name), f"needs the scorer {scorer}, got {', '.join(chosen)}")
    return [_scorer(name, asking.get(name, {})) for name in chosen]


def possible(first: Sample) -> list[ScorerName]:
    """Return the scorers for which `first` has fields, in the default order of preference.

    A sample without a retrieval needs only references, since a retriever may be asked. For a sample
    with forbidden documents but no references, `id_recall` is returned.
    """
    ids, contexts = first.retrieved_context_ids, first.retrieved_contexts
    has_ids = not first.has_retrieval or not ids or any(known is not None for known in ids)
    has_texts = not first.has_retrieval or (
        contexts is not None
        and (not contexts or any(context.text is not None for context in contexts))
    )
    names = [
        name
        for name, fields in _REFERENCES.items()
        if any(getattr(first, field) is not None for field in fields)
        and (has_ids if name is ScorerName.ID else has_texts)
    ]
    return names or [ScorerName.ID] * (first.forbids and has_ids)


def _scorer(name: ScorerName, options: dict[str, Any]) -> FindingScorer:
    from fullrecall import scorers  # this package loads each scorer on its first use

    kind = getattr(scorers, name.title().replace("_", ""))
    scorer: FindingScorer = kind(**options)
    return scorer


def _none_allowed(first: Sample) -> str:
    fields = [name for name in Sample.names() if getattr(first, name)]
    lines = [f"no scorer can use the fields of the first sample ({', '.join(fields) or 'none'}):"]
    for name, references in _REFERENCES.items():
        retrieved = "retrieved_context_ids" if name is ScorerName.ID else "retrieved_contexts"
        lines.append(f"{name} needs {retrieved} and {' or '.join(references)}")
    lines.append("other names for these fields: --rename OLD=NEW")
    if not any(name.startswith("reference") for name in fields):
        lines.append("no references yet: fullrecall testset generate writes questions with them")
    return "\n".join(lines)
