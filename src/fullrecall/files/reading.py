"""`read` and `plan_of`: read samples from files, by a plan of their columns."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from collections.abc import Set as AbstractSet
from contextlib import closing
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fullrecall._util.naming import parameter
from fullrecall._util.pieces import chunked
from fullrecall._util.places import shown_path
from fullrecall.errors import InputError, ParameterError
from fullrecall.files.containers import (
    KINDS,
    FileRows,
    kind_of,
    partitions,
    rows_of_file,
    rows_of_partitions,
)
from fullrecall.files.frames import without_absent_keys
from fullrecall.files.plans import Given, ReadPlan
from fullrecall.files.reports.signature import is_report
from fullrecall.files.rows import FileSamples, PlannedRows, Rename, in_file
from fullrecall.files.text_files import (
    STANDARD_INPUT,
    FilePath,
    existing_file,
    kind_at,
    name_of,
    way_out,
)
from fullrecall.observe.sources import is_span_row
from fullrecall.samples.id_keys import IdKey
from fullrecall.samples.sample import Sample

if TYPE_CHECKING:
    from fullrecall.observe.reading import ToolDocuments


def read(
    path: FilePath,
    *,
    rows: str | None = None,
    fields: Mapping[str, str | None] | None = None,
    format: str | None = None,  # noqa: A002 - the file's format
    rename: Rename | None = None,
    id_key: IdKey | None = None,
    other_tools: Collection[str] = (),
    tool_documents: ToolDocuments = None,
) -> FileSamples:
    """Return the samples of a file, one at a time.

    The file's name ends in `.jsonl`, `.ndjson`, `.json`, `.yaml`, `.yml`, `.csv`, `.tsv` or
    `.parquet`, all but the last also with `.gz`; `format`, one of these without the dot, overrides
    the name. Rows and fields are found by the names and values of the columns (`plan_of`);
    well-known tools and benchmarks are recognized by their columns. If a field remains in doubt,
    the error shows the plan, and `rows` and `fields` resolve the doubt:

    - `rows`: the path of the rows in the file: `questions[]`, `data[].paragraphs[].qas[]`; `*` for
      the values of a mapping, each with its key in `key`; `*.qas[]` for a list in each; `[label=E]`
      for the rows with a value.
    - `fields`: the path of each field in a row; None for a field that the file does not have. `a.b`
      is a key within another, `a[]` each item of a list, `a[0]` one item, `a[flag]` the items that
      have a flag, `a[type=x]` those with a value. `evidence[].{doc_id}#{page}` joins values to an
      ID; `snippets[].{text: answer, source: file, start: span[0], end: span[1]}` makes a context.
      For `answerable` a path may be negated (`!expected_refusal`) or compared (`type!=not_found`,
      `id!=*_abs`).
    - `rename`: columns with their fields (`{"their_column": "our_field", "junk": None}`; None
      leaves the column out).
    - `id_key`: the place of a retrieved context's ID: a dotted path, a template
      (`{source}#{page}`), or a function that takes the context.
    - `other_tools`, `tool_documents`: those of `from_spans`, for files of traces.

    Columns that no field uses become metadata. A list in a CSV cell is JSON, Python's notation, or
    IDs separated by `;`, `|`, a comma or a line break; an empty cell is a missing value. Text is
    UTF-8, or UTF-16 with a byte order mark, as Excel's "Unicode text" is. `path` may be an address,
    such as `s3://bucket/golden.jsonl`, `gs://…` or `memory://…`. A folder of Parquet files, or of
    files in folders such as `kind=faq`, is one set, and these folders' names become columns. Any
    other folder must be BEIR's: `queries.jsonl` and `qrels` (`format="dev"` names another split
    than "test"). Spans (OTLP JSON, Phoenix, MLflow) are known by the first row and read as
    `from_spans` does. A saved report, a file or a directory, gives its samples. The path `-` is
    standard input, as JSON Lines unless `format` says otherwise. Raises `InputError`, with the
    file, the line and the field, at the first row that cannot be read, after all samples before it;
    `ReportError` for a saved report that cannot be read, `ParameterError` for an unknown format or
    a text that is not a path, and `MissingExtraError` for Parquet without pyarrow.
    """
    given = Given.of(rows, fields, rename)
    name = name_of(path)
    if Path(name).is_dir():
        from fullrecall.files.trec import is_beir, read_beir

        if is_beir(Path(name)):
            return FileSamples(in_file(name, read_beir(Path(name), format or "test")))
    if format is None and is_report(name, InputError):
        _check_columns(given, "is a saved report")
        from fullrecall.files.reports.saved import open_report
        from fullrecall.stats.evaluation import Evaluation

        return FileSamples(row.sample for row in open_report(name, Evaluation))
    name, opened, planned = _opened(path, format, given, id_key)
    tools = {"other_tools": other_tools, "tool_documents": tool_documents}
    samples, chunks = (
        in_file(name, _samples(opened, given, planned, id_key, tools, together=together))
        for together in (False, True)
    )
    return FileSamples(samples, planned, chunks)


def plan_of(
    path: FilePath,
    *,
    rows: str | None = None,
    fields: Mapping[str, str | None] | None = None,
    format: str | None = None,  # noqa: A002 - the file's format
) -> ReadPlan:
    """Return the plan by which `read` reads a file, guessed from its columns.

    The plan prints as a call of `read`. `plan.certain` says whether `read` follows it; if not,
    `plan.doubts` are the fields whose paths the columns do not determine. The options are those of
    `read`; the other paths are guessed. Raises `InputError` for a file that has no rows.
    """
    return planned_head(path, rows=rows, fields=fields, format=format)[0]


def planned_head(
    path: FilePath,
    *,
    rows: str | None,
    fields: Mapping[str, str | None] | None,
    format: str | None,  # noqa: A002 - the file's format
) -> tuple[ReadPlan, Callable[[], Sample]]:
    """Return the plan of a file, and a function that reads its first sample."""
    name, opened, planned = _opened(path, format, Given.of(rows, fields, None), None)
    try:
        with closing(opened):
            plan, values = planned.planned(opened)
    except InputError as error:
        raise error.at(path=name) from None
    return plan, lambda: plan.sample(values[0])


def _opened(
    path: FilePath, kind: str | None, given: Given, id_key: IdKey | None
) -> tuple[str, FileRows, PlannedRows]:
    """Return the name of a path for messages, its rows, and the converter of rows to samples."""
    if kind is not None and kind not in list(KINDS):
        raise ParameterError(f"must be one of {', '.join(KINDS)}, got {kind!r}", "format")
    kind, rows = _container(path, kind, given.left_out)
    cell = without_absent_keys if kind == "parquet" else None
    is_table = kind in ("csv", "tsv", "parquet")
    name = shown_path(path)
    return name, rows, PlannedRows(given, id_key=id_key, cell=cell, file=name, is_table=is_table)


def _container(
    path: FilePath, kind: str | None, left_out: AbstractSet[str]
) -> tuple[str, FileRows]:
    """Return the kind of a file, or of the files of a folder, and their rows."""
    name = name_of(path)
    if kind_at(name) == "folder":
        kind, parts = partitions(name, kind)
        return kind, rows_of_partitions(parts, kind, left_out)
    name = existing_file(path)
    kind = kind or ("jsonl" if name == STANDARD_INPUT else kind_of(shown_path(name)))
    if kind is None:
        raise InputError(way_out(name, KINDS), path=shown_path(name))
    return kind, rows_of_file(name, kind, left_out)


def _check_columns(given: Given, holds: str) -> None:
    if given != Given():
        options = ", ".join(map(parameter, ("rows", "fields", "rename")))
        raise ParameterError(f"{options} are for files of samples, and this one {holds}")


def _samples(
    rows: FileRows,
    given: Given,
    planned: PlannedRows,
    id_key: IdKey | None,
    tools: Mapping[str, Any],
    *,
    together: bool,
) -> Iterator[Any]:
    """Yield the samples of rows or of spans, in chunks if `together`."""
    with closing(rows):
        first = next(rows, None)
        if first is None:
            return
        if is_span_row(first[1]):
            _check_columns(given, "holds spans")
            from fullrecall.files.traces import samples_of_spans
            from fullrecall.observe.trace import TraceReading

            reading = TraceReading(id_key=id_key, **tools)
            samples = samples_of_spans(chain([first], rows), reading)
            yield from chunked(samples) if together else samples
            return
        for option in filter(tools.get, tools):
            raise ParameterError(f"{parameter(option)} is for traces, and this file holds samples")
        yield from (planned.chunks if together else planned.samples)(chain([first], rows))
