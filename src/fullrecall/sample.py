"""What is measured: a question, what was retrieved for it, and what should have been."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import repeat
from math import isfinite
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from fullrecall.calls import Stage
from fullrecall.context import (
    ID,
    Context,
    ContextLike,
    as_context,
    as_contexts,
    as_metadata,
    as_number,
    listed,
)
from fullrecall.errors import InputError
from fullrecall.identifiers import (
    GivenIds,
    as_id,
    as_list,
    as_listed_ids,
    as_texts,
    is_texts,
    shown,
    whole_numbers,
)
from fullrecall.retrieval import Retrieval, View


class Claim(NamedTuple):
    """One claim of a reference answer; an answer must make it if it is `vital`."""

    text: str
    vital: bool = True


class Reference(NamedTuple):
    """One thing that must be retrieved: any one of `any_of` serves.

    `grade` is its relevance: at `min_grade` or above it counts in recall, and nDCG gains by it.
    """

    any_of: tuple[str, ...]
    grade: float = 1.0


ReferenceIds: TypeAlias = (
    Iterable[ID | Iterable[ID] | Mapping[str, Any] | Reference] | Mapping[Any, float]
)
"""IDs; `{id: grade}`; or a list in which an item may be an any-of group of IDs."""


def _reference_contexts(value: object) -> tuple[tuple[Context, ...], ...]:
    def group(item: object) -> tuple[Context, ...]:
        several = isinstance(item, Sequence) and not isinstance(item, str)
        members = tuple(as_context(member) for member in (item if several else (item,)))  # type: ignore[attr-defined]
        return tuple(member for member in members if member.text is None or member.text.strip())

    groups = (_at(n, group, item) for n, item in enumerate(as_list(value, ordered=False)))
    return tuple(group for group in groups if group)


class SingleIds(NamedTuple):
    """Reference IDs without alternatives, distinct; `grades` is None where all are 1.0.

    They are texts, or all are whole numbers that stand for theirs.
    """

    ids: tuple[str, ...] | tuple[int, ...]
    grades: tuple[float, ...] | None = None

    @property
    def names(self) -> list[str]:
        """The IDs as texts."""
        return [f"{own_id}" for own_id in self.ids]

    def references(self) -> tuple[Reference, ...]:
        """Return them as references."""
        grades = repeat(1.0) if self.grades is None else self.grades
        return tuple([Reference((f"{i}",), g) for i, g in zip(self.ids, grades, strict=False)])


_new_tuple = tuple.__new__


def _single_of(references: tuple[Reference, ...] | None) -> SingleIds | None:
    """Return references as single IDs; None where one has alternatives, or there are none given."""
    if references is None or any(len(any_of) > 1 for any_of, _ in references):
        return None
    grades = tuple([grade for _, grade in references])
    equal = all(grade == 1.0 for grade in grades)
    return SingleIds(tuple([each for (each,), _ in references]), None if equal else grades)


def _reference_ids(value: object) -> tuple[Reference, ...] | SingleIds:
    if type(value) is list and is_texts(value):  # nearly always, and told soonest
        distinct = dict.fromkeys(value)
        distinct.pop("", None)
        return _new_tuple(SingleIds, (tuple(distinct), None))  # without a call of its own
    if isinstance(value, Mapping):
        singles = _plain_grades(value)
        if singles is not None:
            return singles
        references = [Reference((as_id(key),), _grade(grade)) for key, grade in value.items()]
    else:
        items = as_list(value, ordered=False)
        if is_texts(items):
            return SingleIds(tuple(filter(None, dict.fromkeys(items))))
        numbers = whole_numbers(items)
        if numbers is not None:
            return SingleIds(tuple(dict.fromkeys(numbers)))
        references = [_at(position, _reference, item) for position, item in enumerate(items)]
    best: dict[tuple[str, ...], Reference] = {}
    for reference in references:
        members = tuple(member for member in dict.fromkeys(reference.any_of) if member)
        if members and (members not in best or best[members].grade < reference.grade):
            best[members] = Reference(members, reference.grade)
    return tuple(best.values())


def _plain_grades(graded: Mapping[Any, Any]) -> SingleIds | None:
    """Return IDs, all texts or all whole numbers, with grades that are numbers; None for others."""
    grades = list(graded.values())
    if not _NUMBERS.issuperset(map(type, grades)):
        return None
    keys = list(graded)
    ids = (tuple(keys) if all(keys) else None) if is_texts(keys) else whole_numbers(keys)
    if ids is None:
        return None
    try:
        numbers = list(map(float, grades))
    except OverflowError:
        return None
    if not all(map(isfinite, numbers)):
        return None
    return SingleIds(ids, tuple(numbers))


_NUMBERS = frozenset({int, float})


def _reference(item: object) -> Reference:
    if type(item) is list and is_texts(item):
        return Reference(tuple(item))
    if isinstance(item, Reference):
        return Reference(tuple(map(as_id, item.any_of)), _grade(item.grade))
    if isinstance(item, Mapping):
        if "any_of" not in item or item.keys() - {"any_of", "grade"}:
            raise ValueError(f'expected a group {{"any_of": [ids], "grade": n}}, got {shown(item)}')
        members = as_list(item["any_of"], ordered=False)
        return Reference(tuple(map(as_id, members)), _grade(item.get("grade", 1.0)))
    if isinstance(item, Iterable) and not isinstance(item, (str, bytes)):
        return Reference(tuple(map(as_id, item)))
    return Reference((as_id(item),))


def _grade(value: object) -> float:
    return as_number(value, "a grade")


def _texts(value: object) -> tuple[str, ...]:
    texts: dict[str, None] = {}
    for position, item in enumerate(as_list(value, ordered=False)):
        if not isinstance(item, str):
            raise ValueError(f"item {position}: expected a str, got {shown(item)}")
        if item.strip():
            texts[item] = None
    return tuple(texts)


def _claims(value: object) -> tuple[Claim, ...]:
    claims = [_at(n, _claim, item) for n, item in enumerate(as_list(value, ordered=False))]
    vital: dict[str, bool] = {}
    for claim in claims:
        if claim.text.strip():
            vital[claim.text] = claim.vital or vital.get(claim.text, False)
    return tuple(Claim(text, is_vital) for text, is_vital in vital.items())


def _claim(item: object) -> Claim:
    if isinstance(item, str):
        return Claim(item)
    if isinstance(item, Claim) and isinstance(item.text, str):
        return item
    if isinstance(item, Mapping) and isinstance(item.get("text"), str):
        importance = item.get("importance", "vital")
        if importance in ("vital", "okay") and not item.keys() - {"text", "importance"}:
            return Claim(item["text"], vital=importance == "vital")
    raise ValueError(
        'expected a claim, a str or {"text": …, "importance": "vital" or "okay"}, got '
        f"{shown(item)}"
    )


def _ids(value: object) -> tuple[str, ...]:
    items = enumerate(as_list(value, ordered=False))
    return tuple(dict.fromkeys(_at(position, _id, item) for position, item in items))


def _forbidden_contexts(value: object) -> tuple[Context, ...]:
    contexts = [_at(n, as_context, item) for n, item in enumerate(as_list(value, ordered=False))]
    for position, context in enumerate(contexts):
        if context.id is None and context.start is None and not (context.text or "").strip():
            raise ValueError(f"item {position}: expected a text, got a blank one")
    return tuple(contexts)


def _id(value: object) -> str:
    name = as_id(value)
    if not name:
        raise ValueError("expected an ID, got a blank text")
    return name


def _superseded(value: object) -> Mapping[str, str]:
    """Return old IDs with the successor that each has in the end."""
    if not isinstance(value, Mapping):
        raise ValueError(f'expected a mapping {{"old": "new"}}, got {shown(value)}')
    successors = {_id(old): _id(new) for old, new in value.items()}
    return {old: _last_successor(old, successors) for old in successors}


def _last_successor(old: str, successors: Mapping[str, str]) -> str:
    visited, new = {old}, successors[old]
    while new in successors:
        if new in visited:
            raise ValueError(f"{shown(new)} comes to supersede itself")
        visited.add(new)
        new = successors[new]
    if new in visited:
        raise ValueError(f"{shown(new)} comes to supersede itself")
    return new


def _truth(value: object) -> bool:
    if isinstance(value, str) and value.strip().lower() in ("true", "false"):
        return value.strip().lower() == "true"  # a cell of a CSV file
    if type(value).__name__ in ("bool", "bool_") or (type(value) is int and value in (0, 1)):
        return bool(value)
    raise ValueError(f"expected true or false, got {shown(value)}")


def _retrieval(value: object) -> Retrieval:
    if isinstance(value, Retrieval):
        return value
    if isinstance(value, Mapping):
        return Retrieval.from_dict(value)
    raise ValueError(f"expected a Retrieval or a mapping with its fields, got {shown(value)}")


def _one_text(value: object) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, Sequence) and len(value) == 1 and isinstance(value[0], str):
        return value[0]  # ragas's old `ground_truths` is a list of one
    several = isinstance(value, Sequence) and len(value) > 1
    hint = ": several samples, written by columns, are one Sample for each row" if several else ""
    raise ValueError(f"expected one str, got {type(value).__name__} {shown(value)}{hint}")


def _own_metadata(value: object) -> dict[str, Any]:
    return _own(as_metadata(value), {})  # type: ignore[no-any-return]


def _own(value: Any, copies: dict[int, Any]) -> Any:
    """Return lists and mappings at any depth as copies, once each; any other object as it is."""
    if type(value) not in (dict, list):
        return value
    own = copies.get(id(value))
    if own is None and type(value) is dict:
        own = copies[id(value)] = {}
        own.update((name, _own(item, copies)) for name, item in value.items())
    elif own is None:
        own = copies[id(value)] = []
        own.extend(_own(item, copies) for item in value)
    return own


def _at(position: int, convert: Callable[[object], Any], item: object) -> Any:
    try:
        return convert(item)
    except ValueError as error:
        raise ValueError(f"item {position}: {error}") from None


def _plain_references(references: tuple[Reference, ...]) -> object:
    """Return references in the plainest form that `Sample` reads back."""
    if all(len(reference.any_of) == 1 for reference in references):
        if all(reference.grade == 1.0 for reference in references):
            return [reference.any_of[0] for reference in references]
        return {reference.any_of[0]: reference.grade for reference in references}
    return [{"any_of": list(r.any_of), "grade": r.grade} for r in references]


class _Given:
    """IDs as they were given, which a sample brings into their form when that is read.

    - `listed_ids`: `retrieved_context_ids`, but that a blank text may stand for None, and whole
      numbers for their texts.
    - `single_ids`: the reference IDs where none is an any-of group; None where there are groups.
    """

    __slots__ = ("listed_ids", "single_ids")

    listed_ids: GivenIds | None
    single_ids: SingleIds | None


@dataclass(frozen=True, slots=True, init=False)
class Sample(_Given):
    """One question with what was retrieved for it and what should have been; immutable.

    A field that is None is *missing*: a scorer that needs it answers `unscored`. An empty list
    is an answer: nothing retrieved scores 0.0, no reference items leave recall undefined.

    - `retrieved_contexts`: what the retriever returned, best first. The order is the rank.
      `retrieved_context_ids`: the same as IDs, with or without the texts.
    - `reference_context_ids`: IDs; `{id: grade}`; or a list whose items may be any-of groups
      (`[["a", "b"], ["c"]]`), graded as `{"any_of": ["a", "b"], "grade": 2}`.
      `reference_contexts`: texts; an item may be a list of texts of which any one serves.
    - `reference`: the reference answer. `reference_claims`, `reference_entities`: its parts.
    - `forbidden_ids`: what must not be retrieved: no access, another tenant, out of date.
      `forbidden_contexts`: the same as texts, or as character ranges of a document.
      `superseded`: `{"old": "new"}`; the old ID is forbidden, and a reference to it is to the new.
    - `answerable`: False says that nothing answers the question: whatever is returned is a leak,
      and recall is undefined.
    - `response`: what the generator said. `group`: samples that are not independent share it.
    - `retrieval`: how the retrieved contexts came about, where that was recorded: a `Retrieval`
      or a mapping with its fields. It has the contexts; `retrieved_contexts` is then left out.
    - `metadata`: whatever belongs to the sample. Its lists and dicts, at any depth, are copied;
      other objects are shared with the caller, and so is what lies inside a context's metadata,
      of which there may be millions: do not change that in place.

    Takes the names that other tools use for these fields too (`Sample.names()` lists them) and
    raises `InputError`, naming the field, for unknown names and for values of the wrong form.
    """

    id: str | None
    user_input: str | None
    retrieved_contexts: tuple[Context, ...] | None
    retrieved_context_ids: tuple[str | None, ...] | None
    reference: str | None
    reference_contexts: tuple[tuple[Context, ...], ...] | None
    reference_context_ids: tuple[Reference, ...] | None
    reference_claims: tuple[Claim, ...] | None
    reference_entities: tuple[str, ...] | None
    forbidden_ids: tuple[str, ...] | None
    forbidden_contexts: tuple[Context, ...] | None
    superseded: Mapping[str, str] | None
    answerable: bool | None
    response: str | None
    group: str | None
    retrieval: Retrieval | None
    metadata: Mapping[str, Any]

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
            response: str | None = None,
            group: ID | None = None,
            retrieval: Retrieval | Mapping[str, Any] | None = None,
            metadata: Mapping[str, Any] | None = None,
            **names_of_other_tools: Any,
        ) -> None: ...

    else:

        def __init__(self, /, **arguments: Any) -> None:
            # One is made for each row of a data set. What is not given costs nothing, but for
            # what every scorer and report reads; the rest is None when it is read.
            plan = _PLANS.get(tuple(arguments))
            if plan is None:
                arguments, plan = _planned(arguments)
            for put in _READ_ALWAYS:
                put(self, None)
            problems: dict[str, str] = {}
            for (name, convert, put), value in zip(plan, arguments.values()):  # noqa: B905 - it takes time
                if value is None:
                    continue
                try:
                    put(self, convert(value))
                except ValueError as error:
                    problems[name] = str(error)
            if problems:
                raise _problem(problems)
            if not _FORBIDDING.isdisjoint(arguments):
                self._forbid()
            if self.retrieved_contexts is not None or self.retrieval is not None:
                self._unite()

    def _unite(self) -> None:
        """Bring together what contexts, their IDs, and the record of their retrieval say."""
        if self.retrieved_contexts is not None:
            contexts = _identified(self.retrieved_contexts, self.retrieved_context_ids)
            object.__setattr__(self, "retrieved_contexts", contexts)
        if self.retrieval is not None:
            self._take(self.retrieval)
        if self.retrieved_contexts is not None:
            ids = tuple(context.id for context in self.retrieved_contexts)
            _put_listed(self, ids)
            _put_ids(self, ids)

    def _forbid(self) -> None:
        """Point references to their successors; raise `InputError` for one that is forbidden."""
        self._check_texts()
        if self.reference_context_ids is None:
            return
        successors, forbidden = self.superseded or {}, set(self.forbidden)
        renamed = [
            Reference(tuple(successors.get(name, name) for name in any_of), grade)
            for any_of, grade in self.reference_context_ids
        ]
        if successors:
            references = _reference_ids(renamed)
            if isinstance(references, SingleIds):
                references = references.references()
            _put_references(self, references)
            _put_single(self, _single_of(references))
        for name in (name for any_of, _ in renamed for name in any_of):
            if name in forbidden:
                raise InputError(
                    f"{name!r} is a reference and forbidden: leave it out of one of them",
                    field="forbidden_ids",
                )

    def _check_texts(self) -> None:
        """Raise `InputError` for a text that is a reference and forbidden."""
        references = [context for group in self.reference_contexts or () for context in group]
        for context in self.forbidden_contexts or ():
            if context in references:
                raise InputError(
                    f"{shown(context.label)} is a reference and forbidden: leave it out of one of "
                    "them",
                    field="forbidden_contexts",
                )

    if not TYPE_CHECKING:  # a checker that sees it takes any name for an attribute

        def __getattr__(self, name: str) -> Any:
            if name == "single_ids":
                _put_single(self, _single_of(self.reference_context_ids))
            elif name == "listed_ids":
                _put_listed(self, _ids_of(self))
            elif name == "retrieved_context_ids":
                listed = self.listed_ids
                _put_ids(self, None if listed is None else as_texts(listed))
            elif name == "reference_context_ids":
                single = _given_single(self)
                _put_references(self, None if single is None else single.references())
            elif name in _FIELDS:
                object.__setattr__(self, name, {} if name == "metadata" else None)
            else:
                raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
            return getattr(self, name)

    @classmethod
    def names(cls) -> dict[str, tuple[str, ...]]:
        """Return each field with the other names under which `Sample` takes it."""
        return {name: field.other_names for name, field in _FIELDS.items()}

    def with_retrieval(self, retrieval: Retrieval | Iterable[ContextLike]) -> Sample:
        """Return this sample with another retrieval, or with the contexts of one.

        `response` is that of the retrieval, where it has one. Raises `InputError` for items that
        are not contexts.
        """
        sample, put = Sample(metadata=self.metadata), object.__setattr__
        for get, set_ in _KEPT:
            try:
                set_(sample, get(self, Sample))
            except AttributeError:
                continue
        if isinstance(retrieval, Retrieval):
            if retrieval.other_ids is not None:
                references = self.reference_context_ids or ()
                reference_ids = {own for group in references for own in group.any_of}
                retrieval = retrieval.named(reference_ids.union(self.forbidden))
            put(sample, "retrieval", retrieval)
            if retrieval.response is not None:
                put(sample, "response", retrieval.response)
        else:
            contexts = Sample(retrieved_contexts=list(retrieval)).retrieved_contexts
            put(sample, "retrieved_contexts", contexts)
        sample._unite()
        return sample

    def at_stage(self, name: str) -> Sample:
        """Return this sample as if the stage `name` had handed on the final list.

        Without that stage in the sample it has no retrieval, and says so.
        """
        contexts = None if self.retrieval is None else self.retrieval.at_stage(name)
        if contexts is not None:
            return self.with_retrieval(contexts)
        return self.with_retrieval(Retrieval(error=f"the sample has no stage {name!r}"))

    def in_view(self, name: View) -> Sample:
        """Return this sample as if another list of its record had been the final one.

        `name` is as in `Retrieval.view`. Where the record does not tell, or there is none, it has
        no retrieval, and says so. Raises `ParameterError` for another name.
        """
        if name == "contexts":
            return self
        record = self.retrieval
        listed = None if record is None else record.view(name)
        return self.with_retrieval(
            listed or Retrieval(error=self.retrieval_error or _UNKNOWN_VIEW[name])
        )

    @property
    def stages(self) -> tuple[Stage, ...]:
        """What was handed on before the final list, in the order of the pipeline."""
        return () if self.retrieval is None else self.retrieval.stages

    @property
    def retrieval_error(self) -> str | None:
        """Why there is no retrieval to measure; None where nothing failed."""
        return None if self.retrieval is None else self.retrieval.error

    @property
    def ranks(self) -> tuple[int, ...] | None:
        """The rank of each retrieved context, ascending; None where that is its position."""
        return None if self.retrieval is None else self.retrieval.ranks

    @property
    def forbids(self) -> bool:
        """Whether it says of anything that it must not be retrieved."""
        return bool(self.answerable is False or self.forbidden or self.forbidden_contexts)

    @property
    def forbidden(self) -> tuple[str, ...]:
        """All IDs that must not be retrieved: `forbidden_ids`, and what is superseded."""
        return tuple(dict.fromkeys((*(self.forbidden_ids or ()), *(self.superseded or {}))))

    def _take(self, record: Retrieval) -> None:
        """Take over what a recorded retrieval says; a record without contexts takes the sample's.

        Raises `InputError` where both have contexts that differ.
        """
        put, contexts = object.__setattr__, self.retrieved_contexts
        if contexts is None:
            put(self, "retrieved_contexts", record.contexts)
        elif record.contexts is None:
            put(self, "retrieval", record.with_contexts(contexts))
        elif contexts != record.contexts:
            raise InputError(
                "retrieved_contexts and retrieval differ: pass one of them",
                field="retrieved_contexts",
            )
        if self.response is None:
            put(self, "response", record.response)

    def to_dict(self) -> dict[str, Any]:
        """Return the fields that are given as plain JSON values; `Sample(**these)` is equal."""
        fields: dict[str, Any] = {}
        for name, field in _FIELDS.items():
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
    def has_retrieval(self) -> bool:
        """Whether a retrieval was observed; an empty one was."""
        return self.retrieved_contexts is not None or self.listed_ids is not None


_UNKNOWN_VIEW: dict[View, str] = {
    "retrieved": "no record of all that was retrieved",
    "read": "no prompt of a model was seen",
}
"""Why a record does not have a view."""


class _Field(NamedTuple):
    """How a field of a sample is declared.

    - `convert`: what brings a user's value into its one form.
    - `other_names`: those of ragas (old), LangChain, LlamaIndex, deepeval, TREC.
    - `to_json`: what turns it into plain JSON values, where it does not consist of them.
    """

    convert: Callable[[Any], object]
    other_names: tuple[str, ...] = ()
    to_json: Callable[[Any], object] | None = None


def _plain_contexts(contexts: Iterable[Context]) -> list[dict[str, Any]]:
    return [context.to_dict() for context in contexts]


def _plain_claims(claims: Iterable[Claim]) -> list[object]:
    return [
        claim.text if claim.vital else {"text": claim.text, "importance": "okay"}
        for claim in claims
    ]


_FIELDS: dict[str, _Field] = {
    "id": _Field(as_id, ("sample_id", "query_id", "qid")),
    "user_input": _Field(_one_text, ("question", "query", "input")),
    "retrieved_contexts": _Field(
        as_contexts,
        ("contexts", "documents", "retrieved_documents", "source_documents", "retrieval_context"),
        _plain_contexts,
    ),
    "retrieved_context_ids": _Field(as_listed_ids, ("retrieved_ids",)),
    "reference": _Field(
        _one_text, ("ground_truth", "ground_truths", "reference_answer", "expected_output")
    ),
    "reference_contexts": _Field(
        _reference_contexts,
        ("expected_texts",),
        lambda groups: [_plain_contexts(group) for group in groups],
    ),
    "reference_context_ids": _Field(
        _reference_ids, ("expected_ids", "reference_ids"), _plain_references
    ),
    "reference_claims": _Field(_claims, to_json=_plain_claims),
    "reference_entities": _Field(_texts),
    "forbidden_ids": _Field(_ids),
    "forbidden_contexts": _Field(_forbidden_contexts, to_json=_plain_contexts),
    "superseded": _Field(_superseded),
    "answerable": _Field(_truth),
    "response": _Field(_one_text, ("answer", "prediction", "output", "actual_output")),
    "group": _Field(as_id),
    "retrieval": _Field(_retrieval, to_json=Retrieval.to_dict),
    "metadata": _Field(_own_metadata),
}
"""Each field of a `Sample`, once."""

_OTHER_NAMES = {other: name for name, field in _FIELDS.items() for other in field.other_names}


def _slot(owner: type, name: str) -> Any:
    """Return what reads and sets a field of a frozen sample, without looking anything up."""
    return vars(owner)[name]


_put_listed, _put_single = (_slot(_Given, name).__set__ for name in ("listed_ids", "single_ids"))
_put_ids, _put_references = (
    _slot(Sample, name).__set__ for name in ("retrieved_context_ids", "reference_context_ids")
)
_get_single, _get_ids = (
    _slot(_Given, "single_ids").__get__,
    _slot(Sample, "retrieved_context_ids").__get__,
)


def _ids_of(sample: Sample) -> tuple[str | None, ...] | None:
    """Return the retrieved IDs of a sample that was unpickled; None where none are given."""
    try:
        ids: tuple[str | None, ...] | None = _get_ids(sample, Sample)
    except AttributeError:
        return None
    return ids


def _given_single(sample: Sample) -> SingleIds | None:
    """Return the reference IDs as they were given, where none is an any-of group."""
    try:
        single: SingleIds | None = _get_single(sample, Sample)
    except AttributeError:
        return None
    return single


_NOTHING: tuple[object, ...] = (None, {})

_get_others = [
    _slot(Sample, name).__get__
    for name in _FIELDS
    if name not in ("id", "user_input", "group", "retrieved_context_ids", "reference_context_ids")
]


_KEPT = [
    (slot.__get__, slot.__set__)
    for slot in (
        _slot(_Given, "single_ids"),
        *(
            _slot(Sample, name)
            for name in _FIELDS
            if name not in ("retrieved_contexts", "retrieved_context_ids", "retrieval", "metadata")
        ),
    )
]
"""What reads and sets the fields that a sample with another retrieval keeps."""


def has_only_ids(sample: Sample) -> bool:
    """Return whether a sample has nothing but its IDs, a question, and a group."""
    for get in _get_others:
        try:
            if get(sample, Sample) not in _NOTHING:
                return False
        except AttributeError:
            continue
    return True


def _put_reference_ids(sample: Sample, converted: tuple[Reference, ...] | SingleIds) -> None:
    (_put_single if type(converted) is SingleIds else _put_references)(sample, converted)


_SETTERS: dict[str, Callable[[Sample, Any], None]] = {
    **{name: _slot(Sample, name).__set__ for name in _FIELDS},
    "retrieved_context_ids": _put_listed,
    "reference_context_ids": _put_reference_ids,
}
"""What sets a field of a frozen sample to what was given."""

_READ_ALWAYS = tuple(
    _SETTERS[name] for name in ("id", "group", "retrieval", "retrieved_contexts", "answerable")
)
"""What sets the fields that are read of every sample, and are cheaper to set than to make up."""

_FORBIDDING = frozenset({"forbidden_ids", "forbidden_contexts", "superseded"})

_CARRIED = frozenset(
    {
        "multi_responses",
        "rubrics",
        "persona_name",
        "query_style",
        "query_length",
        "synthesizer_name",
        "evolution_type",
        "episode_done",
        "query_by",
        "reference_answer_by",
    }
)
"""Columns of ragas and LlamaIndex data sets that no scorer uses: kept in `metadata`."""


_Plan: TypeAlias = tuple[tuple[str, Callable[[Any], object], Callable[[Sample, Any], None]], ...]

_PLANS: dict[tuple[str, ...], _Plan] = {}
"""What becomes of fields of these names: the rows of a data set mostly have the same."""

_MOST_PLANS = 100


def _planned(arguments: dict[str, Any]) -> tuple[dict[str, Any], _Plan]:
    """Return fields, by their own names where names alone do not tell, and what becomes of each."""
    names = tuple(arguments)
    own = [_OTHER_NAMES.get(name, name) for name in names]
    if len(set(own)) < len(own) or not _FIELDS.keys() >= set(own):
        arguments = _translated(arguments)
        return arguments, _plan(arguments)
    if len(_PLANS) >= _MOST_PLANS:
        _PLANS.clear()
    plan = _PLANS[names] = _plan(own)
    return arguments, plan


def _plan(names: Iterable[str]) -> _Plan:
    return tuple([(name, _FIELDS[name].convert, _SETTERS[name]) for name in names])


def _translated(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return fields by their own names; raise `InputError` for an unknown name, and for two."""
    unknown = [
        name
        for name in arguments
        if name not in _FIELDS and name not in _OTHER_NAMES and name not in _CARRIED
    ]
    if unknown:
        raise _unknown(unknown)
    fields = {name: value for name, value in arguments.items() if name in _FIELDS}
    for name, value in arguments.items():
        if value is None or name in _FIELDS:
            continue
        if name in _CARRIED:
            fields["metadata"] = {**(fields.get("metadata") or {}), name: value}
            continue
        field = _OTHER_NAMES[name]
        own_field = fields.get(field)
        if own_field is not None and own_field is not value and own_field != value:
            raise InputError(
                f"{name} means {field}, which has another value: pass one of them",
                field=name,
            )
        fields[field] = value
    return fields


def _unknown(names: list[str]) -> InputError:
    from difflib import get_close_matches

    first = min(names)
    near = get_close_matches(first, [*_FIELDS, *_OTHER_NAMES], n=1)
    meant = f" (did you mean {near[0]!r}?)" if near else ""
    return InputError(
        f"unknown field {listed(names)}{meant}. A sample takes {', '.join(_FIELDS)}; and for "
        f"these the names {', '.join(_OTHER_NAMES)}. Anything else belongs in metadata",
        field=first,
    )


def _problem(problems: Mapping[str, str]) -> InputError:
    """Return the error that names all values of the wrong form, in the order of the fields."""
    first = [name for name in _FIELDS if name in problems]
    return InputError("; ".join(f"{name}: {problems[name]}" for name in first), field=first[0])


def _identified(
    contexts: tuple[Context, ...], ids: tuple[str | None, ...] | None
) -> tuple[Context, ...]:
    """Return `contexts` with the IDs that were given beside them."""
    if ids is None:
        return contexts
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
        identified.append(context if has_id else Context(**{**context.to_dict(), "id": own_id}))
    return tuple(identified)
