"""`fullrecall evaluate FILE`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fullrecall.cli.budgeting import budget_of
from fullrecall.cli.checking import above_zero, at_least
from fullrecall.cli.choosing import ScorerName, Settings
from fullrecall.cli.judging import KINDS, JudgeOptions

HELP = """\
Score the samples of a file: one question each, what was retrieved, what should have been.

[bold]A line of a .jsonl file[/]
  {"user_input": "Where is the Eiffel Tower?",
   "retrieved_context_ids": ["doc_7", "doc_2"],
   "reference_context_ids": ["doc_2", "doc_9"]}

Texts go into retrieved_contexts and reference_contexts, the reference answer into reference. \
What ragas, LangChain and LlamaIndex call these fields is taken too.

[bold]Examples[/]
  fullrecall evaluate answers.jsonl --k 5
  fullrecall evaluate answers.csv --rename doc_ids=retrieved_context_ids
  fullrecall evaluate answers.jsonl --scorer text --threshold 0.8
  fullrecall evaluate qrels.txt --run bm25.run --output bm25.jsonl
  fullrecall evaluate answers.jsonl --scorer claim --judge openai:gpt-4o-mini
"""

_MEASURING = "What to measure"
_JUDGING = "Judging claims"
_READING = "Reading the file"
_SHOWING = "Showing and saving"


def evaluate(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE",
            show_default=False,
            help="Samples: .jsonl, .ndjson, .json, .csv, .tsv or .parquet, all but the last also "
            "as .gz. With --run: TREC's relevance judgements (qrels).",
        ),
    ],
    *,
    scorer: Annotated[
        list[ScorerName] | None,
        typer.Option(
            "--scorer",
            "-s",
            metavar="NAME",
            show_default=False,
            rich_help_panel=_MEASURING,
            help="id, text, span, entity, precision or claim; repeat it for several. Without "
            "it: each one that the fields of the first sample allow.",
        ),
    ] = None,
    k: Annotated[
        int | None,
        typer.Option(
            "--k",
            "-k",
            metavar="K",
            show_default=False,
            rich_help_panel=_MEASURING,
            help="Count the first K contexts. Without it: all of them.",
        ),
    ] = None,
    ks: Annotated[
        str,
        typer.Option(
            metavar="K,K,…", rich_help_panel=_MEASURING, help="The cut-offs that the table lists."
        ),
    ] = "1,3,5,10",
    threshold: Annotated[
        float | None,
        typer.Option(
            metavar="0…1",
            show_default=False,
            rich_help_panel=_MEASURING,
            help="text: how similar two texts must be to count as the same. Without it: 0.5.",
        ),
    ] = None,
    similarity: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            show_default=False,
            rich_help_panel=_MEASURING,
            help="text: a RapidFuzz similarity such as partial_ratio. Without it: levenshtein.",
        ),
    ] = None,
    min_grade: Annotated[
        float | None,
        typer.Option(
            metavar="GRADE",
            show_default=False,
            rich_help_panel=_MEASURING,
            help="id: the lowest grade that must be retrieved. Without it: 1.",
        ),
    ] = None,
    zero_division: Annotated[
        float | None,
        typer.Option(
            metavar="0…1",
            show_default=False,
            rich_help_panel=_MEASURING,
            help="The score of a sample without reference items. Without it: undefined, counted "
            "and left out of the means.",
        ),
    ] = None,
    judge: Annotated[
        str | None,
        typer.Option(
            metavar="JUDGE",
            show_default=False,
            rich_help_panel=_JUDGING,
            help=f"claim: {KINDS}. Without it: lexical, which needs no model.",
        ),
    ] = None,
    base_url: Annotated[
        str | None,
        typer.Option(
            metavar="URL",
            show_default=False,
            rich_help_panel=_JUDGING,
            help="claim: the endpoint of openai:MODEL, for vLLM, Ollama, LM Studio and others.",
        ),
    ] = None,
    require_evidence: Annotated[
        bool,
        typer.Option(
            "--require-evidence",
            rich_help_panel=_JUDGING,
            help="claim: no credit for what the judge does not quote from the context.",
        ),
    ] = False,
    max_concurrency: Annotated[
        int,
        typer.Option(
            metavar="N",
            callback=at_least(1),
            rich_help_panel=_JUDGING,
            help="How many requests are on their way to a model at a time.",
        ),
    ] = 16,
    timeout: Annotated[
        float,
        typer.Option(
            metavar="SECONDS",
            callback=above_zero,
            rich_help_panel=_JUDGING,
            help="How long one request may take; then it is sent once more.",
        ),
    ] = 60.0,
    deadline: Annotated[
        float | None,
        typer.Option(
            metavar="SECONDS",
            callback=above_zero,
            show_default=False,
            rich_help_panel=_JUDGING,
            help="How long the whole run may take; what is left is unscored. Without it: as long "
            "as it takes.",
        ),
    ] = None,
    store: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            show_default=False,
            rich_help_panel=_JUDGING,
            help="Keep what the model answers in this file (.sqlite): a run that was stopped goes "
            "on from there, and nothing is paid twice.",
        ),
    ] = None,
    budget_calls: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            show_default=False,
            rich_help_panel=_JUDGING,
            help="Send so many requests at most; what is left is unscored, and with --store a "
            "later run goes on.",
        ),
    ] = None,
    budget_tokens: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            show_default=False,
            rich_help_panel=_JUDGING,
            help="Stop likewise at so many tokens of prompts and answers.",
        ),
    ] = None,
    budget_cost: Annotated[
        float | None,
        typer.Option(
            metavar="COST",
            show_default=False,
            rich_help_panel=_JUDGING,
            help="Stop likewise at this cost, by --price.",
        ),
    ] = None,
    price: Annotated[
        str | None,
        typer.Option(
            metavar="PROMPT,ANSWER",
            show_default=False,
            rich_help_panel=_JUDGING,
            help="What a million prompt tokens and a million answer tokens of the model cost.",
        ),
    ] = None,
    run: Annotated[
        Path | None,
        typer.Option(
            metavar="RUN",
            show_default=False,
            rich_help_panel=_READING,
            help="TREC: what a system retrieved, `query Q0 document rank score tag`.",
        ),
    ] = None,
    rename: Annotated[
        list[str] | None,
        typer.Option(
            metavar="OLD=NEW",
            show_default=False,
            rich_help_panel=_READING,
            help="Read the column OLD as the field NEW, or leave it out: OLD=. Repeatable.",
        ),
    ] = None,
    format: Annotated[  # noqa: A002 - the option's name
        str | None,
        typer.Option(
            metavar="FORMAT",
            show_default=False,
            rich_help_panel=_READING,
            help="Read FILE as jsonl, json, csv, tsv or parquet, whatever its name ends in.",
        ),
    ] = None,
    missed: Annotated[
        int,
        typer.Option(
            metavar="N",
            callback=at_least(0),
            rich_help_panel=_SHOWING,
            help="List what was missed in the first N samples that miss something.",
        ),
    ] = 5,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="REPORT",
            show_default=False,
            rich_help_panel=_SHOWING,
            help="Save every sample with its results as it is scored (.jsonl): what compare and "
            "gate read. A run that is stopped keeps what it had. Or write at the end, by the "
            "name's ending: .csv, .json, .md, .xml (JUnit), .html.",
        ),
    ] = None,
    as_json: Annotated[
        bool,
        typer.Option(
            "--json",
            rich_help_panel=_SHOWING,
            help="Print the summary as JSON and nothing else.",
        ),
    ] = False,
    quiet: Annotated[
        bool,
        typer.Option(
            "--quiet",
            "-q",
            rich_help_panel=_SHOWING,
            help="Print the table alone: no progress, no notes, nothing of what was missed.",
        ),
    ] = False,
) -> None:
    """Score the samples of a file and print what they add up to; see `HELP`."""
    from fullrecall.cli.running import Request, run_evaluation
    from fullrecall.evaluation.run import RunOptions

    run_evaluation(
        Request(
            file=file,
            run=run,
            format=format,
            rename=rename or [],
            scorers=scorer or [],
            settings=Settings(
                k=k,
                ks=ks,
                threshold=threshold,
                similarity=similarity,
                min_grade=min_grade,
                zero_division=zero_division,
                judging=JudgeOptions(judge, base_url, require_evidence),
            ),
            limits=RunOptions(
                max_concurrency=max_concurrency,
                timeout=timeout,
                deadline=deadline,
                store=store,
                budget=budget_of(
                    calls=budget_calls,
                    tokens=budget_tokens,
                    cost=budget_cost,
                    price=price,
                    judge=judge,
                ),
            ),
            missed=missed,
            output=output,
            as_json=as_json,
            quiet=quiet,
        )
    )
