"""`fullrecall read FILE`: show how a file is read, and its first sample, without scoring."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Argument

from fullrecall.cli import options
from fullrecall.cli.console import write_json
from fullrecall.cli.source import FieldOption, FormatOption, RowsOption, fields_of
from fullrecall.cli.streams import write
from fullrecall.files.plans import REFERENCES

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fullrecall.files.plans import ReadPlan
    from fullrecall.samples.sample import Sample

_LONGEST = 100


def read(
    file: Annotated[Path, Argument(metavar="FILE", help="A golden set, as for evaluate.")],
    *,
    rows: RowsOption = None,
    field: FieldOption = None,
    format: FormatOption = None,  # noqa: A002 - the option's name
    as_json: options.JsonOption = False,
) -> None:
    """Show how a file is read, and its first sample.

    Guesses which columns hold the question and the references, and does not score. The plan is the
    options that read the file in the same way. Exits with 3 if the columns leave a doubt.

    Examples:
      fullrecall read golden.json
      fullrecall read golden.json --rows 'tests[]' --field expected_ids=docs
    """
    from fullrecall.files.reading import planned_head

    plan, sample_of = planned_head(file, rows=rows, fields=fields_of(field), format=format)
    sample = sample_of() if plan.certain else None

    def values() -> dict[str, Any]:
        return {
            "rows": plan.rows,
            "fields": dict(plan.line),
            "certain": plan.certain,
            "doubts": [each._asdict() for each in plan.doubts],
            "metadata": list(plan.metadata),
            "left_out": list(plan.left_out),
            "format": plan.format,
            "sample": None if sample is None else sample.to_dict(),
        }

    if as_json:
        write_json(values())
    else:  # Do not wrap lines, so that the command can be pasted.
        calls = (choice.call for choice in plan.choices())
        write("\n".join([*calls, *plan.explained(), *_shown(sample)]) + "\n")
    if not plan.certain:
        raise typer.Exit(3)


def _shown(sample: Sample | None) -> Iterator[str]:
    """Yield the lines that show a sample; no line if it is None."""
    if sample is not None:
        yield "\nThe first sample:"
        for name, value in sample.to_dict().items():
            text = str(value)
            yield f"  {name}: {text if len(text) <= _LONGEST else text[:_LONGEST] + '…'}"


def preview(plan: ReadPlan, sample: Sample) -> str:
    """Return one line about how a file was read."""
    parts = [f"question ← {plan.fields['user_input']}"] if "user_input" in plan.fields else []
    sides = (*REFERENCES, "retrieved_contexts", "retrieved_context_ids")
    parts += [f"{n} ← {plan.fields[n]}{_example(sample, n)}" for n in sides if n in plan.fields]
    parts += [f"metadata: {', '.join(plan.metadata)}"] if plan.metadata else []
    parts += [f"left out: {', '.join(plan.left_out)}"] if plan.left_out else []
    return f"Read {plan.file}: {'; '.join(parts)}"


def _example(sample: Sample, name: str) -> str:
    """Return the number of values in a sample's list field, with an example; "" without a list."""
    value = getattr(sample, name)
    if isinstance(value, str) or not value:
        return ""
    first = value[0]
    if name == "reference_context_ids":
        first = first.any_of[0]
    elif name == "reference_contexts":
        first = first[0].text
    text = str(getattr(first, "text", first))
    return f" ({len(value)}, such as {text if len(text) <= 40 else text[:40] + '…'})"  # noqa: PLR2004
