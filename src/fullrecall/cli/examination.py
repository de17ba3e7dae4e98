"""`fullrecall judge examine JUDGE`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from fullrecall.cli.console import show, write_json
from fullrecall.cli.exits import bad_option
from fullrecall.cli.judge import judge_of
from fullrecall.cli.options import Positive
from fullrecall.cli.signatures import taking
from fullrecall.counts import counted
from fullrecall.errors import InputError
from fullrecall.evaluation.examination import (
    Examination,
    Judgment,
    demo_pairs,
    read_pairs,
    write_labels,
)
from fullrecall.evaluation.examination import examine as examination_of
from fullrecall.evaluation.run import Options
from fullrecall.views import terminal
from fullrecall.views.sheet import Line, Section, Sheet
from fullrecall.views.text import shown


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
        raise bad_option(
            "--output", f"must be a .jsonl file in a directory that exists, got {output}"
        )
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
        examination.report.save(output)
        write_labels(examination, output.with_suffix(".labels.jsonl"))
    if as_json:
        write_json(examination.to_dict())
    else:
        show(*terminal.parts(_sheet(examination)))


def _sheet(examination: Examination) -> Sheet:
    """Return how many claims of each kind are found supported, and what that comes to."""
    by_kind: dict[tuple[bool, str], list[Judgment]] = {}
    for judgment in examination.judgments:
        supported, kind = judgment.pair.supported, judgment.pair.kind
        ruled = not supported and kind in examination.rules
        name = f"{kind} (has a rule)" if ruled else kind
        by_kind.setdefault((supported, name), []).append(judgment)
    sections = [
        Section(
            "true" if is_true else "false",
            [_line(name, judged) for (true, name), judged in by_kind.items() if true is is_true],
        )
        for is_true in (True, False)
    ]
    return Sheet(["claims", "supported", "unscored"], sections, list(_notes(examination)))


def _line(kind: str, judgments: Sequence[Judgment]) -> Line:
    silent = sum(judgment.supported is None for judgment in judgments)
    supported = sum(judgment.supported is True for judgment in judgments)
    share = shown(supported / (len(judgments) - silent) if silent < len(judgments) else None)
    return Line(kind, [f"{len(judgments):,}", share, f"{silent:,}"])


def _notes(examination: Examination) -> Iterator[str]:
    yield f"judge: {examination.judge}"
    if examination.balanced_accuracy is None:
        yield "balanced accuracy: needs supported and unsupported labels"
    else:
        yield (
            f"balanced accuracy {examination.balanced_accuracy:.3f} "
            f"({len(examination.labeled):,} labeled claims)"
        )
    for ruled, whose in (
        (False, "without a rule of its own"),
        (True, "that it has a rule for"),
    ):
        credit = examination.false_credit(ruled=ruled)
        if credit is not None:
            mean, kinds = credit
            yield f"false claims supported: {mean:.3f}, mean of {counted(kinds, 'kind')} {whose}"
    usage = examination.usage
    tokens = usage.prompt_tokens + usage.completion_tokens
    cost = f"{counted(usage.calls, 'call')}, {counted(tokens, 'token')}"
    yield f"{cost}, {examination.seconds:.1f} s"
