"""Notebooks are in the repository with the outputs of a whole run."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

NOTEBOOKS = Path(__file__).parents[2] / "notebooks"


@pytest.mark.parametrize("path", sorted(NOTEBOOKS.glob("*.ipynb")), ids=lambda path: path.name)
def test_notebooks_are_kept_with_the_outputs_of_one_run(path: Path) -> None:
    """Every cell ran in order, without an error, and no output has a path of the machine.

    `python tests/notebooks/keep.py` runs a notebook and keeps its outputs.
    """
    cells = json.loads(path.read_text("utf-8"))["cells"]
    code = [cell for cell in cells if cell["cell_type"] == "code"]
    assert [cell["execution_count"] for cell in code] == list(range(1, len(code) + 1))
    outputs = [output for cell in code for output in cell["outputs"]]
    assert len(outputs) >= len(code) / 2
    assert {output["output_type"] for output in outputs} <= {
        "stream",
        "display_data",
        "execute_result",
    }
    assert not re.search(r"/(?:home|root|tmp|work|Users)/", json.dumps(outputs))
    first = int(cells[0]["id"].removeprefix("cell-"))
    numbers = range(first, first + len(cells))
    assert [cell["id"] for cell in cells] == [f"cell-{n:02d}" for n in numbers]
