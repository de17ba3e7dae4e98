"""`fullrecall testset generate`, `check`, `complete`, `review`, `follow`, `export`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fullrecall.cli.judge import KINDS
from fullrecall.cli.layout import Command, Group
from fullrecall.counts import counted

if TYPE_CHECKING:
    from fullrecall.models.openai import OpenAIChatModel
    from fullrecall.testset import CompletedSet
    from fullrecall.testset.draft import QuestionKind
    from fullrecall.testset.execution import ModelOptions

INVALID = 1

HELP = """\
From documents to a gate:
  fullrecall testset generate docs/ --model openai:gpt-4o-mini -o set.jsonl
  fullrecall testset review set.jsonl --documents docs/ -o review.html
  fullrecall testset review set.jsonl --apply review.json -o reviewed.jsonl
  fullrecall testset check reviewed.jsonl docs/
"""

GENERATE_HELP = """\
Write questions about documents, with references that were checked.

DOCUMENTS is a folder of .txt, .md, .rst, .html, or .jsonl files, or one such file. Each question \
has a reference answer, claims, and a quote with its place for each claim. A stopped run resumes \
from --store.

Examples:
  fullrecall testset generate docs/ --model openai:gpt-4o-mini -o set.jsonl
  fullrecall testset generate docs/ --model openai:gpt-4o-mini -n 20 \\
      --kind one_fact=3 --kind unanswerable=1 --rejected no.jsonl -o set.jsonl
"""

CHECK_HELP = """\
Check a test set: IDs, offsets, near-duplicates, copied words, and size.

With --judge, a model reads each question beside its references: does it stand \
alone, is it answered, by one answer, does each claim follow.

Exit code: 1 if a reference is invalid. --demo checks the demo's own questions.

Examples:
  fullrecall testset check set.jsonl docs/
  fullrecall testset check set.jsonl chunks.jsonl --margin 0.03 --json
  fullrecall testset check --demo
"""

COMPLETE_HELP = """\
Judge what retrievers found and nobody labeled, and measure how complete the references are.

Each --retrieved file is a report of `evaluate --retriever`, or samples with what one retriever \
returned, best first. Label what --to-label draws, then run the same command again with --labels: \
with --store it costs nothing. What one person found and the judge did not, --to-confirm draws \
for another: --second.

Examples:
  fullrecall testset complete set.jsonl --retrieved a.jsonl \\
      --retrieved b.jsonl --judge openai:gpt-4o-mini --store answers.sqlite \\
      --to-label labels.csv
  fullrecall testset complete set.jsonl --retrieved a.jsonl \\
      --retrieved b.jsonl --judge openai:gpt-4o-mini --store answers.sqlite \\
      --labels labels.csv -o completed.jsonl
"""

REVIEW_HELP = """\
Draw questions for people to review, as a web page or a sheet, and apply what they decided.

Without --apply: write --output, .html or .csv. With it: write the reviewed set as .jsonl, and \
print what the review proves.

Examples:
  fullrecall testset review set.jsonl --documents docs/ -o review.html
  fullrecall testset review set.jsonl --apply review.json -o reviewed.jsonl
"""

EXPORT_HELP = """\
Write a set as another tool has it, and print what that form cannot hold.

Examples:
  fullrecall testset export set.jsonl --format ragas -o ragas.jsonl
  fullrecall testset export set.jsonl --format beir --documents docs/ -o beir/
"""

FOLLOW_HELP = """\
Move the labels of a set to a new corpus, by the words that they were made for.

Each reference is same, moved (other ID, chunks, or offsets), changed (other \
words), or gone. What changed or is gone stays as it was, and its sample is \
unscored. A set without quotes needs --old.

Examples:
  fullrecall testset follow set.jsonl --corpus new/ -o new-set.jsonl \\
      --table labels.csv
  fullrecall testset follow set.jsonl --old old.jsonl --corpus new.jsonl \\
      -o new-set.jsonl
"""

app = typer.Typer(
    name="testset",
    cls=Group,
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)

_Set = Annotated[Path, typer.Argument(metavar="SET", show_default=False, help="A file of samples.")]
_Seed = Annotated[int, typer.Option(metavar="N", help="Random seed.")]
_Store = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        show_default=False,
        help="Save model answers here (.sqlite) to resume a stopped run.",
    ),
]
_Calls = Annotated[
    int | None,
    typer.Option("--budget-calls", metavar="N", show_default=False, help="Maximum requests."),
]
_Concurrency = Annotated[int, typer.Option(metavar="N", min=1, help="Maximum concurrent requests.")]
_BaseUrl = Annotated[
    str | None,
    typer.Option(
        metavar="URL", show_default=False, help="Endpoint of openai:MODEL. Default: OpenAI's."
    ),
]


@app.command(cls=Command, help=GENERATE_HELP)
def generate(
    documents: Annotated[
        Path, typer.Argument(metavar="DOCUMENTS", show_default=False, help="A folder or a file.")
    ],
    *,
    model: Annotated[
        str, typer.Option(metavar="openai:MODEL", show_default=False, help="The model that writes.")
    ],
    output: Annotated[
        Path,
        typer.Option(
            "--output", "-o", metavar="FILE", show_default=False, help="Save the set (.jsonl)."
        ),
    ],
    number: Annotated[
        int, typer.Option("-n", "--number", metavar="N", min=1, help="Number of questions.")
    ] = 100,
    checker: Annotated[
        str | None,
        typer.Option(
            metavar="openai:MODEL",
            show_default=False,
            help="The model that checks. Default: the one that writes.",
        ),
    ] = None,
    base_url: _BaseUrl = None,
    kind: Annotated[
        list[str] | None,
        typer.Option(
            metavar="KIND=SHARE",
            show_default=False,
            help="Share of a kind of question; repeatable. Default: one_fact=0.7, "
            "several_facts=0.2, across_documents=0.1.",
        ),
    ] = None,
    queries: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            show_default=False,
            help="What your users ask: one a line, or a file of samples.",
        ),
    ] = None,
    difficulty: Annotated[
        str | None,
        typer.Option(
            metavar="LEVEL", show_default=False, help="Keep only easy, medium, or hard ones."
        ),
    ] = None,
    closed_book: Annotated[
        bool,
        typer.Option(
            "--closed-book", help="Mark questions that the model answers without documents."
        ),
    ] = False,
    rejected: Annotated[
        Path | None,
        typer.Option(metavar="FILE", show_default=False, help="Save rejected drafts (.jsonl)."),
    ] = None,
    store: _Store = None,
    budget_calls: _Calls = None,
    max_concurrency: _Concurrency = 16,
    seed: _Seed = 0,
) -> None:
    """Write a test set; see `GENERATE_HELP`."""
    from fullrecall.testset import generate as generated

    _check_new(output, (".jsonl",), "--output")
    with _explained():
        made = generated(
            documents,
            _model(model, base_url, "--model"),
            number,
            kinds=_kinds(kind) if kind else _default_kinds(),
            checker=_model(checker, base_url, "--checker") if checker else None,
            queries=_queries(queries) if queries else (),
            difficulty=difficulty,  # type: ignore[arg-type] # `generate` says what it may be
            closed_book=closed_book,
            seed=seed,
            on_plan=lambda forecast: _say(f"Plan: {forecast}"),
            **_options(store, budget_calls, max_concurrency),
        )
        made.save(output, rejected=rejected)
    _say(str(made), f"{len(made):,} questions written to {output}.")


@app.command(cls=Command, help=CHECK_HELP)
def check(
    samples: Annotated[
        Path | None,
        typer.Argument(metavar="SET", show_default=False, help="A file of samples."),
    ] = None,
    documents: Annotated[
        Path | None,
        typer.Argument(
            metavar="DOCUMENTS", show_default=False, help="What is searched: a folder or a file."
        ),
    ] = None,
    *,
    demo: Annotated[bool, typer.Option("--demo", help="Check the demo's own questions.")] = False,
    margin: Annotated[
        float,
        typer.Option(metavar="0…0.5", help="How far off mean recall may be, with 95% confidence."),
    ] = 0.05,
    issues: Annotated[int, typer.Option(metavar="N", min=0, help="List the first N issues.")] = 20,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON and nothing else.")] = False,
    judge: Annotated[
        str | None,
        typer.Option(
            metavar="openai:MODEL",
            show_default=False,
            help="A model that reads each question beside its references.",
        ),
    ] = None,
    base_url: _BaseUrl = None,
    store: _Store = None,
    budget_calls: _Calls = None,
    max_concurrency: _Concurrency = 16,
) -> None:
    """Check a test set and print what is wrong with it; see `CHECK_HELP`."""
    import json

    from fullrecall.cli.console import write
    from fullrecall.collections import documents as own_documents
    from fullrecall.collections import questions
    from fullrecall.read import read
    from fullrecall.testset import check as checked

    if demo == (samples is not None) or (documents is None) != demo:
        raise typer.BadParameter("expected SET and DOCUMENTS, or --demo alone")
    with _explained():
        if samples is None or documents is None:
            audit = checked(questions(), own_documents(), margin=margin)
        else:
            reader = None if judge is None else _model(judge, base_url, "--judge")
            options = _options(store, budget_calls, max_concurrency)
            audit = checked(read(samples), documents, judge=reader, margin=margin, **options)
    if as_json:
        write(json.dumps(audit.to_dict(), indent=1) + "\n")
    else:
        listed = [one for one in audit.issues if one.sample][:issues]
        _say(str(audit), *(f"  {one.sample}: {one.problem}: {one.detail}" for one in listed))
        _show_wording(audit)
    if not audit.is_valid:
        raise typer.Exit(INVALID)


@app.command(cls=Command, help=COMPLETE_HELP)
def complete(
    samples: _Set,
    *,
    retrieved: Annotated[
        list[Path],
        typer.Option(
            metavar="FILE",
            show_default=False,
            help="What one retriever returned for these questions; repeatable.",
        ),
    ],
    judge: Annotated[
        str | None,
        typer.Option(
            metavar="JUDGE",
            show_default=False,
            help=f"{KINDS}. Default: lexical.",
        ),
    ] = None,
    base_url: _BaseUrl = None,
    depth: Annotated[
        int, typer.Option(metavar="K", min=1, help="Judge the first K contexts of each retriever.")
    ] = 20,
    to_label: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", show_default=False, help="Draw contexts to label (.csv or .jsonl)."
        ),
    ] = None,
    number: Annotated[
        int,
        typer.Option(
            "-n", "--number", metavar="N", min=1, help="Contexts to draw with --to-label."
        ),
    ] = 300,
    to_confirm: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", show_default=False, help="Draw what another person must confirm."
        ),
    ] = None,
    labels: Annotated[
        Path | None,
        typer.Option(metavar="FILE", show_default=False, help="The labels, filled in."),
    ] = None,
    second: Annotated[
        Path | None,
        typer.Option(metavar="FILE", show_default=False, help="The other person's labels."),
    ] = None,
    label_error: Annotated[
        float,
        typer.Option(
            metavar="0…0.3", help="Share of one person's labels that may be wrong, at most."
        ),
    ] = 0.05,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", metavar="FILE", show_default=False, help="Save the set (.jsonl)."
        ),
    ] = None,
    store: _Store = None,
    budget_calls: _Calls = None,
    max_concurrency: _Concurrency = 16,
    seed: _Seed = 0,
) -> None:
    """Complete references and print how complete they are; see `COMPLETE_HELP`."""
    from fullrecall.cli.judge import JudgeOptions, judge_of
    from fullrecall.cli.problems import as_options
    from fullrecall.judges import LexicalJudge
    from fullrecall.read import read, write_jsonl
    from fullrecall.testset import complete as completed

    if output is not None:
        _check_new(output, (".jsonl",), "--output")
    with _explained():
        done = completed(
            read(samples),
            {path.stem: _lookup(path) for path in retrieved},
            judge_of(JudgeOptions(judge, base_url)) or LexicalJudge(),
            depth=depth,
            seed=seed,
            **_options(store, budget_calls, max_concurrency),
        )
        if labels is not None:
            done = done.with_labels(labels, second=second or (), error=label_error)
        lines = [as_options(str(done))]
        for path, confirm in ((to_label, False), (to_confirm, True)):
            if path is not None:
                lines.append(_drawn(done, number, path, confirm=confirm))
        if output is not None:
            lines.append(
                f"{counted(write_jsonl(done.samples, output), 'sample')} written to {output}."
            )
    _say(*lines)


@app.command(cls=Command, help=REVIEW_HELP)
def review(
    samples: _Set,
    *,
    output: Annotated[
        Path,
        typer.Option("--output", "-o", metavar="FILE", show_default=False, help="Write it here."),
    ],
    apply: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            show_default=False,
            help="Decisions: what the page saved, or the sheet filled in.",
        ),
    ] = None,
    documents: Annotated[
        Path | None,
        typer.Option(
            metavar="DOCUMENTS", show_default=False, help="Show each quote within these documents."
        ),
    ] = None,
    number: Annotated[
        int | None,
        typer.Option(
            "-n",
            "--number",
            metavar="N",
            min=1,
            show_default=False,
            help="Questions to review. Default: enough to prove 90% good if two are bad.",
        ),
    ] = None,
    seed: _Seed = 0,
) -> None:
    """Write what people review, or apply what they decided; see `REVIEW_HELP`."""
    from fullrecall.read import read, write_jsonl
    from fullrecall.testset import apply_review, to_review

    if apply is not None:
        _check_new(output, (".jsonl",), "--output")
        with _explained():
            done = apply_review(read(samples), apply)
            count = write_jsonl(done.samples, output)
        _say(str(done), f"{count:,} questions written to {output}.")
        return
    _check_new(output, (".html", ".csv"), "--output")
    with _explained():
        count = to_review(read(samples), output, n=number, documents=documents, seed=seed)
    _say(
        f"{count:,} questions to review written to {output}.",
        f"Then: fullrecall testset review {samples} --apply "
        f"{'review.json' if output.suffix == '.html' else output} --output reviewed.jsonl",
    )


@app.command(cls=Command, help=FOLLOW_HELP)
def follow(
    samples: _Set,
    *,
    corpus: Annotated[
        Path,
        typer.Option(metavar="DOCUMENTS", show_default=False, help="The new corpus."),
    ],
    output: Annotated[
        Path,
        typer.Option(
            "--output", "-o", metavar="FILE", show_default=False, help="Save the set (.jsonl)."
        ),
    ],
    old: Annotated[
        Path | None,
        typer.Option(
            metavar="DOCUMENTS",
            show_default=False,
            help="The corpus of the labels.",
        ),
    ] = None,
    table: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", show_default=False, help="Save what became of each label (.csv)."
        ),
    ] = None,
    accept_changed: Annotated[
        bool,
        typer.Option("--accept-changed", help="Let changed labels name the text nearest to them."),
    ] = False,
) -> None:
    """Move labels to a new corpus; see `FOLLOW_HELP`."""
    from fullrecall.read import read, write_jsonl
    from fullrecall.testset import follow as followed

    _check_new(output, (".jsonl",), "--output")
    if table is not None:
        _check_new(table, (".csv",), "--table")
    with _explained():
        done = followed(read(samples), corpus, old=old, accept_changed=accept_changed)
        count = write_jsonl(done.samples, output)
        if table is not None:
            done.to_csv(table)
    _say(str(done), f"{counted(count, 'sample')} written to {output}.")


@app.command(cls=Command, help=EXPORT_HELP)
def export(
    samples: _Set,
    *,
    form: Annotated[
        str,
        typer.Option(
            "--format",
            metavar="FORMAT",
            show_default=False,
            help="ragas, langsmith, deepeval, beir, mteb, hotpotqa, squad, trec, …",
        ),
    ],
    output: Annotated[
        Path,
        typer.Option("--output", "-o", metavar="PATH", show_default=False, help="Write it here."),
    ],
    documents: Annotated[
        Path | None,
        typer.Option(metavar="DOCUMENTS", show_default=False, help="The texts, by their IDs."),
    ] = None,
    first: Annotated[
        bool, typer.Option("--first", help="Keep the first of alternatives alone.")
    ] = False,
) -> None:
    """Write a set in another form; see `EXPORT_HELP`."""
    from fullrecall.read import documents_of, read
    from fullrecall.read import write as written

    if output.exists():
        raise typer.BadParameter(f"{output} exists: name another file", param_hint="--output")
    with _explained():
        texts = documents_of(documents) if documents is not None else ()
        alternatives: Any = "first" if first else "all"
        made = written(read(samples), form, output, documents=texts, alternatives=alternatives)
    _say(str(made), f"Written to {output}.")


def _say(*lines: str) -> None:
    """Print lines as they are: what stands in documents is no markup."""
    from fullrecall.cli.console import write

    write("\n".join((*lines, "")))


@contextmanager
def _explained() -> Iterator[None]:
    """Print what a user can mend as one block, and exit with 2."""
    from fullrecall.cli.console import fail, noting
    from fullrecall.cli.problems import explained
    from fullrecall.errors import FullrecallError

    try:
        with noting():
            yield
    except (FullrecallError, OSError) as error:
        fail(*explained(error))


def _check_new(path: Path, endings: tuple[str, ...], option: str) -> None:
    if path.suffix not in endings:
        raise typer.BadParameter(
            f"must end in {' or '.join(endings)}, got {path.name!r}", param_hint=option
        )
    if not path.parent.is_dir():
        raise typer.BadParameter(f"no directory {path.parent}", param_hint=option)
    if path.exists() and path.suffix != ".html":
        raise typer.BadParameter(f"{path} exists: name another file", param_hint=option)


def _model(name: str, base_url: str | None, option: str) -> OpenAIChatModel:
    from fullrecall.models.openai import OpenAIChatModel

    kind, _, model = name.partition(":")
    if kind != "openai" or not model:
        raise typer.BadParameter(f"expected openai:MODEL, got {name!r}", param_hint=option)
    return OpenAIChatModel(model, base_url=base_url)


def _queries(path: Path) -> list[str]:
    """Return what users ask: the lines of a text file, or the questions of samples."""
    from fullrecall.read import read
    from fullrecall.read.text_files import existing_file, text_lines

    if path.suffix in (".txt", ""):
        return [line.strip() for _, line in text_lines(existing_file(path)) if line.strip()]
    return [sample.user_input for sample in read(path) if sample.user_input]


def _default_kinds() -> dict[QuestionKind, float]:
    from fullrecall.testset.generation import DEFAULT_KINDS

    return dict(DEFAULT_KINDS)


def _kinds(given: list[str]) -> Any:
    shares: dict[str, float] = {}
    for item in given:
        kind, _, share = item.partition("=")
        try:
            shares[kind] = float(share) if share else 1.0
        except ValueError:
            raise typer.BadParameter(
                f"expected KIND=SHARE, got {item!r}", param_hint="--kind"
            ) from None
    return shares


def _options(store: Path | None, calls: int | None, max_concurrency: int) -> ModelOptions:
    from fullrecall.run.budget import Budget

    budget = None if calls is None else Budget(calls=calls)
    return {"store": store, "budget": budget, "max_concurrency": max_concurrency}


def _lookup(path: Path) -> Any:
    """Return what a retriever returned, by its question, as a function of the question."""
    from fullrecall.read import read

    found = {sample.user_input: sample for sample in read(path)}

    def retrieve(question: str) -> Any:
        if question not in found or found[question].retrieved_contexts is None:
            raise LookupError(f"{path.name} has no retrieval for this question")
        return found[question].retrieved_contexts

    return retrieve


def _drawn(done: CompletedSet, number: int, path: Path, *, confirm: bool) -> str:
    pairs = done.to_label(number, path, second=confirm)
    option = "--second" if confirm else "--labels"
    return (
        f"{len(pairs):,} contexts to label written to {path}. Fill in the column label: relevant "
        f"or not_relevant. Then run this again with {option}"
    )


def _show_wording(audit: Any) -> None:
    """Print how near the questions are to their sources, beside people's."""
    from fullrecall.cli.console import show
    from fullrecall.testset.audit import PEOPLES
    from fullrecall.views.sheet import Section, Sheet, lines_of
    from fullrecall.views.terminal import Grid

    if audit.wording is None:
        return
    sets = (audit.wording, *PEOPLES)
    heads = [f"{one.name}\n{counted(one.questions, 'question')}" for one in sets]
    rows = [
        ("words in the source, mean", [f"{one.coverage:.2f}" for one in sets]),
        ("all words in the source", [f"{one.covered:.2f}" for one in sets]),
        ("6 words in a row copied", [f"{one.long_runs:.2f}" for one in sets]),
        ("source at BM25's rank 1", [f"{one.rank_1:.2f}" for one in sets]),
        ("source in BM25's first 10", [f"{one.rank_10:.2f}" for one in sets]),
    ]
    show("", Grid(Sheet(heads, [Section("share of", lines_of(rows))])))
