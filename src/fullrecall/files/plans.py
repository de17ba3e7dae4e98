"""Plans: the path of each sample field in a row."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

from fullrecall._util import naming
from fullrecall._util.dataframes import is_missing
from fullrecall._util.values import shown
from fullrecall.errors import InputError, ParameterError
from fullrecall.files.cells import ID_FIELDS, cell_of, opened
from fullrecall.files.formats import RawRow
from fullrecall.files.paths import (
    Condition,
    PathError,
    RowPath,
    path_of,
    path_of_field,
    quoted,
    taken_by,
)
from fullrecall.files.usual_names import snake
from fullrecall.samples.context import CONTEXT_KEYS
from fullrecall.samples.hits import contexts_of
from fullrecall.samples.id_keys import IdKey, ids_alone
from fullrecall.samples.sample import Sample

FIELDS = {name: field for field, others in Sample.names().items() for name in (field, *others)}
"""Every name that `Sample` takes, with the field it means."""

REFERENCES = ("reference_context_ids", "reference_contexts", "reference", "reference_claims")
_METADATA = "metadata."


class Doubt(NamedTuple):
    """A field whose path the columns do not determine: the reason, and the paths that it may have.

    The field "rows" means the path of the rows.
    """

    field: str
    why: str
    paths: Sequence[str] = ()


IN_MEMORY = ("rows", "samples")
"""The words that messages about rows in memory have in place of a file's name."""


@dataclass(frozen=True, repr=False)
class ReadPlan:
    """How a file is read: the path of its rows, and of each field in a row.

    It prints as a call of `read`, on the command line as options.

    - `fields`: the path of each field; `rows`: the path of the rows in a record, if these are not
      the records themselves.
    - `doubts`: the fields whose path the columns do not determine. `read` follows a plan only if
      there is no doubt: the plan is then `certain`.
    - `metadata`: the columns that no field uses, which become metadata.
    - `left_out`: the columns that are dropped.
    - `format`: the tool whose files have these columns; None for no known tool.
    """

    fields: Mapping[str, str]
    rows: str | None = None
    doubts: Sequence[Doubt] = ()
    metadata: Sequence[str] = ()
    left_out: Sequence[str] = ()
    format: str | None = None
    file: str = "FILE"

    @property
    def certain(self) -> bool:
        """Whether the plan has no doubts, so that `read` follows it."""
        return not self.doubts

    @property
    def is_plain(self) -> bool:
        """Whether every column has the name of the field that it is used for."""
        named = all(FIELDS.get(path) == name for name, path in self.fields.items())
        return named and not self.metadata and not self.left_out

    @property
    def line(self) -> Mapping[str, str]:
        """The path of each field; a field in doubt has its only possible path, or else `?`."""
        doubted = {
            each.field: each.paths[0] if len(each.paths) == 1 else "?" for each in self.doubts
        }
        return {**self.fields, **{name: doubted[name] for name in doubted if name != "rows"}}

    def __str__(self) -> str:
        return "\n".join([self.call, *self.explained()])

    __repr__ = __str__

    @property
    def call(self) -> str:
        """The call of `read` or `from_rows` for this plan, or the user's command with options."""
        if (typed := naming.typed()) is not None:
            from shlex import quote

            begin = [] if self.rows is None else [f"--rows {quote(self.rows)}"]
            fields = [f"--field {quote(f'{name}={path}')}" for name, path in self.line.items()]
            return " ".join([*map(quote, _without_plan(typed)), *begin, *fields])
        if self.file in IN_MEMORY:
            return f"from_rows({self.file}, fields={dict(self.line)!r})"
        rows = "" if self.rows is None else f", rows={self.rows!r}"
        return f"read({self.file!r}{rows}, fields={dict(self.line)!r})"

    def choices(self) -> list[ReadPlan]:
        """Return one plan for each path that the first doubt with several paths proposes.

        Without such a doubt, return only this plan.
        """
        several = next((each for each in self.doubts if len(each.paths) > 1), None)
        if several is None:
            return [self]
        others = [each for each in self.doubts if each is not several]
        chosen = [several._replace(paths=(path,)) for path in several.paths]
        return [replace(self, doubts=[each, *others]) for each in chosen]

    def explained(self) -> Iterator[str]:
        """Yield lines for the doubts, the format, and the columns that no field uses."""
        for doubt in self.doubts:
            choices = f" (perhaps {' or '.join(doubt.paths)})" if doubt.paths else ""
            yield f"{doubt.field}=?: {doubt.why}{choices}"
        if self.format:
            yield f"format: {self.format}"
        for name, columns in (("metadata", self.metadata), ("left out", self.left_out)):
            if columns:
                yield f"{name}: {', '.join(columns)}"

    @cached_property
    def paths(self) -> Mapping[str, RowPath | Condition]:
        """The path of each field, parsed."""
        return {name: path_of_field(name, text) for name, text in self.fields.items()}

    @cached_property
    def taken(self) -> frozenset[str]:
        """The columns that do not become metadata.

        The column of a comparison, such as `type=bridge`, is not one of them: it becomes metadata.
        """
        return frozenset(("metadata",)).union(self.left_out, taken_by(self.fields))

    def sample(self, row: RawRow, id_key: IdKey | None = None) -> Sample:
        """Return the sample of a row.

        Raises `InputError`, with the field but no line, if the row is not a sample.
        """
        cells: dict[str, Any] = {}
        metadata: dict[str, Any] = {}
        for field, path in self.paths.items():
            if isinstance(path, Condition):
                cells[field] = self._truth(field, path, row)
                continue
            value = self._value(field, path, row)
            if value is None:
                continue
            if field.startswith(_METADATA):
                metadata[field.removeprefix(_METADATA)] = value
            elif field == "user_input" and isinstance(value, list):
                cells[field], history = _last_question(value)
                metadata |= history
            else:
                cells[field] = cell_of(field, path.text, value)
        cells["metadata"] = self.metadata_of(row, cells.get("metadata"), metadata)
        contexts = cells.get("retrieved_contexts")
        if id_key is not None and contexts is not None:
            cells["retrieved_contexts"] = contexts_of(contexts, id_key=id_key)
            cells.pop("retrieved_context_ids", None)  # `id_key` gives the IDs.
        elif id_key is not None and cells.get("retrieved_context_ids") is not None:
            raise ids_alone()
        elif isinstance(contexts, (list, tuple)) and _are_hits(contexts):
            cells["retrieved_contexts"] = contexts_of(contexts)
        sample = Sample(**{field: value for field, value in cells.items() if value is not None})
        if id_key is None or sample.retrieval is None:
            return sample
        return sample.identified(id_key)

    @staticmethod
    def _value(field: str, path: RowPath, row: RawRow) -> Any:
        """Return the value of a field in a row; None if the row has none."""
        try:
            value = path.value(row)
        except ValueError as error:
            raise InputError(f"{field}: {error}", field=path.text) from None
        if is_missing(value):
            return None
        is_joined = isinstance(path.template, tuple) and field in ID_FIELDS
        return [value] if is_joined and not isinstance(value, list) else value

    def metadata_of(
        self, row: RawRow, own: Any, named: Mapping[str, Any]
    ) -> Mapping[str, Any] | None:
        """Return a row's metadata: its own, its unused columns and `named`; None if it is empty."""
        own = opened(row.get("metadata") if own is None else own)
        metadata = dict(own) if isinstance(own, Mapping) else {}
        if own is not None and not isinstance(own, Mapping) and not is_missing(own):
            metadata["metadata"] = own
        others = ((name, value) for name, value in row.items() if name not in self.taken)
        metadata |= {name: value for name, value in others if not is_missing(value)}
        return {**metadata, **named} or None

    @staticmethod
    def _truth(field: str, path: Condition, row: RawRow) -> object:
        """Return whether a condition holds for a row; None if the row has no value at its path."""
        value = path.value(row)
        if value is None or (path.pattern is None and is_missing(value)):
            return None
        if path.pattern is not None:
            return path.holds(row)
        value = cell_of(field, path.path.text, value)
        return value if not path.is_negated else not Sample(answerable=value).answerable


def _are_hits(contexts: Sequence[Any]) -> bool:
    """Return whether any context is an object with keys other than the fields of `Context`."""
    return any(isinstance(each, Mapping) and not each.keys() <= CONTEXT_KEYS for each in contexts)


def _without_plan(typed: Sequence[str]) -> Iterator[str]:
    """Yield the words of a command without the options `--rows`, `--field` and `--rename`."""
    words = iter(typed)
    for word in words:
        option, equals, _ = word.partition("=")
        if option not in ("--rows", "--field", "--rename"):
            yield word
        elif not equals:
            next(words, None)


_SPEAKERS = {"agent": "assistant", "bot": "assistant", "customer": "user"}


def _last_question(value: list[Any]) -> tuple[Any, dict[str, Any]]:
    """Return the last question of a conversation, and the turns before it as metadata.

    Without a question, returns the conversation itself, and no metadata.
    """
    from fullrecall.observe.messages import messages_of  # Most files do not need this module.

    turns = [
        {
            "role": _SPEAKERS.get(str(turn["speaker"]), turn["speaker"]),
            "content": turn.get("text", turn.get("content")),
        }
        if isinstance(turn, Mapping) and "speaker" in turn
        else turn
        for turn in value
    ]
    messages = messages_of(turns) or []
    last = max((n for n, turn in enumerate(messages) if turn.role == "human"), default=None)
    if last is None:
        return value, {}
    history = [{"role": turn.role, "content": turn.text} for turn in messages[:last]]
    return messages[last].text, {"history": history} if history else {}


def _check_types(rows: object, mappings: Mapping[str, object]) -> None:
    if rows is not None and not isinstance(rows, str):
        raise ParameterError(f"must be a path as a text, got {shown(rows)}", "rows")
    for option, value in mappings.items():
        if value is not None and not isinstance(value, Mapping):
            raise ParameterError(f"must be a mapping, got {shown(value)}", option)


class Given(NamedTuple):
    """The parts of a plan that the user gives: the path of the rows, and the paths of fields.

    Columns in `left_out` are dropped. Fields in `unguessed` are not guessed. `sought` is the field
    that every scorer of a run needs, or None. If only one column may hold IDs, it is used for the
    field `sought`, even without certainty that it holds IDs.
    """

    rows: str | None = None
    fields: Mapping[str, str] = {}
    left_out: frozenset[str] = frozenset()
    unguessed: frozenset[str] = frozenset()
    sought: str | None = None

    @classmethod
    def of(
        cls,
        rows: str | None,
        fields: Mapping[str, str | None] | None,
        rename: Mapping[str, str | None] | None,
    ) -> Given:
        """Return the parts that the options of `read` give.

        Raises `ParameterError` for options of wrong types, names or paths.
        """
        _check_types(rows, {"fields": fields, "rename": rename})
        pairs = [(name, path, "fields") for name, path in (fields or {}).items()]
        left_out = {column for column, field in (rename or {}).items() if field is None}
        pairs += [(field, quoted(column), "rename") for column, field in (rename or {}).items()
                  if field is not None]  # fmt: skip
        paths: dict[str, str] = {}
        unguessed = set()
        for name, path, option in pairs:
            field = FIELDS.get(name, name if name.startswith(_METADATA) else None)
            if field is None:
                raise ParameterError(
                    f"names {name!r}, which is not a field: choose one of "
                    f"{', '.join(Sample.names())}, or metadata.NAME",
                    option,
                )
            if not path:
                unguessed.add(field)
                continue
            if not isinstance(path, str):
                raise ParameterError(
                    f"{name}: expected one path as a text, or None, got {path!r}: "
                    "several columns are one path, '[a, b]'",
                    option,
                )
            if field in paths:
                raise ParameterError(f"names {field!r} twice: keep one path", option)
            try:
                path_of_field(field, path)
            except PathError as error:
                raise ParameterError(f"{name}: {error}", option) from None
            paths[field] = path
        if rows is not None:
            try:
                path_of(rows)
            except PathError as error:
                raise ParameterError(str(error), "rows") from None
        return cls(rows, paths, frozenset(left_out), frozenset(unguessed))


NOTHING_GIVEN = Given()


def named_plan(columns: Sequence[str], given: Given) -> ReadPlan:
    """Return a plan that uses the user's paths, and the columns that have the names of fields.

    All other columns are left out: the plan guesses no column.

    Raises `InputError` if two columns mean one field, and if a given column is missing.
    """
    fields = dict(given.fields)
    taken = {column for path in fields.values() for column in path_of(path).columns}
    missing = sorted(taken - set(columns))
    if missing:
        raise nothing_at(missing[0], columns)
    for column in columns:
        field = FIELDS.get(snake(column))
        if field is None or column in taken or column in given.left_out:
            continue
        if field in fields:
            raise InputError(f"two columns mean {field!r}: leave one out", field=field)
        fields[field] = quoted(column)
    ours = {path for text in fields.values() for path in path_of(text).columns}
    return ReadPlan(fields, left_out=[column for column in columns if column not in ours])


def nothing_at(path: str, columns: Iterable[str]) -> InputError:
    """Return the error for a path at which no row has a value."""
    listed = ", ".join(map(repr, columns))
    return InputError(f"no row has anything at {path!r}: the columns are {listed}", field=path)


def doubtful(plan: ReadPlan, columns: Sequence[str]) -> InputError:
    """Return the error that shows a plan with its doubts, and the calls that may resolve them."""
    choices = plan.choices()
    advice = "this reads it, if the proposals are right"
    if len(choices) > 1:
        advice = "one of these reads it"
    if "?" in choices[0].line.values():
        none = "None" if naming.typed() is None else "nothing"
        advice += f", with a path in place of each ?, or {none} for one that it lacks"
    lines = [
        "the columns do not settle the fields of a sample",
        *(line for line in plan.explained() if not line.startswith(("metadata", "left out"))),
        *_unretrieved(plan),
        f"columns: {', '.join(columns)}",
        f"{advice}:",
        *(choice.call for choice in choices),
    ]
    return InputError("\n".join(lines))


def _unretrieved(plan: ReadPlan) -> Iterator[str]:
    """Yield a line that asks for the column of the retrieved contexts, if the plan has none."""
    doubted = {path for each in plan.doubts for path in each.paths}
    others = [column for column in plan.metadata if column not in doubted]
    if others and not {"retrieved_contexts", "retrieved_context_ids"} & plan.line.keys():
        yield (
            f"no field takes {', '.join(map(repr, others))}: name the one that has the retrieved "
            "contexts, if any, as retrieved_context_ids or retrieved_contexts"
        )
