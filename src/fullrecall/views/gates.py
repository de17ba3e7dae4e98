"""What a gate decides, as a sheet and as lines with the outcome in front."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, NamedTuple
from xml.etree import ElementTree as ET

from fullrecall.views import markdown
from fullrecall.views.sheet import Cell, CellLike, Emphasis, Line, Section, Sheet
from fullrecall.views.text import shown

if TYPE_CHECKING:
    from rich.text import Text

    from fullrecall.results.gate import GateResult


class _Look(NamedTuple):
    """How an outcome stands out: its sign in Markdown, in a sheet, and on a terminal."""

    sign: str
    emphasis: Emphasis
    style: str


_LOOKS: Mapping[str, _Look] = {
    "pass": _Look("✅", "good", "bold green"),
    "fail": _Look("❌", "bad", "bold red"),
    "cannot_tell": _Look("⚠️", "unsure", "bold yellow"),
}


def outcomes(result: GateResult) -> Iterator[Text]:
    """Yield one line for each check of a gate, with its outcome in front."""
    from rich.text import Text

    for check in result.checks:
        style = _LOOKS[check.outcome].style
        yield Text.assemble((check.outcome.words, style), "  ", check.reason)


def gate_markdown(result: GateResult) -> str:
    """Return what a gate decides in GitHub's Markdown, the outcome in its first line."""
    lines = []
    for check in result.checks:
        sign, emphasis, _ = _LOOKS[check.outcome]
        cells: list[CellLike] = [
            Cell(f"{sign} {check.outcome.words}", emphasis),
            shown(check.value),
            "" if check.lower is None else f"{shown(check.lower)} to {shown(check.upper)}",
            f"{check.samples:,}",
            "" if check.coverage is None else f"{check.coverage:.1%}",
            check.reason,
        ]
        lines.append(Line(check.rule, cells))
    heads = ["", "value", "bounds", "samples", "coverage", "why"]
    sheet = Sheet(heads, [Section("", lines)], corner="rule", sides="llrrrrt")
    title = f"{_LOOKS[result.outcome].sign} Recall gate: {markdown.escaped(result.sentence)}"
    return markdown.text_of(title, sheet)


_NO_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that XML 1.0 has no place for."""

_EPOCH = "1970-01-01T00:00:00"

_ELEMENTS = {"fail": "failure", "cannot_tell": "error"}


def gate_junit(result: GateResult) -> str:
    """Return one case for each check; see `GateResult.to_junit`."""
    outcomes = [str(check.outcome) for check in result.checks]
    root = ET.Element("testsuites")
    # The order of the attributes is that of the file: `package` says whose it is.
    suite = ET.SubElement(
        root,
        "testsuite",
        package="fullrecall",
        id="0",
        name="fullrecall gate",
        tests=str(len(outcomes)),
        failures=str(outcomes.count("fail")),
        errors=str(outcomes.count("cannot_tell")),
        skipped="0",
        time="0",
        timestamp=_EPOCH,
        hostname="localhost",
    )
    properties = ET.SubElement(suite, "properties")
    for check in result.checks:
        for name, value in check.to_dict().items():
            if name not in {"rule", "reason"} and value is not None:
                label = _clean(f"{check.rule}: {name}")
                ET.SubElement(properties, "property", name=label, value=_clean(str(value)))
        case = ET.SubElement(
            suite, "testcase", classname="fullrecall.gate", name=_clean(check.rule), time="0"
        )
        outcome = str(check.outcome)
        if outcome in _ELEMENTS:
            reason = _clean(check.reason)
            ET.SubElement(case, _ELEMENTS[outcome], message=reason, type=outcome)
    ET.SubElement(suite, "system-out")
    ET.SubElement(suite, "system-err")
    ET.indent(root)
    return f'<?xml version="1.0" encoding="utf-8"?>\n{ET.tostring(root, encoding="unicode")}\n'


def _clean(text: str) -> str:
    return _NO_XML.sub("\ufffd", text)
