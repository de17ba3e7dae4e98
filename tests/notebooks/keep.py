"""Run notebooks and keep their outputs: `python tests/notebooks/keep.py quickstart.ipynb …`.

Without names, all notebooks run. Each runs in a folder of its own, with this interpreter.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import nbformat
from nbclient import NotebookClient

NOTEBOOKS = Path(__file__).parents[2] / "notebooks"


def keep(path: Path) -> None:
    """Run a notebook and write it back with the outputs of its cells."""
    notebook = nbformat.read(path, as_version=4)
    with tempfile.TemporaryDirectory() as folder:
        resources = {"metadata": {"path": folder}}
        NotebookClient(
            notebook, timeout=600, resources=resources, coalesce_streams=True, record_timing=False
        ).execute()
    for cell in notebook.cells:
        cell.metadata = {}
        if cell.cell_type == "code":  # A warning of the reader's terminal is not a result.
            cell.outputs = [one for one in cell.outputs if one.get("name") != "stderr"]
    notebook.metadata["language_info"] = {"name": "python"}
    path.write_text(nbformat.writes(notebook, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    for name in sys.argv[1:] or sorted(path.name for path in NOTEBOOKS.glob("*.ipynb")):
        keep(NOTEBOOKS / name)
