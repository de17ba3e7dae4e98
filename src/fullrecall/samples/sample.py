"""A sample: a question, the retrieved contexts, and the references."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

from fullrecall._util.value_object import ValueObject
from fullrecall._util.values import shown
from fullrecall.errors import InputError
from fullrecall.samples.calls import Stage
from fullrecall.samples.context import ID, Context, ContextLike
from fullrecall.samples.fields import SAMPLE_FIELDS, translated
from fullrecall.samples.references import (
    Claim,
    Reference,
    ReferenceIds,
    SingleIds,
    as_reference_ids,
)
from fullrecall.samples.retrieval import Retrieval, View, by_id

if TYPE_CHECKING:
    from fullrecall.samples.id_keys import IdKey

__all__ = [
    "Claim",
    "Reference",
    "ReferenceIds",
    "Sample",
    "SampleLike",
    "SingleIds",
]


@dataclass(frozen=True, init=False, eq=False, repr=False)
class Sample(ValueObject):
    """One question with its retrieved contexts and its references; immutable.

    A field that is None is *missing*: a scorer that needs it returns an unscored result. An empty
    list is a value: an empty retrieval scores 0.0, and empty references leave recall undefined.

    - `retrieved_contexts`: the contexts that the retriever returned, best first. The order is the
      rank. `retrieved_context_ids`: the same as IDs, with or without the texts.
    - `reference_context_ids`: IDs; `{id: grade}`; or a list whose items may be any-of groups
      (`[["a", "b"], ["c"]]`), graded as `{"any_of": ["a", "b"], "grade": 2}`. `reference_contexts`:
      texts; an item may be an any-of group, a list of texts.
    - `reference`: the reference answer. `reference_claims`, `reference_entities`: its parts.
    - `forbidden_ids`: IDs that must not be retrieved: no access, another tenant, out of date.
      `forbidden_contexts`: the same as texts, or as character ranges of a document. `superseded`:
      `{"old": "new"}`: the old ID is forbidden, and the new ID replaces it in references.
    - `answerable`: False means that no document answers the question: any retrieved context is a
      leak, and recall is undefined.
    - `judged`: False means that no document was judged for this question, as for a query that only
      a TREC run has. Without references, the sample is then unjudged, not unscored.
    - `response`: the generator's answer. `group`: samples that are not independent share it.
    - `retrieval`: the record of the retrieval, if there is one: a `Retrieval` or a mapping with its
      fields. It has the contexts, so leave out `retrieved_contexts`.
    - `metadata`: any other data of the sample. The mapping is copied, but its values are shared
      with the caller: do not change them in place.

    It also accepts the names that other tools use for these fields (`Sample.names()` lists them)
    and raises `InputError`, naming the field, for unknown names and for values of the wrong form.
    """

    id: str | None = None
    user_input: str | None = None
    retrieved_contexts: tuple[Context, ...] | None = None
    retrieved_context_ids: tuple[str | None, ...] | None = None
    reference: str | None = None
    reference_contexts: tuple[tuple[Context, ...], ...] | None = None
    reference_context_ids: tuple[Reference, ...] | None = None
    reference_claims: tuple[Claim, ...] | None = None
    reference_entities: tuple[str, ...] | None = None
    forbidden_ids: tuple[str, ...] | None = None
    forbidden_contexts: tuple[Context, ...] | None = None
    superseded: Mapping[str, str] | None = None
    answerable: bool | None = None
    judged: bool | None = None
    response: str | None = None
    group: str | None = None
    retrieval: Retrieval | None = None
    metadata: Mapping[str, Any] = dataclasses.field(default_factory=dict)

    single_ids: ClassVar[SingleIds | None] = None  # each instance sets its own value
    """The reference IDs without any-of groups; None if there are groups or no references."""

    # Type checkers need a parameter for each field; at run time, other tools' names are valid too.
    if TYPE_CHECKING:

        def __init__(
            self,
            /,
            *,
            id: ID | None = None,  # noqa: A002 - the field's name everywhere in this trade
            user_input: str | None = None,
            retrieved_contexts: Iterable[ContextLike] | None = None,
            retrieved_context_ids: Iterable[ID | None] | None = None,
            reference: str | None = None,
            reference_contexts: Iterable[ContextLike | Sequence[ContextLike]] | None = None,
            reference_context_ids: ReferenceIds | None = None,
            reference_claims: Iterable[str | Claim | Mapping[str, Any]] | None = None,
            reference_entities: Iterable[str] | None = None,
            forbidden_ids: Iterable[ID] | None = None,
            forbidden_contexts: Iterable[ContextLike] | None = None,
            superseded: Mapping[ID, ID] | None = None,
            answerable: bool | None = None,
            judged: bool | None = None,
            response: str | None = None,
            group: ID | None = None,
            retrieval: Retrieval | Mapping[str, Any] | None = None,
            metadata: Mapping[str, Any] | None = None,
            **names_of_other_tools: Any,
        ) -> None: ...

    else:

        def __init__(self, /, **arguments: Any) -> None:
            has_only_ids = arguments.keys() <= _ONLY_IDS
            if not (has_only_ids or arguments.keys() <= SAMPLE_FIELDS.keys()):
                arguments = translated(arguments)
            values = self.__dict__  # the instance is frozen; defaults are on the class
            problems: dict[str, str] = {}
            for name, value in arguments.items():
                if value is not None:
                    try:
                        values[name] = _CONVERTED[name](value)
                    except ValueError as error:
                        problems[name] = str(error)
            if problems:
                named = [name for name in SAMPLE_FIELDS if name in problems]
                problem = "; ".join(f"{name}: {problems[name]}" for name in named)
                raise InputError(problem, field=named[0])
            if "metadata" not in values:
                values["metadata"] = {}
            self._part_single_ids()
            if not has_only_ids:
                if self.forbidden_ids or self.forbidden_contexts or self.superseded:
                    self._check_forbidden()
                if self.retrieved_contexts is not None or self.retrieval is not None:
                    self._unite()

        @cached_property
        def reference_context_ids(self) -> tuple[Reference, ...] | None:
            """The references; single IDs are converted to `Reference`s at the first reading."""
            return None if self.single_ids is None else self.single_ids.references

    def _part_single_ids(self) -> None:
        """Store references without alternatives only as single IDs."""
        values = self.__dict__
        if type(values.get("reference_context_ids")) is SingleIds:
            values["single_ids"] = values.pop("reference_context_ids")

    def _unite(self) -> None:
        """Merge contexts, IDs and the record; raise `InputError` if they contradict each other."""
        values, contexts = self.__dict__, self.retrieved_contexts
        if contexts is not None and self.retrieved_context_ids is not None:
            contexts = _identified(contexts, self.retrieved_context_ids)
        record = self.retrieval
        if record is not None:
            if contexts is not None and record.contexts is None:
                record = replace(record, contexts=contexts)
            elif contexts not in (None, record.contexts):
                raise InputError(
                    "retrieved_contexts and retrieval differ: pass one of them",
                    field="retrieved_contexts",
                )
            if record.other_ids or record.part_ids:
                references = self.reference_context_ids or ()
                reference_ids = {own for group in references for own in group.any_of}
                record = record.named(reference_ids.union(self.forbidden))
            contexts = record.contexts
            values["retrieval"] = record
            if self.response is None:
                values["response"] = record.response
        if contexts is not None:
            values["retrieved_contexts"] = contexts
            values["retrieved_context_ids"] = tuple([context.id for context in contexts])

    def _check_forbidden(self) -> None:
        """Replace superseded reference IDs; raise `InputError` if a reference is forbidden."""
        references = [context for group in self.reference_contexts or () for context in group]
        contradicting = [text for text in self.forbidden_contexts or () if text in references]
        if contradicting:
            raise _in_both(contradicting[0].label, "forbidden_contexts")
        if self.reference_context_ids is None:
            return
        if self.superseded:
            renamed = [
                Reference(tuple(self.superseded.get(name, name) for name in any_of), grade)
                for any_of, grade in self.reference_context_ids
            ]
            values = self.__dict__
            values.pop("single_ids", None)
            values["reference_context_ids"] = as_reference_ids(renamed)
            self._part_single_ids()
        forbidden = set(self.forbidden)
        for name in (name for group in self.reference_context_ids for name in group.any_of):
            if name in forbidden:
                raise _in_both(name, "forbidden_ids")

    @classmethod
    def names(cls) -> dict[str, tuple[str, ...]]:
        """Return each field with the other names that `Sample` accepts for it."""
        return {name: field.other_names for name, field in SAMPLE_FIELDS.items()}

    def with_retrieval(self, retrieval: Retrieval | Iterable[ContextLike]) -> Sample:
        """Return this sample with another retrieval: a `Retrieval`, or a list of contexts.

        If the retrieval has a `response`, the sample gets it. Raises `InputError` for other items.
        """
        # Copy without `__init__`, for speed: everything but the retrieval is checked already.
        sample = object.__new__(Sample)
        values = sample.__dict__
        values.update((name, own) for name, own in vars(self).items() if name not in _RETRIEVED)
        values["metadata"] = dict(self.metadata)
        if isinstance(retrieval, Retrieval):
            values["retrieval"] = retrieval
            if retrieval.response is not None:
                values["response"] = retrieval.response
        else:
            contexts = Sample(retrieved_contexts=list(retrieval)).retrieved_contexts
            values["retrieved_contexts"] = contexts
        sample._unite()
        return sample

    def at_stage(self, name: str) -> Sample:
        """Return this sample as if the stage `name` had returned the final list.

        If the sample lacks that stage, the result has no contexts, and its retrieval error says so.
        """
        contexts = None if self.retrieval is None else self.retrieval.at_stage(name)
        if contexts is not None:
            return self.with_retrieval(contexts)
        return self.with_retrieval(Retrieval(error=f"the sample has no stage {name!r}"))

    def in_view(self, name: View) -> Sample:
        """Return this sample as if a list of its record were the final one.

        `name` is as in `Retrieval.view`. If the sample has no record of that list, the result has
        no contexts, and its retrieval error says so. Raises `ParameterError` for another name.
        """
        if name == "contexts":
            return self
        record = self.retrieval
        viewed = None if record is None else record.view(name)
        return self.with_retrieval(
            viewed or Retrieval(error=self.retrieval_error or _UNKNOWN_VIEW[name])
        )

    def collapsed(self) -> Sample:
        """Return this sample; contexts that share an ID become one, ranked like the first."""
        if self.retrieval is not None:
            record = self.retrieval.collapsed()
            return self if record is self.retrieval else self.with_retrieval(record)
        contexts = by_id(self.contexts or ())
        return self if len(contexts) == len(self.contexts or ()) else self.with_retrieval(contexts)

    def identified(self, id_key: IdKey) -> Sample:
        """Return this sample with the IDs that its retrieved contexts have at `id_key`.

        A context without the field gets no ID if the sample has a `retrieval`. Raises `InputError`
        for such a context in a sample without a `retrieval`, and for a sample with only IDs.
        """
        from fullrecall.samples.id_keys import ids_alone, named_by  # most samples need no `id_key`

        if self.retrieval is not None:
            record = self.retrieval.changed(lambda context: named_by(id_key, context))
            return self.with_retrieval(record)
        if self.retrieved_contexts is not None:
            from fullrecall.samples.hits import contexts_of

            return self.with_retrieval(contexts_of(self.retrieved_contexts, id_key=id_key))
        if self.retrieved_context_ids is not None:
            raise ids_alone()
        return self

    @property
    def stages(self) -> tuple[Stage, ...]:
        """The stages before the final list, in the order of the pipeline."""
        return () if self.retrieval is None else self.retrieval.stages

    @property
    def retrieval_error(self) -> str | None:
        """The reason why there is no retrieval to measure; None without a failure."""
        return None if self.retrieval is None else self.retrieval.error

    @property
    def ranks(self) -> tuple[int, ...] | None:
        """The rank of each retrieved context, ascending; None if ranks equal positions."""
        return None if self.retrieval is None else self.retrieval.ranks

    @property
    def forbids(self) -> bool:
        """Whether this sample forbids any context, or is unanswerable."""
        return bool(self.answerable is False or self.forbidden or self.forbidden_contexts)

    @property
    def forbidden(self) -> tuple[str, ...]:
        """All IDs that must not be retrieved: `forbidden_ids`, and the superseded ones."""
        return tuple(dict.fromkeys((*(self.forbidden_ids or ()), *(self.superseded or {}))))

    def to_dict(self) -> dict[str, Any]:
        """Return the given fields as JSON values; `Sample(**fields)` restores an equal sample."""
        fields: dict[str, Any] = {}
        for name, field in SAMPLE_FIELDS.items():
            value = getattr(self, name)
            if value is None or value == {}:
                continue
            value = value if field.to_json is None else field.to_json(value)
            fields[name] = list(value) if isinstance(value, tuple) else value
        if self.retrieved_contexts is not None:
            del fields["retrieved_context_ids"]
        if self.retrieval is not None:
            if self.retrieval.contexts is not None:
                del fields["retrieved_contexts"]
            if self.retrieval.response == self.response:
                fields.pop("response", None)
        return fields

    @property
    def contexts(self) -> Sequence[Context] | None:
        """The retrieved contexts, even if only their IDs are known; None if unknown."""
        if self.retrieved_contexts is not None or self.retrieved_context_ids is None:
            return self.retrieved_contexts
        # A context without an ID becomes one with an empty text, so that later ranks stay the same.
        return [Context(id=name) if name else Context("") for name in self.retrieved_context_ids]

    @property
    def has_retrieval(self) -> bool:
        """Whether a retrieval was observed, empty or not."""
        return self.retrieved_contexts is not None or self.retrieved_context_ids is not None


SampleLike: TypeAlias = Sample | Mapping[str, Any]
"""A sample, or its fields by name."""


_RETRIEVED = frozenset({"retrieved_contexts", "retrieved_context_ids", "retrieval"})

_UNKNOWN_VIEW: dict[View, str] = {
    "retrieved": "no record of all that was retrieved",
    "read": "no prompt of a model was seen",
}
"""The reason for each view that a record does not have."""


def _in_both(name: str, field: str) -> InputError:
    problem = f"{shown(name)} is a reference and forbidden: leave it out of one of them"
    return InputError(problem, field=field)


_ONLY_IDS = frozenset(
    {"id", "user_input", "group", "retrieved_context_ids", "reference_context_ids", "metadata"}
)
"""The fields of a sample that has only IDs, a question, and a group."""

_CONVERTED = {name: field.convert for name, field in SAMPLE_FIELDS.items()}


def _identified(contexts: tuple[Context, ...], ids: tuple[str | None, ...]) -> tuple[Context, ...]:
    """Return `contexts` with the IDs that were given separately."""
    if len(ids) != len(contexts):
        raise InputError(
            f"{len(contexts)} retrieved_contexts but {len(ids)} retrieved_context_ids: pass one "
            "ID for each context, in the same order",
            field="retrieved_context_ids",
        )
    identified = []
    for rank, (context, own_id) in enumerate(zip(contexts, ids, strict=True), start=1):
        if context.id is not None and own_id is not None and context.id != own_id:
            raise InputError(
                f"rank {rank}: the context's id is {context.id!r}, retrieved_context_ids says "
                f"{own_id!r}",
                field="retrieved_context_ids",
            )
        has_id = own_id is None or context.id is not None
        identified.append(context if has_id else replace(context, id=own_id))
    return tuple(identified)
