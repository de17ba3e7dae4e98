"""Changes of how IDs are compared, with the recall that they would bring."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from fullrecall.context import Context
from fullrecall.diagnosis.change import ChangeKind
from fullrecall.diagnosis.effects import Baseline, Proposal
from fullrecall.diagnosis.id_evidence import IdEvidence
from fullrecall.diagnosis.id_forms import named_values
from fullrecall.diagnosis.rescoring import ByIds, Rescored


def id_proposals(
    baseline: Baseline, rescored: Mapping[int, Rescored], ids: IdEvidence
) -> Iterator[Proposal]:
    """Yield the proposals: IDs in one form, IDs of another field, IDs of documents."""
    places = [place for place, by in rescored.items() if isinstance(by, ByIds)]
    if not places:
        return
    forms: dict[str, None] = {}
    fields: dict[str, None] = {}
    same: dict[tuple[int, str], int] = {}
    by_level = False
    for position, wanted, alias in ids.aliases():
        if alias.rank is None:
            continue
        if alias.relation in ("form", "path", "rewrite"):
            told = [alias.where] if alias.relation == "rewrite" else alias.where.split(" and ")
            forms |= dict.fromkeys(told if alias.where else ["leading path"])
            same[position, wanted] = alias.rank
        elif alias.relation in ("named", "source"):
            fields[alias.where] = None
        else:
            by_level = True
    if same:
        yield Proposal(
            ChangeKind.NORMALIZE_IDS,
            f"write IDs in one way: ignore {', '.join(forms)}",
            {place: _in_one_form(baseline, place, same) for place in places},
        )
    for where in fields:
        yield Proposal(
            ChangeKind.ID_LEVEL,
            f"read IDs from {where} (id_key)",
            {place: _mapped(baseline, place, _field(where), str) for place in places},
        )
    if by_level:
        yield Proposal(
            ChangeKind.ID_LEVEL,
            "compare IDs of documents: leave out what numbers their chunks",
            {
                place: _mapped(
                    baseline,
                    place,
                    lambda context: None if context.id is None else _document(context.id, ids),
                    lambda wanted: _document(wanted, ids),
                )
                for place in places
            },
        )


def _in_one_form(
    baseline: Baseline, place: int, same: Mapping[tuple[int, str], int]
) -> Sequence[float | None]:
    """Return recall with targets found where their ID stands in another form."""
    values = list(baseline.values[place])
    for position in {position for position, _ in same}:
        if values[position] is None:
            continue
        result = baseline.rows[position].results[place]
        found = 0
        for finding in result.ranked:
            ranks = [
                same[position, one] for one in finding.target.any_of if (position, one) in same
            ]
            within = any(baseline.k is None or rank <= baseline.k for rank in ranks)
            found += within or finding.found_at(baseline.k)
        values[position] = found / len(result.findings)
    return values


def _mapped(
    baseline: Baseline,
    place: int,
    of_context: Callable[[Context], str | None],
    of_wanted: Callable[[str], str],
) -> Sequence[float | None]:
    """Return recall with other IDs read from the contexts that count."""
    values: list[float | None] = []
    for position, before in enumerate(baseline.values[place]):
        contexts = baseline.lists[position]
        if before is None or contexts is None:
            values.append(before)
            continue
        ids = {of_context(context) for context in contexts}
        targets = baseline.rows[position].results[place].targets
        found = sum(any(of_wanted(one) in ids for one in target.any_of) for target in targets)
        values.append(found / len(targets))
    return values


def _field(where: str) -> Callable[[Context], str | None]:
    if where == "source":
        return lambda context: context.source
    return lambda context: dict(named_values(context.metadata)).get(where)


def _document(given: str, ids: IdEvidence) -> str:
    return ids.document(given) or given
