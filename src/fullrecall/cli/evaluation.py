"""`fullrecall evaluate FILE`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from fullrecall.cli.budget_options import budget_of
from fullrecall.cli.judge import KINDS, JudgeOptions
from fullrecall.cli.options import (
    above_zero,
    at_least,
    cut,
    cuts,
    cuts_option,
    measures_option,
    share,
)
from fullrecall.cli.scorers import ScorerName, Settings, scorer_name
from fullrecall.measures import Measure

HELP = """\
A line of a .jsonl file:
  {"user_input": "Where is the Eiffel Tower?",
   "retrieved_context_ids": ["doc_7", "doc_2"],
   "reference_context_ids": ["doc_2", "doc_9"]}

Texts go into retrieved_contexts and reference_contexts, the reference answer into reference. \
Field names of ragas, LangChain, and LlamaIndex also work.

Examples:
  fullrecall evaluate answers.jsonl --k 5
  fullrecall evaluate data.csv --rename found=retrieved_ids,gold=expected_ids
  fullrecall evaluate questions.jsonl --retriever app.py:search
  fullrecall evaluate part-1.jsonl part-2.jsonl --ks 1,5,10
  fullrecall evaluate answers.jsonl --scorer text_recall --threshold 0.8
  fullrecall evaluate qrels.txt --run bm25.run --measure ndcg@10
  fullrecall evaluate answers.jsonl --judge openai:gpt-4o-mini
  fullrecall evaluate traces.json --references labels.jsonl
  fullrecall evaluate questions.jsonl --retriever app.py:search --corpus pages/
"""

_MEASURING = "What to measure"
_JUDGING = "Judging claims"
_READING = "Reading the file"
_SHOWING = "Showing and saving"


def evaluate(
    files: Annotated[
        list[Path],
        typer.Argument(
            metavar="FILE",
            show_default=False,
            help="Samples, in one file or several: .jsonl, .ndjson, .json, .csv, .tsv, or "
            ".parquet; all but the last also as .gz; - is standard input. With --run: TREC "
            "relevance judgments (qrels).",
        ),
    ],
    *,
    scorer: Annotated[
        list[ScorerName] | None,
        typer.Option(
            "--scorer",
            "-s",
            metavar="NAME",
            parser=scorer_name,
            show_default=False,
            rich_help_panel=_MEASURING,
            help=f"{', '.join(ScorerName)}; repeatable. Default: the one that an option "
            "below asks for, else the first that the first sample has fields for.",
        ),
    ] = None,
    ks: Annotated[
        str | None,
        cuts_option(
            "Show recall of the first K contexts, and list what the largest K misses. "
            "Default: recall at 1, 3, 5, 10, and over all retrieved contexts.",
            _MEASURING,
        ),
    ] = None,
    measure: Annotated[
        list[Measure] | None,
        measures_option(
            "Measure to show in place of the default, or in addition to --k: precision@5, "
            "'ndcg(gain=exponential)@10'; repeatable.",
            _MEASURING,
        ),
    ] = None,
    view: Annotated[
        Literal["contexts", "retrieved", "read"],
        typer.Option(
            metavar="contexts|retrieved|read",
            rich_help_panel=_MEASURING,
            help="List of each recorded retrieval to score: the final one, all that was retrieved, "
            "or what the model's prompt had.",
        ),
    ] = "contexts",
    threshold: Annotated[
        float | None,
        typer.Option(
            metavar="0…1",
            show_default=False,
            rich_help_panel=_MEASURING,
            callback=share,
            help="text_recall: similarity at which two texts count as the same. Default: 0.5.",
        ),
    ] = None,
    similarity: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            show_default=False,
            rich_help_panel=_MEASURING,
            help="text_recall: RapidFuzz similarity, such as partial_ratio. Default: levenshtein.",
        ),
    ] = None,
    judge: Annotated[
        str | None,
        typer.Option(
            metavar="JUDGE",
            show_default=False,
            rich_help_panel=_JUDGING,
            help=f"claim_recall: {KINDS}. Default: lexical, which needs no model.",
        ),
    ] = None,
    base_url: Annotated[
        str | None,
        typer.Option(
            metavar="URL",
            show_default=False,
            rich_help_panel=_JUDGING,
            help="Endpoint of openai:MODEL, for vLLM, Ollama, LM Studio, and others.",
        ),
    ] = None,
    require_evidence: Annotated[
        bool,
        typer.Option(
            "--require-evidence",
            rich_help_panel=_JUDGING,
            help="claim_recall: require a verified quote for credit.",
        ),
    ] = False,
    split: Annotated[
        str | None,
        typer.Option(
            metavar="judge|joint|sentences",
            show_default=False,
            rich_help_panel=_JUDGING,
            help="claim_recall: who splits a reference; joint asks for claims and verdicts in one "
            "request. Default: judge.",
        ),
    ] = None,
    max_concurrency: Annotated[
        int,
        typer.Option(
            metavar="N",
            callback=at_least(1),
            rich_help_panel=_JUDGING,
            help="Maximum concurrent requests.",
        ),
    ] = 16,
    timeout: Annotated[
        float,
        typer.Option(
            metavar="SECONDS",
            callback=above_zero,
            rich_help_panel=_JUDGING,
            help="Time limit per request; retried once.",
        ),
    ] = 60.0,
    deadline: Annotated[
        float | None,
        typer.Option(
            metavar="SECONDS",
            callback=above_zero,
            show_default=False,
            rich_help_panel=_JUDGING,
            help="Time limit for the run; the rest is unscored. Default: none.",
        ),
    ] = None,
    store: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            show_default=False,
            rich_help_panel=_JUDGING,
            help="Save model answers here (.sqlite) to resume a stopped run.",
        ),
    ] = None,
    budget_calls: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            show_default=False,
            rich_help_panel=_JUDGING,
            help="Maximum requests; the rest is unscored.",
        ),
    ] = None,
    budget_tokens: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            show_default=False,
            rich_help_panel=_JUDGING,
            help="Maximum prompt plus completion tokens.",
        ),
    ] = None,
    budget_cost: Annotated[
        float | None,
        typer.Option(
            metavar="COST",
            show_default=False,
            rich_help_panel=_JUDGING,
            help="Maximum cost, by --price.",
        ),
    ] = None,
    price: Annotated[
        str | None,
        typer.Option(
            metavar="PROMPT,COMPLETION",
            show_default=False,
            rich_help_panel=_JUDGING,
            help="Price per million prompt and completion tokens.",
        ),
    ] = None,
    retriever: Annotated[
        str | None,
        typer.Option(
            metavar="MODULE:NAME",
            show_default=False,
            rich_help_panel=_READING,
            help="Python function of the question, such as app:search or path/app.py:search, that "
            "returns what to score. Default: what the samples have.",
        ),
    ] = None,
    run: Annotated[
        Path | None,
        typer.Option(
            metavar="RUN",
            show_default=False,
            rich_help_panel=_READING,
            help="TREC run to score: `query Q0 document rank score tag`.",
        ),
    ] = None,
    order: Annotated[
        Literal["score", "rank"] | None,
        typer.Option(
            metavar="score|rank",
            show_default=False,
            rich_help_panel=_READING,
            help="Column that orders the run. Default: score, as in trec_eval.",
        ),
    ] = None,
    references: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            show_default=False,
            rich_help_panel=_READING,
            help="References of the samples in FILE, joined by ID, else by question; samples "
            "without references are left out.",
        ),
    ] = None,
    corpus: Annotated[
        Path | None,
        typer.Option(
            metavar="PATH",
            exists=True,
            show_default=False,
            rich_help_panel=_READING,
            help="Folder or file of what the retriever searches: samples whose references it no "
            "longer has, or has with other words, are unscored.",
        ),
    ] = None,
    id_key: Annotated[
        str | None,
        typer.Option(
            metavar="PATH",
            show_default=False,
            rich_help_panel=_READING,
            help="Where a retrieved context has its ID, such as metadata.source. Default: its own "
            "ID.",
        ),
    ] = None,
    rename: Annotated[
        list[str] | None,
        typer.Option(
            metavar="OLD=NEW[,...]",
            show_default=False,
            rich_help_panel=_READING,
            help="Read column OLD as field NEW; OLD= leaves it out. Repeatable.",
        ),
    ] = None,
    format: Annotated[  # noqa: A002 - the option's name
        str | None,
        typer.Option(
            metavar="FORMAT",
            show_default=False,
            rich_help_panel=_READING,
            help="Read files as jsonl, json, csv, tsv, parquet, or spans. Default: by their "
            "endings and beginnings; jsonl for standard input.",
        ),
    ] = None,
    missed: Annotated[
        int,
        typer.Option(
            metavar="N",
            callback=at_least(0),
            rich_help_panel=_SHOWING,
            help="List the misses of the first N samples that miss something.",
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
            help="Save the report: .jsonl, or .parquet for a directory of any size, as samples are "
            "scored, for the other commands; .csv, .json, .md, .xml (JUnit), or .html at the end.",
        ),
    ] = None,
    replace: Annotated[
        bool,
        typer.Option(
            "--replace",
            rich_help_panel=_SHOWING,
            help="Replace the report that --output names, if there is one.",
        ),
    ] = False,
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
            help="Print the table only: no progress, notes, or misses.",
        ),
    ] = False,
) -> None:
    """Score the samples of a file and print what they add up to; see `HELP`."""
    from fullrecall.cli.job import Request, expanded, run_evaluation
    from fullrecall.evaluation.run import RunOptions

    shown = cuts(ks)
    run_evaluation(
        Request(
            files=expanded(files),
            retriever=retriever,
            run=run,
            order=order,
            references=references,
            id_key=id_key,
            format=format,
            rename=rename or [],
            scorers=scorer or [],
            settings=Settings(
                threshold=threshold,
                similarity=similarity,
                judging=JudgeOptions(judge, base_url, require_evidence, split),
            ),
            k=max((each for each in shown if isinstance(each, int)), default=None),
            measures=cut(shown, measure),
            limits=RunOptions(
                max_concurrency=max_concurrency,
                timeout=timeout,
                deadline=deadline,
                store=store,
                corpus=corpus,
                view=view,
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
            replace=replace,
            as_json=as_json,
            quiet=quiet,
        )
    )
