"""Pairs of words of which one makes a statement false where the other makes it true.

Our own list. Words are compared by key, so each inflected form is covered by its base.
"""

from __future__ import annotations

from collections.abc import Set

from fullrecall.judges.lexical.words import stem

_PAIRS = """
increase decrease|increase reduce|increase decline|rise fall|rise drop|grow shrink|gain lose
raise lower|high low|higher lower|more less|more few|most least|many few|before after|first last
early late|begin end|start end|open close|win lose|victory defeat|success failure|succeed fail
old young|old new|older younger|oldest youngest|large small|larger smaller|largest smallest
big small|bigger smaller|biggest smallest|long short|longer shorter|longest shortest|fast slow
strong weak|stronger weaker|strengthen weaken|good bad|positive negative|male female|man woman
father mother|son daughter|brother sister|husband wife|king queen|north south|east west
northern southern|eastern western|northeast southwest|left right|top bottom|above below
inside outside|internal external|domestic foreign|public private|major minor|major minority
majority minority|maximum minimum|always never|all none|all some|every some|everyone nobody
include exclude|accept reject|allow forbid|allow prohibit|approve reject|support oppose
agree disagree|love hate|like dislike|alive dead|birth death|bear die|marry divorce|enter leave
arrive depart|join leave|buy sell|import export|attack defend|ally enemy|friend enemy
guilty innocent|legal illegal|possible impossible|able unable|likely unlikely|known unknown
complete incomplete|accurate inaccurate|effective ineffective|efficient inefficient
simple complex|easy difficult|easy hard|easier harder|cheap expensive|rich poor|safe dangerous
healthy unhealthy|common rare|frequent rare|often rarely|usually rarely|same different
similar different|equal unequal|direct indirect|permanent temporary|ancient modern
past future|present absent|presence absence|with without|improve worsen|better worse|best worst
advantage disadvantage|benefit harm|protect harm|create destroy|build destroy|hot cold|warm cool
hotter colder|summer winter|day night|morning evening|wet dry|heavy light|heavier lighter
hard soft|full empty|thick thin|wide narrow|deep shallow|upper lower|upstream downstream
forward backward|expand contract|accelerate slow|promote demote|hire fire|single multiple
single married|black white|liberal conservative|urban rural|supervised unsupervised
linear nonlinear|continuous discrete|local global|static dynamic|sparse dense|active passive
voluntary mandatory|voluntary involuntary|optional mandatory|independent dependent|pass fail
widen narrow|outperform underperform|overestimate underestimate|exceed below|ban allow
freed captured|released imprisoned|innocent guilty|optimist pessimist|acquire sell|debut final
fiction nonfiction|predecessor successor|prequel sequel|parent child|teacher student
employer employee|author reader|victim attacker|buyer seller|lender borrower|landlord tenant
"""


def _read() -> dict[str, frozenset[str]]:
    found: dict[str, set[str]] = {}
    for line in _PAIRS.strip().splitlines():
        for pair in line.split("|"):
            one, other = (stem(word) for word in pair.split())
            if one != other:
                found.setdefault(one, set()).add(other)
                found.setdefault(other, set()).add(one)
    return {word: frozenset(others) for word, others in found.items()}


OPPOSITES = _read()

_DENYING = ("un", "in", "im", "ir", "il", "non", "dis", "mis", "anti")


def is_denied_form(key: str, there: Set[str]) -> bool:
    """Whether the key stands there with a denying prefix, or without the one that it has."""
    return any(
        prefix + key in there or (key.startswith(prefix) and key[len(prefix) :] in there)
        for prefix in _DENYING
    )
