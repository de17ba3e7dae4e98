"""Under which keys a store keeps completions and results: whatever decides them is in the key."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any

from fullrecall.sample import Sample
from fullrecall.scorers.judged import JudgedScorer

if TYPE_CHECKING:
    from fullrecall.judges.judge import Ask

_OWN = "fullrecall."

_UNREAD = ("id", "group", "metadata", "reference_context_ids")
"""Fields of a sample that no judged scorer of ours reads."""


def completion_key(ask: Ask, model: str = "") -> str:
    """Return the key of a completion: the model's name and parameters, and all that it is asked.

    `model` is the name of the ask's model where it is known: it takes long to tell.
    """
    request = ask.request
    digest = hashlib.sha256(
        _text(
            "completion",
            model or ask.model.name,
            [(message.role, len(message.content)) for message in request.messages],
            request.schema,
            request.schema_name,
            request.sample,
            request.again,
        )
    )
    for message in request.messages:
        digest.update(message.content.encode("utf-8", "surrogatepass"))
    return f"answer:{digest.hexdigest()}"


def result_key(scorer: object, sample: Sample) -> str | None:
    """Return the key of a result, None for one whose scorer does not say all that decides it.

    It holds what the scorer reads of the sample, the scorer's kind and parameters, the judge's
    name (model and prompts) and fullrecall's version: another version scores anew, from the
    completions, which do not depend on it. Scorers of other packages may read anything, and a
    scorer may be given a function of the user's, which has a name and no more: their results
    have no key, and rest on the completions.
    """
    if not isinstance(scorer, JudgedScorer) or not type(scorer).__module__.startswith(_OWN):
        return None
    if scorer.judge is None and not scorer.always_judged:
        return None  # it asks nobody: scoring again costs nothing
    if scorer.judge is not None and not isinstance(getattr(scorer.judge, "name", None), str):
        return None
    from fullrecall import __version__

    method = dict(scorer.method.parameters)
    parts = ("result", __version__, type(scorer).__qualname__, method, _read(sample))
    return f"result:{hashlib.sha256(_text(*parts)).hexdigest()}"


def _read(sample: Sample) -> dict[str, Any]:
    """Return what judged scorers read of a sample: of contexts their texts alone."""
    fields = sample.to_dict()
    record = fields.pop("retrieval", None)
    if record is not None:
        recorded = {"retrieved_contexts": record.get("contexts"), "response": sample.response}
        fields |= {name: value for name, value in recorded.items() if value is not None}
        fields["retrieval"] = {"ranks": record.get("ranks"), "error": record.get("error")}
        fields["retrieval"]["line"] = sample.retrieval and sample.retrieval.line
    for name in _UNREAD:
        fields.pop(name, None)
    for name in ("retrieved_contexts", "reference_contexts"):
        if name in fields:
            fields[name] = _texts(fields[name])
    return fields


def _texts(contexts: list[Any]) -> list[Any]:
    return [_texts(item) if isinstance(item, list) else item.get("text") for item in contexts]


def _text(*parts: object) -> bytes:
    # ASCII, so that half a surrogate pair, legal in JSON, has a digest too.
    return _ENCODED(parts).encode("ascii")


_ENCODED = json.JSONEncoder(sort_keys=True, separators=(",", ":"), default=dict).encode
