"""Find reference IDs in other fields of the retrieved contexts, or in another spelling."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from itertools import chain
from typing import Any, NamedTuple

from fullrecall._util.naming import parameter
from fullrecall.diagnosis.ids.matching import CHANCE, Groups, differences, matches_of, tail
from fullrecall.samples.context import ID, Context
from fullrecall.samples.hit_fields import values_by_path
from fullrecall.samples.identifiers import as_id
from fullrecall.samples.sample import Sample
from fullrecall.stats.estimates import Rewrite

_FEW_SAMPLES = 10
"""The fewest samples for a test of chance; with fewer, it is enough that every reference is found
by a word or a long number.
"""

_FEW_WORDS = 5
"""The fewest words among the references that prove that both sides name the same documents: two
unrelated lists of rivers may share two of three names.
"""

_LONG_NUMBER = 5
"""The fewest digits of a number that alone names a document."""


def id_hint(
    sample: Sample, other_ids: Mapping[str, Iterable[ID | None]] | None = None
) -> str | None:
    """Return a hint on how to find a sample's references, or ""; None if one was retrieved.

    `other_ids` maps each option of an adapter that is not in use to the IDs that this option would
    give the documents. The metadata of the contexts is always searched.
    """
    ids = sample.retrieved_context_ids or ()
    reference_ids = {
        own_id for group in sample.reference_context_ids or () for own_id in group.any_of
    }
    if not reference_ids.isdisjoint(ids):
        return None
    counts = Counter(
        {
            option: sum(_as_id(own_id) in reference_ids for own_id in named)
            for option, named in (other_ids or {}).items()
        }
    )
    contexts = sample.retrieved_contexts or ()
    for context in contexts:
        for path, value in _named_values(context.metadata):
            counts[parameter("id_key", path)] += value in reference_ids
    for option, count in counts.most_common(1):
        if count:
            return f"the references are in other fields: {option} would find them"
    return ""


def id_fields(context: Context) -> Iterator[tuple[str, str]]:
    """Yield the other IDs in a context, each as (place, ID); a place is a value of `id_key`.

    The places are the context's source and the keys of its metadata; a nested key has a dotted
    path.
    """
    if context.source is not None:
        yield "source", context.source
    if context.metadata:
        yield from _named_values(context.metadata)


def _named_values(metadata: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for path, value in values_by_path(metadata):
        own_id = value if type(value) is str else _as_id(value)
        if own_id:
            yield path, own_id


def _as_id(value: object) -> str | None:
    try:
        return as_id(value)
    except ValueError:  # a list, or a number with a fraction, is not an ID
        return None


def rewrite_of(
    contexts: Sequence[Sequence[Context]], references: Sequence[Groups]
) -> Rewrite | None:
    """Return the rewrite of the retrieved IDs with the largest recall by ID.

    A rewrite takes the IDs from another field of the contexts, or writes them in another way. If no
    rewrite finds references, the result only shows one retrieved ID and one reference ID. It is
    None if some reference was retrieved under its own ID. It is also None if no context or no
    reference has an ID. Both arguments have one item for each sample, in the same order.
    """
    fields: dict[str, list[set[str]]] = {}
    for position, listed in enumerate(contexts):
        for context in listed:
            for path, value in id_fields(context):
                fields.setdefault(path, [set() for _ in contexts])[position].add(value)
    rewrites = []
    for path, names in fields.items():
        found = _found_by(names, references, set().union(*names))
        if found is not None:
            sentence = (
                "another field of the retrieved contexts has the reference IDs: "
                f"{parameter('id_key', path)} {found.text}"
            )
            rewrites.append(Rewrite(sentence, found.gain))
    lists = [dict.fromkeys(context.id for context in listed if context.id) for listed in contexts]
    matches = matches_of(lists, references)
    retrieved = dict.fromkeys(chain.from_iterable(lists))
    pairs = {
        name: match
        for name, own in matches.items()
        if (match := next((each for each in own if each.retrieved in retrieved), None))
    }
    rewritten = [
        {*ids, *(name for name, own in matches.items() if any(m.retrieved in ids for m in own))}
        for ids in lists
    ]
    # Only whole IDs that are not bare numbers prove that both sides name the same documents: a bare
    # number may match the end of any ID, and a part of an ID may be in many IDs.
    lettered = {
        name
        for name, match in pairs.items()
        if match.part is None and not match.retrieved.isdigit()
    }
    found = _found_by(rewritten, references, lettered)
    if found is not None and pairs:
        first = next(iter(pairs.values()))
        differing = differences([*pairs.values()])
        forms = [form for kind, form in _FORMS.items() if kind in differing]
        sentence = (
            f"IDs differ in {differing}: {first.reference!r} was retrieved as "
            f"{first.retrieved!r} ({found.text}); "
            "to make them equal, write both in one way, or name a field that has the references' "
            f"IDs with {parameter('id_key')}"
        )
        if forms:
            sentence += f"; a template may have {' and '.join(forms)}"
        rewrites.append(Rewrite(sentence, found.gain))
    if rewrites:
        return max(rewrites, key=lambda rewrite: rewrite.gain or 0.0)
    needed = dict.fromkeys(chain.from_iterable(chain.from_iterable(references)))
    if not retrieved or not needed or not retrieved.keys().isdisjoint(needed):
        return None
    sentence = (
        f"no reference is among the {len(retrieved):,} retrieved IDs: retrieved "
        f"{next(iter(retrieved))!r}, needed {next(iter(needed))!r}; if both name one document, "
        f"write them alike, or name the field that has the references' IDs with "
        f"{parameter('id_key')}"
    )
    return Rewrite(sentence, None)


_FORMS = {
    "directory": "{source:name}, the name of a file",
    "numbers (from 0 or from 1)": "{page:+1}, a number plus one",
}
"""Templates of `id_key` that undo a difference of IDs."""


class _Fit(NamedTuple):
    """The success of a rewrite: it finds `hits` of `references`.

    `gain` is the mean recall after the rewrite. Recall before it is 0, so this is also the gain.
    """

    hits: int
    references: int
    gain: float

    @property
    def text(self) -> str:
        """The fit in words: "finds 12 of 14 (recall +0.857)"."""
        return f"finds {self.hits:,} of {self.references:,} (recall {self.gain:+.3f})"


def _found_by(
    names: Sequence[AbstractSet[str]], references: Sequence[Groups], pool: AbstractSet[str]
) -> _Fit | None:
    """Return how many references the rewritten IDs find; None if that may be chance.

    `names` has, for each sample, the retrieved IDs after a rewrite. `pool` has rewritten IDs of all
    samples. Chance is excluded if samples find their own references more often than those of other
    samples. It is also excluded if `pool` has the references: both sides then name the same
    documents.
    """
    samples = [pair for pair in zip(names, references, strict=True) if pair[1]]
    if not samples or (_is_chance(samples) and not _has_references(pool, references)):
        return None
    counts = [sum(not own.isdisjoint(group) for group in groups) for own, groups in samples]
    shares = [count / len(groups) for count, (_, groups) in zip(counts, samples, strict=True)]
    total = sum(len(groups) for _, groups in samples)
    return _Fit(sum(counts), total, sum(shares) / len(shares))


def _has_references(pool: AbstractSet[str], references: Sequence[Groups]) -> bool:
    """Return whether `pool` has at least half of the references, and not by chance.

    If some references are words, only words count, and there must be at least five. Unrelated whole
    numbers coincide often in a dense `pool`: page numbers from 1 to 20 include every reference from
    1 to 14.
    """
    needed = {own_id for groups in references for group in groups for own_id in group}
    words = {own_id for own_id in needed if not own_id.isdigit()}
    if words:
        return len(words) >= _FEW_WORDS and len(words & pool) * 2 >= len(words)
    numbers = {int(own_id) for own_id in pool if own_id.isdigit()}
    hits = len(needed & pool)
    if hits * 2 < len(needed) or not hits:
        return False
    density = len(numbers) / (max(numbers | set(map(int, needed))) + 1)
    return tail(hits, len(needed), density) <= CHANCE


def _is_chance(samples: Sequence[tuple[AbstractSet[str], Groups]]) -> bool:
    """Return whether chance may explain how many samples find references of their own.

    Each sample is a pair: its retrieved IDs after a rewrite, and its references.
    """
    count, fitting, share = len(samples), 0, 0.0
    if count < _FEW_SAMPLES and all(
        any(own_id in names and is_telling(own_id) for own_id in group)
        for names, groups in samples
        for group in groups
    ):
        return False
    holders: dict[str, set[int]] = defaultdict(set)
    for number, (names, _) in enumerate(samples):
        for own_id in names:
            holders[own_id].add(number)
    for number, (_, groups) in enumerate(samples):
        holding = [holders[own_id] for group in groups for own_id in group if own_id in holders]
        having = set().union(*holding)
        fitting += number in having
        share += len(having | {number}) / count**2
    return tail(fitting, count, share) > CHANCE


def is_telling(own_id: str) -> bool:
    """Return whether an ID is a word or a long number, which other fields do not have by chance."""
    return not own_id.isdigit() or len(own_id) >= _LONG_NUMBER
