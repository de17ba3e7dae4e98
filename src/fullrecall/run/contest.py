"""`choose`: ask retrievers the same questions until one is known to be the best."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from math import ceil, isnan
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fullrecall._util.ending import ending
from fullrecall._util.parameters import check_share
from fullrecall.errors import FullrecallError, ParameterError
from fullrecall.judge.models.retries import Retries
from fullrecall.judge.usage import MOST
from fullrecall.measures import Measure, as_shares
from fullrecall.measures.costs import tokens_of
from fullrecall.run.address import StoreLike
from fullrecall.run.budget import Budget
from fullrecall.run.evaluate import EvaluateOptions, as_samples, evaluated
from fullrecall.run.limits import Limits
from fullrecall.run.race import QuestionValue, Race, RaceRecord, question_key
from fullrecall.run.retrievers import RetrieverLike, as_retriever
from fullrecall.samples.id_keys import IdKey
from fullrecall.samples.sample import Sample, SampleLike
from fullrecall.scorers.result import Status
from fullrecall.scorers.scorer import Scorer
from fullrecall.stats.accounts import Accounts
from fullrecall.stats.bounds import CONFIDENCE, alpha_of
from fullrecall.stats.choice import Choice
from fullrecall.stats.evaluation import Evaluation
from fullrecall.table.row import Row

if TYPE_CHECKING:
    from tqdm import tqdm
import functools
from hashlib import sha256
from types import CellType, CodeType, FunctionType, MethodType

_PLAIN = (str, bytes, int, float, bool, type(None))

_DEEPEST = 8
"""The greatest depth of nested settings that are hashed."""


def identity_of(retriever: object) -> str:
    """Return a retriever's name with a digest of its code and its plain settings.

    Settings are the texts, the numbers, the functions, and the tuples of these among its defaults,
    its closed-over values, the arguments of a `functools.partial`, and the attributes of an object.
    Values that can change during the run, such as a list or an index, are left out.
    """
    digest = sha256("\n".join(_parts(retriever, 0)).encode("utf-8", "backslashreplace"))
    return f"{_name(retriever)} {digest.hexdigest()[:12]}"


def _name(retriever: object) -> str:
    if isinstance(retriever, functools.partial):
        return _name(retriever.func)
    owner = retriever if hasattr(retriever, "__qualname__") else type(retriever)
    return f"{getattr(owner, '__module__', '')}.{getattr(owner, '__qualname__', '')}"


def _parts(value: object, depth: int) -> Iterator[str]:
    """Yield the parts of a value's identity as texts: its name, code and settings."""
    if isinstance(value, _PLAIN):
        yield repr(value)
    elif isinstance(value, frozenset):  # The order of a set differs between processes.
        yield repr(sorted(map(repr, value)))
    elif depth <= _DEEPEST:
        yield "(" if isinstance(value, (tuple, CodeType)) else _name(value)
        for setting in _settings(value):
            yield from _parts(setting, depth + 1)


def _settings(value: Any) -> Iterable[object]:
    """Return the parts of a compound value that identify it: items, arguments, code, settings."""
    if isinstance(value, tuple):
        return value
    if isinstance(value, functools.partial):
        return value.func, value.args, tuple(sorted(value.keywords.items()))
    if isinstance(value, MethodType):
        return value.__func__, value.__self__
    if isinstance(value, CodeType):
        return value.co_code, value.co_names, value.co_consts
    if isinstance(value, FunctionType):
        # A closure may have empty cells, whose contents cannot be read: leave these out.
        cells = [cell for cell in value.__closure__ or () if cell != CellType()]
        closed = tuple(cell.cell_contents for cell in cells)
        named = tuple((value.__kwdefaults__ or {}).items())
        return value.__code__, value.__defaults__, named, closed
    kind = value if isinstance(value, type) else type(value)
    methods = [getattr(kind, name, None) for name in ("retrieve", "aretrieve", "__call__")]
    setting_types = (*_PLAIN, tuple, FunctionType)
    attributes = () if kind is value else getattr(value, "__dict__", {}).items()
    settings = sorted(
        (name, setting) for name, setting in attributes if isinstance(setting, setting_types)
    )
    return [m.__code__ for m in methods if isinstance(m, FunctionType)] + settings


_AT_ONCE = 32
"""The most questions that a retriever is asked between two writes of the file. With very many
questions, it is more, so that the file is written about `_MOST_SAVES` times."""

_MOST_SAVES = 256
"""About the most times that the file is written for each retriever in a call."""


def choose(
    samples: Iterable[SampleLike],
    scorer: Scorer,
    retrievers: Mapping[str, RetrieverLike],
    measure: Measure | None = None,
    *,
    file: str | Path | None = None,
    versions: Mapping[str, str] | None = None,
    within: float = 0.0,
    confidence: float = CONFIDENCE,
    progress: bool = True,
    max_concurrency: int = 16,
    timeout: float | None = 60.0,
    deadline: float | None = None,
    retries: Retries | int = MOST,
    store: StoreLike | None = None,
    budget: Budget | None = None,
    id_key: IdKey | None = None,
) -> Choice:
    """Return the choice of the best retriever by a measure, which may be undecided.

    All remaining retrievers are asked each question. At 16 looks (comparisons of the answers so
    far), retrievers that are shown to be worse than another are dropped and asked no further
    questions. The last one left is asked the remaining questions too, so that its mean is over all
    questions. A named retriever is claimed to have the highest true mean. This claim is wrong in at
    most 5% of uses, for any number of retrievers, and however often you call `choose` again with
    more questions.

    - `samples`: the questions, with their references; their own retrieved contexts are not used.
      They are asked in the order of a hash of their IDs. Samples of one `group`, or of one ID,
      count as one question, by their mean. Samples without `user_input` are left out.
    - `retrievers`: two or more by name, each a function of the question, sync or async, or a
      `Retriever`, as `evaluate` takes it. `measure`: default, the scorer's headline measure.
    - `file`: a JSON file from which the next call continues, with more questions, or after an
      interruption. Questions of earlier calls are not asked again. The file is written after at
      most 32 answers of a retriever, or after 1/256 of its questions if that is more; a killed
      process loses at most the answers since then. Retrievers must be the same as before.
    - `versions`: by name, a text that identifies a retriever's version in the file. Default: its
      name, code, and plain settings. These do not include an index: give its version here.
    - `within`: a difference of means that does not matter to you, such as 0.02. Then all retrievers
      that are shown to be at most this much below the best are named, the cheapest first. In at
      most 5% of uses, one or more of these names are wrong, at any number of looks. Default: 0,
      which names only the best.
    - `confidence`: the least probability that no name is wrong. Default: 0.95, as in the 5% above.
    - `progress`: show a bar on standard error, if that is a terminal.
    - `max_concurrency`, `timeout`, `deadline`, `retries`, `store`, `budget`, and `id_key` are those
      of `evaluate`, for each retriever and look. Concurrent calls slow each other down, which
      increases their measured seconds: use `max_concurrency=1` to time them one by one.

    An unscored question gives no retriever an advantage. In the test whether retriever A is better
    than B, it has the lowest possible value for A, and the highest possible value for B.

    Raises `ParameterError` for arguments out of range and for a retriever, a scorer, or a measure
    that differs from the file's, and `ReportError` for a file that `choose` did not write. An
    exception that ends the call early has the choice so far as its attribute `choice`; the next
    call continues from the file.
    """
    check_share(confidence, "confidence", whole=False)
    check_share(within, "within")
    if not isinstance(scorer, Scorer):
        raise ParameterError(f"expected a scorer such as IdRecall(), got {scorer!r}")
    (asked_for,) = as_shares([scorer.method.headline if measure is None else measure])
    rule = {
        "scorer": scorer.method.name,
        "parameters": {name: repr(value) for name, value in scorer.method.parameters.items()},
        "measure": asked_for.name,
    }
    entrants = _entrants(retrievers, versions or {})
    path = None if file is None else Path(file)
    new = Race(rule, entrants, Accounts.open(len(entrants), alpha_of(confidence), within))
    race = new if path is None else Race.load(path) or new
    _check_same(race, new)
    limits = Limits(max_concurrency, timeout, deadline, retries, store, budget)
    options = EvaluateOptions(limits, progress=False, id_key=id_key)
    contest = _Contest(race, scorer, asked_for, retrievers, options, path, shown=progress)
    return contest.run(_questions(samples))


def _entrants(
    retrievers: Mapping[str, RetrieverLike],
    versions: Mapping[str, str],
) -> dict[str, RaceRecord]:
    if not isinstance(retrievers, Mapping) or len(retrievers) < 2:  # noqa: PLR2004
        raise ParameterError(
            "must be two or more by name, such as "
            f'{{"bm25": search, "dense": other}}, got {retrievers!r}',
            "retrievers",
        )
    for retriever in retrievers.values():
        as_retriever(retriever)
    for name in versions:
        if name not in retrievers:
            raise ParameterError(f"version of {name!r}: choose one of {', '.join(retrievers)}")
    return {
        name: RaceRecord(
            f"version {versions[name]}" if name in versions else identity_of(retriever)
        )
        for name, retriever in retrievers.items()
    }


def _check_same(race: Race, given: Race) -> None:
    """Raise `ParameterError` unless the file has the same rule and the same retrievers."""
    ours, theirs = _facts(given), _facts(race)
    missing = [name for name in race.surviving if name not in given.records]
    for name in (*map(_named, missing), *ours):
        before, now = theirs.get(name, "missing"), ours.get(name, "missing")
        if before != now:
            is_retriever = name.startswith("retriever ")
            way_out = ", or say with versions that it is the same" if is_retriever else ""
            raise ParameterError(
                f"{name} of the file is {before}, now {now}: name another file{way_out}"
            )


def _facts(race: Race) -> dict[str, str]:
    """Return the facts that must be the same at each call of `choose`, by their names."""
    accounts = race.accounts
    decided = {"within": accounts.within, "confidence": alpha_of(accounts.alpha)}
    retrievers = {_named(name): record.identity for name, record in race.records.items()}
    return {name: str(fact) for name, fact in {**race.rule, **decided, **retrievers}.items()}


def _named(retriever: str) -> str:
    return f"retriever {retriever!r}"


def _questions(samples: Iterable[SampleLike]) -> dict[str, list[Sample]]:
    """Group the samples into questions, by their group, else their ID, else their text."""
    groups: dict[str, str] = {}
    read = [sample for sample in as_samples(samples) if sample.user_input is not None]
    for sample in read:  # A sample without a group gets the group of a sample with the same ID.
        if sample.id is not None and sample.group is not None:
            groups.setdefault(sample.id, sample.group)
    questions: dict[str, list[Sample]] = {}
    for sample in read:
        group = sample.group or groups.get(sample.id or "")
        if group is not None:
            name = f"group {group}"
        else:
            name = f"text {sample.user_input}" if sample.id is None else f"id {sample.id}"
        questions.setdefault(question_key(name), []).append(sample)
    return questions


@dataclass
class _Contest:
    """Asks retrievers, compares them at each look (interim analysis), and saves the state often."""

    race: Race
    scorer: Scorer
    measure: Measure
    retrievers: Mapping[str, RetrieverLike]
    options: EvaluateOptions
    path: Path | None
    shown: bool
    notes: list[str] = field(default_factory=list)

    def run(self, questions: Mapping[str, list[Sample]]) -> Choice:
        """Finish a call that was interrupted, then ask the new questions; return the choice."""
        from tqdm import tqdm

        hidden = None if self.shown else True  # None hides the bar if there is no terminal
        with self._ending(), tqdm(unit=" questions", delay=1.0, leave=False, disable=hidden) as bar:
            self._call(questions, bar)
            if len(self.race.surviving) > 1:
                self.race.begin(questions)
                self._call(questions, bar)
        return self._choice()

    def _call(self, questions: Mapping[str, list[Sample]], bar: tqdm[Any]) -> None:
        race = self.race
        while race.surviving and (keys := race.batch(questions)):
            for name in race.surviving:
                self._ask(name, {key: questions[key] for key in keys})
            race.learn(keys)
            bar.total, bar.n = len(race.plan), race.position
            bar.refresh()
        if not race.surviving:
            race.plan = race.plan[: race.position]
        self._save()

    def _ask(self, name: str, questions: Mapping[str, list[Sample]]) -> None:
        """Ask one retriever the questions that it has not answered yet, in batches."""
        record = self.race.records[name]
        missing = [key for key in questions if key not in record.pending]
        for start in range(0, len(missing), self._at_once):
            keys = missing[start : start + self._at_once]
            asked = [sample for key in keys for sample in questions[key]]
            options = replace(self.options, retriever=self.retrievers[name])
            rows = iter(evaluated(asked, self.scorer, options, Evaluation).rows)
            for key in keys:
                record.pending[key] = self._answer(record, [next(rows) for _ in questions[key]])
            self._save()

    @property
    def _at_once(self) -> int:
        """The number of questions between two writes of the file; without a file, all questions."""
        # Each write is of the whole file, so a write after every 32 questions would take quadratic
        # time.
        size = len(self.race.plan)
        return max(1, size) if self.path is None else max(_AT_ONCE, ceil(size / _MOST_SAVES))

    def _answer(self, record: RaceRecord, rows: Sequence[Row]) -> QuestionValue | None:
        """Return a question's value from the rows of its samples; add their costs to `record`.

        Returns None if no sample of the question has a value or is unscored.
        """
        values: list[float] = []
        unscored = 0
        for row in rows:
            result = row.results[0]
            value = result[self.measure] if result.status is Status.SCORED else None
            if value is not None:
                values.append(value)
            elif result.status is Status.UNSCORED:
                unscored += 1
                record.reason = record.reason or result.reason
            self._add_costs(record, row)
        record.unscored += unscored
        if not values and not unscored:
            return None
        size, total = len(values) + unscored, sum(values)
        # An unscored sample counts as 0 in the lower mean and as 1 in the higher one.
        return QuestionValue(total / size, (total + unscored) / size, tuple(values))

    def _add_costs(self, record: RaceRecord, row: Row) -> None:
        """Add the seconds and the tokens of a row's retrieval to the record, if they are known."""
        contexts, retrieval = row.sample.retrieved_contexts, row.sample.retrieval
        if contexts is None:
            return
        if retrieval is not None and retrieval.seconds:
            record.seconds.append(max(seconds or 0.0 for seconds in retrieval.seconds))
        counted = contexts[: self.measure.top]
        tokens = sum(map(tokens_of, counted))
        if not isnan(tokens):
            record.with_tokens += 1
            record.tokens += tokens

    def _choice(self) -> Choice:
        return self.race.choice(self.scorer.method.label(self.measure), self.notes)

    def _save(self) -> None:
        if self.path is not None:
            self.race.save(self.path)

    @contextmanager
    def _ending(self) -> Iterator[None]:
        """Attach the choice so far, as `choice`, to an exception that ends the contest early."""
        try:
            yield
        except (Exception, KeyboardInterrupt) as error:
            self.notes.append(f"not all questions were asked: {ending(error)}")
            if hasattr(error, "__dict__"):
                error.choice = self._choice()  # type: ignore[union-attr]
            if not isinstance(error, FullrecallError):
                way_on = "" if self.path is None else f"; {self.path} goes on from there"
                error.add_note(f"error.choice has what is known by then{way_on}.")
            raise
