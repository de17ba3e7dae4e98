"""Convert a sample's references to one form, from each form that users write."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

from fullrecall._util.pieces import paused
from fullrecall._util.values import shown
from fullrecall.errors import InputError
from fullrecall.samples.context import ID, Context, as_context, as_number
from fullrecall.samples.identifiers import as_id, as_list, as_texts, each_of, is_uuid


class Claim(NamedTuple):
    """One claim of a reference answer; `vital` is True if an answer must make the claim."""

    text: str
    vital: bool = True


class Reference(NamedTuple):
    """One target: at least one of the IDs in `any_of` must be retrieved.

    `grade` is the relevance of the target. A target counts in recall if its grade is at least the
    scorer's `min_grade`. In nDCG, the grade is the target's gain.
    """

    any_of: tuple[str, ...]
    grade: float = 1.0


ReferenceIds: TypeAlias = (
    "Iterable[ID | Iterable[ID] | Mapping[str, Any] | Reference] | Mapping[Any, float]"
)
"""IDs, `{id: grade}`, or a list whose items may be any-of groups of IDs."""


class SingleIds(NamedTuple):
    """Reference IDs without alternatives; `grades` is None if all are 1.0."""

    ids: tuple[str, ...]
    grades: tuple[float, ...] | None = None

    @classmethod
    def of(cls, references: Sequence[Reference]) -> SingleIds | None:
        """Return references as single IDs; None if one has alternatives."""
        ids = [any_of[0] for any_of, _ in references if len(any_of) == 1]
        if len(ids) < len(references):
            return None
        grades = [grade for _, grade in references]
        return SingleIds(tuple(ids), tuple(grades) if set(grades) - {1.0} else None)

    @property
    def references(self) -> tuple[Reference, ...]:
        """The single IDs as references."""
        if self.grades is None:
            return tuple([Reference((name,)) for name in self.ids])
        pairs = zip(self.ids, self.grades, strict=True)
        return tuple([Reference((name,), grade) for name, grade in pairs])


_PIECE = 50_000
"""The number of IDs that are compared in one call of C, which cannot be interrupted."""


def as_reference_ids(value: object) -> SingleIds | tuple[Reference, ...]:
    """Return distinct references, without blank ones, each with its highest grade.

    Returns `SingleIds` if no reference has alternatives.
    """
    # nearly always true; the other checks take longer
    is_list = type(value) is list or type(value) is tuple
    if not is_list and isinstance(value, Mapping):
        references = [Reference((as_id(key),), _grade(grade)) for key, grade in value.items()]
    else:
        items: Any = value if is_list else _one_or_many(value)
        texts = as_texts(items)
        if texts is not None:
            if len(texts) < _PIECE:
                distinct = set(texts)  # this takes less time than a `dict`, which is rarely needed
                if len(distinct) == len(texts) and "" not in distinct:
                    return SingleIds(tuple(texts))
            names = dict.fromkeys(texts if len(texts) < _PIECE else paused(texts, _PIECE))
            names.pop("", None)
            return SingleIds(tuple(names))
        references = each_of(items, _reference)
    best: dict[tuple[str, ...], Reference] = {}
    for any_of, grade in references:
        members = tuple(member for member in dict.fromkeys(any_of) if member)
        if members and (members not in best or best[members].grade < grade):
            best[members] = Reference(members, grade)
    return SingleIds.of(tuple(best.values())) or tuple(best.values())


def _reference(item: object) -> Reference:
    if isinstance(item, Reference):
        return Reference(tuple(map(as_id, item.any_of)), _grade(item.grade))
    if isinstance(item, Mapping):
        names = item.keys() - {"grade"}
        if names not in ({"any_of"}, {"id"}):
            raise InputError(f'expected a group {{"any_of": [ids], "grade": n}}, got {shown(item)}')
        members = _one_or_many(item[names.pop()])
        return Reference(tuple(map(as_id, members)), _grade(item.get("grade", 1.0)))
    if isinstance(item, Iterable) and not isinstance(item, (str, bytes)):
        return Reference(_members(list(item)))
    return Reference((as_id(item),))


def _one_or_many(value: object) -> list[object]:
    """Return references as a list; a single text, number, or UUID becomes a list of one.

    Raises `InputError` for a text that may be several IDs: as one ID, it would equal no other ID.
    """
    if isinstance(value, str) and any(mark in value for mark in ",;|\n"):
        text = shown(value)
        raise InputError(f"{text} may be several IDs: pass them as a list, or [{text}] for one")
    is_one = (isinstance(value, (str, int)) and not isinstance(value, bool)) or is_uuid(value)
    return [value] if is_one else as_list(value, ordered=False)


def _members(items: list[object]) -> tuple[str, ...]:
    """Return the IDs of an any-of group.

    Raises `InputError` if texts are mixed with numbers, which may be a document and its page.
    """
    if len({isinstance(item, str) for item in items}) > 1:
        raise InputError(
            f"{shown(items)} mixes texts and numbers: write a document and its page as one ID, "
            '"a.pdf#3" (in a file, by the path NAME[].{[0]}#{[1]}), alternatives all as texts'
        )
    return tuple(map(as_id, items))


def _grade(value: object) -> float:
    return as_number(value, "a grade")


def plain_references(references: Sequence[Reference]) -> object:
    """Return references in the simplest form that `Sample` accepts."""
    single = SingleIds.of(references)
    if single is None:
        return [{"any_of": list(any_of), "grade": grade} for any_of, grade in references]
    ids, grades = single
    return list(ids) if grades is None else dict(zip(ids, grades, strict=True))


def as_reference_contexts(value: object) -> tuple[tuple[Context, ...], ...]:
    """Convert reference contexts to any-of groups, without blank texts."""
    is_one = isinstance(value, (str, Context))
    groups = each_of([value] if is_one else as_list(value, ordered=False), _group)
    return tuple(group for group in groups if group)


def _group(item: object) -> tuple[Context, ...]:
    several = isinstance(item, Sequence) and not isinstance(item, str)
    items: Sequence[object] = item if several else (item,)  # type: ignore[assignment]
    members = map(as_context, items)
    return tuple(member for member in members if member.text is None or member.text.strip())


def as_claims(value: object) -> tuple[Claim, ...]:
    """Return distinct claims; a repeated claim is vital if any of its repetitions is."""
    vital: dict[str, bool] = {}
    for claim in each_of(as_list(value, ordered=False), _claim):
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
    raise InputError(
        'expected a claim, a str or {"text": …, "importance": "vital" or "okay"}, got '
        f"{shown(item)}"
    )


def plain_claims(claims: Iterable[Claim]) -> list[object]:
    """Return claims as plain JSON values."""
    return [
        claim.text if claim.vital else {"text": claim.text, "importance": "okay"}
        for claim in claims
    ]


def as_entities(value: object) -> tuple[str, ...]:
    """Return distinct texts that are not blank."""
    texts = each_of(as_list(value, ordered=False), _text)
    return tuple(dict.fromkeys(text for text in texts if text.strip()))


def _text(item: object) -> str:
    if not isinstance(item, str):
        raise InputError(f"expected a str, got {shown(item)}")
    return item


def as_forbidden_ids(value: object) -> tuple[str, ...]:
    """Return distinct IDs; raise `InputError` for a blank one."""
    return tuple(dict.fromkeys(each_of(as_list(value, ordered=False), _id)))


def _id(value: object) -> str:
    name = as_id(value)
    if not name:
        raise InputError("expected an ID, got a blank text")
    return name


def as_forbidden_contexts(value: object) -> tuple[Context, ...]:
    """Convert forbidden contexts; raise `InputError` for one that has no ID, range, or text."""
    return tuple(each_of(as_list(value, ordered=False), _forbidden_context))


def _forbidden_context(item: object) -> Context:
    context = as_context(item)
    if context.id is None and context.start is None and not (context.text or "").strip():
        raise InputError("expected a text, got a blank one")
    return context


def as_superseded(value: object) -> Mapping[str, str]:
    """Return the superseded IDs, each with its final successor; raise `InputError` for a cycle."""
    if not isinstance(value, Mapping):
        raise InputError(f'expected a mapping {{"old": "new"}}, got {shown(value)}')
    successors = {_id(old): _id(new) for old, new in value.items()}
    last = {}
    for old, successor in successors.items():
        visited, new = {old}, successor
        while new in successors and new not in visited:
            visited.add(new)
            new = successors[new]
        if new in visited:
            raise InputError(f"{shown(new)} comes to supersede itself")
        last[old] = new
    return last
