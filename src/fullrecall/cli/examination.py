"""`fullrecall judge JUDGE`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fullrecall.cli.judge import KINDS, JudgeOptions, judge_of
from fullrecall.cli.options import at_least
from fullrecall.counts import counted

if TYPE_CHECKING:
    from fullrecall.evaluation.examination import Examination

HELP = """\
A line of the labels:
  {"claim": "The tower is in Paris.", "contexts": ["…", "…"], "label": 1}

Label 1 means that the contexts support the whole claim; yes, no, supported, and not_supported \
also work. Without --labels the demo's questions are used. From the true claims it makes false \
ones, in thirty kinds: another number, unit, month or name, a "not", "only", a cause, a condition \
and so on. Kinds that the judge has a rule for are shown apart.

Examples:
  fullrecall judge lexical
  fullrecall judge nli:models/hhem --labels labels.jsonl
  fullrecall judge openai:gpt-4o-mini --labels labels.jsonl --runs 3
  fullrecall judge lexical --labels labels.jsonl --output judged.jsonl
"""


def judge(
    judge: Annotated[
        str,
        typer.Argument(metavar="JUDGE", help=f"{KINDS}."),
    ] = "lexical",
    *,
    labels: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            show_default=False,
            help="Labeled claims: .jsonl. Default: the demo's questions.",
        ),
    ] = None,
    runs: Annotated[
        int,
        typer.Option(
            metavar="N",
            callback=at_least(1),
            help="Judge all claims this many times, to measure agreement.",
        ),
    ] = 1,
    details: Annotated[
        bool,
        typer.Option("--details/--no-details", help="Make false claims from the true ones."),
    ] = True,
    per_kind: Annotated[
        int,
        typer.Option(
            metavar="N", callback=at_least(1), help="Make at most N false claims of each kind."
        ),
    ] = 50,
    base_url: Annotated[
        str | None,
        typer.Option(
            metavar="URL", show_default=False, help="Endpoint of openai:MODEL or anthropic:MODEL."
        ),
    ] = None,
    store: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            show_default=False,
            help="Keep model answers here (.sqlite) to resume a stopped run.",
        ),
    ] = None,
    max_concurrency: Annotated[
        int, typer.Option(metavar="N", callback=at_least(1), help="Maximum concurrent requests.")
    ] = 16,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            show_default=False,
            help="Save the report here (.jsonl), and its labels beside it, for `calibrate`.",
        ),
    ] = None,
    seed: Annotated[int, typer.Option(metavar="N", help="Random seed of the false details.")] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON and nothing else.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Show no progress.")] = False,
) -> None:
    """Measure the judge and print; see `HELP`."""
    from fullrecall.cli.console import fail, noting, show, write
    from fullrecall.cli.problems import explained
    from fullrecall.errors import FullrecallError, InputError
    from fullrecall.evaluation.examination import demo_pairs, examine, read_pairs

    if output is not None and (output.suffix != ".jsonl" or not output.parent.is_dir()):
        raise typer.BadParameter(
            f"must be a .jsonl file in a directory that exists, got {output}",
            param_hint="--output",
        )
    try:
        asked = judge_of(JudgeOptions(judge, base_url))
        assert asked is not None  # noqa: S101 - one is named
        pairs = demo_pairs() if labels is None else read_pairs(labels)
        given: dict[str, Any] = {"max_concurrency": max_concurrency, "progress": not quiet}
        if store is not None:
            given["store"] = store
        with noting():
            found = examine(
                asked, pairs, details=details, per_kind=per_kind, runs=runs, seed=seed, **given
            )
        if output is not None:
            _save(found, output)
    except InputError as error:
        fail(*explained(error.at(path=None if labels is None else str(labels))))
    except (FullrecallError, OSError) as error:
        fail(*explained(error))
    if as_json:
        write(json.dumps(found.to_dict(), indent=2))
    else:
        show(*_lines(found))


def _save(found: Examination, output: Path) -> None:
    from fullrecall.evaluation.examination import write_labels

    found.report.save(output)
    write_labels(found, output.with_suffix(".labels.jsonl"))


def _lines(found: Examination) -> list[Any]:
    from rich.table import Table

    table = Table(box=None, pad_edge=False, show_edge=False)
    for column in ("claims", "number", "supported", "unscored"):
        table.add_column(column, justify="left" if column == "claims" else "right")
    true = [one for one in found.judgments if one.pair.supported]
    for kind in dict.fromkeys(one.pair.kind for one in true):
        told = [one for one in true if one.pair.kind == kind]
        silent = sum(one.supported is None for one in told)
        right = sum(one.supported is True for one in told)
        name = "true" if kind == "labeled" else kind
        table.add_row(name, f"{len(told):,}", _share(right, len(told) - silent), f"{silent:,}")
    # Kinds that the judge has a rule for come last, and say so.
    for kind, (count, wrong, silent) in sorted(
        found.errors.items(), key=lambda error: error[0] in found.rules
    ):
        name = "false" if kind == "labeled" else f"false {kind}"
        marked = f"{name} (has a rule)" if kind in found.rules else name
        table.add_row(marked, f"{count:,}", _share(wrong, count - silent), f"{silent:,}")
    lines = [f"judge: {found.judge}"]
    lines += [f"balanced accuracy {found.balanced_accuracy:.3f}, AUC {found.auc:.3f} "
             f"({len(found.labeled):,} labeled claims)"
             if found.balanced_accuracy is not None and found.auc is not None
             else "balanced accuracy: needs supported and unsupported labels"]  # fmt: skip
    lines += [
        f"false claims supported: {credit[0]:.3f}, mean of {counted(credit[1], 'kind')} {which}"
        for ruled, which in ((False, "without a rule of its own"), (True, "that it has a rule for"))
        if (credit := found.false_credit(ruled=ruled)) is not None
    ]
    if found.threshold is not None:
        lines.append(f"threshold that fits these labels: {found.threshold:.3f}")
    if found.agreement is not None:
        lines.append(f"agreement between runs: {found.agreement:.3f}")
    usage = found.usage
    tokens = usage.prompt_tokens + usage.completion_tokens
    cost = f"{counted(usage.calls, 'call')}, {counted(tokens, 'token')}, "
    return [lines[0], table, *lines[1:], f"{cost}{found.seconds:.1f} s"]


def _share(part: int, whole: int) -> str:
    return f"{part / whole:.3f}" if whole else "-"
