"""Misses that were built with a known cause: five styles of corpus, twenty misses of each cause.

Every style has one report by ID, one by text and one by claims. Each report mixes the causes with
samples that miss nothing, because some causes follow from all IDs of a report.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from urllib.parse import quote

from tests.containment_judge import ContainmentJudge
from tests.observe.calls import of_calls
from tests.stdlib_docs.collection import documents

from fullrecall import ClaimRecall, Context, IdRecall, Retrieval, Sample, TextRecall, evaluate
from fullrecall.diagnosis import Cause, Diagnosis, diagnose
from fullrecall.judge.judge import Citation, Verdict
from fullrecall.samples.calls import Call

EACH = 20
K = 5
FILLERS = 60
STYLES = ("reference", "policies", "records", "statutes", "sources")
"""API documentation; rules in prose that differ by a number or a name; fields and values.

The rules were written beside these three. Two more came after them: numbered paragraphs of law in
German, and source code by its path.
"""

PRODUCTS = "Aurora Borealis Cascade Dolomite Everest Fjord Glacier Horizon Inlet Juniper".split()
TOPICS = (
    "refunds", "returns", "shipping", "warranty", "accounts", "invoices", "discounts", "repairs",
    "privacy", "deliveries", "upgrades", "transfers", "trials", "seats", "exports", "backups",
    "support", "training", "renewals", "disputes", "gifts", "pickups", "storage", "audits",
    "rentals", "loans", "leases", "tickets", "vouchers", "badges", "parking", "travel", "meals",
    "visas", "grants", "bonuses", "salaries", "pensions", "holidays", "sickness", "overtime",
)  # fmt: skip
TOWNS = "Aberdeen Bergen Cordoba Dresden Eindhoven Florence Ghent Helsinki Izmir Krakow".split()


@dataclass
class World:
    """One style of corpus, from which every case takes documents of its own."""

    style: str
    pages: list[Context]
    used: int = 0
    corpus: dict[str, Context] = field(default_factory=dict)
    deep: dict[str, list[Context]] = field(default_factory=dict)

    def take(self) -> Context:
        """Return a document that no other case has; it is in the corpus."""
        page = self.pages[self.used]
        self.used += 1
        self.corpus[str(page.id)] = page
        return page

    def fillers(self, nth: int, count: int) -> list[Context]:
        """Return documents that no question is about."""
        rest = self.pages[-FILLERS:]
        return [rest[(7 * nth + step) % len(rest)] for step in range(count)]

    def search(self, question: str, k: int) -> list[Context]:
        """Return the contexts of a deeper search."""
        return self.deep.get(question, [])[:k]


Built = tuple[Sample, Cause | None]
Builder = Callable[[World, int], Sample]


def pages_of(style: str) -> list[Context]:
    """Return 500 documents of a style, each of some 250 characters or more."""
    if style == "reference":
        long = [page for page in documents() if len(page.text) > 240]
        pages = [Context(page.text[:700], id=page.id) for page in long]
        changeable = (c for c in pages if all(variant(c.label, n) != c.label for n in range(4)))
        return list(islice(changeable, 500))
    make = {"policies": _policy, "records": _record, "statutes": _statute, "sources": _source}[
        style
    ]
    other = _minutes if style == "statutes" else _notice
    return [*map(make, range(440)), *map(other, range(FILLERS))]


def _notice(nth: int) -> Context:
    """Return a page; the lists have its ID in another form than the references."""
    text = (
        f"Minutes of the {TOPICS[nth % 41]} circle, {TOWNS[nth % 10]}: {TOPICS[nth * 3 % 41]} and "
        f"{TOPICS[nth * 5 % 41]} were discussed at length; {PRODUCTS[nth % 10]} stays as it was. "
        f"Someone wondered about {TOPICS[nth * 7 % 41]}, which the group put off until spring. Tea "
        f"was served late, and nobody wrote down who had brought the {TOPICS[nth * 9 % 41]} list."
    )
    return Context(text, id=f"notice {nth}")


SUBJECTS = (
    "Mieter", "Vermieter", "Käufer", "Verkäufer", "Pächter", "Erbe", "Vormund", "Bürge", "Makler",
    "Frachtführer", "Lagerhalter", "Verwahrer", "Besteller", "Unternehmer", "Schenker",
)  # fmt: skip
DEEDS = (
    "Kündigung", "Abtretung", "Minderung", "Anfechtung", "Herausgabe", "Verwertung", "Räumung",
    "Belehrung", "Übergabe", "Prüfung", "Eintragung", "Löschung", "Hinterlegung",
)  # fmt: skip


def _statute(nth: int) -> Context:
    who, deed = SUBJECTS[nth % 15], DEEDS[nth % 13]
    other, more = SUBJECTS[(nth * 7 + 4) % 15], DEEDS[(nth * 5 + 3) % 13]
    text = (
        f"§ {nth + 101} Pflichten bei {deed}. (1) Der {who} darf die {deed} binnen {nth + 14} "
        f"Tagen verlangen; die Frist ist gewahrt, wenn die Erklärung dem {other} rechtzeitig "
        f"zugeht. (2) Über die {more} wird monatlich Rechnung gelegt. Eine Gebühr von "
        f"{nth % 19 + 3} Euro ist fällig, soweit das Gesetz eine Ausnahme vorsieht. (3) Im "
        f"Streitfall entscheidet das Gericht."
    )
    return Context(text, id=f"Gesetz über {deed} § {nth + 101}")


def _minutes(nth: int) -> Context:
    text = (
        f"Niederschrift der Sitzung in {TOWNS[nth % 10]}: Es ging lange um {DEEDS[nth % 13]} und "
        f"{DEEDS[nth * 5 % 13]}, ohne dass man sich einig wurde. {SUBJECTS[nth % 15]} und "
        f"{SUBJECTS[nth * 4 % 15]} kamen zu Wort, danach gab es Kaffee. Wer die Liste über "
        f"{DEEDS[nth * 3 % 13]} mitgebracht hatte, schrieb wieder einmal keiner auf."
    )
    return Context(text, id=f"Sitzung {nth}")


def _source(nth: int) -> Context:
    topic, product = TOPICS[nth % 41], PRODUCTS[nth // 41 % 10].lower()
    more = TOPICS[(nth * 11 + 5) % 41]
    text = (
        f"def {topic}_of_{product}_{nth}(order: Order, *, limit: int = {nth + 11}) -> "
        f"{topic.title()}:\n"
        f'    """Return the {topic} of an order, weekly."""\n'
        f"    if order.{more} is None:\n"
        f"        raise MissingError('{more} of {product}')\n"
        f"    found = [each for each in order.{topic} if each.{more} > {nth % 17 + 3}]\n"
        f"    return {topic.title()}(found[:limit], checked=True)\n"
    )
    return Context(text, id=f"src/{product}/{topic}/Handlers_v{nth}.py")


def _policy(nth: int) -> Context:
    topic, product = TOPICS[nth % len(TOPICS)], PRODUCTS[nth // len(TOPICS) % len(PRODUCTS)]
    town, extra = TOWNS[nth * 7 % 10], TOPICS[(nth * 11 + 5) % len(TOPICS)]
    text = (
        f"Rules on {topic} for the {product} plan. A customer may ask for {topic} within "
        f"{11 + nth} days of the order, and the office in {town} answers each request weekly. "
        f"A request is valid when it names the order and the reason. Fees of {3 + nth % 17} euros "
        f"apply where {extra} are concerned too; the manager decides in doubtful cases."
    )
    return Context(text, id=f"docs/Rules/{product}-{topic}-{nth}.md")


def _record(nth: int) -> Context:
    town, product = TOWNS[nth % 10], PRODUCTS[nth // 10 % 10]
    number = 20_411 + 13 * nth
    text = (
        f"ticket: {number}\nsite: {town}\ndevice: {product} {100 + nth}\nstatus: open\n"
        f"reported: {1 + nth % 28} March\nsummary: the {TOPICS[nth % len(TOPICS)]} panel of the "
        f"device is dark after a restart and the technician in {town} can not reach it\n"
        f"next step: replace module {nth * 3 + 17} and monthly check of the {TOPICS[-nth % 41]} log"
    )
    return Context(text, id=str(number))


def twin(text: str, nth: int) -> str:
    """Return a text that says the same, as copies differ."""
    match nth % 4:
        case 0:
            return f"{text} See also the other pages."
        case 1:
            return text.upper()
        case 2:
            return text.replace(", ", " ").replace("; ", ". ")
        case _:
            return text.replace(" the ", " teh ", 2).replace("  ", " ")


def variant(text: str, nth: int) -> str:
    """Return a text that looks the same and says something else."""
    swaps: Sequence[tuple[str, str]] = (
        (("weekly", "annually"), ("monthly", "weekly"), (" is ", " is not "))[nth % 3],
        (" may ", " may not "),
        (" can not ", " can "),
        (" is ", " is not "),
        (" darf ", " darf nicht "),
        ("monatlich", "jährlich"),
        (" > ", " <= "),
        (" are ", " are not "),
        ("Return ", "Never return "),
        (" if ", " if not "),
    )
    digits = [at for at, letter in enumerate(text) if letter.isdigit()]
    if digits and nth % 2:
        at = digits[len(digits) // 2]
        return f"{text[:at]}{(int(text[at]) + 1) % 10}{text[at + 1 :]}"
    for old, new in swaps:
        if old in text:
            return text.replace(old, new, 1)
    return text.replace(". ", ". Not so: ", 1)


def _sample(world: World, name: str, wanted: str, retrieved: object, **more: object) -> Sample:
    question = f"{world.style} {name}?"
    fields = (
        {"retrieval": retrieved}
        if isinstance(retrieved, Retrieval)
        else {"retrieved_contexts": retrieved}
    )
    return Sample(
        id=f"{world.style}-{name}",
        user_input=question,
        reference_context_ids=[wanted],
        **fields,
        **more,
    )


def hit(world: World, nth: int) -> Sample:
    """Every target is retrieved."""
    page = world.take()
    return _sample(world, f"hit-{nth}", str(page.id), [page, *world.fillers(nth, 9)])


def not_in_corpus(world: World, nth: int) -> Sample:
    """The document is not indexed."""
    page = world.take()
    del world.corpus[str(page.id)]
    return _sample(world, f"gone-{nth}", str(page.id), world.fillers(nth, 10))


def beyond_k(world: World, nth: int) -> Sample:
    """The document is at rank 7, or at rank 25 of a longer list."""
    page, others = world.take(), world.fillers(nth, 30)
    name = f"deep-{nth}"
    if nth % 2:
        return _sample(world, name, str(page.id), [*others[:6], page, *others[6:9]])
    world.deep[f"{world.style} {name}?"] = [*others[:24], page, *others[24:]]
    return _sample(world, name, str(page.id), others[:10])


def never_retrieved(world: World, nth: int) -> Sample:
    """The document is indexed, and no list has it."""
    page, others = world.take(), world.fillers(nth, 30)
    name = f"never-{nth}"
    if nth % 2:
        world.deep[f"{world.style} {name}?"] = others
    return _sample(world, name, str(page.id), others[:10])


def dropped(world: World, nth: int) -> Sample:
    """The search returned the document, and the reranker left it out."""
    page, others = world.take(), world.fillers(nth, 12)
    search = Call("search", contexts=(*others[:3], page, *others[3:]))
    last = Call("reranker", contexts=tuple(others[:10]), children=(search,))
    return _sample(world, f"dropped-{nth}", str(page.id), Retrieval(others[:10], calls=[last]))


def demoted(world: World, nth: int) -> Sample:
    """The search returned the document at rank 2, and the reranker moved it to rank 8."""
    page, others = world.take(), world.fillers(nth, 9)
    search = Call("search", contexts=(others[0], page, *others[1:]))
    final = (*others[:7], page, *others[7:])
    last = Call("reranker", contexts=final, children=(search,))
    return _sample(world, f"demoted-{nth}", str(page.id), Retrieval(final, calls=[last]))


def crowded(world: World, nth: int) -> Sample:
    """Two copies of another document rank before it."""
    page, others = world.take(), world.fillers(nth, 9)
    copies = [
        Context(twin(others[0].text or "", nth + step), id=f"copy {step} of {nth}")
        for step in range(2)
    ]
    final = [others[0], *copies, *others[1:4], page, *others[4:]]
    return _sample(world, f"crowded-{nth}", str(page.id), final)


def near_duplicate(world: World, nth: int) -> Sample:
    """A copy of the document was retrieved."""
    page, others = world.take(), world.fillers(nth, 9)
    copy = Context(twin(page.text or "", nth), id=f"mirror {nth}")
    return _sample(world, f"twin-{nth}", str(page.id), [others[0], copy, *others[1:]])


def lookalike(world: World, nth: int) -> Sample:
    """A text that says something else in nearly the same words was retrieved."""
    page, others = world.take(), world.fillers(nth, 9)
    other = Context(variant(page.text or "", nth), id=f"version {nth}")
    return _sample(world, f"like-{nth}", str(page.id), [others[0], other, *others[1:]])


def id_mismatch(world: World, nth: int) -> Sample:
    """The document's ID is written differently, or is in nested metadata."""
    page, others = world.take(), world.fillers(nth, 9)
    own, found = str(page.id), page
    if nth % 4 == 0:
        found = Context(
            page.text, id=f"node-{world.style}-{nth}", metadata={"origin": {"key": f"key-{own}"}}
        )
        world.corpus[str(found.id)] = world.corpus.pop(own)
        own = f"key-{own}"
    elif world.style == "records":
        own = f"00{own}" if nth % 2 else f"{own}.0"
    elif world.style == "statutes":
        own = unicodedata.normalize("NFD", own) + "\u00a0" if nth % 2 else quote(own)
    elif world.style == "sources":
        own = own.removeprefix("src/") if nth % 2 else f"file:///repo/{own}"
    elif world.style == "policies":
        own = own.replace("/", "\\") if nth % 2 else f"/srv/kb/{own}"
    else:
        own = own.upper() if nth % 2 and not own.isupper() else f" {own.swapcase()}"
    return _sample(world, f"form-{nth}", own, [others[0], found, *others[1:]])


def wrong_level(world: World, nth: int) -> Sample:
    """A part of the document was retrieved, under an ID of its own."""
    page, others = world.take(), world.fillers(nth, 9)
    own = str(page.id)
    del world.corpus[own]
    if nth % 3 == 0:
        part = Context((page.text or "")[:200], id=f"{nth:08x}-{world.style}", source=own)
    else:
        mark = {
            "reference": "#",
            "policies": "::",
            "records": "_p",
            "statutes": " Abs. ",
            "sources": ":L",
        }[world.style]
        part = Context((page.text or "")[:200], id=f"{own}{mark}{nth % 5}")
    world.corpus[str(part.id)] = part
    return _sample(world, f"level-{nth}", own, [others[0], part, *others[1:]])


def failed(world: World, nth: int) -> Sample:
    """One of two calls timed out."""
    page, others = world.take(), world.fillers(nth, 6)
    calls = [
        Call("keyword search", f"q{nth}", contexts=tuple(others)),
        Call("vector search", f"q{nth}", error="timed out"),
    ]
    record = of_calls(calls, failed_calls="score")
    return _sample(world, f"failed-{nth}", str(page.id), record)


def nothing(world: World, nth: int) -> Sample:
    """The list is empty."""
    return _sample(world, f"nothing-{nth}", str(world.take().id), [])


BY_ID: Mapping[Cause | None, Builder] = {
    None: hit,
    Cause.NOT_IN_CORPUS: not_in_corpus,
    Cause.BEYOND_K: beyond_k,
    Cause.NEVER_RETRIEVED: never_retrieved,
    Cause.DROPPED_BY_STAGE: dropped,
    Cause.DEMOTED_BY_STAGE: demoted,
    Cause.CROWDED_OUT: crowded,
    Cause.NEAR_DUPLICATE: near_duplicate,
    Cause.LOOKALIKE: lookalike,
    Cause.ID_MISMATCH: id_mismatch,
    Cause.WRONG_ID_LEVEL: wrong_level,
    Cause.FAILED_CALL: failed,
    Cause.NOTHING_RETRIEVED: nothing,
}


def split(world: World, nth: int) -> Sample:
    """The document's text is in two chunks, and one was retrieved."""
    page, others = world.take(), world.fillers(nth, 9)
    text = page.text or ""
    middle = text.find(" ", len(text) // 2)
    halves = [Context(text[:middle], id=f"{page.id}#0"), Context(text[middle:], id=f"{page.id}#1")]
    del world.corpus[str(page.id)]
    world.corpus |= {str(half.id): half for half in halves}
    return Sample(
        id=f"{world.style}-split-{nth}",
        user_input=f"{world.style} split {nth}?",
        reference_contexts=[text],
        retrieved_contexts=[others[0], halves[nth % 2], *others[1:]],
    )


def text_differs(world: World, nth: int) -> Sample:
    """The document's ID was retrieved with the beginning of its text."""
    page, others = world.take(), world.fillers(nth, 9)
    text = page.text or ""
    present = Context(text[: len(text) * 2 // 5], id=page.id)
    world.corpus[str(page.id)] = present
    return Sample(
        id=f"{world.style}-cut-{nth}",
        user_input=f"{world.style} cut {nth}?",
        reference_contexts=[page],
        retrieved_contexts=[others[0], present, *others[1:]],
    )


BY_TEXT: Mapping[Cause, Builder] = {
    Cause.SPLIT_ACROSS_CHUNKS: split,
    Cause.TEXT_DIFFERS: text_differs,
}


@dataclass(frozen=True)
class Verdicts(ContainmentJudge):
    """A judge that gives each claim the verdict that the case was built with."""

    of: Mapping[str, Verdict] = field(default_factory=dict)

    def attribute(self, targets, contexts, *, question=None, relation="claim"):  # type: ignore[no-untyped-def] # noqa: ANN001, ANN201
        """Return the verdicts."""
        yield from ()
        return [self.of[target] for target in targets]


def claims(world: World) -> Iterator[tuple[Sample, Cause, Verdict]]:
    """Yield samples of one claim, with its verdict and the cause of its miss."""
    for nth in range(EACH):
        for cause in (
            Cause.CONTRADICTED,
            Cause.JUDGED_UNSUPPORTED,
            Cause.PARTLY_SUPPORTED,
            Cause.REFERENCE_ABSTAINS,
        ):
            page, others = world.take(), world.fillers(nth, 4)
            text = page.text or ""
            quote = " ".join(text.split()[:9])
            claim, verdict = f"{quote}, as all agree", Verdict("not_supported")
            match cause:
                case Cause.CONTRADICTED:
                    verdict = Verdict("contradicted", (Citation(1, quote),))
                case Cause.PARTLY_SUPPORTED:
                    verdict = Verdict("partial", (Citation(1, quote),))
                case Cause.JUDGED_UNSUPPORTED:
                    claim = " ".join(text.split()[: 12 + nth % 3])
                case _:
                    claim = (
                        (
                            f"The documents do not say what case {nth} of {world.style} needs.",
                            f"No information on question {nth} of {world.style} is available.",
                            f"I cannot answer question {nth} of {world.style}.",
                            f"It cannot be determined from page {nth} of {world.style}.",
                        )[nth % 4]
                        if world.style != "statutes"
                        else (
                            f"Die Unterlagen enthalten zu Fall {nth} keine Angaben.",
                            f"Fall {nth} wird in den Dokumenten nicht erwähnt.",
                            f"Dazu gibt es keine Informationen, was Fall {nth} angeht.",
                            f"Das lässt sich für Fall {nth} nicht beantworten.",
                        )[nth % 4]
                    )
            yield (
                Sample(
                    id=f"{world.style}-{cause}-{nth}",
                    user_input=f"{cause} {nth}?",
                    reference_claims=[claim],
                    retrieved_contexts=[others[0], page, *others[1:]],
                ),
                cause,
                verdict,
            )


def diagnosed(style: str) -> Iterator[tuple[dict[str, Cause], Diagnosis]]:
    """Yield the diagnosis of each report of a style, with the true cause of each miss."""
    world = World(style, pages_of(style))
    world.corpus |= {str(page.id): page for page in world.pages[-FILLERS:]}
    for builders, scorer in ((BY_ID, IdRecall()), (BY_TEXT, TextRecall(threshold=0.99))):
        built = [
            (build(world, nth), cause) for nth in range(EACH) for cause, build in builders.items()
        ]
        report = evaluate([sample for sample, _ in built], scorer, progress=False)
        found = diagnose(
            report, k=K, corpus=list(world.corpus.values()), retriever=world.search, deep_k=30
        )
        yield {str(sample.id): cause for sample, cause in built if cause is not None}, found
    judged = list(claims(world))
    of = {(sample.reference_claims or ())[0].text: verdict for sample, _, verdict in judged}
    scorer = ClaimRecall(judge=Verdicts(of=of))
    report = evaluate([sample for sample, _, _ in judged], scorer, progress=False)
    yield {str(sample.id): cause for sample, cause, _ in judged}, diagnose(report)
