"""Errors in the words of the command line."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence

from fullrecall.cli.options import FLAGS
from fullrecall.errors import InputError, MissingExtraError


def _renamed(match: re.Match[str]) -> str:
    pairs = _RENAMED.findall(match[0])
    return "--rename " + ",".join(f"{old}={new}" for old, new in pairs)


_RENAMED = re.compile(r"'([^']+)': (?:None|'([^']+)')")
_IN_PYTHON: Sequence[tuple[re.Pattern[str], str | Callable[[re.Match[str]], str]]] = (
    (re.compile(r"rename=\{(?:'[^']+': (?:None|'[^']+')(?:, )?)++\}"), _renamed),
    (re.compile(r"rename=\{…: None\}"), "--rename COLUMN="),
    (re.compile(r"read\(path, format='(\w+)'\)"), r"--format \1"),
    (re.compile(r"pass format="), "pass --format"),
    (re.compile(r"read_trec\(qrels, run\)"), "--run"),
    (re.compile(r"or None to leave the column out"), "or leave the column out: OLD="),
    (re.compile(r", or pass a callable"), ""),
    (
        re.compile(r"Pass more to diagnose: .*"),
        "Add --corpus, --retriever, or --judge to find more causes.",
    ),
    (re.compile(r"retrieve deeper to learn its rank: retriever="), "add --retriever for its rank"),
    (re.compile(r"scorers=\[…\], to ask"), "--judge, to ask"),
    (re.compile(r"(?<= )retriever=(?= |$|;)"), "--retriever"),
    (re.compile(r"(?<= )corpus=(?= |$|;)"), "--corpus"),
    (re.compile(r"pass judge=LLMJudge\(…\)"), "pass --judge openai:MODEL"),
    (re.compile(r"to_label\(second=True\) draws"), "--to-confirm draws"),
    (re.compile(r": use to_label(?=;)"), ": use --to-label"),
    (re.compile(r"prove=True"), "--prove"),
    (
        re.compile(r"pass id_key= a function that returns IDs as the references do"),
        "write both in one way, or name a field that has the references' IDs with --id-key",
    ),
    (re.compile(r"\bid_key='([^']+)'"), r"--id-key \1"),
    (re.compile(r"\bid_key="), "--id-key"),
    (re.compile(r"pass old="), "pass --old"),
    (re.compile(r"choose one by its name"), "choose with --score"),
    (re.compile(r"\bsplit must be"), "--split must be"),
    (re.compile(r"pass judge=LLMJudge\(…\)"), "pass --judge openai:MODEL"),
    (re.compile(r"\bmin_coverage\b"), "--min-coverage"),
    (re.compile(r'or evaluate with keep="rows"'), "or save the report with --output REPORT.jsonl"),
    (
        re.compile(r"set OPENAI_API_KEY, pass api_key=…, or pass the base_url of"),
        "set OPENAI_API_KEY, or pass --base-url with the address of",
    ),
)
"""What the library suggests in Python, with the option that does the same."""


def explained(error: BaseException, options: Iterable[str] = ()) -> tuple[str, ...]:
    """Return an error as a title and lines below it: the place, the problem, what to do.

    `options` are the parameters of the command, which the message then names as options.
    """
    if isinstance(error, InputError):
        lines = as_options(error.problem).splitlines()
        if error.field is not None:
            lines.append(f"field: {error.field}")
        return (_location(error), *lines)
    if isinstance(error, MissingExtraError):
        reason, _, command = str(error).rpartition(": ")
        return (reason, command)
    if isinstance(error, OSError):
        where = f"{error.filename}: " if error.filename is not None else ""
        return (f"{where}{error.strerror or error}",)
    problem = as_options(str(error))
    for name in options:
        flag = FLAGS.get(name, (f"--{name.replace('_', '-')}",))[0]
        problem = re.sub(rf"(?<![\w'`-]){name}(?= must be|=)", flag, problem)
    return (problem,)


def _location(error: InputError) -> str:
    location = error.path or "the input"
    location = "standard input" if location == "-" else location
    return location if error.line is None else f"{location}, line {error.line:,}"


def as_options(problem: str) -> str:
    """Return a sentence of the library with options in place of Python's parameters."""
    for pattern, option in _IN_PYTHON:
        problem = pattern.sub(option, problem)
    return problem
