"""CONTRIBUTING.md is executed: its examples keep the contracts, and the names in it exist."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import groupby
from pathlib import Path
from types import FrameType

import pytest
from tests.test_package import FACADE, KERNEL, ROOMS, SOURCE, all_edges, imports, package

from fullrecall import ClaimRecall, IdRecall, LLMJudge, Report, Sample, compare, evaluate
from fullrecall.measures import Recall
from fullrecall.testing import ScriptedChatModel

ROOT = Path(__file__).parents[1]
TEXT = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
EXAMPLES: Mapping[str, str] = dict(
    re.findall(r"^<!-- example: (.+?) -->\n```python\n(.*?)^```$", TEXT, re.DOTALL | re.MULTILINE)
)
PARTS = ("scorer", "judge", "adapter")


def outcomes(folder: Path, sources: Mapping[str, str]) -> dict[str, set[str]]:
    """Run each program in its own file by pytest, and return its outcome."""
    for name, source in sources.items():
        (folder / f"test_{name}.py").write_text(source, encoding="utf-8")
    settings = folder / "pytest.ini"
    settings.write_text("[pytest]\n", encoding="utf-8")
    ended = subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            "-v",
            "-W",
            "error",
            "-p",
            "no:cacheprovider",
            "--tb=no",
            "-c",
            str(settings),
            str(folder),
        ],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
    )
    found: dict[str, set[str]] = {name: set() for name in sources}
    for name, outcome in re.findall(r"test_(\w+)\.py::.* (PASSED|FAILED|ERROR)", ended.stdout):
        found[name].add(outcome)
    return found


def with_its_test(part: str) -> str:
    """Return an example and its test as one program."""
    test = EXAMPLES[f"{part}'s test"]
    return f"{EXAMPLES[part]}\n\n{test}"


MISTAKES = {
    "a_rank_too_many": ("scorer", "index(text) + 1", "index(text) + 2"),
    "the_wrong_context": ("judge", "Citation(n, contexts[n])", "Citation(0, contexts[0])"),
    "another_order": ("adapter", "for hit in hits]", "for hit in sorted(hits, key=str)]"),
    "a_failure_is_empty": (
        "adapter",
        "        return contexts(search(question))",
        (
            "        try:\n"
            "            return contexts(search(question))\n"
            "        except ConnectionError:\n"
            "            return []"
        ),
    ),
}


@pytest.mark.long
def test_the_examples_keep_their_contracts_and_mistakes_do_not(tmp_path: Path) -> None:
    """Each example passes the test below it, which catches each mistake in the example."""
    sources = {part: with_its_test(part) for part in PARTS}
    for name, (part, right, wrong) in MISTAKES.items():
        assert EXAMPLES[part].count(right) == 1
        sources[name] = with_its_test(part).replace(right, wrong, 1)
    seen = outcomes(tmp_path, sources)
    assert {part: seen[part] for part in PARTS} == {part: {"PASSED"} for part in PARTS}
    assert {name for name, said in seen.items() if "FAILED" in said} == MISTAKES.keys()


@pytest.mark.parametrize("name", [*PARTS, *(f"{part}'s test" for part in PARTS)])
def test_examples_are_short(name: str) -> None:
    """An example has fewer than 40 lines."""
    assert len(EXAMPLES[name].splitlines()) < 40


def section(title: str) -> str:
    """Return the text below a heading."""
    return TEXT.partition(f"\n## {title}\n")[2].partition("\n## ")[0]


def files_in(text: str) -> list[str]:
    """Return the files of the package that a text names, in order."""
    return re.findall(r"`((?!tests/)[\w/]+\.py)`", text)


DRAWING = section("The house on one screen").split("```")[1]


def drawn(start: str, end: str) -> list[str]:
    """Return the packages in a part of the drawing, each with its purpose, in order."""
    part = DRAWING.partition(start)[2].partition(end)[0]
    return re.findall(r"^[ │]{6,9}(\w+) {2,}\w.+$", part, re.MULTILINE)


def test_the_drawing_has_the_tested_order() -> None:
    """The drawing has kernel and rooms in the order that `tests/test_package.py` enforces."""
    assert drawn("KERNEL", "ADAPTERS") == list(KERNEL)
    assert drawn("ROOMS", "▲") == list(ROOMS)
    assert all(f"{name}.py" in DRAWING for name in FACADE if name != "__main__")


def test_the_house_is_drawn_on_one_screen() -> None:
    """The drawing has at most 40 lines of 100 characters."""
    lines = DRAWING.splitlines()
    assert len(lines) <= 40
    assert max(map(len, lines)) <= 100


ORDER = files_in(section("Read the kernel in a day"))


def test_the_reading_order_needs_no_later_file() -> None:
    """A file of the reading order imports none of the later files."""
    modules = [name.removesuffix(".py").replace("/", ".") for name in ORDER]
    graph = imports(all_edges(), package().keys())
    assert [
        f"{module} imports {later}"
        for place, module in enumerate(modules)
        for later in modules[place:]
        if later in graph[module]
    ] == []


def test_the_reading_order_is_that_of_a_day() -> None:
    """The reading order has a file of each kernel package, in order, and under 10,000 lines."""
    packages = dict.fromkeys(name.partition("/")[0] for name in ORDER)
    assert list(packages) == [*KERNEL, "report.py"]
    assert sum(len((SOURCE / name).read_text("utf-8").splitlines()) for name in ORDER) < 10_000


Walk = Callable[[], object]
ROW = {"user_input": "Where?", "retrieved_ids": ["a"], "expected_ids": ["a", "b"]}
quietly = partial(evaluate, progress=False)


def a_sample_by_id() -> Walk:
    """Return the evaluation of a sample by ID, and its summary."""
    scorer, measure = IdRecall(), Recall @ 5
    return lambda: quietly([ROW], scorer).summary(measure)


def a_claim() -> Walk:
    """Return the evaluation of a claim that a model supports by a quote."""
    text = "The Eiffel Tower is in Paris."
    sample = Sample(user_input="Where?", retrieved_contexts=[text], reference_claims=[text])
    citation = {"context": 1, "quote": "The Eiffel Tower is in Paris"}
    verdict = {"id": 1, "verdict": "supported", "together": False, "citations": [citation]}
    model = ScriptedChatModel([json.dumps({"verdicts": [verdict]})])
    scorer = ClaimRecall(judge=LLMJudge(model))
    return lambda: quietly([sample], scorer)


def a_comparison() -> Walk:
    """Return the comparison of two reports, as it is printed."""
    reports = [quietly([{**ROW, "retrieved_ids": ids}], IdRecall()) for ids in (["a"], ["a", "b"])]
    measure = Recall @ 5
    return lambda: str(compare(*reports, measure))


def a_saved_report() -> Walk:
    """Return the loading of a report in JSON Lines."""
    quietly([ROW], IdRecall()).save("report.jsonl", replace=True)
    return lambda: Report.load("report.jsonl")


def a_traced_chain() -> Walk:
    """Return the evaluation of a chain of LangChain."""
    from langchain_core.documents import Document
    from langchain_core.retrievers import BaseRetriever

    from langchain_fullrecall import observed

    class Store(BaseRetriever):
        def _get_relevant_documents(self, query: str, **_: object) -> list[Document]:
            return [Document(query, id="a")]

    chain = observed(Store() | (lambda documents: documents[0].page_content))
    sample, scorer = {"user_input": "Where?", "expected_ids": ["a", "b"]}, IdRecall()
    return lambda: quietly([sample], scorer, retriever=chain)


def entered(walk: Walk) -> list[str]:
    """Return the files whose functions a walk enters, in order, in all threads."""
    names: list[str] = []

    def note(frame: FrameType, event: str, _: object) -> None:
        if event == "call":
            names.append(frame.f_code.co_filename)

    before = sys.getprofile()
    threading.setprofile(note)
    sys.setprofile(note)
    try:
        walk()
    finally:
        sys.setprofile(before)
        threading.setprofile(None)
    return [name for name, _ in groupby(names)]


def in_order(listed: Sequence[str], files: Sequence[str]) -> list[str]:
    """Return the listed files that are out of order."""
    left = iter(files)
    return [name for name in listed if not any(file.endswith(f"/{name}") for file in left)]


@pytest.mark.parametrize(
    "make",
    [
        a_sample_by_id,
        a_claim,
        a_comparison,
        a_saved_report,
        pytest.param(a_traced_chain, marks=pytest.mark.frameworks),
    ],
)
def test_a_walk_enters_its_files_in_order(
    make: Callable[[], Walk], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A walk enters its files in order at run time, except those in parentheses."""
    monkeypatch.chdir(tmp_path)
    title = make.__name__.replace("_", " ").capitalize().replace(" id", " ID")
    described = section("Five walks").partition(f"**{title}**")[2].partition("\n- ")[0]
    listed = files_in(re.sub(r"\(.*?\)", "", described, flags=re.DOTALL))
    assert len(listed) >= 5
    make()()  # This run loads the modules.
    files = entered(make())
    assert in_order(listed, files) == []
    assert in_order([*listed, "page/page.py"], files) == ["page/page.py"]
    assert in_order(listed[::-1], files) != []


def test_named_files_exist() -> None:
    """Every file of the reading order and the walks exists."""
    adapter = ROOT / "integrations" / "langchain" / "src"
    files = [*ORDER, *files_in(section("Five walks"))]
    assert len(files) >= 60
    assert [
        name for name in files if not any((at / name).exists() for at in (SOURCE, adapter))
    ] == []


def test_links_and_markers_exist() -> None:
    """Every linked file exists, and every pytest marker in a command is known."""
    for target in re.findall(r"\]\(([^)]+)\)", TEXT):
        assert (ROOT / target).exists()
    for path in re.findall(r"\btests/\w+\.py", TEXT):
        assert (ROOT / path).exists(), path
    settings = (ROOT / "pyproject.toml").read_text("utf-8")
    for marker in re.findall(r"`-m (\w+)`", TEXT):
        assert f'"{marker}: ' in settings
    for extra in re.findall(r'-e "\.\[(\w+)\]"', TEXT):
        assert f"\n{extra} = [" in settings


def test_test_files_of_the_gate_exist() -> None:
    """Every test file that the gate runs exists."""
    gate = (ROOT / ".ci" / "run").read_text("utf-8")
    paths = re.findall(r"(?:tests|integrations|bench)/[\w/.-]+", gate)
    assert len(paths) >= 20
    assert [path for path in paths if not (ROOT / path).exists()] == []
