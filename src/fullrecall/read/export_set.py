"""A test set as it is written for other tools: numbered, with its any-of groups taken apart."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from fullrecall.errors import InputError
from fullrecall.sample import Sample

Alternatives: TypeAlias = Literal["all", "first"]
"""What becomes of an any-of group: every alternative a demand of its own, or the first alone."""


@dataclass(frozen=True)
class ExportSet:
    """The samples, and how their any-of groups are to be taken apart."""

    samples: Sequence[Sample]
    alternatives: Alternatives
    texts: Mapping[str, str]

    def contexts(self, sample: Sample) -> list[str]:
        """Return the texts of the references, as demands."""
        groups = sample.reference_contexts or ()
        return [context.text for group in groups for context in self._kept(group) if context.text]

    def ids(self, sample: Sample) -> dict[str, float]:
        """Return the IDs of the references with their grades, as demands."""
        references = sample.reference_context_ids or ()
        grades: dict[str, float] = {}
        for reference in references:
            for name in self._kept(reference.any_of):
                grades[name] = max(reference.grade, grades.get(name, reference.grade))
        return grades

    def _kept(self, group: Sequence[Any]) -> Sequence[Any]:
        return group if self.alternatives == "all" else group[:1]

    def text(self, name: str, sample: str) -> str:
        """Return the text of a document; raise `InputError` where there is none."""
        if name not in self.texts:
            raise InputError(f"sample {sample}: no text of {name!r}: pass documents=, with all")
        return self.texts[name]

    def numbered(self) -> Iterator[tuple[str, Sample]]:
        """Yield samples with their IDs, or numbers."""
        for number, sample in enumerate(self.samples, start=1):
            yield sample.id or f"q{number}", sample

    def judged(self) -> Iterator[tuple[str, str, float]]:
        """Yield the IDs of a sample and of a reference, and its grade."""
        for name, sample in self.numbered():
            for document_id, grade in self.ids(sample).items():
                yield name, document_id, grade

    def rows(self, fields: Mapping[str, Sequence[str]]) -> list[dict[str, Any]]:
        """Return the samples' fields under another tool's names; of several names the first."""
        rows = []
        for name, sample in self.numbered():
            values = {
                "id": name,
                "group": sample.group,
                "user_input": sample.user_input,
                "reference": sample.reference,
                "reference_contexts": self.contexts(sample),
                "reference_context_ids": list(self.ids(sample)),
            }
            rows.append({names[0]: values[own] for own, names in fields.items() if own in values})
        return rows
