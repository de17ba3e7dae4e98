"""`fullrecall testset generate`, `check`, `complete`, `review`, `follow`, `export`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from fullrecall._util.counts import counted
from fullrecall.cli.console import write, write_json
from fullrecall.cli.judge import judge_of, model_of
from fullrecall.cli.options import Count, Positive, bad_option
from fullrecall.cli.outputs import check_output
from fullrecall.cli.problems import as_options
from fullrecall.cli.signatures import taking
from fullrecall.files.text_files import existing_file, text_lines
from fullrecall.lexical import LexicalJudge
from fullrecall.read import read, write_jsonl
from fullrecall.read import write as write_as
from fullrecall.run.budget import Budget
from fullrecall.run.evaluate import EvaluateOptions
from fullrecall.samples.sample import Sample
from fullrecall.testset import apply_review, to_review
from fullrecall.testset import check as audit_of
from fullrecall.testset import complete as completion_of
from fullrecall.testset import follow as followed_of
from fullrecall.testset import generate as test_set_of

if TYPE_CHECKING:
    from fullrecall.testset import CompletedSet

INVALID = 1


@taking(test_set_of, "n seed")
@taking(EvaluateOptions, "store max_concurrency")
def generate(
    documents: Path,
    *,
    model: str,
    output: Path,
    checker: str | None = None,
    base_url: str | None = None,
    queries: Path | None = None,
    rejected: Path | None = None,
    n: int,
    budget_calls: Positive | None = None,
    **settings: Any,
) -> None:
    r"""Write a test set.

    DOCUMENTS is a folder of .txt, .md, .rst, .html, or .jsonl files, or one such file. Each
    question has a reference answer, claims, and a quote with its place for each claim. A
    stopped run resumes from --store. Exit code: 1 if no question was written.

    Examples:
      fullrecall testset generate docs/ --model openai:gpt-4o-mini -o set.jsonl
      fullrecall testset generate docs/ --model openai:gpt-4o-mini -n 20 \
          --rejected no.jsonl -o set.jsonl

    - `documents`: A folder or a file.
    - `model PROVIDER:MODEL`: The model that writes: openai:MODEL or anthropic:MODEL.
    - `output`: Save the set (.jsonl).
    - `n`: Number of questions.
    - `checker PROVIDER:MODEL`: The model that checks. Default: the one that writes.
    - `queries`: What your users ask: one a line, or a file of samples.
    - `rejected`: Save rejected drafts (.jsonl).
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
        **settings,
    )
    test_set.save(output, rejected=rejected)
    _print(str(test_set), f"{counted(len(test_set), 'question')} written to {output}.")
    if not len(test_set):
        raise typer.Exit(INVALID)


@taking(EvaluateOptions, "store max_concurrency")
def check(
    samples: Path,
    documents: Path,
    *,
    issues: Count = 20,
    judge: str | None = None,
    base_url: str | None = None,
    as_json: bool = False,
    budget_calls: Positive | None = None,
    **settings: Any,
) -> None:
    """Check a test set and print what is wrong with it.

    With --judge, a model reads each question beside its references: does it stand alone, is it
    answered, by one answer, does each claim follow.

    Exit code: 1 if a reference is invalid.

    Examples:
      fullrecall testset check set.jsonl docs/
      fullrecall testset check set.jsonl chunks.jsonl --json

    - `documents`: What is searched: a folder or a file.
    - `issues`: List the first N issues.
    - `judge PROVIDER:MODEL`: A model that reads each question beside its references.
    """
    reader = None if judge is None else model_of(judge, base_url, "--judge")
    budget = Budget(calls=budget_calls)
    audit = audit_of(read(samples), documents, judge=reader, budget=budget, **settings)
    if as_json:
        write_json(audit.to_dict())
    else:
        listed = audit.issues[:issues]
        _print(str(audit), *(f"  {each.sample}: {each.problem}: {each.detail}" for each in listed))
    if not audit.is_valid:
        raise typer.Exit(INVALID)


@taking(completion_of, "depth seed")
@taking(EvaluateOptions, "store max_concurrency")
def complete(
    samples: Path,
    *,
    retrieved: list[Path],
    judge: str | None = None,
    base_url: str | None = None,
    to_label: Path | None = None,
    n: Positive = 300,
    to_confirm: Path | None = None,
    labels: Path | None = None,
    second: Path | None = None,
    label_error: float = 0.05,
    output: Path | None = None,
    budget_calls: Positive | None = None,
    **settings: Any,
) -> None:
    r"""Complete references and print how complete they are.

    Each --retrieved file is a report of `evaluate --retriever`, or samples with what one retriever
    returned, best first. Label what --to-label draws, then run the same command again with
    --labels: with --store it costs nothing. What one person found and the judge did not, --to-
    confirm draws for another: --second.

    Examples:
      fullrecall testset complete set.jsonl --retrieved a.jsonl \
          --retrieved b.jsonl --judge openai:gpt-4o-mini --store answers.sqlite \
          --to-label labels.csv
      fullrecall testset complete set.jsonl --retrieved a.jsonl \
          --retrieved b.jsonl --judge openai:gpt-4o-mini --store answers.sqlite \
          --labels labels.csv -o completed.jsonl

    - `retrieved`: What one retriever returned for these questions; repeatable.
    - `judge`: lexical, nli:FOLDER, openai:MODEL or anthropic:MODEL. Default: lexical.
    - `depth K`: Judge the first K contexts of each retriever.
    - `to_label`: Draw contexts to label, into this .csv.
    - `n`: Contexts to draw with --to-label.
    - `to_confirm`: Draw what another person must confirm.
    - `labels`: The labels, filled in.
    - `second`: The other person's labels.
    - `label_error 0…0.3`: Share of one person's labels that may be wrong, at most.
    - `output`: Save the set (.jsonl).
    """
    if output is not None:
        check_output(output, endings=[".jsonl"])
    retrievers = {path.stem: _retriever_of_file(path) for path in retrieved}
    chosen = judge_of(judge, base_url) or LexicalJudge()
    budget = Budget(calls=budget_calls)
    outcome = completion_of(read(samples), retrievers, chosen, budget=budget, **settings)
    if labels is not None:
        outcome = outcome.with_labels(labels, second=second, error=label_error)
    lines = [as_options(str(outcome))]
    for path, confirm in ((to_label, False), (to_confirm, True)):
        if path is not None:
            lines.append(_draw_labels(outcome, n, path, confirm=confirm))
    if output is not None:
        lines.append(_save(outcome.samples, output))
    _print(*lines)


@taking(to_review, "n seed")
def review(
    samples: Path,
    *,
    output: Path,
    apply: Path | None = None,
    documents: Path | None = None,
    **settings: Any,
) -> None:
    """Write what people review, or apply what they decided.

    Without --apply: write the page --output (.html). With it: write the reviewed set as .jsonl, and
    print what the review proves.

    Examples:
      fullrecall testset review set.jsonl --documents docs/ -o review.html
      fullrecall testset review set.jsonl --apply review.json -o reviewed.jsonl

    - `output`: Write it here.
    - `apply`: Decisions: what the page saved.
    - `documents`: Show each quote within these documents.
    - `n`: Questions to review. Default: enough to prove 90% good if two are bad.
    """
    if apply is not None:
        check_output(output, endings=[".jsonl"])
        outcome = apply_review(read(samples), apply)
        _print(str(outcome), _save(outcome.samples, output))
        return
    check_output(output, endings=[".html"], replace=True)
    count = to_review(read(samples), output, documents=documents, **settings)
    _print(
        f"{count:,} questions to review written to {output}.",
        f"Then: fullrecall testset review {samples} --apply review.json --output reviewed.jsonl",
    )


@taking(followed_of, "accept_changed")
def follow(
    samples: Path,
    *,
    corpus: Path,
    output: Path,
    old: Path | None = None,
    table: Path | None = None,
    **settings: Any,
) -> None:
    r"""Move labels to a new corpus.

    Each reference is same, moved (other ID, chunks, or offsets), changed (other words), or gone.
    What changed or is gone stays as it was, and its sample is unscored. A set without quotes needs
    --old.

    Examples:
      fullrecall testset follow set.jsonl --corpus new/ -o new-set.jsonl \
          --table labels.csv
      fullrecall testset follow set.jsonl --old old.jsonl --corpus new.jsonl \
          -o new-set.jsonl

    - `corpus DOCUMENTS`: The new corpus.
    - `output`: Save the set (.jsonl).
    - `old DOCUMENTS`: The corpus of the labels.
    - `table`: Save what became of each label (.csv).
    - `accept_changed`: Let changed labels name the text nearest to them.
    """
    check_output(output, endings=[".jsonl"])
    if table is not None:
        check_output(table, "--table", [".csv"])
    outcome = followed_of(read(samples), corpus, old=old, **settings)
    saved = _save(outcome.samples, output)
    if table is not None:
        outcome.to_csv(table)
    _print(str(outcome), saved)


def export(
    samples: Path,
    *,
    format: str,  # noqa: A002 - the option's name
    output: Path,
    documents: Path | None = None,
) -> None:
    """Write a set in another form.

    Examples:
      fullrecall testset export set.jsonl --format ragas -o ragas.jsonl
      fullrecall testset export set.jsonl --format beir --documents docs/ -o beir/

    - `format FORMAT`: ragas, langsmith, deepeval, or beir.
    - `output PATH`: Write it here.
    - `documents`: The texts, by their IDs.
    """
    if output.exists():
        raise bad_option("--output", f"{output} exists: name another file")
    written = write_as(read(samples), format, output, documents=documents or ())
    _print(str(written), f"Written to {output}.")


def _print(*lines: str) -> None:
    """Print lines as they are: what stands in documents is no markup."""
    write("\n".join((*lines, "")))


def _save(samples: Sequence[Sample], output: Path) -> str:
    """Write a set, and return the sentence that says so."""
    return f"{counted(write_jsonl(samples, output), 'sample')} written to {output}."


def _queries(path: Path) -> list[str]:
    """Return what users ask: the lines of a text file, or the questions of samples."""
    if path.suffix in (".txt", ""):
        return [line.strip() for _, line in text_lines(existing_file(path)) if line.strip()]
    return [sample.user_input for sample in read(path) if sample.user_input]


def _retriever_of_file(path: Path) -> Any:
    """Return what a retriever returned, by its question, as a function of the question."""
    by_question = {sample.user_input: sample for sample in read(path)}

    def retrieve(question: str) -> Any:
        sample = by_question.get(question)
        if sample is None or sample.retrieved_contexts is None:
            raise LookupError(f"{path.name} has no retrieval for this question")
        return sample.retrieved_contexts

    return retrieve


def _draw_labels(outcome: CompletedSet, number: int, path: Path, *, confirm: bool) -> str:
    """Write contexts to label, and return the sentence that says so."""
    pairs = outcome.to_label(number, path, second=confirm)
    option = "--second" if confirm else "--labels"
    return (
        f"{len(pairs):,} contexts to label written to {path}. Fill in the column label: relevant "
        f"or not_relevant. Then run this again with {option}"
    )
