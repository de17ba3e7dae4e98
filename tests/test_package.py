"""The package as a whole: what it exports, how light it is, which way its imports point."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import fullrecall

SOURCE = Path(fullrecall.__file__).parent


def test_the_surface_is_pinned() -> None:
    """A name that appears or vanishes is a decision, and shows here."""
    assert sorted(fullrecall.__all__) == [
        "BatchScorer", "Budget", "Calibration", "Cause", "Claim", "ClaimRecall",
        "Comparison", "Context", "ContextPrecision", "ContextUtilization", "Diagnosed",
        "Diagnosis", "EntityRecall", "Evidence", "Finding", "FullrecallError", "Gate",
        "GateResult", "IdRecall", "InputError", "Interrupted", "Interval", "LLMJudge",
        "Label", "Method", "Missed", "MissingExtraError", "ParameterError",
        "PrecisionRecall", "QuestionRecall", "Reference", "Report", "ReportError", "Result",
        "Retrieval", "Row", "RunStopped", "Sample", "ScoreSummary", "Scorer", "SmallestK",
        "SpanRecall", "StageReports", "Status", "Step", "StoreError", "Summary", "Target",
        "TextRecall", "Usage", "__version__", "aevaluate", "aevaluate_stages", "calibrate",
        "compare", "diagnose", "evaluate", "evaluate_stages", "labels_for_width",
        "score_batch",
    ]  # fmt: skip
    for name in fullrecall.__all__:
        assert hasattr(fullrecall, name)
    assert set(fullrecall.__all__) <= set(dir(fullrecall))
    with pytest.raises(AttributeError, match="'fullrecall' has no attribute 'Recall'"):
        _ = fullrecall.Recall


def test_names_are_loaded_from_where_type_checkers_see_them() -> None:
    """A name comes from the same module for an interpreter as for a type checker."""
    tree = ast.parse((SOURCE / "__init__.py").read_text(encoding="utf-8"))
    (block,) = (node for node in tree.body if isinstance(node, ast.If))
    seen = {
        name.name: found.module
        for found in block.body
        if isinstance(found, ast.ImportFrom)
        for name in found.names
    }
    table = {name: f"fullrecall.{module}" for name, module in fullrecall._MODULES.items()}
    assert seen == table
    assert {*seen, "__version__"} == set(fullrecall.__all__)


def test_the_pytest_plug_in_costs_a_run_without_it_nothing() -> None:
    """Every run of pytest imports the plug-in: it loads no report, no scorer, no engine."""
    program = "import sys, fullrecall.pytest_plugin as p; print(*sorted(sys.modules))"
    loaded = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    ).stdout.split()
    ours = {name for name in loaded if name.startswith("fullrecall.")}
    assert ours == {"fullrecall.pytest_plugin"}


def test_import_loads_nothing_heavy() -> None:
    """All of fullrecall's names load no framework, no NumPy, pandas or SciPy, and no RapidFuzz."""
    program = (
        "import sys; from fullrecall import *; "
        "print(*sorted({m.split('.')[0] for m in sys.modules}))"
    )
    loaded = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    ).stdout.split()
    third_party = set(loaded) - sys.stdlib_module_names - {"fullrecall", "__main__"}
    # What a site-packages .pth file loads is not ours: it is there without us too.
    bare = subprocess.run(
        [sys.executable, "-c", "import sys; print(*{m.split('.')[0] for m in sys.modules})"],
        capture_output=True, text=True, check=True,
    ).stdout.split()  # fmt: skip
    assert third_party - set(bare) == set()


ORDER = (
    ("errors", "identifiers", "extras", "usage", "markup", "notebook"),
    ("context",),
    ("hits", "retrieval"),
    ("sample",),
    ("finding",),
    ("findings",),
    ("measures",),
    ("result",),
    ("calibration", "report"),
    ("judges",),
    ("scorers",),
    ("datasets", "collections"),
    ("diagnosis",),
    ("evaluation",),
    ("testing",),
    ("demo",),
    ("cli", "pytest_plugin"),
)
"""Modules may import from their own row and from the rows above."""


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


def imports_at_run_time(tree: ast.Module) -> set[str]:
    """Return the package's own modules that a module imports, those for type checkers aside."""
    found: set[str] = set()

    class Visitor(ast.NodeVisitor):
        def visit_If(self, node: ast.If) -> None:
            if ast.unparse(node.test) != "TYPE_CHECKING":
                self.generic_visit(node)

        def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
            if node.module and node.module.startswith("fullrecall."):
                found.add(node.module.removeprefix("fullrecall."))

    Visitor().visit(tree)
    return found


@pytest.mark.parametrize(
    "path",
    [path for path in sorted(SOURCE.rglob("*.py")) if path != SOURCE / "__init__.py"],
    ids=lambda path: str(path.relative_to(SOURCE)),
)
def test_dependencies_point_one_way(path: Path) -> None:
    """The order is sample ← finding ← measures ← result ← scorers ← evaluation, never back."""
    module = ".".join(path.relative_to(SOURCE).with_suffix("").parts).removesuffix(".__init__")
    for imported in imports_at_run_time(ast.parse(path.read_text("utf-8"))):
        assert level_of(imported) <= level_of(module), f"{module} imports {imported}"


FRAMEWORKS = ("langchain", "langsmith", "llama_index", "langgraph")


def test_the_core_imports_no_framework() -> None:
    """Only the demo, which shows both, touches a framework."""
    for path in SOURCE.rglob("*.py"):
        if "demo" in path.relative_to(SOURCE).parts:
            continue
        tree = ast.parse(path.read_text("utf-8"))
        names = [
            name
            for node in ast.walk(tree)
            for name in (
                [alias.name for alias in node.names] if isinstance(node, ast.Import)
                else [node.module or ""] if isinstance(node, ast.ImportFrom)
                else []
            )
        ]  # fmt: skip
        assert not [name for name in names if name.startswith(FRAMEWORKS)], path


def test_py_typed_is_shipped() -> None:
    """Type checkers read our annotations."""
    assert (SOURCE / "py.typed").exists()
