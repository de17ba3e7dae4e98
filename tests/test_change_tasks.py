"""A common change needs only the files that the guide names, as tried in a copy of the package."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import pytest

import fullrecall

PACKAGE = Path(fullrecall.__file__).parent
ROOT = Path(__file__).parents[1]


class Edit(NamedTuple):
    """A text inserted into a file before a given line, or written to a new file."""

    before: str
    text: str


class Task(NamedTuple):
    """A change, with the files that it edits, and a program that works only with it."""

    edits: Mapping[str, Edit]
    program: str


TASKS = {
    "measure": Task(
        {
            "measures/sets.py": Edit(
                "Precision = PrecisionMeasure()",
                '''
class MostFoundMeasure(GradedMeasure):
    """1.0 if at least half of the targets are found in full within the first k contexts."""

    text = "most_found"

    def formula(self, outcomes: Found) -> Numbers:
        """Return whether half is there."""
        return 1.0 * (2 * outcomes.found_within(self.top) >= outcomes.targets)


MostFound = MostFoundMeasure()
''',
            ),
            "measures/__init__.py": Edit(
                "    from fullrecall.measures.text import MEASURES",
                "    from fullrecall.measures.sets import MostFound as MostFound\n",
            ),
        },
        """
from fullrecall import IdRecall, Report, evaluate
from fullrecall.measures import MostFound, parse
rows = [{"retrieved_context_ids": ["a", "x", "b"], "reference_context_ids": ["a", "b", "c"]},
        {"retrieved_context_ids": ["x"], "reference_context_ids": ["a"]}]
report = evaluate(rows, IdRecall())
assert list(report.values(MostFound @ 3)) == [1.0, 0.0]
assert list(report.values(MostFound @ 1)) == [0.0, 0.0]
assert parse("most_found@3") == MostFound @ 3
report.save("report.jsonl")
assert Report.load("report.jsonl").summary("most_found@3")["id_recall"]["most_found@3"].mean == 0.5
assert "most_found@3" in report.to_html(measures=[MostFound @ 3])
""",
    ),
    "scorer": Task(
        {
            "scorers/prefixes.py": Edit(
                "",
                '''"""References found by how their IDs begin."""

from dataclasses import dataclass
from typing import ClassVar

from fullrecall.measures.findings import CreditStep, Evidence, Finding, Target
from fullrecall.samples.sample import Sample
from fullrecall.scorers.scorer import DeterministicScorer, Found, Unmeasured


@dataclass(frozen=True, kw_only=True)
class PrefixRecall(DeterministicScorer):
    """A reference is found in a context whose ID begins with its own."""

    kind: ClassVar[str] = "prefix_recall"

    def _find(self, sample: Sample) -> Found:
        if sample.retrieved_context_ids is None or sample.reference_context_ids is None:
            raise Unmeasured("no IDs")
        ids = sample.retrieved_context_ids
        findings = []
        for reference in sample.reference_context_ids:
            ranks = tuple(n for n, id in enumerate(ids, 1) if id.startswith(reference.any_of))
            steps = (CreditStep(ranks[0], 1.0),) if ranks else ()
            evidence = tuple(Evidence(rank) for rank in ranks)
            findings.append(Finding(Target(reference.any_of), steps, ranks, evidence))
        return Found(findings, len(ids))
''',
            ),
            "scorers/__init__.py": Edit(
                "    from fullrecall.scorers.claims import ClaimRecall",
                "    from fullrecall.scorers.prefixes import PrefixRecall as PrefixRecall\n",
            ),
        },
        """
import json
from pathlib import Path
from fullrecall import Report, evaluate
from fullrecall.errors import ReportError
from fullrecall.scorers import PrefixRecall
from tests.files.reports.sealing import sealed
rows = [{"retrieved_context_ids": ["x", "a#2"], "reference_context_ids": ["a", "b"]}]
report = evaluate(rows, PrefixRecall())
report.save("report.jsonl")
assert Report.load("report.jsonl").summary()["prefix_recall"]["recall"].mean == 0.5
lines = [json.loads(line) for line in Path("report.jsonl").read_text().splitlines()[:-1]]
lines[1] = json.loads(json.dumps(lines[1]).replace("a#2", "c#2"))
Path("edited.jsonl").write_text(sealed(lines))
try:
    Report.load("edited.jsonl")
except ReportError as error:
    assert "as the sample gives" in str(error), error
else:
    raise AssertionError("what the scorer does not find again was believed")
""",
    ),
    "input format": Task(
        {
            "files/formats.py": Edit(
                "deepeval: input",
                "trivia: Query Pages\n  user_input = Query\n  reference = Solution\n"
                "  reference_context_ids = Pages\n",
            )
        },
        """
import json
from pathlib import Path
from fullrecall.read import read
Path("set.jsonl").write_text(json.dumps({"Query": "q", "Pages": ["a", "b"], "Solution": "s"}))
(sample,) = list(read("set.jsonl"))
assert (sample.user_input, sample.reference) == ("q", "s")
assert [r.any_of for r in sample.reference_context_ids] == [("a",), ("b",)]
""",
    ),
    "page section": Task(
        {
            "page/page.py": Edit(
                "        causes=causes.lines,\n",
                "        longest=max(len(rows[-1].sample.user_input) for rows in subject.rows),\n",
            ),
            "page/files/page.html": Edit(
                "{% if funnel %}",
                "{% if longest %}\n<section><h2>The longest question</h2>\n"
                "<p>{{ longest }} characters</p></section>\n{% endif %}\n\n",
            ),
        },
        """
from fullrecall import IdRecall, evaluate
row = {"user_input": "why so?", "retrieved_context_ids": ["a"], "reference_context_ids": ["a"]}
report = evaluate([row], IdRecall())
page = report.to_html()
assert "The longest question" in page and "<p>7 characters</p>" in page
""",
    ),
    "ledger backend": Task(
        {
            "run/folder.py": Edit(
                "",
                '''"""The ledger as a folder with a file for each answer."""

from hashlib import sha256
from pathlib import Path

from fullrecall.run.ledger import Ledger


class FolderLedger(Ledger):
    """A ledger of the files in a folder, for one process, which has one thread for it."""

    def get(self, key):
        """Return the answer to an ask."""
        file = self._file(key)
        return file.read_text("utf-8") if file.exists() else None

    def _lease(self, key, token):
        """Grant each lease: no other process is there."""
        return self.get(key) is None

    def _keep(self, key, value):
        """Keep the first answer."""
        if self.get(key) is None:
            self._file(key).write_text(value, "utf-8")
        return self.get(key)

    def _forget(self, key, token):
        """Leases are not kept."""

    def _probe(self):
        """Raise: what a folder did not take once is not written to it again."""
        raise OSError(f"{self.path} takes nothing")

    def _disconnect(self):
        """Nothing is open."""

    def _file(self, key):
        return Path(self.path, sha256(key.encode()).hexdigest())
''',
            )
        },
        """
from pathlib import Path
from fullrecall import ClaimRecall, evaluate
from fullrecall.judge import LLMJudge
from fullrecall.run.folder import FolderLedger
from fullrecall.judge.models.scripted import ScriptedChatModel
Path("answers").mkdir()
sample = {"user_input": "q", "reference_claims": ["Paris is in France."],
          "retrieved_contexts": ["Paris is in France, and Rome is not."]}
verdict = '{"verdicts": [{"id": 1, "verdict": "supported", "citations": '
verdict += '[{"context": 1, "quote": "Paris is in France"}]}]}'
sent, values = [], []
for _ in range(2):
    model = ScriptedChatModel([verdict])
    with FolderLedger("answers") as ledger:
        report = evaluate([sample], ClaimRecall(judge=LLMJudge(model)), store=ledger)
    sent.append(len(model.requests))
    values.append(report.summary()["claim_recall"]["recall"].mean)
assert sent == [1, 0], sent
assert values == [1.0, 1.0], values
""",
    ),
}


def apply_edits(package: Path, edits: Mapping[str, Edit]) -> None:
    """Write a task's edits into a copy of the package."""
    for name, edit in edits.items():
        file = package / name
        if not edit.before:
            assert not file.exists()
            file.write_text(edit.text, "utf-8")
            continue
        source = file.read_text("utf-8")
        assert source.count(edit.before) == 1, (name, edit.before)
        file.write_text(source.replace(edit.before, f"{edit.text}{edit.before}"), "utf-8")


@pytest.mark.long
@pytest.mark.parametrize("name", TASKS)
def test_a_change_works_by_the_files_that_it_touches(name: str, tmp_path: Path) -> None:
    """A change works if only its own files are edited, without any list or table elsewhere."""
    task = TASKS[name]
    package = tmp_path / "fullrecall"
    shutil.copytree(PACKAGE, package, ignore=shutil.ignore_patterns("__pycache__"))
    apply_edits(package, task.edits)
    ended = subprocess.run(
        [sys.executable, "-c", f"import fullrecall; print(fullrecall.__file__)\n{task.program}"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), str(ROOT)])},
    )
    assert ended.returncode == 0, ended.stderr[-2_000:]
    assert ended.stdout.startswith(str(package))


def test_the_guide_names_the_files_that_each_change_touches() -> None:
    """CONTRIBUTING.md's table lists the files of the changes that are tried above."""
    text = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    table = text[text.index("| to add") : text.index("## Add a scorer")]
    rows = re.findall(r"^\| a[n]? ([a-z ]+?) \| (.+?) \|", table, re.MULTILINE)
    files = {name: set(re.findall(r"`([\w/.]+)`", cells)) for name, cells in rows}
    assert files == {name: set(task.edits) for name, task in TASKS.items()}
