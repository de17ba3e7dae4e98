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

_IMAGE = "image/png"
_HTML = ("text/html", "image/svg+xml")


class NotebookPage(SphinxDirective):
    """The cells of a notebook: prose as Markdown, code, and below it what the code has shown."""

    required_arguments: ClassVar[int] = 1

    def run(self) -> list[nodes.Node]:
        """Return the nodes of all cells, in their order."""
        path = (Path(self.env.doc2path(self.env.docname)).parent / self.arguments[0]).resolve()
        self.env.note_dependency(str(path))
        made: list[nodes.Node] = []
        section: nodes.Element | None = None
        for cell in json.loads(path.read_text("utf-8"))["cells"]:
            text = "".join(cell["source"])
            found = self._prose(text) if cell["cell_type"] == "markdown" else list(_shown(cell))
            for node in found:
                if isinstance(node, nodes.section) and not made:
                    section = node
                    made.append(node)
                elif section is None:
                    made.append(node)
                else:
                    section += node
        return made

    def _prose(self, text: str) -> list[nodes.Node]:
        # Links lead from the folder of the notebooks to that of the documentation.
        return self.parse_text_to_nodes(text.replace("](../docs/", "](../"), allow_headings=True)


def _shown(cell: Mapping[str, Any]) -> Iterator[nodes.Node]:
    """Yield the code of a cell and its outputs."""
    yield _block("".join(cell["source"]), "python")
    for output in cell["outputs"]:
        data = output.get("data", {})
        html = next(("".join(data[kind]) for kind in _HTML if kind in data), None)
        if "text" in output:
            yield _block("".join(output["text"]), "text")
        elif html is not None:
            yield nodes.raw("", html, format="html")
        elif _IMAGE in data:
            source = "".join(data[_IMAGE]).replace("\n", "")
            image = f'<img alt="" style="max-width:100%" src="data:{_IMAGE};base64,{source}">'
            yield nodes.raw("", image, format="html")
        elif "text/plain" in data:
            yield _block("".join(data["text/plain"]), "text")


def _block(text: str, language: str) -> nodes.literal_block:
    return nodes.literal_block(text, text, language=language)


def setup(app: Sphinx) -> dict[str, bool]:
    """Add the directive."""
    app.add_directive("notebook", NotebookPage)
    return {"parallel_read_safe": True}
