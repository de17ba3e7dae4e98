"""`fullrecall testset generate`, `check`, `complete`, `review`, `follow`, `export`."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer
from typer import Argument, Option

from fullrecall._util.counts import counted
from fullrecall.cli import options
from fullrecall.cli.console import write_json
from fullrecall.cli.options import check_output, judge_of, model_of
from fullrecall.cli.source import FieldOption, RowsOption, samples_of
from fullrecall.cli.streams import write
from fullrecall.files.text_files import existing_file, text_lines
from fullrecall.lexical import LexicalJudge
from fullrecall.read import read, write_jsonl
from fullrecall.read import write as write_as
from fullrecall.run.budget import Budget
from fullrecall.samples.sample import Sample
from fullrecall.testset import CompletedSet, apply_review, to_review
from fullrecall.testset import check as audit_of
from fullrecall.testset import complete as completion_of
from fullrecall.testset import follow as followed_of
from fullrecall.testset import generate as test_set_of

INVALID = 1
model_option = partial(Option, metavar="PROVIDER:MODEL")
documents_option = partial(Option, metavar="DOCUMENTS")


def generate(
    documents: Annotated[Path, Argument(metavar="DOCUMENTS", help="A folder or a file.")],
    *,
    model: Annotated[
        str, model_option(help="The model that writes: openai:MODEL or anthropic:MODEL.")
    ],
    output: Annotated[Path, options.output(help="Save the set (.jsonl).")],
    checker: Annotated[
        str | None, model_option(help="The model that checks. Default: the one that writes.")
    ] = None,
    base_url: options.BaseUrlOption = None,
    queries: Annotated[
        Path | None, options.file(help="What your users ask: one a line, or a file of samples.")
    ] = None,
    rejected: Annotated[Path | None, options.file(help="Save rejected drafts (.jsonl).")] = None,
    budget_calls: options.BudgetCallsOption = None,
    n: Annotated[int, options.number(help="Number of questions.")] = 100,
    seed: options.SeedOption = 0,
    store: options.StoreOption = None,
    max_concurrency: options.ConcurrencyOption = 16,
) -> None:
    r"""Write questions about documents, with references.

    DOCUMENTS is a folder of .txt, .md, .rst, .html, or .jsonl files, or one such file. Each
    question has a reference answer, claims, and a quote with its place for each claim. A
    stopped run resumes from --store. Exit code: 1 if no question was written.

    Examples:
      fullrecall testset generate docs/ --model openai:gpt-4o-mini -o set.jsonl
      fullrecall testset generate docs/ --model openai:gpt-4o-mini -n 20 \
          --rejected no.jsonl -o set.jsonl
    """
    check_output(output, endings=[".jsonl"])
    test_set = test_set_of(
        documents,
        model_of(model, base_url, "--model"),
        n,
        checker=model_of(checker, base_url, "--checker") if checker else None,
        queries=_queries(queries) if queries else (),
        on_plan=lambda plan: _print(f"Plan: {plan}"),
        budget=Budget(calls=budget_calls),
        seed=seed,
        store=store,
        max_concurrency=max_concurrency,
    )
    test_set.save(output, rejected=rejected)
    if not len(test_set):  # without this, the next try would refuse the existing file
        output.unlink()
        _print(str(test_set), f"No question was accepted, so {output} was not written.")
        raise typer.Exit(INVALID)
    _print(str(test_set), f"{counted(len(test_set), 'question')} written to {output}.")


def check(
    samples: options.SetArgument,
    documents: Annotated[
        Path, Argument(metavar="DOCUMENTS", help="What is searched: a folder or a file.")
    ],
    *,
    rows: RowsOption = None,
    field: FieldOption = None,
    issues: Annotated[int, options.count(help="List the first N issues.")] = 20,
    judge: Annotated[
        str | None, model_option(help="A model that reads each question beside its references.")
    ] = None,
    base_url: options.BaseUrlOption = None,
    as_json: options.JsonOption = False,
    budget_calls: options.BudgetCallsOption = None,
    store: options.StoreOption = None,
    max_concurrency: options.ConcurrencyOption = 16,
) -> None:
    """Check IDs, offsets, near-duplicates, copied words.

    With --judge, a model reads each question with its references: whether it is clear by itself,
    whether it has one answer there, and whether each claim follows.

    Exit code: 1 if a reference is invalid.

    Examples:
      fullrecall testset check set.jsonl docs/
      fullrecall testset check set.jsonl chunks.jsonl --json
    """
    reader = None if judge is None else model_of(judge, base_url, "--judge")
    audit = audit_of(
        samples_of(samples, rows=rows, field=field),
        documents,
        judge=reader,
        budget=Budget(calls=budget_calls),
        store=store,
        max_concurrency=max_concurrency,
    )
    if as_json:
        write_json(audit.to_dict())
    else:
        listed = audit.issues[:issues]
        _print(str(audit), *(f"  {each.sample}: {each.problem}: {each.detail}" for each in listed))
    if not audit.is_valid:
        raise typer.Exit(INVALID)


def complete(
    samples: options.SetArgument,
    *,
    rows: RowsOption = None,
    field: FieldOption = None,
    retrieved: Annotated[
        list[Path],
        options.file(help="What one retriever returned for these questions; repeatable."),
    ],
    judge: Annotated[
        str | None,
        Option(
            metavar="JUDGE",
            help="lexical, nli:FOLDER, openai:MODEL or anthropic:MODEL. Default: lexical.",
        ),
    ] = None,
    base_url: options.BaseUrlOption = None,
    to_label: Annotated[
        Path | None, options.file(help="Draw contexts to label, into this .csv.")
    ] = None,
    n: Annotated[int, options.number(help="Contexts to draw with --to-label.")] = 300,
    to_confirm: Annotated[
        Path | None, options.file(help="Draw what another person must confirm.")
    ] = None,
    labels: Annotated[Path | None, options.file(help="The labels, filled in.")] = None,
    second: Annotated[Path | None, options.file(help="The other person's labels.")] = None,
    error: Annotated[
        float,
        Option(
            "--label-error",
            metavar="0…0.3",
            help="Share of one person's labels that may be wrong, at most.",
        ),
    ] = 0.05,
    output: Annotated[Path | None, options.output(help="Save the set (.jsonl).")] = None,
    budget_calls: options.BudgetCallsOption = None,
    depth: Annotated[
        int, Option(metavar="K", help="Judge the first K contexts of each retriever.")
    ] = 20,
    seed: options.SeedOption = 0,
    store: options.StoreOption = None,
    max_concurrency: options.ConcurrencyOption = 16,
) -> None:
    r"""Judge retrieved contexts that have no label.

    Each --retrieved file is a report of `evaluate --retriever`, or samples with the contexts that
    one retriever returned, best first. Label the pairs that --to-label draws, then run the same
    command again with --labels: with --store it costs nothing. --to-confirm draws the pairs that
    one person found and the judge did not, for another person's labels: --second.

    Examples:
      fullrecall testset complete set.jsonl --retrieved a.jsonl \
          --retrieved b.jsonl --judge openai:gpt-4o-mini --store answers.sqlite \
          --to-label labels.csv
      fullrecall testset complete set.jsonl --retrieved a.jsonl \
          --retrieved b.jsonl --judge openai:gpt-4o-mini --store answers.sqlite \
          --labels labels.csv -o completed.jsonl
    """
    if output is not None:
        check_output(output, endings=[".jsonl"])
    retrievers = {path.stem: _retriever_of_file(path) for path in retrieved}
    chosen = judge_of(judge, base_url) or LexicalJudge()
    outcome = completion_of(
        samples_of(samples, rows=rows, field=field),
        retrievers,
        chosen,
        budget=Budget(calls=budget_calls),
        depth=depth,
        seed=seed,
        store=store,
        max_concurrency=max_concurrency,
    )
    if labels is not None:
        outcome = outcome.with_labels(labels, second=second, error=error)
    lines = [str(outcome)]
    for path, confirm in ((to_label, False), (to_confirm, True)):
        if path is not None:
            lines.append(_draw_labels(outcome, n, path, confirm=confirm))
    if output is not None:
        lines.append(_save(outcome.samples, output))
    _print(*lines)


def review(
    samples: options.SetArgument,
    *,
    rows: RowsOption = None,
    field: FieldOption = None,
    output: Annotated[Path, options.output(help="Write it here.")],
    apply: Annotated[Path | None, options.file(help="Decisions: what the page saved.")] = None,
    documents: Annotated[
        Path | None, options.file(help="Show each quote within these documents.")
    ] = None,
    n: Annotated[
        int | None,
        Option(
            "--number",
            "-n",
            metavar="N",
            help="Questions to review. Default: enough to prove 90% good if two are bad.",
        ),
    ] = None,
    seed: options.SeedOption = 0,
) -> None:
    """Draw questions for people to review; apply decisions.

    Without --apply: write the page --output (.html). With it: write the reviewed set as .jsonl, and
    print the share of good questions that the review proves.

    Examples:
      fullrecall testset review set.jsonl --documents docs/ -o review.html
      fullrecall testset review set.jsonl --apply review.json -o reviewed.jsonl
    """
    if apply is not None:
        check_output(output, endings=[".jsonl"])
        outcome = apply_review(samples_of(samples, rows=rows, field=field), apply)
        _print(str(outcome), _save(outcome.samples, output))
        return
    check_output(output, endings=[".html"], replace=True)
    count = to_review(
        samples_of(samples, rows=rows, field=field), output, documents=documents, n=n, seed=seed
    )
    _print(
        f"{count:,} questions to review written to {output}.",
        f"Then: fullrecall testset review {samples} --apply review.json --output reviewed.jsonl",
    )


def follow(
    samples: options.SetArgument,
    *,
    rows: RowsOption = None,
    field: FieldOption = None,
    corpus: Annotated[Path, documents_option(help="The new corpus.")],
    output: Annotated[Path, options.output(help="Save the set (.jsonl).")],
    old: Annotated[Path | None, documents_option(help="The corpus of the labels.")] = None,
    table: Annotated[
        Path | None, options.file(help="Save the status of each label (.csv).")
    ] = None,
    accept_changed: Annotated[
        bool, Option("--accept-changed", help="Let changed labels name the text nearest to them.")
    ] = False,
) -> None:
    r"""Move the labels of a set to a new corpus.

    Each reference is same, moved (other ID, chunks, or offsets), changed (other words), or gone. A
    reference that changed or is gone stays as it was, and its sample is unscored. A set without
    quotes needs --old.

    Examples:
      fullrecall testset follow set.jsonl --corpus new/ -o new-set.jsonl \
          --table labels.csv
      fullrecall testset follow set.jsonl --old old.jsonl --corpus new.jsonl \
          -o new-set.jsonl
    """
    check_output(output, endings=[".jsonl"])
    if table is not None:
        check_output(table, "--table", [".csv"])
    outcome = followed_of(
        samples_of(samples, rows=rows, field=field), corpus, old=old, accept_changed=accept_changed
    )
    saved = _save(outcome.samples, output)
    if table is not None:
        outcome.to_csv(table)
    _print(str(outcome), saved)


def export(
    samples: options.SetArgument,
    *,
    rows: RowsOption = None,
    field: FieldOption = None,
    format: Annotated[  # noqa: A002 - the option's name
        str, Option(metavar="FORMAT", help="Such as ragas; an unknown one lists all.")
    ],
    output: Annotated[Path, options.output(metavar="PATH", help="Write it here.")],
    documents: Annotated[Path | None, options.file(help="The texts, by their IDs.")] = None,
) -> None:
    """Write a set in the form of another tool.

    Examples:
      fullrecall testset export set.jsonl --format ragas -o ragas.jsonl
      fullrecall testset export set.jsonl --format beir --documents docs/ -o beir/
    """
    if output.exists():
        raise options.bad_option("--output", f"{output} exists: name another file")
    written = write_as(
        samples_of(samples, rows=rows, field=field), format, output, documents=documents or ()
    )
    _print(str(written), f"Written to {output}.")


def _print(*lines: str) -> None:
    """Print lines as they are: brackets in documents' texts are not markup."""
    write("\n".join((*lines, "")))


def _save(samples: Sequence[Sample], output: Path) -> str:
    """Write a set, and return a sentence about the file."""
    return f"{counted(write_jsonl(samples, output), 'sample')} written to {output}."


def _queries(path: Path) -> list[str]:
    """Return users' questions: the lines of a text file, or the questions of samples."""
    if path.suffix in (".txt", ""):
        return [line.strip() for _, line in text_lines(existing_file(path)) if line.strip()]
    return [sample.user_input for sample in read(path) if sample.user_input]


def _retriever_of_file(path: Path) -> Any:
    """Return a function that looks up the contexts of a question in the file of a retriever."""
    by_question = {sample.user_input: sample for sample in read(path)}

    def retrieve(question: str) -> Any:
        sample = by_question.get(question)
        if sample is None or sample.retrieved_contexts is None:
            raise LookupError(f"{path.name} has no retrieval for this question")
        return sample.retrieved_contexts

    return retrieve


def _draw_labels(outcome: CompletedSet, number: int, path: Path, *, confirm: bool) -> str:
    """Write contexts to label, and return sentences about the file and the next step."""
    pairs = outcome.to_label(number, path, second=confirm)
    option = "--second" if confirm else "--labels"
    return (
        f"{len(pairs):,} contexts to label written to {path}. Fill in the column label: relevant "
        f"or not_relevant. Then run this again with {option}"
    )
