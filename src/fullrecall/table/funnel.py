"""How many references are left in each list of the records: retrieved, kept, read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any, NamedTuple

from fullrecall.retrieval import Retrieval
from fullrecall.sample import Sample

_KEY = "funnel"


class Funnel(NamedTuple):
    """References of samples whose records have the same lists, and how many each list has by ID.

    `found` counts by list, in the order "retrieved", "kept", "read"; its shares are recall over
    all references together, not a mean over samples, and no scorer's.
    """

    samples: int
    references: int
    found: Mapping[str, int]

    @property
    def line(self) -> str:
        """The share in each list, in one line."""
        shares = (f"{name} {n / self.references:.2f}" for name, n in self.found.items())
        return " → ".join(shares)

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return {"samples": self.samples, "references": self.references, "found": dict(self.found)}


def funnel_counts(sample: Sample) -> Counter[str]:
    """Return what a sample adds to the funnel: nothing unless its record has two of the lists."""
    record = sample.retrieval
    if record is None or record.error is not None:
        return Counter()
    lists = _lists(record)
    references = [each.any_of for each in sample.reference_context_ids or () if each.grade > 0]
    if len(lists) == 1 or not references:
        return Counter()
    key = f"{_KEY} {' '.join(lists)}"
    counts = Counter({f"{key}:samples": 1, f"{key}:references": len(references)})
    for name, ids in lists.items():
        counts[f"{key}:{name}"] = sum(not ids.isdisjoint(any_of) for any_of in references)
    return counts


def funnel_of(counts: Mapping[str, int]) -> Funnel | None:
    """Return the funnel of the largest number of samples; None where no list lost anything."""
    sizes = {
        key: n for key, n in counts.items() if key.startswith(_KEY) and key.endswith("samples")
    }
    if not sizes:
        return None
    key = max(sizes, key=lambda each: (sizes[each], each)).removesuffix(":samples")
    found = {name: counts.get(f"{key}:{name}", 0) for name in key.split()[1:]}
    if len(set(found.values())) == 1:
        return None
    return Funnel(sizes[f"{key}:samples"], counts[f"{key}:references"], found)


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
