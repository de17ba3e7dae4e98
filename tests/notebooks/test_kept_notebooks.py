"""Notebooks stand in the repository as their authors wrote them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

NOTEBOOKS = Path(__file__).parents[2] / "notebooks"


@pytest.mark.parametrize("path", sorted(NOTEBOOKS.glob("*.ipynb")), ids=lambda path: path.name)
def test_notebooks_are_kept_without_outputs(path: Path) -> None:
    """Outputs are of the reader's own run; and cells keep their names, so that diffs are small."""
    cells = json.loads(path.read_text("utf-8"))["cells"]
    code = [cell for cell in cells if cell["cell_type"] == "code"]
    assert code
    assert all(not cell["outputs"] and cell["execution_count"] is None for cell in code)
    first = int(cells[0]["id"].removeprefix("cell-"))
    numbers = range(first, first + len(cells))
    assert [cell["id"] for cell in cells] == [f"cell-{n:02d}" for n in numbers]
