"""`fullrecall judge examine JUDGE`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rich.table import Table

from fullrecall.cli.console import show, write_json
from fullrecall.cli.exits import wrong
from fullrecall.cli.judge import judge_of
from fullrecall.cli.options import Positive
from fullrecall.cli.signatures import taking
from fullrecall.counts import counted
from fullrecall.errors import InputError
from fullrecall.evaluation.examination import Examination, demo_pairs, read_pairs, write_labels
from fullrecall.evaluation.examination import examine as examination_of
from fullrecall.evaluation.run import Options


@taking(examination_of, "details seed")
@taking(Options, "store max_concurrency")
def examine(
    judge: str = "lexical",
    *,
    labels: Path | None = None,
    per_kind: Positive = 50,
    base_url: str | None = None,
    output: Path | None = None,
    as_json: bool = False,
    quiet: bool = False,
    **settings: Any,
) -> None:
    """Measure the judge and print.

    A line of the labels:
      {"claim": "The tower is in Paris.", "contexts": ["…", "…"], "label": 1}

    Label 1 means that the contexts support the whole claim; yes, no, supported, and not_supported
    also work. Without --labels the demo's questions are used. From the true claims it makes false
    ones, in thirty kinds: another number, unit, month or name, a "not", "only", a cause, a
    condition and so on. Kinds that the judge has a rule for are shown apart.

    Examples:
      fullrecall judge examine lexical
      fullrecall judge examine nli:models/nli-deberta --labels labels.jsonl
      fullrecall judge examine openai:gpt-4o-mini --labels labels.jsonl
      fullrecall judge examine lexical --labels labels.jsonl --output judged.jsonl

    - `judge`: lexical, nli:FOLDER, openai:MODEL or anthropic:MODEL.
    - `labels`: Labeled claims: .jsonl. Default: the demo's questions.
    - `details`: Make false claims from the true ones.
    - `per_kind`: Make at most N false claims of each kind.
    - `output`: Save the report here (.jsonl), and its labels beside it, for `judge calibrate`.
    - `seed`: Random seed of the false details.
    """
    if output is not None and (output.suffix != ".jsonl" or not output.parent.is_dir()):
        raise wrong("--output", f"must be a .jsonl file in a directory that exists, got {output}")
    examined = judge_of(judge, base_url)
    assert examined is not None  # noqa: S101 - one is named
    try:
        pairs = demo_pairs() if labels is None else read_pairs(labels)
        examination = examination_of(
            examined, pairs, per_kind=per_kind, progress=not quiet, **settings
        )
    except InputError as error:
        raise error.at(path=None if labels is None else str(labels)) from None
    if output is not None:
        _save(examination, output)
    if as_json:
        write_json(examination.to_dict())
    else:
        show(*_lines(examination))


def _save(examination: Examination, output: Path) -> None:
    examination.report.save(output)
    write_labels(examination, output.with_suffix(".labels.jsonl"))


def _lines(examination: Examination) -> list[Any]:
    table = Table(box=None, pad_edge=False, show_edge=False)
    for column in ("claims", "number", "supported", "unscored"):
        table.add_column(column, justify="left" if column == "claims" else "right")
    true = [judgment for judgment in examination.judgments if judgment.pair.supported]
    for kind in dict.fromkeys(judgment.pair.kind for judgment in true):
        of_kind = [judgment for judgment in true if judgment.pair.kind == kind]
        silent = sum(judgment.supported is None for judgment in of_kind)
        right = sum(judgment.supported is True for judgment in of_kind)
        name = "true" if kind == "labeled" else kind
        table.add_row(
            name, f"{len(of_kind):,}", _share(right, len(of_kind) - silent), f"{silent:,}"
        )
    # Kinds that the judge has a rule for come last, and say so.
    for kind, (count, errors, silent) in sorted(
        examination.errors.items(), key=lambda error: error[0] in examination.rules
    ):
        name = "false" if kind == "labeled" else f"false {kind}"
        marked = f"{name} (has a rule)" if kind in examination.rules else name
        table.add_row(marked, f"{count:,}", _share(errors, count - silent), f"{silent:,}")
    lines = [f"judge: {examination.judge}"]
    lines += [
        f"balanced accuracy {examination.balanced_accuracy:.3f} "
        f"({len(examination.labeled):,} labeled claims)"
        if examination.balanced_accuracy is not None
        else "balanced accuracy: needs supported and unsupported labels"
    ]
    lines += [
        f"false claims supported: {credit[0]:.3f}, mean of {counted(credit[1], 'kind')} {which}"
        for ruled, which in ((False, "without a rule of its own"), (True, "that it has a rule for"))
        if (credit := examination.false_credit(ruled=ruled)) is not None
    ]
    if examination.threshold is not None:
        lines.append(f"threshold that fits these labels: {examination.threshold:.3f}")
    usage = examination.usage
    tokens = usage.prompt_tokens + usage.completion_tokens
    cost = f"{counted(usage.calls, 'call')}, {counted(tokens, 'token')}, "
    return [lines[0], table, *lines[1:], f"{cost}{examination.seconds:.1f} s"]


def _share(part: int, whole: int) -> str:
    return f"{part / whole:.3f}" if whole else "-"
