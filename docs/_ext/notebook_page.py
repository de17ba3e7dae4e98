"""The directive `notebook`: a committed notebook with its outputs, as a page; nothing is run."""
# ruff: noqa: INP001 - conf.py puts this folder on the path

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, ClassVar

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

_FENCE = "`" * 8  # longer than any in a notebook
_IMAGE = "image/png"
_HTML = ("text/html", "image/svg+xml")


class NotebookPage(SphinxDirective):
    """The cells of a notebook: prose as Markdown, code, and below it what the code has shown."""

    required_arguments: ClassVar[int] = 1

    def run(self) -> list[nodes.Node]:
        """Return the nodes of all cells, in their order; parsed as a whole, for the headings."""
        path = (Path(self.env.doc2path(self.env.docname)).parent / self.arguments[0]).resolve()
        self.env.note_dependency(str(path))
        cells = json.loads(path.read_text("utf-8"))["cells"]
        parts = [part for cell in cells for part in _parts(cell)]
        return self.parse_text_to_nodes("\n\n".join(parts), allow_section_headings=True)


def _parts(cell: Mapping[str, Any]) -> Iterator[str]:
    """Yield the Markdown of a cell: its prose, or its code and what that has shown."""
    source = "".join(cell["source"])
    if cell["cell_type"] == "markdown":
        # Links lead from the folder of the notebooks to that of the documentation.
        yield source.replace("](../docs/", "](../")
        return
    yield _block(source, "python")
    for output in cell["outputs"]:
        data = output.get("data", {})
        html = next(("".join(data[kind]) for kind in _HTML if kind in data), None)
        if "text" in output:
            yield _block("".join(output["text"]), "text")
        elif html is not None:
            yield _block(html, "{raw} html")
        elif _IMAGE in data:
            image = "".join(data[_IMAGE]).replace("\n", "")
            image = f'<img alt="" style="max-width:100%" src="data:{_IMAGE};base64,{image}">'
            yield _block(image, "{raw} html")
        elif "text/plain" in data:
            yield _block("".join(data["text/plain"]), "text")


def _block(text: str, language: str) -> str:
    return f"{_FENCE}{language}\n{text}\n{_FENCE}"


def setup(app: Sphinx) -> dict[str, bool]:
    """Add the directive."""
    app.add_directive("notebook", NotebookPage)
    return {"parallel_read_safe": True}
