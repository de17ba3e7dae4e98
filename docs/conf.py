"""How Sphinx builds the documentation: `sphinx-build -W -n --keep-going docs <somewhere>`.

Strict and offline: a broken link or reference is an error, and nothing is fetched, neither while
building nor by the pages that come out.
"""
# ruff: noqa: INP001 - Sphinx runs it, nobody imports it

from __future__ import annotations

import ast
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from docutils import nodes
from sphinx.pycode import ModuleAnalyzer

import fullrecall

if TYPE_CHECKING:
    from sphinx.addnodes import pending_xref
    from sphinx.application import Sphinx
    from sphinx.environment import BuildEnvironment

sys.path.insert(0, str(Path(__file__).parent / "_ext"))

project = "fullrecall"
author = "The fullrecall authors"
copyright = author  # noqa: A001 - Sphinx's name for it
version = release = fullrecall.__version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "command_help", "notebook_page"]
exclude_patterns = ["_build", "_ext"]
templates_path: list[str] = []

myst_heading_anchors = 3
myst_enable_extensions = ["colon_fence"]

add_module_names = False
python_use_unqualified_type_names = True
autodoc_member_order = "bysource"
autodoc_preserve_defaults = True
autodoc_default_options = {"members": True}
maximum_signature_line_length = 88

html_theme = "furo"
html_title = "fullrecall"
html_show_sphinx = False
html_copy_source = False
html_show_sourcelink = False

nitpick_ignore = [  # internal classes, in signatures of public ones
    ("py:class", "fullrecall.calibration.estimation.Design"),
    ("py:class", "fullrecall.stats.pairs.ScorePairs"),
    ("py:class", "fullrecall.measures.budgets.CutBudget"),
    ("py:class", "fullrecall.stats.over_calls.OverCalls"),
    ("py:class", "fullrecall.stats.estimates.Rewrite"),
    ("py:class", "fullrecall.stats.evaluation.Evaluation"),
    ("py:class", "fullrecall.observe.step.Step"),
    ("py:class", "fullrecall.stats.totals.Totals"),
    ("py:class", "fullrecall.samples.references.SingleIds"),
    ("py:class", "fullrecall.scorers.result.ResultSource"),
    ("py:class", "fullrecall.table.row.RowResults"),
    ("py:class", "fullrecall.table.table.Table"),
    ("py:class", "fullrecall.testset.pool.PooledPair"),
    ("py:class", "fullrecall.observe.translation.TracedStep"),
    ("py:class", "fullrecall.observe.trace.TraceReading"),
    ("py:class", "fullrecall.show.sheet.Sheet"),
    ("py:class", "langchain_fullrecall.measurement.Measured"),
    ("py:class", "langchain_fullrecall.record.LangChainReading"),
    ("py:class", "langchain_fullrecall.recorder.LangChainRecorder"),
    ("py:class", "llama_index.evaluation.fullrecall.record.LlamaIndexReading"),
    ("py:class", "llama_index.evaluation.fullrecall.recorder.LlamaIndexRecorder"),
    ("py:class", "llama_index.evaluation.fullrecall.retriever._AskFunctions"),
    ("py:class", "fullrecall.run.address.Address"),
    ("py:class", "fullrecall.table.verdicts.Referred"),
    ("py:class", "fullrecall.files.rows.FileSamples"),
    ("py:class", "fullrecall.files.plans.Doubt"),
    ("py:class", "fullrecall.files.paths.RowPath"),
    ("py:class", "fullrecall.files.paths.Condition"),
    ("py:class", "fullrecall.observe.reported.Documents"),
    ("py:class", "fullrecall.observe.step.DocumentCopy"),
    ("py:obj", "fullrecall.judge.judge.T"),
    ("py:class", "fullrecall.scorers.scorer.T"),
]

CODE = re.compile(r"(?<!`)`(?P<code>[^`]+)`(?!`)(?P<on>\w?)")

OURS = ("fullrecall", "langchain_fullrecall", "llama_index.evaluation.fullrecall")


def outside(
    _app: Sphinx, _env: BuildEnvironment, node: pending_xref, contnode: nodes.Element
) -> nodes.Element | None:
    """Leave names of other libraries as they are: the build is offline and knows no others."""
    target = str(node.get("reftarget", ""))
    if node.get("refdomain") != "py" or target.startswith(tuple(f"{own}." for own in OURS)):
        return None
    return contnode


def text_of_data(name: str) -> list[str]:
    """Return the text below a constant, in the module that defines what a face exports."""
    module, _, own = name.rpartition(".")
    analyzer = ModuleAnalyzer.for_module(module)
    text = analyzer.find_attr_docs().get(("", own))
    for node in ast.walk(ast.parse(analyzer.code)) if text is None else ():
        if isinstance(node, ast.ImportFrom) and own in [each.name for each in node.names]:
            return text_of_data(f"{node.module}.{own}")
    return text or []


def as_markdown(
    _app: Sphinx, what: str, name: str, _object: object, _options: object, lines: list[str]
) -> None:
    """Read a docstring as it was written: single backticks and indented blocks are code."""
    if what == "data":  # Sphinx has the docstring of the constant's type
        lines[:] = text_of_data(name)
    text = CODE.sub(_literal, "\n".join(lines))
    lines[:] = text.split("\n")
    for position, line in reversed(list(enumerate(lines))):
        above = next((held for held in reversed(lines[:position]) if held.strip()), "")
        begins = line.startswith("    ") and position > 0 and not lines[position - 1].strip()
        if begins and above and not above.startswith((" ", "..", "- ")):
            lines[position:position] = ["::", ""]


def _literal(match: re.Match[str]) -> str:
    """Return code as reStructuredText has it, which needs a mark where a word goes on: `Stage`s."""
    code = " ".join(match["code"].split())
    return f"``{code}``\\ {match['on']}" if match["on"] else f"``{code}``"


def unsaid(_app: Sphinx, _what: str, _name: str, member: object, *_: object) -> bool | None:
    """Leave out fields of named tuples, of which the class's own text tells."""
    return True if str(getattr(member, "__doc__", "")).startswith("Alias for field") else None


def setup(app: Sphinx) -> None:
    """Connect what this file defines."""
    app.connect("autodoc-process-docstring", as_markdown)
    app.connect("autodoc-skip-member", unsaid)
    app.connect("missing-reference", outside)
