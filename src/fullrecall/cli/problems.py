"""Errors in the words of the command line."""

from __future__ import annotations

import re
from collections.abc import Iterable

from fullrecall.cli.options import flags_of
from fullrecall.errors import InputError, MissingExtraError

_OPTION = re.compile(
    r"(?<![\w'`(])(corpus|format|id_key|judge|old|retriever)="
    r"(?:'([^']+)'|True|(?=[ ,;]|$))"
)
# Possessive: a pattern that goes back took exponential time for a long rename={…}.
_RENAMED = re.compile(r"rename=\{((?:'[^']+': (?:None|'[^']+')(?:, )?)++)\}")
_SENTENCES = (
    ("rename={…: None}", "--rename COLUMN="),
    ("or None to leave the column out", "or leave the column out: OLD="),
    ("read_trec(qrels, run)", "--run"),
    (", or pass a callable", ""),
    (
        "Pass more to diagnose: corpus=, retriever=.",
        "Add --corpus or --retriever to find more causes.",
    ),
    (
        "pass id_key= a function that returns IDs as the references do",
        "write both in one way, or name a field that has the references' IDs with --id-key",
    ),
    ("judge=LLMJudge(…)", "--judge openai:MODEL"),
    ("to_label(second=True) draws", "--to-confirm draws"),
    (": use to_label", ": use --to-label"),
    ("choose one by its name", "choose with --score"),
    (
        "set OPENAI_API_KEY, pass api_key=…, or pass the base_url of",
        "set OPENAI_API_KEY, or pass --base-url with the address of",
    ),
)
"""What the library suggests in Python, with what does the same on the command line."""


def explained(error: BaseException, options: Iterable[str] = ()) -> tuple[str, ...]:
    """Return an error as a title and lines below it: the place, the problem, what to do.

    `options` are the parameters of the command, which the message then names as options.
    """
    if isinstance(error, InputError):
        lines = as_options(error.problem).splitlines()
        if error.field is not None:
            lines.append(f"field: {error.field}")
        path = "standard input" if error.path == "-" else error.path or "the input"
        return (path if error.line is None else f"{path}, line {error.line:,}", *lines)
    if isinstance(error, MissingExtraError):
        reason, _, command = str(error).rpartition(": ")
        return (reason, command)
    if isinstance(error, OSError):
        where = f"{error.filename}: " if error.filename is not None else ""
        return (f"{where}{error.strerror or error}",)
    problem = as_options(str(error))
    # Only where a parameter is meant: `k` and `range` are words of sentences, too.
    for name in options:
        problem = re.sub(rf"(?<![\w'`-]){name}(?= must be|=)", flags_of(name)[0], problem)
    return (problem,)


def as_options(problem: str) -> str:
    """Return a sentence of the library with options in place of Python's parameters."""
    # Sentences go first: the patterns below would turn single words of them into options.
    for in_python, option in _SENTENCES:
        problem = problem.replace(in_python, option)
    problem = re.sub(r"read\(path, (format='\w+')\)", r"\1", problem)
    problem = _RENAMED.sub(_as_rename, problem)
    return _OPTION.sub(
        lambda match: " ".join(filter(None, [flags_of(match[1])[0], match[2]])), problem
    )


def _as_rename(match: re.Match[str]) -> str:
    pairs = re.findall(r"'([^']+)': (?:None|'([^']+)')", match[1])
    return "--rename " + ",".join(f"{old}={new}" for old, new in pairs)
