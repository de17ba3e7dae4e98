"""The commands by name, and the help that lists them; printing it imports no other module."""

from __future__ import annotations

# Not imported from `typing`: that import would take longer than printing the help. Type checkers
# treat any constant of this name as True.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import TypeAlias

    CommandTable: TypeAlias = Mapping[str, tuple["str | CommandTable", str]]
    """For each command, its function as `module:function` or its subcommands, and its summary."""

_JUDGE: CommandTable = {
    "label": ("calibration:label", "Sample claims of a judged report to label."),
    "calibrate": ("calibration:calibrate", "Measure a judge against human labels."),
}
_TESTSET: CommandTable = {
    "generate": ("testset:generate", "Write questions about documents, with references."),
    "check": ("testset:check", "Check IDs, offsets, near-duplicates, copied words."),
    "complete": ("testset:complete", "Judge retrieved contexts that have no label."),
    "review": ("testset:review", "Draw questions for people to review; apply decisions."),
    "follow": ("testset:follow", "Move the labels of a set to a new corpus."),
    "export": ("testset:export", "Write a set in the form of another tool."),
}
COMMANDS: CommandTable = {
    "demo": ("demo:demo", "Find, fix and guard a defect of a search: no key, no download."),
    "read": ("reading:read", "Show how a file is read, and its first sample."),
    "evaluate": ("evaluation:evaluate", "Score a file of samples."),
    "summary": ("reports:summary", "Summarize a saved report."),
    "compare": ("reports:compare", "Compare saved reports of the same questions."),
    "smallest-k": ("reports:smallest_k", "Find the smallest k that reaches a mean."),
    "choose": ("choice:choose", "Choose among retrievers by asking the same questions."),
    "gate": ("reports:gate", "Decide in CI whether a report is good enough."),
    "diagnose": ("reports:diagnose", "Show why targets were missed, and what to change."),
    "page": ("reports:page", "Write a web page of saved reports."),
    "doctor": ("doctor:doctor", "Check the installation: versions, extras, what works."),
    "judge": (_JUDGE, "Measure a judge of claims."),
    "testset": (_TESTSET, "Make test sets from documents; check and review them."),
}

ABOUT = """\
How much of the information that a question needs does your retriever find?

Measures context recall: by document ID, text, characters, entities, and
claims.

Start here:
  fullrecall demo
  fullrecall evaluate answers.jsonl --k 5 --missed 20
  fullrecall gate report.jsonl --min-recall 0.9 --k 10
"""

_OPTIONS = """
Options:
  --version             Print the version and exit.
  --install-completion  Install completion for the current shell.
  --show-completion     Show completion for the current shell, to copy it or
                        customize the installation.
  -h, --help            Show this message and exit.

Commands:
"""


def overview() -> str:
    """Return the help of the command line, without a line break at its end."""
    width = max(map(len, COMMANDS))
    lines = [f"  {name:<{width}}  {summary}" for name, (_, summary) in COMMANDS.items()]
    usage = "Usage: fullrecall [OPTIONS] COMMAND [ARGS]...\n\n"
    about = "".join(
        f"  {line}" if line.strip() else line for line in ABOUT.splitlines(keepends=True)
    )
    return usage + about + _OPTIONS + "\n".join(lines)
