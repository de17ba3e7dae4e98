"""`fullrecall evaluate FILE`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument, Option

from fullrecall._util.counts import counted
from fullrecall._util.places import shown_path
from fullrecall.cli import options, source
from fullrecall.cli.console import show, write_json
from fullrecall.cli.job import fail_unless_scored, raise_with_count, scored
from fullrecall.cli.misses import missed_lines, slices_dict, slices_of
from fullrecall.cli.options import REPORTS, check_output, judge_of, retriever_of
from fullrecall.errors import InputError
from fullrecall.measures import Measure
from fullrecall.report import Report, Slices, Summary
from fullrecall.run.budget import Budget
from fullrecall.show import terminal
from fullrecall.stats.summary import summary_sheet

if TYPE_CHECKING:
    from rich.console import RenderableType

    from fullrecall.files.rows import FileSamples
    from fullrecall.files.traces import Joined
    from fullrecall.samples.sample import Sample


measuring_option = partial(Option, rich_help_panel="What to measure")
judging_option = partial(Option, rich_help_panel="Judging claims")
showing_option = partial(Option, rich_help_panel="Showing and saving")


def evaluate(
    files: Annotated[
        list[Path],
        Argument(
            metavar="FILE",
            help="Samples, in one file or several: .jsonl, .ndjson, .json, .yaml, .csv, .tsv, or "
            ".parquet; all but the last also as .gz; - is standard input. With --run: TREC "
            "relevance judgments (qrels).",
        ),
    ],
    *,
    scorer: Annotated[
        list[source.ScorerName] | None,
        source.scorer_option(
            rich_help_panel="What to measure",
            help="id_recall, text_recall, span_recall, entity_recall, claim_recall; repeatable. "
            "Default: the one that an option below asks for, else the first that the first sample "
            "has fields for.",
        ),
    ] = None,
    ks: Annotated[
        Any,
        options.ks(
            rich_help_panel="What to measure",
            help="Show recall of the first K contexts, and list what the largest K misses. "
            "Default: recall at 1, 3, 5, 10, and over all retrieved contexts.",
        ),
    ] = None,
    measure: Annotated[
        list[Measure] | None,
        options.measure(
            rich_help_panel="What to measure",
            help="Measure to show in place of the default, or in addition to --k: precision@5, "
            "'ndcg(gain=exponential)@10'; repeatable.",
        ),
    ] = None,
    threshold: Annotated[
        float | None,
        options.share(
            rich_help_panel="What to measure",
            help="text_recall: similarity at which two texts count as the same. Default: 0.5.",
        ),
    ] = None,
    similarity: Annotated[
        str | None,
        measuring_option(
            metavar="NAME",
            help="text_recall: RapidFuzz similarity, such as partial_ratio. Default: levenshtein.",
        ),
    ] = None,
    view: Annotated[
        str,
        measuring_option(
            metavar="contexts|retrieved|read",
            help="List of each recorded retrieval to score: the final one, all that was "
            "retrieved, or what the model's prompt had.",
        ),
    ] = "contexts",
    judge: Annotated[
        str | None,
        judging_option(
            metavar="JUDGE",
            help="claim_recall: lexical, nli:FOLDER, openai:MODEL or anthropic:MODEL. Default: "
            "lexical, which needs no model.",
        ),
    ] = None,
    base_url: Annotated[
        str | None,
        judging_option(
            metavar="URL", help="Endpoint of openai:MODEL, for vLLM, Ollama, LM Studio, and others."
        ),
    ] = None,
    unsure: Annotated[
        str | None,
        judging_option(
            metavar="LOW,HIGH",
            help="claim_recall: ask the judge only about claims whose support by the built-in "
            "judge lies in this band, such as 0.3,0.65.",
        ),
    ] = None,
    require_evidence: Annotated[
        bool,
        judging_option(
            "--require-evidence", help="claim_recall: require a verified quote for credit."
        ),
    ] = False,
    split: Annotated[
        str | None,
        judging_option(
            metavar="judge|sentences", help="claim_recall: who splits a reference. Default: judge."
        ),
    ] = None,
    retriever: Annotated[
        str | None,
        source.reading_option(
            metavar="MODULE:NAME",
            help="Python function of the question, such as app:search or path/app.py:search, that "
            "returns what to score. Default: what the samples have.",
        ),
    ] = None,
    run: Annotated[
        Path | None,
        source.reading_option(
            metavar="RUN",
            help="TREC run to score, ordered by score: `query Q0 document rank score tag`.",
        ),
    ] = None,
    ties: Annotated[
        str | None,
        source.reading_option(
            metavar="trec|order",
            help="Order of equal scores of --run: by ID, descending, or as in the file. Default: "
            "trec.",
        ),
    ] = None,
    references: Annotated[
        Path | None,
        source.reading_option(
            metavar="FILE",
            help="References of the samples in FILE, joined by ID, else by question; samples "
            "without references are left out.",
        ),
    ] = None,
    corpus: Annotated[
        Path | None,
        source.reading_option(
            metavar="PATH",
            help="Folder or file of what the retriever searches: samples whose references it no "
            "longer has, or has with other words, are unscored.",
        ),
    ] = None,
    id_key: Annotated[
        str | None,
        source.reading_option(
            metavar="PATH",
            help="Where a retrieved context has its ID, such as metadata.source or "
            "'{source}#{page}', '{source:name}#{page:+1}'. Default: its own ID.",
        ),
    ] = None,
    collapse: Annotated[
        bool,
        source.reading_option(
            "--collapse",
            help="Read retrieved contexts of one ID as one, at the rank of the first: K counts "
            "documents.",
        ),
    ] = False,
    other_tools: source.OtherToolsOption = None,
    tool_documents: source.ToolDocumentsOption = None,
    rows: source.RowsOption = None,
    field: source.FieldOption = None,
    rename: source.RenameOption = None,
    format: source.FormatOption = None,  # noqa: A002 - the option's name
    slices: options.SlicesOption = None,
    missed: Annotated[
        int,
        showing_option(
            metavar="N",
            callback=options.within(0),
            help="List the misses of the first N samples that miss something.",
        ),
    ] = 5,
    output: Annotated[
        Path | None,
        showing_option(
            "--output",
            "-o",
            metavar="REPORT",
            help="Save the report, as samples are scored, for the other commands: .jsonl, or "
            ".parquet for a directory of any size. A run that was killed or stopped goes on here.",
        ),
    ] = None,
    replace: Annotated[
        bool,
        showing_option(
            "--replace", help="Replace the report that --output names, and score all anew."
        ),
    ] = False,
    as_json: Annotated[
        bool, showing_option("--json", help="Print the summary as JSON and nothing else.")
    ] = False,
    quiet: Annotated[
        bool,
        showing_option(
            "--quiet", "-q", help="Print the table only: no progress, notes, or misses."
        ),
    ] = False,
    budget_calls: options.BudgetCallsOption = None,
    budget_tokens: Annotated[
        int | None, options.positive(help="Maximum prompt plus completion tokens.")
    ] = None,
    max_concurrency: options.ConcurrencyOption = 16,
    timeout: Annotated[
        float, Option(metavar="SECONDS", help="Time limit per request; retried once.")
    ] = 60.0,
    deadline: Annotated[
        float | None,
        Option(
            metavar="SECONDS", help="Time limit for the run; the rest is unscored. Default: none."
        ),
    ] = None,
    store: options.StoreOption = None,
) -> None:
    """Score a file of samples.

    A line of a .jsonl file:
      {"user_input": "Where is the Eiffel Tower?",
       "retrieved_context_ids": ["doc_7", "doc_2"],
       "reference_context_ids": ["doc_2", "doc_9"]}

    Texts go into retrieved_contexts and reference_contexts, the reference answer into reference.
    Field names of ragas, LangChain, and LlamaIndex also work.

    Examples:
      fullrecall evaluate answers.jsonl --k 5
      fullrecall evaluate data.csv --rename found=retrieved_ids,gold=expected_ids
      fullrecall evaluate golden.json --rows 'tests[]' --field expected_ids=docs
      fullrecall evaluate questions.jsonl --retriever app.py:search
      fullrecall evaluate part-1.jsonl part-2.jsonl --k 1,5,10
      fullrecall evaluate answers.jsonl --scorer text_recall --threshold 0.8
      fullrecall evaluate qrels.txt --run bm25.run --measure ndcg@10
      fullrecall evaluate answers.jsonl --judge openai:gpt-4o-mini
      fullrecall evaluate a.jsonl --judge openai:gpt-4o-mini --unsure 0.3,0.65
      fullrecall evaluate traces.json --references labels.jsonl
      fullrecall evaluate questions.jsonl --retriever app.py:search --corpus docs/
    """
    # If a file is named twice, read it only once: otherwise, each of its samples would count twice.
    files = list(dict.fromkeys(files))
    if corpus is not None and not corpus.exists():
        raise options.bad_option("--corpus", f"no file or folder {corpus}")
    if output is not None:
        inputs = [*files, run, references]
        check_output(output, endings=REPORTS, inputs=inputs, replace=True)
    budget = _budget(budget_calls, budget_tokens, judge)
    to_ask = None if retriever is None else retriever_of(retriever)
    reading: Any = {
        "rows": rows,
        "field": field,
        "rename": rename,
        "format": format,
        "other_tools": other_tools,
        "tool_documents": tool_documents,
    }
    reading["id_key"] = id_key if to_ask is None else None
    read_files: list[FileSamples] = []
    samples: Iterable[Sample]
    if ties is not None and run is None:
        raise options.bad_option("--ties", "needs --run")
    if run is None:
        # Open all files before reading the first, so that a missing file wastes no scoring.
        read_files = [source.samples_of(file, **reading) for file in files]
        samples = chain.from_iterable(read_files)
    else:
        reading |= {"retriever": retriever, "references": references, "id_key": id_key}
        samples = source.samples_of_run(files, run, ties or "trec", **reading)
    joined = None
    if references is not None:
        samples = joined = source.joined_with(samples, references)
    # The first sample decides on the scorers; the other samples are read while they are scored.
    samples = iter(samples)
    first = next(samples)
    own: dict[source.ScorerName, dict[str, Any]] = {
        source.ScorerName.TEXT: {"threshold": threshold, "similarity": similarity},
        source.ScorerName.CLAIM: {
            "require_evidence": require_evidence,
            "split": split,
            "judge": judge_of(judge, base_url, unsure),
        },
    }
    try:
        # With a retriever, the contexts in the file are not scored, so they must not decide which
        # scorers run.
        scorers = source.scorers_of(
            scorer or (), own, first if to_ask is None else source.unretrieved(first)
        )
    except InputError as error:
        raise error.at(path=str(files[0])) from None
    settings: dict[str, Any] = {
        "corpus": corpus,
        "budget": budget,
        "retriever": to_ask,
        "progress": not (quiet or as_json),
        "id_key": None if to_ask is None else id_key,
        "view": view,
        "collapse": collapse,
        "max_concurrency": max_concurrency,
        "timeout": timeout,
        "deadline": deadline,
        "store": store,
        "replace": replace,
    }
    samples = chain([first], samples)
    report, stopped = scored(samples, scorers, settings, output=output)
    measures = options.measures_of(ks, measure)
    totals = report.summary(*measures)
    parts = slices_of(report, slices, measures)
    if as_json:
        _write(report, totals, parts)
    elif any(score.scored for score in totals):
        notes = [*_previews(read_files, first), *_notes(report, joined)]
        notes += [] if scorer else [f"Scored {', '.join(each.method.name for each in scorers)}."]
        ranks = [k for k in ks or () if isinstance(k, int)]
        notes += [] if stopped else list(_next_steps(output, ranks))
        misses = missed_lines(report, missed, max(ranks, default=None))
        _show(totals, parts, None if quiet else notes, misses)
    if stopped is not None:
        raise_with_count(stopped, report, totals, output)
    fail_unless_scored(totals)


def _next_steps(output: Path | None, ranks: Sequence[int]) -> Iterator[str]:
    """Yield the report's path, and the next command."""
    if output is None:
        yield "Next: save it with --output report.jsonl, then fullrecall diagnose report.jsonl."
        return
    import shlex

    yield f"Saved to {shown_path(output)}."
    at_k = f" --k {max(ranks)}" if ranks else ""
    yield f"Next: fullrecall diagnose {shlex.quote(shown_path(output))}{at_k}"


def _show(
    totals: Summary,
    parts: Sequence[Slices],
    notes: Sequence[str] | None,
    misses: Iterator[RenderableType],
) -> None:
    """Print the tables; then notes and misses, unless `notes` is None."""
    sheet = summary_sheet(totals)
    show(terminal.Grid(sheet))
    if parts:
        show("", *terminal.parts(*(each for part in parts for each in part.sheets)))
    if notes is not None:
        sentences, listed = [*sheet.notes, *notes], list(misses)
        show("", *sentences, *(["", *listed] if sentences and listed else listed))


def _write(report: Report, totals: Summary, parts: Sequence[Slices]) -> None:
    """Write the summary as JSON, with the run's cost."""
    spent = report.spent
    costs = {} if spent is None or not spent.sentence() else {"spent": spent.to_dict()}
    write_json({**totals.to_dict(), **slices_dict(parts), **costs})


def _previews(files: Sequence[FileSamples], first: Sample) -> Iterator[str]:
    """Yield a line on how the first file was read, unless each column has the name of a field."""
    plan = files[0].plan if files else None
    if plan is not None and not plan.is_plain:
        from fullrecall.cli.reading import preview

        yield preview(plan, first)


def _notes(report: Report, joined: Joined | None) -> Iterator[str]:
    """Yield sentences on the samples that were left out, and on the cost of the run."""
    if joined is not None and joined.left_out:
        unasked = f", {joined.unasked:,} of them without a question" if joined.unasked else ""
        yield f"Left out, since no reference fits: {counted(joined.left_out, 'sample')}{unasked}."
    if report.spent is not None and report.spent.sentence():
        yield report.spent.sentence()


def _budget(calls: int | None, tokens: int | None, judge: str | None) -> Budget:
    """Return the budget, unlimited unless an option limits it."""
    asks_model = (judge or "").partition(":")[0] in ("openai", "anthropic")
    if not asks_model and (calls, tokens) != (None, None):
        raise options.bad_option("--budget-…", "needs --judge openai:MODEL or anthropic:MODEL")
    return Budget(calls=calls, tokens=tokens)
