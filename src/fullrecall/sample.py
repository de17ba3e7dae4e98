"""What is measured: a question, what was retrieved for it, and what should have been."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import repeat
from math import isfinite
from typing import Any, NamedTuple, TypeAlias

from fullrecall.context import ID, Context, ContextLike, as_context, as_metadata, as_number, listed
from fullrecall.errors import InputError
from fullrecall.identifiers import as_id, as_list, as_ranked_ids, is_texts, shown
from fullrecall.retrieval import Retrieval, Stage, as_contexts


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
    """Reference IDs without alternatives, distinct; `grades` is None where all are 1.0."""

    ids: tuple[str, ...]
    grades: tuple[float, ...] | None = None

    def references(self) -> tuple[Reference, ...]:
        """Return them as references."""
        grades = repeat(1.0) if self.grades is None else self.grades
        return tuple([Reference((i,), g) for i, g in zip(self.ids, grades, strict=False)])


def _reference_ids(value: object) -> tuple[Reference, ...] | SingleIds:
    if type(value) is list and is_texts(value):  # nearly always, and told soonest
        distinct = dict.fromkeys(value)
        distinct.pop("", None)
        return SingleIds(tuple(distinct))
    if isinstance(value, Mapping):
        plain = _plain_grades(value)
        if plain is not None:
            return plain
        references = [Reference((as_id(key),), _grade(grade)) for key, grade in value.items()]
    else:
        items = as_list(value, ordered=False)
        if is_texts(items):
            return SingleIds(tuple(filter(None, dict.fromkeys(items))))
        references = [_at(position, _reference, item) for position, item in enumerate(items)]
    best: dict[tuple[str, ...], Reference] = {}
    for reference in references:
        members = tuple(member for member in dict.fromkeys(reference.any_of) if member)
        if members and (members not in best or best[members].grade < reference.grade):
            best[members] = Reference(members, reference.grade)
    return tuple(best.values())


def _plain_grades(graded: Mapping[Any, Any]) -> SingleIds | None:
    """Return IDs that are texts with grades that are numbers; None for others."""
    ids, grades = list(graded), list(graded.values())
    if not (_NUMBERS.issuperset(map(type, grades)) and is_texts(ids) and all(ids)):
        return None
    try:
        numbers = list(map(float, grades))
    except OverflowError:
        return None
    if not all(map(isfinite, numbers)):
        return None
    return SingleIds(tuple(ids), tuple(numbers))


_NUMBERS = frozenset({int, float})


def _reference(item: object) -> Reference:
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


class _Single:
    """Room for single reference IDs, which a sample keeps as they are until they are read."""

    __slots__ = ("_single",)

    _single: SingleIds | None


@dataclass(frozen=True, slots=True, init=False)
class Sample(_Single):
    """One question with what was retrieved for it and what should have been; immutable.

    A field that is None is *missing*: a scorer that needs it answers `unscored`. An empty list
    is an answer: nothing retrieved scores 0.0, no reference items leave recall undefined.

    - `retrieved_contexts`: what the retriever returned, best first. The order is the rank.
      `retrieved_context_ids`: the same as IDs, with or without the texts.
    - `reference_context_ids`: IDs; `{id: grade}`; or a list whose items may be any-of groups
      (`[["a", "b"], ["c"]]`), graded as `{"any_of": ["a", "b"], "grade": 2}`.
      `reference_contexts`: texts; an item may be a list of texts of which any one serves.
    - `reference`: the reference answer. `reference_claims`, `reference_entities`: its parts.
    - `response`: what the generator said. `group`: samples that are not independent share it.
    - `retrieval`: how the retrieved contexts came about, where that was recorded: a `Retrieval`
      or a mapping with its fields. It has the contexts; `retrieved_contexts` is then left out.

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
    response: str | None
    group: str | None
    retrieval: Retrieval | None
    metadata: Mapping[str, Any]

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
        response: str | None = None,
        group: ID | None = None,
        retrieval: Retrieval | Mapping[str, Any] | None = None,
        metadata: Mapping[str, Any] | None = None,
        **names_of_other_tools: Any,
    ) -> None:
        # One is made for each row of a data set: fields that are not given cost next to nothing.
        values: tuple[Any, ...] = (
            id,
            user_input,
            retrieved_contexts,
            retrieved_context_ids,
            reference,
            reference_contexts,
            reference_context_ids,
            reference_claims,
            reference_entities,
            response,
            group,
            retrieval,
            metadata,
        )
        if names_of_other_tools:
            fields = dict(zip(_CONVERT, values, strict=True))
            _translate(names_of_other_tools, fields)
            values = tuple(fields.values())
        _put_retrieval(self, None)
        _put_contexts(self, None)
        self._convert(values)
        if self.retrieved_contexts is None and self.retrieval is None:
            return
        if self.retrieved_contexts is not None:
            contexts = _identified(self.retrieved_contexts, self.retrieved_context_ids)
            object.__setattr__(self, "retrieved_contexts", contexts)
        if self.retrieval is not None:
            self._take(self.retrieval)
        if self.retrieved_contexts is not None:
            ids = tuple(context.id for context in self.retrieved_contexts)
            object.__setattr__(self, "retrieved_context_ids", ids)

    def _convert(self, values: Sequence[Any]) -> None:
        """Set each field; raise `InputError` that names all values of the wrong form."""
        problems: dict[str, str] = {}
        for value, (name, convert, put) in zip(values, _FIELDS, strict=False):
            if value is None:
                continue  # what is not given is None when it is read
            try:
                converted = convert(value)
            except ValueError as error:
                problems[name] = str(error)
            else:
                # Single IDs stay what they are until someone reads them as references.
                (_put_single if type(converted) is SingleIds else put)(self, converted)
        if problems:
            raise InputError(
                "; ".join(f"{name}: {problem}" for name, problem in problems.items()),
                field=next(iter(problems)),
            )

    def __getattr__(self, name: str) -> Any:
        if name == "_single":
            _put_single(self, None)
        elif name == "reference_context_ids":
            single = self._single
            made = None if single is None else single.references()
            object.__setattr__(self, name, made)
        elif name in _CONVERT:
            object.__setattr__(self, name, {} if name == "metadata" else None)
        else:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        return getattr(self, name)

    @property
    def single_reference_ids(self) -> SingleIds | None:
        """The reference IDs where none is an any-of group, cheaper to read than `Reference`s.

        None where there are groups, or the references were given as `Reference`s or mappings.
        """
        return self._single

    @classmethod
    def names(cls) -> dict[str, tuple[str, ...]]:
        """Return each field with the other names under which `Sample` takes it."""
        return {
            field: tuple(other for other, ours in _OTHER_NAMES.items() if ours == field)
            for field in _CONVERT
        }

    def with_retrieval(self, retrieval: Retrieval | Iterable[ContextLike]) -> Sample:
        """Return this sample with another retrieval, or with the contexts of one.

        `response` is that of the retrieval, where it has one. Raises `InputError` for items that
        are not contexts.
        """
        fields = {name: getattr(self, name) for name in _CONVERT}
        fields |= {"retrieved_contexts": None, "retrieved_context_ids": None, "retrieval": None}
        if isinstance(retrieval, Retrieval):
            fields["retrieval"] = retrieval
            if retrieval.response is not None:
                fields["response"] = retrieval.response
        else:
            fields["retrieved_contexts"] = list(retrieval)
        return Sample(**fields)

    def at_stage(self, name: str) -> Sample:
        """Return this sample as if the stage `name` had handed on the final list.

        Without that stage in the sample it has no retrieval, and says so.
        """
        contexts = None if self.retrieval is None else self.retrieval.at_stage(name)
        if contexts is not None:
            return self.with_retrieval(contexts)
        return self.with_retrieval(Retrieval(error=f"the sample has no stage {name!r}"))

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

    def _take(self, record: Retrieval) -> None:
        """Take over what a recorded retrieval says; a record without contexts takes the sample's.

        Raises `InputError` where both have contexts that differ.
        """
        put, given = object.__setattr__, self.retrieved_contexts
        if given is None:
            put(self, "retrieved_contexts", record.contexts)
        elif record.contexts is None:
            put(self, "retrieval", record.with_contexts(given))
        elif given != record.contexts:
            raise InputError(
                "retrieved_contexts and retrieval differ: pass one of them",
                field="retrieved_contexts",
            )
        if self.response is None:
            put(self, "response", record.response)

    def to_dict(self) -> dict[str, Any]:
        """Return the fields that are given as plain JSON values; `Sample(**these)` is equal."""
        given: dict[str, Any] = {}
        for name in _CONVERT:
            value = getattr(self, name)
            if value is None or value == {}:
                continue
            value = _PLAIN[name](value) if name in _PLAIN else value
            given[name] = list(value) if isinstance(value, tuple) else value
        if self.retrieved_contexts is not None:
            del given["retrieved_context_ids"]
        if self.retrieval is not None:
            if self.retrieval.contexts is not None:
                del given["retrieved_contexts"]
            if self.retrieval.response == self.response:
                given.pop("response", None)
        return given

    @property
    def has_retrieval(self) -> bool:
        """Whether a retrieval was observed; an empty one was."""
        return self.retrieved_contexts is not None or self.retrieved_context_ids is not None


_CONVERT: dict[str, Callable[[Any], object]] = {
    "id": as_id,
    "user_input": _one_text,
    "retrieved_contexts": as_contexts,
    "retrieved_context_ids": as_ranked_ids,
    "reference": _one_text,
    "reference_contexts": _reference_contexts,
    "reference_context_ids": _reference_ids,
    "reference_claims": _claims,
    "reference_entities": _texts,
    "response": _one_text,
    "group": as_id,
    "retrieval": _retrieval,
    "metadata": as_metadata,
}
"""Each field of a `Sample` with what brings a user's value into its one form."""

_FIELDS = tuple(
    (name, convert, getattr(Sample, name).__set__) for name, convert in _CONVERT.items()
)
"""The same with what sets the field of a frozen sample."""

_put_single = vars(_Single)["_single"].__set__  # of a frozen class's slot
_put_retrieval, _put_contexts = (
    getattr(Sample, name).__set__ for name in ("retrieval", "retrieved_contexts")
)

_PLAIN: dict[str, Callable[[Any], object]] = {
    "retrieved_contexts": lambda contexts: [context.to_dict() for context in contexts],
    "retrieval": Retrieval.to_dict,
    "reference_contexts": lambda groups: [[one.to_dict() for one in group] for group in groups],
    "reference_context_ids": _plain_references,
    "reference_claims": lambda claims: [
        claim.text if claim.vital else {"text": claim.text, "importance": "okay"}
        for claim in claims
    ],
}
"""What turns a field into plain JSON values, where it does not consist of them."""

_OTHER_NAMES = {
    "sample_id": "id",
    "query_id": "id",
    "qid": "id",
    "question": "user_input",
    "query": "user_input",
    "input": "user_input",
    "contexts": "retrieved_contexts",
    "documents": "retrieved_contexts",
    "retrieved_documents": "retrieved_contexts",
    "source_documents": "retrieved_contexts",
    "retrieval_context": "retrieved_contexts",
    "retrieved_ids": "retrieved_context_ids",
    "ground_truth": "reference",
    "ground_truths": "reference",
    "reference_answer": "reference",
    "expected_output": "reference",
    "expected_texts": "reference_contexts",
    "expected_ids": "reference_context_ids",
    "reference_ids": "reference_context_ids",
    "answer": "response",
    "prediction": "response",
    "output": "response",
    "actual_output": "response",
}
"""Names that other tools use: ragas (old), LangChain, LlamaIndex, deepeval, TREC."""

_CARRIED = frozenset({
    "multi_responses", "rubrics", "persona_name", "query_style", "query_length",
    "synthesizer_name", "evolution_type", "episode_done", "query_by", "reference_answer_by",
})  # fmt: skip
"""Columns of ragas and LlamaIndex data sets that no scorer uses: kept in `metadata`."""


def _translate(names: Mapping[str, Any], fields: dict[str, Any]) -> None:
    unknown = names.keys() - _OTHER_NAMES.keys() - _CARRIED
    if unknown:
        own = ", ".join(fields)
        others = ", ".join(_OTHER_NAMES)
        from difflib import get_close_matches

        near = get_close_matches(min(unknown), [*fields, *_OTHER_NAMES], n=1)
        meant = f" (did you mean {near[0]!r}?)" if near else ""
        raise InputError(
            f"unknown field {listed(unknown)}{meant}. A sample takes {own}; and for these the "
            f"names {others}. Anything else belongs in metadata",
            field=min(unknown),
        )
    for name, value in names.items():
        if value is None:
            continue
        if name in _CARRIED:
            fields["metadata"] = {**(fields["metadata"] or {}), name: value}
            continue
        field = _OTHER_NAMES[name]
        if fields[field] is not None and fields[field] is not value and fields[field] != value:
            raise InputError(
                f"{name} means {field}, which has another value: pass one of them",
                field=name,
            )
        fields[field] = value


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
    for rank, (context, given) in enumerate(zip(contexts, ids, strict=True), start=1):
        if context.id is not None and given is not None and context.id != given:
            raise InputError(
                f"rank {rank}: the context's id is {context.id!r}, retrieved_context_ids says "
                f"{given!r}",
                field="retrieved_context_ids",
            )
        known = given is None or context.id is not None
        identified.append(context if known else Context(**{**context.to_dict(), "id": given}))
    return tuple(identified)
