"""The package's exports, its load times, and the direction of its imports are fixed."""

from __future__ import annotations

import ast
import inspect
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from functools import cache
from importlib import import_module
from pathlib import Path

import pytest

import fullrecall
from fullrecall._util.ports import PORTS
from fullrecall.cli.overview import COMMANDS

TESTSET = ("generate", "check", "complete", "review", "follow", "export")
JUDGING = ("label", "calibrate")
SOURCE = Path(fullrecall.__file__).parent
ROOT = Path(__file__).parents[1]


def test_the_surface_is_pinned() -> None:
    """The public names are listed here, so that each change of them is a decision."""
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
        "record",
    ]
    assert len(fullrecall.__all__) <= 30
    for name in fullrecall.__all__:
        assert hasattr(fullrecall, name)
    assert set(fullrecall.__all__) <= set(dir(fullrecall))
    with pytest.raises(ImportError, match="'fullrecall' has no attribute 'Recall'"):
        _ = fullrecall.Recall


LAZY = (
    "fullrecall",
    "fullrecall.batches",
    "fullrecall.calibration",
    "fullrecall.demo",
    "fullrecall.diagnosis",
    "fullrecall.judge",
    "fullrecall.lexical",
    "fullrecall.observe",
    "fullrecall.page",
    "fullrecall.read",
    "fullrecall.run",
    "fullrecall.samples",
    "fullrecall.scorers",
    "fullrecall.testing",
    "fullrecall.testset",
)
"""Packages whose names are loaded when they are first used."""


@pytest.mark.parametrize("package", LAZY)
def test_names_are_loaded_from_where_type_checkers_see_them(package: str) -> None:
    """The imports for type checkers list the same names and modules as the lazy loader."""
    module = import_module(package)
    tree = ast.parse(Path(str(module.__file__)).read_text(encoding="utf-8"))
    block = next(node for node in tree.body if isinstance(node, ast.If))
    seen = {
        name.name: getattr(import_module(str(found.module)), name.name)
        for found in block.body
        if isinstance(found, ast.ImportFrom)
        for name in found.names
    }
    assert set(module.__all__) - seen.keys() <= {"JudgeError", "__version__"}
    assert set(module.__all__) >= seen.keys()
    for name, value in seen.items():
        assert inspect.unwrap(getattr(module, name)) is inspect.unwrap(value)
    with pytest.raises(AttributeError, match=f"'{package}' has no attribute 'nothing'"):
        _ = module.nothing


@cache
def modules_after(program: str) -> set[str]:
    """Return the modules that a fresh interpreter has loaded after a program."""
    program = f"{program}\nimport sys; print('LOADED', *sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    return set(done.stdout.rpartition("LOADED")[2].split())


def test_scores_without_a_judge_load_no_judge() -> None:
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
    # They were loaded once, and made the start of a small program slow.
    unused = {
        "secrets", "fractions", "fullrecall.measures.ranking", "fullrecall.measures.counts",
        "fullrecall.measures.text", "fullrecall.stats.slices", "fullrecall.stats.smallest_k",
        "fullrecall.table.verdicts", "numpy.typing", "fullrecall.samples.id_keys",
        "fullrecall.samples.hit_fields", "rich",
    }  # fmt: skip
    assert loaded & unused == set()


def after_commands(*commands: list[str]) -> set[str]:
    """Return the modules that are loaded after these commands, each in one process."""
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
    """`fullrecall --help` lists the commands without loading their modules."""
    loaded = after_commands(["--help"])
    assert {name for name in loaded if name.startswith("fullrecall.")} == {
        "fullrecall.cli",
        "fullrecall.cli.overview",
        "fullrecall.cli.streams",
        "fullrecall._util",
        "fullrecall._util.ports",
    }
    assert len(loaded - modules_after("import re, signal")) <= 11  # Typer alone has 130.


def test_the_help_of_a_command_loads_no_framework_and_no_client() -> None:
    """A command's help loads the modules whose documentation it quotes, and no framework.

    It loads no client of a model, and no package of an extra.
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
    """A file of IDs is scored without an event loop, a judge, a writer, or other readers."""
    path = tmp_path / "samples.jsonl"
    path.write_text('{"retrieved_context_ids": ["a"], "reference_context_ids": ["a"]}\n' * 10)
    loaded = after_commands(["evaluate", str(path)])
    assert "fullrecall.scorers.ids" in loaded
    unused = {
        "asyncio", "sqlite3", "scipy", "pandas", "pyarrow", "jinja2", "rapidfuzz",
        "fullrecall.calibration", "fullrecall.files.sheets", "fullrecall.files.traces",
        "fullrecall.batches", "fullrecall.run.engine", "fullrecall.judge.evidence",
        "fullrecall.files.reports.records", "fullrecall.scorers.text",
        "fullrecall.observe.conventions",
    }  # fmt: skip
    assert loaded & unused == set()
    # This was 545 when all readers and scorers were loaded.
    assert len(loaded - modules_after("")) <= 509


def test_the_pytest_plug_in_costs_a_run_without_it_nothing() -> None:
    """The plug-in, which every pytest run imports, loads no report, scorer, or engine."""
    program = "import sys, fullrecall.pytest_plugin as p; print(*sorted(sys.modules))"
    loaded = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    ).stdout.split()
    ours = {name for name in loaded if name.startswith("fullrecall.")}
    assert ours == {"fullrecall._util", "fullrecall._util.ports", "fullrecall.pytest_plugin"}


def third_party_after(statement: str) -> set[str]:
    """Return the third-party packages that a statement loads."""
    loaded = {name.partition(".")[0] for name in modules_after(statement)}
    # Modules that a site-packages .pth file loads do not count: they are loaded in any case.
    bare = {name.partition(".")[0] for name in modules_after("")}
    return loaded - bare - sys.stdlib_module_names - {"fullrecall"}


def test_import_loads_two_modules() -> None:
    """`import fullrecall` loads two modules, since every run of pytest imports the package."""
    loaded = modules_after("import fullrecall") - modules_after("import importlib, warnings")
    assert loaded <= {"__future__", "fullrecall", "fullrecall._util", "fullrecall._util.ports"}


def test_import_loads_nothing_heavy() -> None:
    """Importing all of fullrecall's names loads no framework, pandas, SciPy or RapidFuzz.

    NumPy, whose arrays a report's table uses, is loaded by `evaluate` and not before.
    """
    assert third_party_after("from fullrecall import *") <= {"numpy"}
    scorers = "ClaimRecall, IdRecall, LLMJudge, Sample, SpanRecall, TextRecall"
    assert third_party_after(f"from fullrecall import {scorers}") == set()


KERNEL = (
    "_util",
    "samples",
    "observe",
    "measures",
    "judge",
    "scorers",
    "table",
    "show",
    "stats",
    "files",
    "run",
)
"""The packages of the kernel: each imports from those before it, and from `errors`."""

ROOMS = (
    "lexical",
    "diagnosis",
    "calibration",
    "page",
    "testset",
    "batches",
    "testing",
    "demo",
    "cli",
    "pytest_plugin",
)
"""The rooms: each imports from the kernel, and from earlier rooms by their public faces."""

FACADE = ("report", "read", "__init__", "__main__")
"""The modules that reach every room."""

ON_TOP = ("testing", "demo", "cli", "pytest_plugin")
"""The rooms that use the facade as any program does."""

Edge = tuple[str, str]
"""A module of the package, and the module or name that it imports, both without `fullrecall.`."""


def edges_of(module: str, tree: ast.Module) -> Iterator[Edge]:
    """Yield all imports of a module: within functions and for type checkers, too."""
    for node in ast.walk(tree):
        names: list[str] = []
        if isinstance(node, ast.ImportFrom) and node.module:
            assert not node.level, f"{module} imports by dots"
            names = [f"{node.module}.{name.name}" for name in node.names]
        elif isinstance(node, ast.Import):
            names = [name.name for name in node.names]
        for name in names:
            if name.startswith("fullrecall."):
                yield module, name.removeprefix("fullrecall.")


@cache
def package() -> dict[str, ast.Module]:
    """Return every module of the package, parsed, by its name without `fullrecall.`."""
    paths = sorted(SOURCE.rglob("*.py"))
    names = [".".join(path.relative_to(SOURCE).with_suffix("").parts) for path in paths]
    return {n: ast.parse(p.read_text("utf-8")) for n, p in zip(names, paths, strict=True)}


def all_edges() -> list[Edge]:
    """Return all imports within the package."""
    return [edge for module, tree in package().items() for edge in edges_of(module, tree)]


def wrong(edge: Edge) -> bool:
    """Return whether an import breaks the order of the kernel, or the boundary of a room."""
    module, imported = edge
    own, (other, *rest) = module.split(".")[0], imported.split(".")
    if own == other or other in ("errors", "__version__"):
        return False
    if own in (*KERNEL, "errors"):
        order = ("errors", *KERNEL)
        return other not in order or order.index(other) > order.index(own)
    if other in KERNEL:
        return False
    if other not in ROOMS:  # the facade
        return own not in (*ON_TOP, *FACADE)
    if own in FACADE:
        return len(rest) > 1 or (other == "cli") != (own == "__main__")
    is_deep = len(rest) > 1 and own != "cli"
    return ROOMS.index(other) > ROOMS.index(own) or is_deep


def test_every_module_has_its_place() -> None:
    """At most four modules lie beside the packages, and this test knows every package."""
    top = {module.split(".")[0] for module in package()}
    assert top == {*KERNEL, *ROOMS, *FACADE, "errors"}
    files = {path.stem for path in SOURCE.glob("*.py")} - {"__init__", "__main__"}
    assert files == {"errors", "pytest_plugin", "read", "report"}


def test_imports_point_one_way() -> None:
    """No kernel module imports a room, and a room is imported by its public face only."""
    assert [
        f"{module} imports {name}" for module, name in all_edges() if wrong((module, name))
    ] == []


@pytest.mark.parametrize(
    "edge",
    [
        ("stats.gate", "page.report_page"),
        ("measures.sets", "table.part.Part"),
        ("scorers.ids", "report.Report"),
        ("errors", "samples.sample.Sample"),
        ("lexical.judge", "diagnosis.diagnose"),
        ("page.page", "diagnosis.causes.Cause"),
        ("report", "page.page.report_page"),
        ("testset.audit", "report.Report"),
        ("report", "cli.main"),
    ],
)
def test_an_import_the_wrong_way_is_found(edge: Edge) -> None:
    """Each of these wrong imports is found, so the test above can fail."""
    assert wrong(edge)


def test_a_port_leads_to_the_face_of_a_room() -> None:
    """The kernel reaches a room by an object that the room's face exports."""
    for room, name in (place.split(":") for place in PORTS.values()):
        package, _, face = room.rpartition(".")
        assert (package, face in ROOMS) == ("fullrecall", True)
        assert name in import_module(room).__all__


FACES = (
    "fullrecall",
    "fullrecall.batches",
    "fullrecall.calibration",
    "fullrecall.demo",
    "fullrecall.diagnosis",
    "fullrecall.errors",
    "fullrecall.judge",
    "fullrecall.lexical",
    "fullrecall.measures",
    "fullrecall.observe",
    "fullrecall.page",
    "fullrecall.read",
    "fullrecall.report",
    "fullrecall.run",
    "fullrecall.samples",
    "fullrecall.scorers",
    "fullrecall.testing",
    "fullrecall.testset",
)
"""The modules that other programs import from."""


@cache
def faces_of(imported: str) -> list[str]:
    """Return the public packages that export a name which a program imports from its module."""
    place, _, name = imported.rpartition(".")
    value = getattr(import_module(f"fullrecall.{place}"), name)
    modules = {face: import_module(face) for face in FACES}
    return [
        face
        for face, module in modules.items()
        if name in getattr(module, "__all__", ()) and getattr(module, name) is value
    ]


def passes_a_face(imported: str) -> bool:
    """Return whether an adapter imports from inside a room, or past a public package."""
    place, _, _ = imported.rpartition(".")
    return "." in place and (place.partition(".")[0] in ROOMS or faces_of(imported) != [])


def test_the_adapters_import_from_faces() -> None:
    """An adapter imports rooms and public names from faces, and kernel helpers from modules."""
    paths = [*(ROOT / "integrations").glob("*/src/**/*.py")]
    edges = [edge for path in paths for edge in edges_of(path.name, ast.parse(path.read_text()))]
    assert len(edges) > 100
    assert [f"{module} imports {name}" for module, name in edges if passes_a_face(name)] == []


@pytest.mark.parametrize(
    ("imported", "passes"),
    [
        ("scorers.Result", False),
        ("scorers.result.Result", True),
        ("diagnosis.id_hint", False),
        ("diagnosis.ids.fields.id_hint", True),
        ("samples.identifiers.as_id", False),
    ],
)
def test_an_import_beside_a_face_is_found(imported: str, *, passes: bool) -> None:
    """An import past a face is found, so the test above can fail."""
    assert passes_a_face(imported) == passes


def imports(edges: Iterable[Edge], modules: AbstractSet[str]) -> dict[str, set[str]]:
    """Return for each module the modules that define the names which it imports."""
    faces = {module.removesuffix(".__init__"): module for module in modules}
    names: dict[tuple[str, str], str] = {}
    for module, imported in edges:
        if module.endswith("__init__"):
            names[module.removesuffix(".__init__"), imported.rpartition(".")[2]] = imported
    graph: dict[str, set[str]] = {module: set() for module in modules}
    for module, imported in edges:
        target, seen = imported, set[str]()
        while target not in modules and target not in seen:
            seen.add(target)
            above, _, name = target.rpartition(".")
            target = names.get((above, name), faces.get(above, above))
        if target in modules and not target.endswith("__init__"):
            graph[module].add(target)
    return {module: found - {module} for module, found in graph.items()}


def in_circles(graph: Mapping[str, AbstractSet[str]]) -> set[str]:
    """Return the modules on a circle of imports, or between circles; none without a circle."""
    left = {module: set(found) for module, found in graph.items()}
    while True:
        reached = set().union(*left.values()) if left else set()
        inner = {
            module: found & left.keys()
            for module, found in left.items()
            if found & left.keys() and module in reached
        }
        if inner.keys() == left.keys():
            return set(inner)
        left = inner


def test_no_module_imports_itself_through_others() -> None:
    """No two modules import each other, even in functions or for type checkers."""
    graph = imports(all_edges(), package().keys())
    assert sum(map(len, graph.values())) > 1_000
    assert in_circles(graph) == set()


def test_lazy_and_type_imports_are_seen() -> None:
    """Every kind of import is found, and so is a circle through a face."""
    program = """
from typing import TYPE_CHECKING
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
    found = [imported for _, imported in edges_of("m", ast.parse(program))]
    assert sorted(found) == ["a.name", "b.c.Name", "b.d", "e", "f.name"]
    edges = [("a.x", "b.Y"), ("b.__init__", "b.y.Y"), ("b.y", "a.x.X"), ("c", "a.x.X")]
    graph = imports(edges, {"a.x", "b.__init__", "b.y", "c"})
    assert graph == {"a.x": {"b.y"}, "b.__init__": {"b.y"}, "b.y": {"a.x"}, "c": {"a.x"}}
    assert in_circles(graph) == {"a.x", "b.y"}


FRAMEWORK = re.compile(
    r"^\s*(from|import) (langchain|langsmith|llama_index|langgraph)", re.MULTILINE
)


def test_the_core_imports_no_framework() -> None:
    """The core imports neither LangChain nor LlamaIndex."""
    paths = [*SOURCE.rglob("*.py")]
    assert [path for path in paths if FRAMEWORK.search(path.read_text("utf-8"))] == []


def test_py_typed_is_shipped() -> None:
    """`py.typed` is in the package, so that type checkers read its annotations."""
    assert (SOURCE / "py.typed").exists()
