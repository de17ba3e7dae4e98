"""No two classes or type aliases of the repository share a name."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
SOURCES = (
    ROOT / "src" / "fullrecall",
    ROOT / "integrations" / "langchain" / "src",
    ROOT / "integrations" / "llama-index" / "src",
)


def test_no_name_has_two_meanings() -> None:
    """No name of a class is defined twice in the core and the adapters."""
    assert shared_names(SOURCES) == {}


def test_each_kind_of_definition_counts(tmp_path: Path) -> None:
    """Definitions count in any folder, with or without a leading underscore."""
    (tmp_path / "core").mkdir()
    (tmp_path / "core" / "shapes.py").write_text(
        "class Box: ...\n"
        "class Lid: ...\n"
        "class Hinge:\n"
        "    class Pin: ...\n"
        "Nail = Recall()\n"
        "SCREWS = Literal['short', 'long']\n"
        "T = TypeVar('T')\n"
    )
    (tmp_path / "core" / "sizes.py").write_text(
        "class _Box: ...\n"
        "Lid: TypeAlias = int | None\n"
        "Pin = NewType('Pin', int)\n"
        "class Nail: ...\n"
        "T = TypeVar('T')\n"
    )
    (tmp_path / "adapter.py").write_text("Hinge = Left | Right\nclass Lids: ...\ndef Box(): ...\n")
    assert shared_names([tmp_path]) == {
        "Box": ["core/shapes.py:1", "core/sizes.py:1"],
        "Hinge": ["adapter.py:1", "core/shapes.py:3"],
        "Lid": ["core/shapes.py:2", "core/sizes.py:2"],
        "Pin": ["core/shapes.py:4", "core/sizes.py:3"],
    }


def test_no_package_exports_the_name_of_its_module() -> None:
    """No package exports a name of its module, since an import would replace the export."""
    assert [place for source in SOURCES for place in replaced_names(source)] == []


def test_an_export_with_the_name_of_a_module_is_found(tmp_path: Path) -> None:
    """The check finds exports in `__all__` and imports under the same name."""
    for name in ("document.py", "page.py"):
        (tmp_path / name).touch()
    (tmp_path / "__init__.py").write_text("from document import document as document, x as page\n")
    assert replaced_names(tmp_path) == ["__init__.py: document"]
    (tmp_path / "__init__.py").write_text("__all__ = ['page', 'pages']\n")
    assert replaced_names(tmp_path) == ["__init__.py: page"]


def shared_names(sources: Iterable[Path]) -> dict[str, list[str]]:
    """Return the names that are defined more than once, with the lines that define them."""
    places: defaultdict[str, list[str]] = defaultdict(list)
    for source in sources:
        for path in sorted(source.rglob("*.py")):
            for name, line in _defined(ast.parse(path.read_text("utf-8"))):
                places[name.lstrip("_")].append(f"{path.relative_to(source).as_posix()}:{line}")
    return {name: where for name, where in sorted(places.items()) if len(where) > 1}


def replaced_names(source: Path) -> list[str]:
    """Return the exports of packages that have the name of one of the package's modules."""
    return [
        f"{path.relative_to(source).as_posix()}: {name}"
        for path in sorted(source.rglob("__init__.py"))
        for name in _exported(ast.parse(path.read_text("utf-8")))
        if (path.parent / f"{name}.py").exists() or (path.parent / name / "__init__.py").exists()
    ]


def _exported(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            yield from ast.literal_eval(node.value)
        elif isinstance(node, ast.ImportFrom):
            yield from (each.name for each in node.names if each.name == each.asname)


def _defined(tree: ast.Module) -> Iterator[tuple[str, int]]:
    """Yield the classes, at any depth, and the type aliases of a module, each with its line."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef):
            yield node.name, node.lineno
        elif isinstance(node, ast.AnnAssign) and ast.unparse(node.annotation) == "TypeAlias":
            yield ast.unparse(node.target), node.lineno
    for node in tree.body:
        if isinstance(node, ast.Assign) and _is_type(node.value):
            for target in node.targets:
                if isinstance(target, ast.Name) and not target.id.isupper():
                    yield target.id, node.lineno


def _is_type(value: ast.expr) -> bool:
    """Return whether a value is an implicit type: `Literal[…]`, `int | None`, `NewType(…)`."""
    if isinstance(value, ast.Call):
        return ast.unparse(value.func) == "NewType"
    if isinstance(value, ast.BinOp):
        return isinstance(value.op, ast.BitOr)
    return isinstance(value, ast.Subscript) and ast.unparse(value.value)[0].isupper()
