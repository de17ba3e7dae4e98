"""The examples in the README and the documentation run, and print the shown output."""

from __future__ import annotations

import importlib.util
import pydoc
import re
import shlex
import socket
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import typer
from tests.test_package import FACES
from typer.testing import CliRunner

import fullrecall
from fullrecall import calibration, judge, read, report, run, samples, scorers, testing, testset
from fullrecall.cli import app
from fullrecall.measures import MEASURES, GradedMeasure

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
DOCS = ROOT / "docs"
PAGES = sorted(DOCS.glob("*.md"))
NEEDS_FRAMEWORK = re.compile(r"^(?:from|import) (?:langchain|llama_index)", re.MULTILINE)
FENCE = re.compile(
    r"^(?P<fence>```+)(?P<language>[^\s`]*)[^\n`]*\n(?P<code>.*?)^(?P=fence)$",
    re.DOTALL | re.MULTILINE,
)
LINK = re.compile(r"\[[^\]]*\]\((?P<target>[^)\s]+)\)")
SHELL = ("bash", "console", "sh")
FILE = re.compile(r"<!-- file: (?P<name>\S+) -->\n```json\n(?P<content>.*?)```", re.DOTALL)
"""A file that a page's commands read: its lines stand in the block after this mark."""


class Block(NamedTuple):
    """A fenced block of a page: `line` is that of its fence, `shown` its output."""

    page: Path
    line: int
    language: str
    code: str
    shown: str | None = None

    @property
    def label(self) -> str:
        """Return the block's place, as the name of its test."""
        return f"{self.page.name}:{self.line}"

    def compiled(self) -> Any:
        """Return the block's code, with the page's line numbers in tracebacks."""
        return compile("\n" * self.line + self.code, str(self.page), "exec")


def blocks_of(page: Path) -> list[Block]:
    """Return a page's fenced blocks; a `text` block right after another is its output."""
    text = page.read_text("utf-8")
    found = list(FENCE.finditer(text))
    blocks = []
    for position, match in enumerate(found):
        after = found[position + 1] if position + 1 < len(found) else None
        shown = None
        if (
            after is not None
            and after["language"] == "text"
            and not text[match.end() : after.start()].strip()
        ):
            shown = after["code"]
        line = text.count("\n", 0, match.start()) + 1
        blocks.append(Block(page, line, match["language"], match["code"], shown))
    return blocks


BLOCKS = {page: blocks_of(page) for page in (README, *PAGES)}


def python_of(page: Path) -> list[Block]:
    """Return the runnable Python blocks of a page."""
    return [block for block in BLOCKS[page] if block.language == "python"]


def needs_framework(blocks: list[Block]) -> bool:
    """Return whether any of the blocks imports a framework."""
    return any(NEEDS_FRAMEWORK.search(block.code) for block in blocks)


def parameters(cases: list[tuple[str, list[Block]]]) -> list[Any]:
    """Return cases as parameters, marked if they need a framework."""
    return [
        pytest.param(
            blocks, id=name, marks=[pytest.mark.frameworks] if needs_framework(blocks) else []
        )
        for name, blocks in cases
    ]


README_BLOCKS = [(block.label, [block]) for block in python_of(README)]
DOCS_PAGES = [(page.name, python_of(page)) for page in PAGES if python_of(page)]


@pytest.fixture(autouse=True)
def _offline_in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run examples without network, in a folder outside the repository."""

    def refuse(*address: object, **_: object) -> None:
        raise AssertionError(f"an example of the documentation connects to {address}")

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("MPLBACKEND", "agg")
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)


@pytest.mark.parametrize("blocks", parameters([*README_BLOCKS, *DOCS_PAGES]))
def test_examples_run(
    blocks: list[Block], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """Each README block runs by itself, and a page's blocks run one after the other.

    The text below a block is its output. Commands run too, once the page has made their files.
    """
    namespace: dict[str, Any] = {"__name__": "documentation"}
    page = blocks[0].page
    capsys.readouterr()
    for block in BLOCKS[page] if page != README else blocks:
        if block.language == "python":
            exec(block.compiled(), namespace)  # noqa: S102 - our own documentation
            printed = capsys.readouterr().out
            if block.shown is not None:
                assert printed == block.shown, block.label
            elif "print(" in block.code:
                assert printed.strip(), block.label
        elif block.language in SHELL:
            for command in commands_of(block):
                if files_are_there(command):
                    outcome = CliRunner().invoke(app, command)
                    assert outcome.exit_code in (0, 1, 3), f"{block.label}: {outcome.output}"


def test_the_readmes_commands_print_what_stands_below_them(tmp_path: Path) -> None:
    """The README's commands print exactly the text below them, in a folder with its files."""
    for file in FILE.finditer(README.read_text("utf-8")):
        (tmp_path / file["name"]).write_text(file["content"], encoding="utf-8")
    shown = [block for block in BLOCKS[README] if block.language in SHELL and block.shown]
    assert shown
    for block in shown:
        assert "".join(printed_by(block)) == block.shown, block.label


def printed_by(block: Block) -> Iterator[str]:
    """Yield the output of each command of a block."""
    for command in commands_of(block):
        yield CliRunner().invoke(app, command, catch_exceptions=False).stdout


def test_every_example_of_the_readme_shows_its_output() -> None:
    """Every example of the README is followed by its output, for readers who do not run it."""
    assert [block.label for block in python_of(README) if not block.shown] == []


def test_the_readme_takes_a_few_minutes() -> None:
    """The README has at most 700 words without code, output, and tables."""
    prose = re.sub(
        r"<!--.*?-->|^\|.*$", "", FENCE.sub("", README.read_text("utf-8")), flags=re.MULTILINE
    )
    assert len(re.findall(r"\S*\w\S*", prose)) <= 700


def test_the_recording_is_drawn_from_what_a_terminal_prints(tmp_path: Path) -> None:
    """The script runs a command on a terminal and draws its lines, with styles in place."""
    spec = importlib.util.spec_from_file_location("record", DOCS / "images" / "record.py")
    assert spec is not None
    assert spec.loader is not None
    record = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(record)
    (tmp_path / "one.jsonl").write_text('{"retrieved_ids": ["a"], "expected_ids": ["a"]}\n')
    lines = record.printed("fullrecall evaluate one.jsonl --k 1 --quiet", tmp_path)
    assert [line.plain.split() for line in lines if "@1" in line.plain] == [["@1", "1.000"]]
    picture = record.drawn([("first", lines), ("second", lines)])
    drawn = re.findall(r"<tspan[^>]*>([^<]*)</tspan>", picture)
    assert [text.split() for text in drawn if "@1" in text] == [["@1", "1.000"]] * 2
    assert 'font-weight="bold"' in picture  # Styles survive.


def test_the_recording_shows_the_commands_and_is_small() -> None:
    """The recording shows evaluate, diagnose, compare and gate in 25 seconds, without scripts."""
    picture = (DOCS / "images" / "terminal.svg").read_text("utf-8")
    shown = re.findall(r">(fullrecall \w+)[^<]*</tspan>", picture)
    names = ("evaluate", "diagnose", "evaluate", "compare", "gate")
    assert shown == [f"fullrecall {name}" for name in names]
    for part in ("samples miss something", "crowded out", "Better", "FAIL"):
        assert part in picture
    assert "25s" in picture
    assert len(picture) < 30_000
    assert not re.search(r"<script|href|url\(|@import", picture)


def test_every_page_has_an_example() -> None:
    """Every page has examples, except the pages named here."""
    generated = {"api.md", "benchmarks.md", "cli.md", "formulas.md"}
    assert {page.name for page in PAGES} - {name for name, _ in DOCS_PAGES} == generated
    assert len(README_BLOCKS) >= 5


@pytest.mark.frameworks
@pytest.mark.parametrize(
    "block",
    [
        pytest.param(block, id=name)
        for name, (block,) in README_BLOCKS
        if NEEDS_FRAMEWORK.search(block.code)
    ],
)
def test_the_readmes_examples_for_frameworks_print_a_half(
    block: Block, capsys: pytest.CaptureFixture[str]
) -> None:
    """The README's framework examples print 0.5, since one of two references is found."""
    exec(block.compiled(), {"__name__": "readme"})  # noqa: S102 - our own README
    assert "0.5" in capsys.readouterr().out


def test_the_examples_for_frameworks_are_ten_lines() -> None:
    """Imports and blank lines aside, an example of the README has at most ten lines of code."""
    examples = [block for block in python_of(README) if NEEDS_FRAMEWORK.search(block.code)]
    assert len(examples) >= 2
    for block in examples:
        lines = [line for line in block.code.splitlines() if line and not line.startswith("from ")]
        assert len(lines) <= 10, block.label


@pytest.mark.parametrize("name", ["demo", "test"])
def test_each_command_of_the_readme_is_one_line(name: str) -> None:
    """Each marker of a command that `.ci/run` reads is followed by one line."""
    found = re.findall(rf"<!-- command: {name} -->\n```bash\n(.+)\n```", README.read_text("utf-8"))
    assert len(found) == 1


@pytest.mark.parametrize(
    "block",
    [
        pytest.param(block, id=block.label)
        for blocks in BLOCKS.values()
        for block in blocks
        if block.language == "py"
    ],
)
def test_code_that_is_not_run_compiles(block: Block) -> None:
    """Code marked `py`, which needs a key, a server or a user's file, compiles."""
    block.compiled()


def commands_of(block: Block) -> Iterator[list[str]]:
    """Yield the arguments of each `fullrecall` command of a shell block."""
    for line in block.code.replace("\\\n", " ").splitlines():
        words = shlex.split(line.removeprefix("$ "), comments=True)
        if words[:1] == ["fullrecall"]:
            yield words[1:]


def files_are_there(command: list[str]) -> bool:
    """Return whether the current folder has all files that a command names."""
    written = {"--output", "-o", "--markdown", "--store"}
    files = [
        word
        for before, word in zip(["", *command], command, strict=False)
        if re.fullmatch(r"[\w./-]+\.(?:jsonl|json|csv|txt|run|sqlite)", word)
        and before not in written
    ]
    return bool(files) and all(Path(name).exists() for name in files)


@pytest.mark.parametrize(
    "block",
    [
        pytest.param(block, id=block.label)
        for blocks in BLOCKS.values()
        for block in blocks
        if block.language in SHELL and any(commands_of(block))
    ],
)
def test_commands_are_as_the_command_line_has_them(
    block: Block, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each documented command exists with its options, which accept the shown values."""
    group: Any = typer.main.get_command(app)

    def own_measure(address: str, _: str) -> GradedMeasure:
        """Return a measure of the name that a command loads."""
        name = address.rpartition(":")[2]
        kind = type(
            name,
            (GradedMeasure,),
            {"text": name.lower(), "count": lambda self, findings, retrieved: 0.0},
        )
        monkeypatch.setitem(MEASURES, name.lower(), kind())
        return kind()  # type: ignore[no-any-return]

    monkeypatch.setattr("fullrecall.cli.options.loaded", own_measure)
    for name, *arguments in commands_of(block):
        assert name in group.commands, f"{block.label}: no command {name!r}"
        for word in arguments:  # This file must exist.
            if re.fullmatch(r"[\w./-]+\.\w+", word):
                Path(word).parent.mkdir(parents=True, exist_ok=True)
                Path(word).touch()
        group.commands[name].make_context(name, arguments)


@pytest.mark.parametrize("page", [pytest.param(page, id=page.name) for page in (README, *PAGES)])
def test_links_lead_somewhere(page: Path) -> None:
    """Each relative link names an existing file, and each `#part` a heading of it."""
    text = FENCE.sub("", page.read_text("utf-8"))
    for match in LINK.finditer(text):
        target, _, part = match["target"].partition("#")
        if re.match(r"[a-z]+:", match["target"]):
            continue
        aim = (page.parent / target).resolve() if target else page
        assert aim.exists(), f"{page.name} links to {target}"
        if part:
            headings = re.findall(r"^#+ (.+)$", FENCE.sub("", aim.read_text("utf-8")), re.MULTILINE)
            assert part in {slug(heading) for heading in headings}, f"{page.name}: #{part}"


def slug(heading: str) -> str:
    """Return a heading's anchor, as GitHub and MyST make it."""
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")


def test_every_page_is_in_the_index() -> None:
    """The table of contents leads to each page, and to no other file."""
    toctree = re.findall(r"```{toctree}.*?```", (DOCS / "index.md").read_text("utf-8"), re.DOTALL)
    listed = re.findall(r"^([\w-]+)$", "\n".join(toctree), re.MULTILINE)
    assert sorted(listed) == sorted(page.stem for page in PAGES if page.stem != "index")


PUBLIC = [
    *(f"fullrecall.{name}" for name in fullrecall.__all__ if name != "__version__"),
    *(
        f"fullrecall.{module.__name__.rpartition('.')[2]}.{name}"
        for module in (calibration, judge, read, report, run, samples, scorers, testing, testset)
        for name in module.__all__
    ),
]


def deep(name: str) -> bool:
    """Return whether no public package exports a documented name."""
    face, _, own = name.rpartition(".")
    if name in FACES or face not in FACES:
        return name not in FACES
    module = import_module(face)
    return own not in getattr(module, "__all__", vars(module))


def test_the_reference_documents_no_deep_path() -> None:
    """Every documented name is that of a public package, such as `fullrecall.scorers.Finding`."""
    text = (DOCS / "api.md").read_text("utf-8")
    listed = re.findall(r"^\.\. auto\w+:: (\S+)", text, re.MULTILINE)
    core = [name for name in listed if name.startswith("fullrecall.")]
    assert len(core) > 100
    assert [name for name in core if deep(name)] == ["fullrecall.pytest_plugin"]
    adapters = [name.rpartition(".")[0] for name in listed if name not in core]
    assert set(adapters) == {"langchain_fullrecall", "llama_index.evaluation.fullrecall"}
    assert deep("fullrecall.scorers.result.Result")
    assert deep("fullrecall.scorers.result")
    assert not deep("fullrecall.scorers.Result")


DEEP_IMPORT = re.compile(r"(?:from|import) fullrecall\.(?:_|\w+\.).*")


def test_examples_import_from_faces() -> None:
    """Examples import from public packages, so that they still work if a module is moved."""
    shown = [
        block.code for page in (*BLOCKS, ROOT / "CONTRIBUTING.md") for block in blocks_of(page)
    ]
    shown += [path.read_text("utf-8") for path in (ROOT / "notebooks").glob("*.ipynb")]
    assert [found for code in shown for found in DEEP_IMPORT.findall(code)] == []
    assert DEEP_IMPORT.search("from fullrecall.samples.calls import Call")
    assert DEEP_IMPORT.search("from fullrecall._util import lazy")
    assert not DEEP_IMPORT.search("from fullrecall.samples import Call")


def is_there(name: str) -> bool:
    """Return whether a dotted name is a module, or an object in one."""
    parts = name.split(".")
    for end in range(len(parts), 0, -1):
        try:
            value: Any = import_module(".".join(parts[:end]))
        except ModuleNotFoundError:
            continue
        for part in parts[end:]:
            value = getattr(value, part, None)
        return value is not None
    return False


SOURCES = [
    *PAGES,
    README,
    ROOT / "CONTRIBUTING.md",
    *(ROOT / "src").rglob("*.py"),
    *(ROOT / "bench").glob("*.py"),
    *(ROOT / "integrations").glob("*/src/**/*.py"),
]


def test_names_in_prose_exist() -> None:
    """Modules that docstrings, comments, and pages name exist."""
    found = {
        (path.name, name)
        for path in SOURCES
        for name in re.findall(r"(?<!attribute )`(fullrecall(?:\.\w+)+)", path.read_text("utf-8"))
    }
    ignored = re.findall(r'"py:\w+", "(fullrecall\.\S+)"', (DOCS / "conf.py").read_text("utf-8"))
    found |= {("conf.py", name) for name in ignored}
    assert len(found) > 40
    assert {(path, name) for path, name in found if not is_there(name)} == set()
    assert not is_there("fullrecall.evaluation.run")


def test_the_reference_has_every_public_name() -> None:
    """Every name that a user can import is in the API reference, or beside its formula."""
    text = "".join((DOCS / name).read_text("utf-8") for name in ("api.md", "formulas.md"))
    listed = set(re.findall(r"^\.\. auto\w+:: (\S+)", text, re.MULTILINE))
    of_reports = {name.rpartition(".")[2] for name in listed}
    assert [name for name in PUBLIC if name.rpartition(".")[2] not in of_reports] == []


@pytest.mark.frameworks
def test_internal_classes_of_signatures_are_listed_where_they_are_defined() -> None:
    """Internal classes of signatures are listed in `conf.py` with their module."""
    text = (DOCS / "conf.py").read_text("utf-8")
    names = re.findall(
        r'"py:class", "((?:fullrecall|langchain_fullrecall|llama_index)\.\S+)"', text
    )
    assert len(names) > 10
    for name in names:
        found = pydoc.locate(name)
        assert found is not None, name
        assert f"{found.__module__}.{name.rpartition('.')[2]}" == name


@pytest.mark.tools
@pytest.mark.frameworks
def test_the_documentation_builds_without_a_warning(tmp_path: Path) -> None:
    """The documentation builds offline without a warning, and without a broken reference.

    The pages fetch no file from elsewhere: no script, style, font or image of another host.
    """
    if importlib.util.find_spec("sphinx") is None:
        pytest.fail("the documentation is built with the extra docs: pip install -e '.[docs]'")
    built = tmp_path / "html"
    outcome = subprocess.run(
        [sys.executable, "-m", "sphinx", "-W", "-n", "--keep-going", "-q", DOCS, built],
        capture_output=True,
        text=True,
        check=False,
        env={"PATH": "", "HTTP_PROXY": "http://127.0.0.1:9", "HTTPS_PROXY": "http://127.0.0.1:9"},
    )
    assert outcome.returncode == 0, outcome.stderr
    pages = list(built.glob("*.html"))
    assert {page.stem for page in PAGES} <= {page.stem for page in pages}
    kept = built / "notebooks"
    names = sorted(path.stem for path in (ROOT / "notebooks").glob("*.ipynb"))
    assert sorted(page.stem for page in kept.glob("*.html")) == names
    quickstart = (kept / "quickstart.html").read_text("utf-8")
    assert "highlight-python" in quickstart  # The page's code, and its output.
    assert "highlight-text" in quickstart
    pages += kept.glob("*.html")
    fetched = re.compile(r"""<(?:script|link|img|iframe)[^>]+(?:src|href)=["']?(?:https?:)?//""")
    assert [page.name for page in pages if fetched.search(page.read_text("utf-8"))] == []
    styles = "".join(path.read_text("utf-8") for path in built.rglob("*.css"))
    assert not re.search(r"(?:@import|url\()\s*[\"']?(?:https?:)?//", styles)
