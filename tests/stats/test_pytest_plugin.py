"""The gate works inside real pytest runs, each in a process of its own."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree as ET

import pytest

from fullrecall import Gate, Report
from fullrecall.measures import Recall

BEGIN = """
import os, pytest
from fullrecall import IdRecall, Sample, evaluate
from fullrecall.measures import RR, Recall

REPORTS = {reports!r}

def report_of(found, missed=0):
    rows = [["a"]] * found + [["x"]] * missed
    samples = [Sample(retrieved_ids=ids, expected_ids=["a"]) for ids in rows]
    return evaluate(samples, IdRecall(), progress=False)

"""


class Ran(NamedTuple):
    """A finished run of pytest."""

    code: int
    printed: str
    cases: Mapping[str, ET.Element]


def run(place: Path, code: str, *arguments: str, reports: str = "") -> Ran:
    """Run pytest on `code` in `place`, with this plugin alone."""
    (place / "test_it.py").write_text(BEGIN.format(reports=reports) + code, encoding="utf-8")
    (place / "pytest.ini").write_text("[pytest]\naddopts = --strict-markers\n")
    command = [sys.executable, "-m", "pytest", "-p", "fullrecall.pytest_plugin"]
    done = subprocess.run(
        [*command, "--junitxml=junit.xml", "-p", "no:cacheprovider", *arguments],
        cwd=place,
        env={**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTEST_ADDOPTS": ""},
        capture_output=True,
        text=True,
        check=False,
    )
    cases = {}
    if (place / "junit.xml").exists():
        root = ET.parse(place / "junit.xml").getroot()  # noqa: S314 - pytest's own
        cases = {str(case.get("name")): case for case in root.iter("testcase")}
    return Ran(done.returncode, done.stdout + done.stderr, cases)


def properties(case: ET.Element) -> dict[str, str]:
    """Return a test case's properties in JUnit's XML."""
    return {str(item.get("name")): str(item.get("value")) for item in case.iter("property")}


@pytest.mark.rooms
def test_all_outcomes_on_a_real_retriever(
    tmp_path: Path, saved: Mapping[str, Path], reports: Mapping[str, Report]
) -> None:
    """A gate on the demo's collection gives each outcome, a section, and JUnit properties."""
    # Each Python version has other documents, on which other retrievers pass.
    gate = Gate(Recall @ 10, margin=0.05)
    outcomes = {
        name: gate.check(reports[name], reports["main"]).outcome.words
        for name in ("main", "unclear", "low", "lowest")
    }
    assert (outcomes["main"], outcomes["lowest"]) == ("PASS", "FAIL")
    passed = list(outcomes.values()).count("PASS")
    ran = run(
        tmp_path,
        """
@pytest.mark.parametrize("name", ["main", "unclear", "low", "lowest"])
def test_retriever(recall_gate, name):
    baseline = f"{REPORTS}/main.jsonl"
    recall_gate(f"{REPORTS}/{name}.jsonl", Recall @ 10, margin=0.05, baseline=baseline)
""",
        reports=str(saved["main"].parent),
    )
    assert ran.code == 1
    assert f"{4 - passed} failed, {passed} passed" in ran.printed
    section = ran.printed.partition("recall gates")[2]
    for name, outcome in outcomes.items():
        assert f"test_it.py::test_retriever[{name}]: {outcome}: change of" in section
        told = properties(ran.cases[f"test_retriever[{name}]"])
        assert told["recall_gate"].startswith(f"{outcome}: change of id_recall@10 is")
        has_interval = "recall_gate.low" in told  # Equal lists pass by fact.
        assert has_interval is (name != "main")
        assert not has_interval or (
            float(told["recall_gate.low"]) < float(told["recall_gate.high"])
        )
        assert told["recall_gate.samples"] == "141"
    failure = ran.cases["test_retriever[lowest]"].find("failure")
    assert failure is not None
    assert "at most -0.0" in str(failure.get("message"))


UNSURE = """
def test_few(recall_gate):
    recall_gate(report_of(5), Recall >= 0.9)
"""


@pytest.mark.rooms
@pytest.mark.parametrize(
    ("arguments", "code", "counted"),
    [
        ((), 1, "1 failed"),
        (("--recall-cannot-tell=skip",), 0, "1 skipped"),
    ],
)
def test_cannot_tell_fails_unless_asked_otherwise(
    tmp_path: Path, arguments: tuple[str, ...], code: int, counted: str
) -> None:
    """CANNOT TELL fails by default; as a skip its reason has the samples needed."""
    ran = run(tmp_path, UNSURE, "-rs", *arguments)
    assert ran.code == code
    assert counted in ran.printed
    assert re.search(r"about \d+ samples with these values would settle it", ran.printed)


WRONG = {
    "a number": ("0.9", "a rule must be such as Recall @ 10 >= 0.9, got 0.9"),
    "no rule": ("", "a gate needs a rule"),
    "no threshold": ("Recall @ 10", "Recall @ 10 needs a threshold"),
    "text": ('"recall@10>=0.9"', "pass Recall @ 10 >= 0.9"),
    "a share in percent": ("Recall @ 10 >= 90", "a threshold must be a number from 0 to 1, got 90"),
    "a parameter mistyped": ("Recall >= 0.9, confidance=0.9", "did you mean confidence?"),
    "what is gone": ("min_recall=0.9", "Gate has no parameter 'min_recall': choose one of margin,"),
    "no baseline": ("margin=0.02", "a baseline and a margin go together"),
    "no file": ('margin=0.02, baseline="absent.jsonl"', "absent.jsonl"),
}


@pytest.mark.rooms
def test_what_is_wrong_is_one_line(tmp_path: Path) -> None:
    """Each wrong call fails the test with one line, without a traceback."""
    code = "".join(
        f"""
def test_call_{n}(recall_gate):
    recall_gate(report_of(100), {given})
"""
        for n, (given, _) in enumerate(WRONG.values())
    )
    ran = run(tmp_path, code)
    assert f"{len(WRONG)} failed" in ran.printed
    for n, (_, said) in enumerate(WRONG.values()):
        failure = ran.cases[f"test_call_{n}"].find("failure")
        assert failure is not None
        message = str(failure.get("message"))
        assert said in message
        assert len(message.splitlines()) == 1
        assert "another exception" not in str(failure.text)
        assert "Traceback" not in str(failure.text)
        assert "pytest_plugin.py" not in str(failure.text)


@pytest.mark.rooms
def test_runs_without_a_gate_are_left_alone(tmp_path: Path) -> None:
    """A run without a gate has no section or property, and loads no heavy library."""
    ran = run(
        tmp_path,
        """
import sys

def test_nothing():
    assert "scipy" not in sys.modules
    assert "pandas" not in sys.modules
""",
    )
    assert ran.code == 0
    assert "recall gates" not in ran.printed
    assert properties(ran.cases["test_nothing"]) == {}


@pytest.mark.rooms
def test_pytest_finds_the_plug_in() -> None:
    """The distribution declares the module with the fixture as a pytest plug-in."""
    text = (Path(__file__).parents[2] / "pyproject.toml").read_text("utf-8")
    named = tomllib.loads(text)["project"]["entry-points"]["pytest11"]
    assert hasattr(import_module(named["fullrecall"]), "recall_gate")
