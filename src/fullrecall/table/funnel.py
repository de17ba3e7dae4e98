"""Count the references found in each list of a retrieval.

The lists are "retrieved" (by the retriever), "kept" (after reranking) and "read" (by the model, in
the prompt).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any, NamedTuple

from fullrecall.samples.retrieval import Retrieval
from fullrecall.samples.sample import Sample


class Funnel(NamedTuple):
    """The number of references found in each list, over samples that record the same lists.

    The lists are "retrieved", "kept" and "read", in this order; a sample may not record all of
    them. `found` maps the name of each list to the number of references with an ID in the list.
    Divided by `references`, this number is the recall over all references together. It is neither a
    mean over samples nor a scorer's score.
    """

    samples: int
    references: int
    found: Mapping[str, int]

    @property
    def line(self) -> str:
        """The share of the references in each list, as one line."""
        shares = (f"{name} {n / self.references:.2f}" for name, n in self.found.items())
        return " → ".join(shares)

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return {"samples": self.samples, "references": self.references, "found": dict(self.found)}


def funnel_counts(sample: Sample, record: Retrieval) -> Counter[Any]:
    """Return the counts of a sample and its retrieval for the funnel.

    The result is empty if the sample has no references, or if the retrieval has only one list.

    A key is a pair: the tuple of the names of the sample's lists, and the counted item, which is
    "samples", "references", or the name of one of these lists.
    """
    if record.error is not None:
        return Counter()
    lists = _lists(record)
    references = [each.any_of for each in sample.reference_context_ids or () if each.grade > 0]
    if len(lists) == 1 or not references:
        return Counter()
    names = tuple(lists)
    counts = Counter({(names, "samples"): 1, (names, "references"): len(references)})
    for name, ids in lists.items():
        counts[names, name] = sum(not ids.isdisjoint(any_of) for any_of in references)
    return counts


def funnel_of(counts: Mapping[Any, int]) -> Funnel | None:
    """Return the funnel of the lists that most samples have.

    Returns None if no sample has several lists and a reference, or if no list lost a reference.
    """
    by_lists = {key: n for key, n in counts.items() if isinstance(key, tuple)}
    sizes = {names: n for (names, counted), n in by_lists.items() if counted == "samples"}
    if not sizes:
        return None
    names = max(sizes, key=lambda each: (sizes[each], each))
    found = {name: counts.get((names, name), 0) for name in names}
    if len(set(found.values())) == 1:
        return None
    return Funnel(sizes[names], counts[names, "references"], found)


def _lists(record: Retrieval) -> dict[str, set[str | None]]:
    final = record.contexts or ()
    lists: dict[str, set[str | None]] = {}
    if record.retrieved is not None:
        lists["retrieved"] = {context.id for context in record.retrieved}
    lists["kept"] = {context.id for context in final}
    if record.read is not None:
        pairs = zip(final, record.read, strict=True)
        lists["read"] = {context.id for context, read in pairs if read == "yes"}
    return lists
