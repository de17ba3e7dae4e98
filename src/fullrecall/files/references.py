"""Find the columns of references and of retrieved contexts: IDs, texts, objects, pages, spans."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from fullrecall.files.cells import has_mark
from fullrecall.files.columns import ColumnValues, are_numbered, asks, form_of, is_id_like, is_pair
from fullrecall.files.objects import IDS, TEXTS, are_judged, of_objects
from fullrecall.files.partial_plan import PartialPlan
from fullrecall.files.paths import path_of, taken_by
from fullrecall.files.plans import FIELDS, REFERENCES
from fullrecall.files.usual_names import snake, usual

CLAIMS = "reference_claims"
_MOST_CLAIM_WORDS = 40  # longer texts are passages
_WEAK = ("title", "source", "source_id", "name", "ref")
"""The last names of `usual.ID_KEYS`; columns with these names may hold remarks instead of IDs."""


_NOUNS = frozenset({"chunk", "doc", "docid", "document", "file", "filename", "passage"})
_ID_WORDS = frozenset({"docid", "id", "ids", "uuid"})
_KNOWN = usual.GOLD | usual.NOUNS | usual.DOCUMENTS | _ID_WORDS
"""Words in the names of columns that hold documents; any other word means a property, as in
`doc_type`.
"""


class ReferencesPlan(PartialPlan):
    """A plan under construction that can find the columns of references and retrieved contexts."""

    def references(self) -> None:
        """Use the columns of references and of the retrieved contexts, or note a doubt."""
        aside = self._contexts()
        free = [
            each
            for each in self.free()
            if each not in aside and each.name not in (*usual.IDS, "metadata")
        ]
        self._retrieved(free)
        free = [each for each in free if each.path not in self.taken()]
        self.take(free, is_alone=not any(name in self.fields for name in REFERENCES[:2]))
        self._mistyped()
        if IDS not in self.fields and not any(each.field == IDS for each in self.doubts):
            self._left()
            self._in_metadata()

    def _contexts(self) -> list[ColumnValues]:
        """Use `context` and `contexts` as references or as retrieved contexts, or note a doubt.

        Returns the columns that later steps must not use: `context`, and also `contexts` if it may
        be references as well as retrieved contexts.
        """
        names = {snake(name) for name in self.names}
        answer = self.fields.get("reference", "outputs.answer")
        has_answer = "." not in answer or path_of(answer).columns.isdisjoint(usual.OUTPUTS)
        others = {"answer", "reference_claims", "reference_entities", *usual.RESPONSES}
        is_open = has_answer and not names & others
        if self.fields.get("retrieved_contexts") == "contexts" and is_open:
            why = "contexts may be what was retrieved (retrieved_contexts), or what should be"
            self.fields.pop("retrieved_contexts")
            self._doubt_side(self.columns["contexts"], why)
        contexts = [each for each in self.free() if each.name == "context" and each.items]
        for column in contexts:
            self._context(column)
        if is_open and "contexts" in self.columns:
            contexts.append(self.columns["contexts"])
        return contexts

    def _mistyped(self) -> None:
        """Note a doubt if the name of an unused column looks like a misspelled field name.

        There is no doubt if the field already has a path.
        """
        from difflib import get_close_matches  # Few files need this module.

        names = [name for name, field in FIELDS.items() if field != "id"]
        known = {*FIELDS, *usual.ANSWERS, "context"}
        used = taken_by(self.fields)
        near = [each for each in self.free() if each.name not in known | used]
        for column in near:
            meant = get_close_matches(column.name, names, n=1, cutoff=0.85)
            if (
                column.words & (usual.OTHERS - {"retrieved"})
                or not meant
                or FIELDS[meant[0]] == "id"
            ):
                continue
            if f"{column.name}s" not in meant and FIELDS[meant[0]] not in self.fields:
                self.doubt(FIELDS[meant[0]], f"{column.path} may be mistyped", column.path)

    def _in_metadata(self) -> None:
        """Use the only key of the metadata that is named like references and has IDs or grades.

        If it may hold remarks instead, note a doubt.
        """
        for column in self.columns.values():
            if column.name in ("metadata", "meta"):
                named = [part for part in column.parts() if self._is_reference(part)]
                parts = [part for part in named if part.form == "ids" or part.are_grades]
                if len(parts) != 1:
                    continue
                if not self._may_be_remark(parts[0]):
                    self.put(IDS, parts[0].path)
                else:
                    self.doubt(IDS, "the metadata may have the references", parts[0].path)

    def _left(self) -> None:
        """Note a doubt about unused lists and objects that may hold the references."""
        if self.doubts or TEXTS in self.fields:
            return
        is_known = not {*REFERENCES, "answerable"}.isdisjoint(self.fields)
        lists = [
            each
            for each in self.free()
            if each.items and (each.has_lists or each.is_all(Mapping))
            if not each.words & usual.OTHERS or (not is_known and _are_labels(each))
            if each.name not in (*usual.TURNS, *usual.INPUTS, "metadata", "meta", "tags")
            if not is_known or (each.above is None and each.has_lists and _are_documents(each))
        ]
        paths = [
            path for each in lists if each.is_all(Mapping) for path in of_objects(each).values()
        ]
        paths += [each.path for each in lists if not (each.is_all(Mapping) and of_objects(each))]
        if paths and not any(name.startswith("retriev") for name in self.fields):
            field, why = IDS, "references"
            if all(each.form == "texts" for each in lists):  # sentences are not IDs
                items = [item for each in lists for item in each.items]
                are_claims = all(len(item.split()) <= _MOST_CLAIM_WORDS for item in items)
                field = CLAIMS if are_claims else TEXTS
                why = f"claims ({CLAIMS}) or texts ({TEXTS})"
            self.doubt(field, f"{' or '.join(paths)} may hold {why}", *paths)

    def is_test_set(self) -> bool:
        """Return whether a column has a name that only generators of test sets write."""
        return bool(set(map(snake, self.names)) & set(usual.TEST_SETS))

    def may_be_ids(self, column: ColumnValues) -> bool:
        """Return whether a column that is named like an answer seems to hold IDs instead."""
        if column.form != "ids":
            return False
        if column.words & {"answer", "generation", "output", "response"}:
            return bool(column.words & (usual.DOCUMENTS | {"id", "ids"}))
        several = any(
            isinstance(value, (list, tuple)) and len(value) > 1 for value in column.values
        )
        if several or all(has_mark(str(item)) for item in column.items):
            return True
        if self._has_documents(column):
            return False
        is_reference = column.name in ("reference", "references")
        has_numbers = is_reference and column.are_numbers and len(set(column.items)) > 1
        return all(map(is_id_like, column.items)) or has_numbers

    def is_bare(self, column: ColumnValues) -> bool:
        """Return whether a column such as `gold` or `expected` may hold answers as well as IDs."""
        if not column.words <= usual.BARE or not column.items or column.form != "ids":
            return False
        is_constant = len(column.items) > 1 and len(set(column.items)) == 1
        is_open = is_constant or any(map(is_id_like, column.items))
        return is_open or not self._has_documents(column)

    def _has_documents(self, answer: ColumnValues) -> bool:
        """Return whether another column is clearly named like references, not like answers."""
        others = [each for each in self.columns.values() if each.name not in usual.ANSWERS]
        named = [each for each in others if each is not answer and not each.words <= usual.BARE]
        return any(map(self._is_reference, named))

    def _context(self, column: ColumnValues) -> None:
        """Use `context` as a reference or a retrieved context; if it may be either, note a doubt.

        The column is a reference in three cases: in generated test sets; if several questions share
        a context; or if answers have offsets in the context. Beside a generated and an expected
        answer, it is a retrieved context.
        """
        has_offsets = any(each.name == "answer_start" for each in self.parts)
        if self.is_test_set() or column.path in self.above or has_offsets:
            self.put(TEXTS, column.path)
        elif {"response", "reference"} <= self.fields.keys():
            self.put("retrieved_contexts", f"{column.path}[]")
        else:
            self._doubt_side(column, f"{column.path} may be what was retrieved, or what should be")

    def _doubt_side(self, column: ColumnValues, why: str) -> None:
        """Note a doubt about a column that may hold references or retrieved contexts.

        If the column holds objects, note a doubt about their texts, and one about their IDs.
        """
        found = of_objects(column) if column.is_all(Mapping) else {TEXTS: column.path}
        for field, path in found.items():
            self.doubt(field, why, path)

    def _retrieved(self, columns: Sequence[ColumnValues]) -> None:
        """Use the columns of the retrieved contexts or IDs, such as `documents` beside gold IDs."""
        gold = usual.GOLD - {"answer"}
        has_gold = IDS in self.fields or any(each.words & gold for each in columns)
        for column in columns:
            is_result = "result" in column.words and column.has_lists and _are_documents(column)
            is_count = column.are_numbers and not column.has_lists
            is_named = is_result or (column.words & {"retrieved", "hit"} and not is_count)
            is_named = is_named or (has_gold and FIELDS.get(column.name) == "retrieved_contexts")
            if is_named and not column.words & (usual.GOLD | {"gt"}):
                found = of_objects(column) if column.is_all(Mapping) else {}
                if column.form == "ids":
                    self.put("retrieved_context_ids", column.path)
                elif IDS in found and (is_result or TEXTS not in found):
                    self.put("retrieved_context_ids", found[IDS])
                elif column.form == "texts" or column.is_all(Mapping):
                    self.put("retrieved_contexts", column.path)

    def take(self, columns: Sequence[ColumnValues], *, is_alone: bool) -> None:
        """Use the columns named like references, else those named like documents.

        `is_alone`: whether no reference IDs or texts were found before.
        """
        spans = self._flat_span(columns)
        places = [
            each
            for each in columns
            if each.words & usual.PLACES
            and each.are_numbers
            and not each.words & (usual.OFFSETS | {"from", "to"})
        ]
        named = [each for each in columns if self._is_reference(each) and each not in places]
        gold = [each for each in named if each.is_gold]
        documents = [each for each in named if not each.is_gold]
        if spans is not None:
            self.put(TEXTS, spans)
            return
        ids: list[str] = []
        texts: list[str] = []
        unclear: list[str] = []
        holding = [each for each in gold if self._holds_documents(each, is_alone=is_alone)]
        for column in holding:
            self._classify(column, ids, texts, unclear)
        if any(each.field == TEXTS for each in self.doubts):
            documents = [each for each in documents if self._is_sure(each)]
        if not ids and (places or not texts):
            if TEXTS in self.fields:  # A title is the heading of these texts, not an ID.
                documents = [each for each in documents if each.name != "title"]
            ids = self._of_documents(documents, texts, unclear, is_placed=bool(places))
        if places and is_alone:
            named = [each for each in (*holding, *documents) if each.form == "ids"]
            own = [each for each in places if each.path not in self.above] or places
            self._placed(own[0], [each for each in named if not each.has_lists])
            ids = []
        known = {IDS, TEXTS} & self.fields.keys()
        if not (ids or texts or unclear or known) and is_alone:
            sure = [each for each in columns if each.form == "ids" and self._is_sure(each)]
            other_gold = [each for each in gold if each not in holding and each.is_all((str, int))]
            sure = [each for each in sure if not each.words & usual.OTHERS]
            other_gold = [each for each in other_gold if "answer" not in each.words]
            may = sure if "reference" in self.fields else other_gold or sure
            unclear = [each.path for each in may]
        self._decide(IDS, ids, unclear)
        self._decide(TEXTS, texts, [])

    def _of_documents(
        self, columns: list[ColumnValues], texts: list[str], unclear: list[str], *, is_placed: bool
    ) -> list[str]:
        """Return the paths of the IDs in columns that are named like documents.

        If the columns may hold remarks, note a doubt and return []. Add the paths of texts to
        `texts`, and the paths of unclear columns to `unclear`. If `is_placed`, the rows have page
        numbers, which are useless without a document's ID; no doubt is noted then.
        """
        ids: list[str] = []
        has_retrieval = any(field.startswith("retriev") for field in self.fields)
        for column in columns:
            self._classify(column, ids, [] if texts else texts, [] if has_retrieval else unclear)
        named = [each for each in columns if not self._may_be_remark(each)]
        if unclear:
            named = [each for each in columns if self._is_sure(each)]
        else:
            ids = self._widest([path for path in ids if _is_of(path, named)] or ids)
        is_sure = len(ids) == 1 and (_is_of(ids[0], named) or len(columns) > 1)
        if ids and not is_sure and not is_placed:
            why = f"{' or '.join(ids)} may be the references, or a remark"
            self.doubt(IDS, why, *ids)
            return []
        return ids

    def _may_be_remark(self, column: ColumnValues) -> bool:
        """Return whether a column such as `source` may hold remarks ("manual"), not references.

        File names, URLs and objects are never remarks. Lists, values that look like IDs, and values
        of a column named like documents are remarks only if the name also has an unknown word.
        """
        if self._is_sure(column):
            return False
        is_clear = column.has_lists or bool(column.words & (_NOUNS | _ID_WORDS))
        is_like_ids = all(map(_is_like_id, column.items))
        return not ((is_clear or is_like_ids) and column.words <= _KNOWN)

    def _widest(self, paths: list[str]) -> list[str]:
        """Return the paths without those that add no items.

        A path adds no items if, in every row, another path has all of its items.
        """
        items = {path: list(map(set, self.at(path))) for path in paths}
        for path in reversed(paths):
            others = (items[other] for other in items if other != path)
            if any(all(map(set.issubset, items[path], other)) for other in others):
                del items[path]
        return [*items]

    def _holds_documents(self, column: ColumnValues, *, is_alone: bool) -> bool:
        """Return whether a column that is named like references holds documents, not answers."""
        if self._is_sure(column):
            return True
        if column.name in usual.ANSWERS and not column.has_lists:
            is_beside = "reference" in self.fields and self.may_be_ids(column)
            return is_beside or are_numbered(column.items)
        has_answer = "reference" in self.fields
        if column.has_lists and (not is_alone or (has_answer and column.form == "texts")):
            return True
        nouns = usual.NOUNS | usual.DOCUMENTS | usual.CLAIM_WORDS
        is_named = column.words & nouns and not self.is_bare(column)
        return bool(is_named) or all(map(is_id_like, column.items))

    def _is_sure(self, column: ColumnValues) -> bool:
        return all(has_mark(str(item)) for item in column.items) or column.is_all(Mapping)

    def _is_reference(self, column: ColumnValues) -> bool:
        if column.words & usual.OTHERS and not ({"gt", "truth"} & column.words):
            return are_judged(column)
        if column.above is not None and "answer" in column.words:
            return False
        if column.are_flags or column.is_all(float) or asks(column.name.partition("_")[0]):
            return False
        return column.is_gold or bool(column.words & usual.DOCUMENTS) or are_judged(column)

    def _classify(
        self, column: ColumnValues, ids: list[str], texts: list[str], unclear: list[str]
    ) -> None:
        """Add the paths of a column to `ids`, `texts` or `unclear`.

        The path of reference claims is used for the field `reference_claims` instead.
        """
        if column.words & usual.CLAIM_WORDS and column.is_all(str):
            self.put(CLAIMS, column.path)
        elif column.are_grades and column.is_gold:
            ids.append(column.path)
        elif column.is_all(Mapping):
            found = of_objects(column)
            if column.words & usual.CLAIM_WORDS and found.keys() == {TEXTS}:
                self.put(CLAIMS, found.pop(TEXTS))
                return
            ids += [found[IDS]] if IDS in found else []
            texts += [found[TEXTS]] if TEXTS in found else []
            unclear += [] if found or ids else [column.path]
        elif column.is_all((list, tuple)):
            self.add_lists(column, ids, unclear)
        elif column.are_numbers and not any(isinstance(value, list) for value in column.values):
            are_whole = all(str(item).strip().isdecimal() for item in column.items)
            is_count = column.name.endswith("s") and not column.words & _ID_WORDS
            is_named = column.words & (usual.DOCUMENTS | _ID_WORDS) and column.words <= _KNOWN
            if is_named and are_whole and not is_count:
                ids.append(column.path)
            elif column.is_gold or column.words & _ID_WORDS:
                unclear.append(column.path)
        elif column.items:
            {"ids": ids, "texts": texts}.get(column.form, unclear).append(column.path)

    def add_lists(self, column: ColumnValues, ids: list[str], unclear: list[str]) -> None:
        """Add the path of a column of nested lists to `ids` or `unclear`.

        Inner lists of IDs are any-of groups, and their path is added to `ids`. If the inner lists
        are pairs of a document and a number, note a doubt instead: the number may be a page or
        something else. For supporting facts, whose numbers are sentence numbers, there is no doubt.
        """
        inner = [part for item in column.items for part in item]
        if all(map(is_pair, column.items)):
            each, joined = f"{column.path}[][0]", f"{column.path}[].{{[0]}}#{{[1]}}"
            if column.name.startswith("supporting_fact"):  # pairs with sentence numbers
                ids.append(each)
            else:
                why = f"{column.path} has documents with a page each, or with another number"
                self.doubt(IDS, why, joined, each)
        elif inner and all(isinstance(i, (str, int)) and form_of(i) == "ids" for i in inner):
            ids.append(column.path)
        else:
            unclear.append(column.path)

    def _placed(self, place: ColumnValues, documents: list[ColumnValues]) -> None:
        """Use a page joined to its document's ID if only one column can have that ID.

        Otherwise, note a doubt.
        """
        documents = [each for each in documents if "[" not in each.path]
        sure = [each for each in documents if each.name in usual.ID_KEYS[: -len(_WEAK)]]
        sure = [each for each in sure or documents if self._is_sure(each)] or sure
        joined = [f"{{{each.path}}}#{{{place.path}[]}}" for each in sure or documents]
        if len(joined) == 1 and "[" not in place.path:
            self.put(IDS, joined[0])
        else:
            self.doubt(IDS, f"{place.path} means nothing without its document", *joined)

    def _decide(self, field: str, paths: list[str], unclear: list[str]) -> None:
        """Use the path of a field if there is only one, and none is unclear; else note a doubt.

        A single unclear path is still used if it seems to lead to IDs and every scorer needs the
        field.
        """
        if field in self.fields or (not paths and not unclear):
            return
        if len(paths) == 1 and not unclear:
            self.put(field, paths[0])
        elif paths:
            self.doubt(field, f"{' and '.join([*paths, *unclear])} may hold it", *paths, *unclear)
        elif (
            self.given.sought == field
            and len(unclear) == 1
            and all(form_of(item) == "ids" for items in self.at(unclear[0]) for item in items)
        ):
            self.put(field, unclear[0])
        elif unclear and TEXTS not in self.fields:
            why = f"{' and '.join(unclear)} may hold IDs, texts ({TEXTS}), or answers (reference)"
            found = (item for path in unclear for items in self.at(path) for item in items)
            are_like = all(map(_is_like_id, found))
            self.doubt(field, why, *(unclear if are_like else ()))

    def _flat_span(self, columns: Sequence[ColumnValues]) -> str | None:
        """Return the path of a span that four columns of a row form; None without these columns."""
        by_name = {column.name: column.path for column in columns}
        start, end = (
            next((by_name[n] for n in names if n in by_name), None)
            for names in (usual.STARTS, usual.ENDS)
        )
        text = next((by_name[n] for n in usual.TEXT_KEYS if n in by_name and n != "answer"), None)
        document = next((by_name[n] for n in usual.ID_KEYS if n in by_name), None)
        if start is None or end is None or text is None or document is None:
            return None
        return f"{{text: {text}, source: {document}, start: {start}, end: {end}}}"


def _is_of(path: str, columns: Sequence[ColumnValues]) -> bool:
    """Return whether a path reads any of these columns."""
    return any(path_of(path).columns & path_of(each.path).columns for each in columns)


def _is_like_id(item: object) -> bool:
    """Return whether an item looks like an ID: it has a digit, a file's ending, or an ID's form."""
    has_mark = re.search(r"\d|\.\w", str(item)) or is_id_like(item)
    return isinstance(item, (str, int)) and form_of(item) == "ids" and bool(has_mark)


def _are_labels(column: ColumnValues) -> bool:
    """Return whether a column is named `label` or `labels` and holds only IDs."""
    is_named = column.name in ("label", "labels") and column.is_all(str)
    return is_named and all(has_mark(item) or is_id_like(item) for item in column.items)


def _are_documents(column: ColumnValues) -> bool:
    return column.is_all(Mapping) and IDS in of_objects(column)
