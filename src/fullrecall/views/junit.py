"""What a gate decides in JUnit's XML, which every CI server shows.

Valid by the schema of Jenkins's xUnit plugin and by that of Ant's JUnit tasks, which asks for more:
the suite has its properties first and both outputs last, and each case one outcome at most. Times
are 0 and the timestamp is the epoch: an outcome keeps neither, and the same one is the same file.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

if TYPE_CHECKING:
    from fullrecall.results.gate import GateResult

_NO_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that XML 1.0 has no place for."""

_EPOCH = "1970-01-01T00:00:00"

_ELEMENTS = {"fail": "failure", "cannot_tell": "error"}


def of_gate(result: GateResult) -> str:
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
