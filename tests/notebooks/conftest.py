"""Notebooks run as their readers run them, in a fresh kernel, but without a network."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

NOTEBOOKS = Path(__file__).parents[2] / "notebooks"

OFFLINE = """\
import socket as _socket

def _refuse(self, address):
    raise OSError(f"the notebook tried to connect to {address!r}")

_socket.socket.connect = _socket.socket.connect_ex = _refuse
"""
"""What the kernel runs before the notebook; the kernel's own connections are made elsewhere."""


class Cell(NamedTuple):
    """A code cell and its outputs, as plain text."""

    source: str
    shown: str


class Notebook(NamedTuple):
    """A notebook after a run: its code cells, and its text."""

    cells: tuple[Cell, ...]
    prose: str

    def shown_by(self, *words: str) -> str:
        """Return the output of the one cell whose code has all these words."""
        found = [cell for cell in self.cells if all(word in cell.source for word in words)]
        assert len(found) == 1, f"{len(found)} cells have {words!r}"
        return found[0].shown


@pytest.fixture(scope="module")
def notebook(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Notebook]:
    """Yield the notebook of `notebooks/` that a test module's `NAME` names, after a run.

    It runs once for all tests of the module, with this interpreter. A cell that raises fails the
    tests, with the cell and its traceback.
    """
    with pytest.MonkeyPatch.context() as monkeypatch:
        folder = tmp_path_factory.mktemp("notebook")
        _prepare(folder, monkeypatch)
        yield _run(NOTEBOOKS / request.module.NAME, folder)


def _prepare(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Give a kernel settings of its own, without keys and without a network."""
    startup = folder / "ipython" / "profile_default" / "startup"
    startup.mkdir(parents=True)
    (startup / "00-offline.py").write_text(OFFLINE, encoding="utf-8")
    monkeypatch.setenv("IPYTHONDIR", str(folder / "ipython"))
    monkeypatch.setenv("JUPYTER_RUNTIME_DIR", str(folder / "runtime"))
    # Without it jupyter_core warns of a coming change.
    monkeypatch.setenv("JUPYTER_PLATFORM_DIRS", "1")
    for name in (
        "LANGSMITH_API_KEY",
        "LANGSMITH_TRACING",
        "LANGCHAIN_TRACING_V2",
        "OPENAI_API_KEY",
    ):
        monkeypatch.delenv(name, raising=False)


def _run(path: Path, folder: Path) -> Notebook:
    """Return a notebook after a run in a folder."""
    import nbformat
    from jupyter_client.kernelspec import KernelSpecManager
    from nbclient import NotebookClient

    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    # No installed kernel is looked for: the only one left is this interpreter's own ipykernel.
    specs = KernelSpecManager(kernel_dirs=[])
    assert specs.get_kernel_spec("python3").argv[0] == sys.executable
    client = NotebookClient(
        notebook,
        timeout=300,
        kernel_name="python3",
        resources={"metadata": {"path": str(folder)}},
        coalesce_streams=True,  # A busy kernel sends one print in several pieces.
    )
    # The client makes the kernel manager, so that it also ends the kernel after a cell that
    # fails.
    client.create_kernel_manager().kernel_spec_manager = specs
    client.execute()
    return Notebook(
        tuple(
            Cell(cell.source, _shown(cell)) for cell in notebook.cells if cell.cell_type == "code"
        ),
        "\n\n".join(cell.source for cell in notebook.cells if cell.cell_type == "markdown"),
    )


def _shown(cell: Any) -> str:
    """Return the outputs of a cell as text, without the colors of a terminal."""
    texts = [
        output.get("text") or output.get("data", {}).get("text/plain", "")
        for output in cell.outputs
    ]
    return re.sub(r"\x1b\[[0-9;]*m", "", "\n".join(texts))
