"""What a response, or the call that made it, tells of the retrieval behind it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from llama_index.evaluation.fullrecall.attaching import Brought, Capture, Which, capture_of
from llama_index.evaluation.fullrecall.nodes import NodeLike, NodeReader, are_nodes
from llama_index.evaluation.fullrecall.responses import (
    is_response,
    says_that_nothing_was_retrieved,
    source_nodes,
)


class Carried(NamedTuple):
    """What was brought, and the nodes that it was read from."""

    brought: Brought
    nodes: Sequence[NodeLike] = ()


def carried(
    response: object, reader: NodeReader, which: Which, capture: Capture | None = None
) -> Carried:
    """Return what was retrieved for a response: what was seen of its call, else its source nodes.

    `capture` is of the call, where the caller has made one; else it is the one that the response
    carries. What was seen comes first: source nodes may be rewritten, or invented by the engine.
    They count where nothing was seen, unless they are not what `which` asks for, or there are none
    and the response does not say that none were found; the reason is then in the error. A list of
    nodes is what was retrieved; for a text, or None, nothing is known, and nothing is wrong.

    Raises `InputError` for nodes that `reader` cannot read.
    """
    if are_nodes(response):
        return Carried(Brought(reader.contexts(response)), response)
    if capture is None:
        capture = response if isinstance(response, Capture) else capture_of(response)
    own = source_nodes(response) if is_response(response) else None
    if capture is not None and (capture.observed or not own):
        return Carried(capture.read(reader, which), capture.nodes(which))
    if not is_response(response):
        return Carried(Brought(None))
    if which == "retrieved":
        return Carried(
            Brought(
                None,
                "a response holds what was left after postprocessing: attach(engine), and it "
                "carries what was retrieved before",
            )
        )
    if not own and (own is None or not says_that_nothing_was_retrieved(response)):
        return Carried(
            Brought(
                None,
                "the response names no source nodes, which does not tell what was retrieved: "
                "attach(engine), or give retrieved_nodes=[…]",
            )
        )
    return Carried(Brought(reader.contexts(own)), own)
