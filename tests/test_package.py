"""The package as a whole: what it exports, how light it is, which way its imports point."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Container, Mapping
from collections.abc import Set as AbstractSet
from functools import cache
from importlib import import_module
from importlib.util import resolve_name
from pathlib import Path

import pytest

import fullrecall
from fullrecall.cli.commands import COMMANDS

TESTSET = ("generate", "check", "complete", "review", "follow", "export")
JUDGING = ("label", "calibrate")
SOURCE = Path(fullrecall.__file__).parent


def test_the_surface_is_pinned() -> None:
    """A name that appears or vanishes is a decision, and shows here."""
    assert sorted(fullrecall.__all__) == [
        "BatchScorer",
        "Budget",
        "Claim",
        "ClaimRecall",
        "Context",
        "ContextPrecision",
        "EntityRecall",
        "Gate",
        "IdRecall",
        "LLMJudge",
        "Label",
        "QuestionRecall",
        "Reference",
        "Report",
        "Retrieval",
        "Sample",
        "SpanRecall",
        "TextRecall",
        "__version__",
        "aevaluate",
        "calibrate",
        "choose",
        "compare",
        "diagnose",
        "evaluate",
    ]
    assert len(fullrecall.__all__) <= 30
    for name in fullrecall.__all__:
        assert hasattr(fullrecall, name)
    assert set(fullrecall.__all__) <= set(dir(fullrecall))
    with pytest.raises(AttributeError, match="'fullrecall' has no attribute 'Recall'"):
        _ = fullrecall.Recall


LAZY = (
    "fullrecall",
    "fullrecall.calibration",
    "fullrecall.read",
    "fullrecall.diagnosis",
    "fullrecall.judge",
    "fullrecall.report",
    "fullrecall.scorers",
)
"""Packages whose names are loaded when they are first used."""


@pytest.mark.parametrize("package", LAZY)
def test_names_are_loaded_from_where_type_checkers_see_them(package: str) -> None:
    """A name comes from the same module for an interpreter as for a type checker."""
    module = import_module(package)
    tree = ast.parse(Path(str(module.__file__)).read_text(encoding="utf-8"))
    block = next(node for node in tree.body if isinstance(node, ast.If))
    seen = {
        name.name: found.module
        for found in block.body
        if isinstance(found, ast.ImportFrom)
        for name in found.names
    }
    table = {name: resolve_name(f".{where}", package) for name, where in module._MODULES.items()}
    assert seen == table
    assert all(hasattr(module, name) for name in module.__all__)
    assert set(module.__all__) - seen.keys() <= {"JudgeError", "__version__"}
    with pytest.raises(AttributeError, match=f"'{package}' has no attribute 'nothing'"):
        _ = module.nothing


@cache
def modules_after(program: str) -> set[str]:
    """Return the modules that a fresh interpreter has loaded once it has run a program."""
    program = f"{program}\nimport sys; print('LOADED', *sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    return set(done.stdout.rpartition("LOADED")[2].split())


def test_scores_that_ask_nobody_load_nothing_that_asks() -> None:
    """`evaluate` by ID loads no event loop, no store, no pydantic, no judge and no SciPy."""
    program = """
from fullrecall import IdRecall, Sample, evaluate
report = evaluate([Sample(retrieved_context_ids=["a"], reference_context_ids=["a"])], IdRecall())
print(report.summary())
"""
    asking = {
        "asyncio", "anyio", "sqlite3", "pydantic", "scipy", "pandas", "typer", "jinja2",
        "rapidfuzz", "fullrecall.run.engine", "fullrecall.run.sqlite",
        "fullrecall.run.request", "fullrecall.judge.llm", "fullrecall.judge.models.redaction",
    }  # fmt: skip
    loaded = modules_after(program)
    assert "fullrecall.scorers.ids" in loaded
    assert loaded & asking == set()


def after_commands(*commands: list[str]) -> set[str]:
    """Return the modules that the command line has loaded once it has run these, one by one."""
    return modules_after(f"""
import sys
from fullrecall.cli import main
for command in {commands!r}:
    sys.argv = ["fullrecall", *command]
    try:
        main()
    except SystemExit as end:
        assert not end.code, command
""")


def test_help_loads_no_command() -> None:
    """`fullrecall --help` lists the commands without loading what they need."""
    loaded = after_commands(["--help"])
    assert {name for name in loaded if name.startswith("fullrecall.")} == {
        "fullrecall.cli",
        "fullrecall.cli.commands",
        "fullrecall.cli.layout",
        "fullrecall._util.lazy",
    }
    assert len(loaded - modules_after("")) <= 130  # 286 when rich laid it out


def test_the_help_of_a_command_loads_no_framework_and_no_client() -> None:
    """A command's help says what Python's documentation says, so it loads what it tells of.

    That is the core: no framework, no client of a model, and nothing that an extra brings.
    """
    names = [
        [*above, name]
        for above, entries in (([], COMMANDS), (["testset"], TESTSET), (["judge"], JUDGING))
        for name in entries
    ]
    loaded = after_commands(*([*name, "--help"] for name in names))
    extras = "langchain_core llama_index openai anthropic pyarrow matplotlib pandas redis bm25s"
    assert loaded & {*extras.split(), "jinja2"} == set()


def test_a_small_evaluation_loads_what_it_uses(tmp_path: Path) -> None:
    """A file of IDs is scored without an event loop, a judge, what saves, or other readers."""
    path = tmp_path / "samples.jsonl"
    path.write_text('{"retrieved_context_ids": ["a"], "reference_context_ids": ["a"]}\n' * 10)
    loaded = after_commands(["evaluate", str(path)])
    assert "fullrecall.scorers.ids" in loaded
    unused = {
        "asyncio", "sqlite3", "scipy", "pandas", "pyarrow", "jinja2", "rapidfuzz",
        "fullrecall.calibration", "fullrecall.files.sheets", "fullrecall.files.traces",
        "fullrecall.batches", "fullrecall.run.engine", "fullrecall.judge.evidence",
        "fullrecall.files.reports.records", "fullrecall.scorers.text", "fullrecall.observe.conventions",
    }  # fmt: skip
    assert loaded & unused == set()
    assert len(loaded - modules_after("")) <= 496  # 545 when all readers and scorers came along


def test_the_pytest_plug_in_costs_a_run_without_it_nothing() -> None:
    """Every run of pytest imports the plug-in: it loads no report, no scorer, no engine."""
    program = "import sys, fullrecall.pytest_plugin as p; print(*sorted(sys.modules))"
    loaded = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    ).stdout.split()
    ours = {name for name in loaded if name.startswith("fullrecall.")}
    assert ours == {"fullrecall.pytest_plugin"}


def third_party_after(statement: str) -> set[str]:
    """Return the packages of others that a statement loads."""
    loaded = {name.partition(".")[0] for name in modules_after(statement)}
    # What a site-packages .pth file loads is not ours: it is there without us too.
    bare = {name.partition(".")[0] for name in modules_after("")}
    return loaded - bare - sys.stdlib_module_names - {"fullrecall"}


def test_import_loads_nothing_heavy() -> None:
    """All of fullrecall's names load no framework, pandas, SciPy or RapidFuzz.

    NumPy, whose arrays a report's table is made of, comes with `evaluate` and no sooner.
    """
    assert third_party_after("from fullrecall import *") <= {"numpy"}
    scorers = "ClaimRecall, IdRecall, LLMJudge, Sample, SpanRecall, TextRecall"
    assert third_party_after(f"from fullrecall import {scorers}") == set()


ORDER = (
    (
        "errors",
        "caches",
        "identifiers",
        "id_forms",
        "rewrites",
        "counts",
        "garbage",
        "dataframes",
        "extras",
        "parts",
        "usage",
        "parameters",
        "lazy",
    ),
    ("context",),
    ("hits", "prompts", "calls", "retrieval"),
    ("steps",),
    ("references",),
    ("sample",),
    ("captured", "corpus", "id_levels", "messages"),
    ("findings",),
    ("table.lists", "measures.budgets"),
    ("table.costs", "table.forbidden", "table.found", "table.paid"),
    ("measures",),
    ("result",),
    ("table",),
    ("records",),
    ("models",),
    ("judges",),
    ("scorers",),
    (
        "calibration",
        "report",
        "results",
        "views",
        "diagnosis.causes",
        "diagnosis.change",
        "diagnosis.diagnosis",
    ),
    ("traces",),
    ("read", "collections"),
    ("run", "evaluation"),
    ("diagnosis",),
    ("batches",),
    ("testset",),
    ("testing",),
    ("demo",),
    ("cli", "pytest_plugin", "__main__"),
)
"""Modules may import from their own row and from the rows above."""

FACADES = {
    "report.report": "methods show, save, export, plot, and search a report, and draw claims of it",
    "views.sheet": "what is shown as sheets prints and draws itself",
    "results.summary": "__str__ and _repr_html_ draw a summary",
    "results.comparison": "methods show and export comparisons",
    "results.gate": "methods export an outcome",
    "results.slices": "__str__ and _repr_html_ draw slices",
    "results.smallest_k": "_repr_html_ draws what was tested",
}
"""Modules whose values offer, as methods, what is built on them: what they import when a method
is called, or name as its type, is not counted. Everything else is."""

Imports = Mapping[str, AbstractSet[str]]
"""For each module the modules of the package that it imports."""


@cache
def package() -> dict[str, ast.Module]:
    """Return every module but the package's own `__init__`, parsed."""
    paths = [path for path in SOURCE.rglob("*.py") if path != SOURCE / "__init__.py"]
    return {
        ".".join(path.relative_to(SOURCE).with_suffix("").parts).removesuffix(".__init__"): (
            ast.parse(path.read_text("utf-8"))
        )
        for path in sorted(paths)
    }


def imports_of(node: ast.AST, known: AbstractSet[str], *, deferred: bool) -> set[str]:
    """Return the modules of the package that a module imports.

    Those for type checkers and within functions are counted, too, if `deferred`.
    """
    found: set[str] = set()
    for child in ast.iter_child_nodes(node):
        is_typing = isinstance(child, ast.If) and getattr(child.test, "id", "") == "TYPE_CHECKING"
        if not deferred and (
            is_typing or isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef)
        ):
            continue
        names: list[str] = []
        if isinstance(child, ast.ImportFrom) and child.module and not child.level:
            names = [f"{child.module}.{name.name}" for name in child.names]
        elif isinstance(child, ast.Import):
            names = [name.name for name in child.names]
        for name in names:
            whole = name.removeprefix("fullrecall.")
            if name != whole:  # a module of ours, or a name in one
                found.add(whole if whole in known else whole.rpartition(".")[0])
        found |= imports_of(child, known, deferred=deferred)
    return found - {""}


def all_imports(facades: Container[str]) -> Imports:
    """Return what each module imports, also lazily and for type checkers; see `FACADES`."""
    return {module: imports_by(module, deferred=module not in facades) for module in package()}


@cache
def imports_by(module: str, *, deferred: bool) -> frozenset[str]:
    """Return the modules of ours that one imports; see `imports_of`."""
    trees = package()
    return frozenset(imports_of(trees[module], trees.keys(), deferred=deferred) - {module})


@cache
def level_of(module: str) -> int:
    """Return the row of a module, the longest name winning."""
    candidates = [
        (len(name), row)
        for row, names in enumerate(ORDER)
        for name in names
        if module == name or module.startswith(f"{name}.")
    ]
    assert candidates, f"fullrecall.{module} is in no row of the order of dependencies"
    return max(candidates)[1]


def pointing_back(imports: Imports) -> list[str]:
    """Return the imports of a module from a row below its own."""
    return [
        f"{module} imports {imported}"
        for module, names in imports.items()
        for imported in sorted(names)
        if level_of(imported) > level_of(module)
    ]


def in_cycles(imports: Imports) -> Imports:
    """Return the part of the graph that is, or stands between, cycles: empty without any."""
    left = dict(imports)
    while True:
        imported = set().union(*left.values()) if left else set()
        inner = {
            module: names & left.keys()
            for module, names in left.items()
            if names & left.keys() and module in imported
        }
        if inner.keys() == left.keys():
            return inner
        left = inner


def test_dependencies_point_one_way() -> None:
    """Each module imports from its row and the rows above; lazy and type imports count."""
    assert pointing_back(all_imports(FACADES)) == []


def test_no_module_imports_itself_through_others() -> None:
    """No two modules need each other, in one row either; lazy and type imports count."""
    assert in_cycles(all_imports(FACADES)) == {}


@pytest.mark.parametrize("facade", FACADES)
def test_each_exception_is_needed(facade: str) -> None:
    """A module that no longer offers what is built on it loses its exception."""
    imports = all_imports(FACADES.keys() - {facade})
    assert pointing_back(imports) or in_cycles(imports)


def test_lazy_and_type_imports_are_seen() -> None:
    """The tests above can fail: wherever an import stands, it is found, and so is a cycle."""
    program = """
from typing import TYPE_CHECKING
from fullrecall import __version__
from fullrecall.a import name
if TYPE_CHECKING:
    from fullrecall.b.c import Name
def function():
    from fullrecall.b import d
    def inner():
        import fullrecall.e
class Class:
    async def method(self):
        from fullrecall.f import name
"""
    known = {"a", "b", "b.c", "b.d", "e", "f"}
    assert imports_of(ast.parse(program), known, deferred=True) == known - {"b"}
    assert imports_of(ast.parse(program), known, deferred=False) == {"a"}
    around = {"a": {"b"}, "b": {"c"}, "c": {"b"}, "d": {"a"}, "e": set[str]()}
    assert in_cycles(around) == {"b": {"c"}, "c": {"b"}}
    assert pointing_back({"sample": {"report.text"}, "report.text": {"sample"}}) == [
        "sample imports report.text"
    ]


FRAMEWORK = re.compile(
    r"^\s*(from|import) (langchain|langsmith|llama_index|langgraph)", re.MULTILINE
)


def test_the_core_imports_no_framework() -> None:
    """LangChain and LlamaIndex are for the adapters."""
    paths = [*SOURCE.rglob("*.py")]
    assert [path for path in paths if FRAMEWORK.search(path.read_text("utf-8"))] == []


def test_py_typed_is_shipped() -> None:
    """Type checkers read our annotations."""
    assert (SOURCE / "py.typed").exists()
