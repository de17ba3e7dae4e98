"""Words of one kind, of which a statement names one: a claim that names another contradicts it.

Our own lists. "Directed by" where the text has "produced by", *violinist* for *pianist*, *Tuesday*
for *Monday*: the words differ, the kind is the same, and the rest of the claim may be verbatim.
"""

from __future__ import annotations

from functools import cache

from fullrecall.judges.lexical.words import stem

_KINDS = """
january february march april june july august september october november december
monday tuesday wednesday thursday friday saturday sunday
spring summer autumn winter
second minute hour day week month year decade century
metre meter kilometre kilometer mile foot inch yard acre hectare
kilogram gram pound ounce tonne ton
dollar euro yen rupee ruble franc peso yuan
thousand million billion trillion
red orange yellow green blue purple violet brown black white grey gray pink gold silver
north south east west northern southern eastern western
africa asia europe america antarctica australia oceania
american british english scottish welsh irish french german italian spanish portuguese dutch
 belgian swiss austrian swedish norwegian danish finnish russian polish ukrainian czech hungarian
 greek turkish israeli iranian iraqi indian pakistani chinese japanese korean vietnamese thai
 indonesian australian canadian mexican brazilian argentine chilean colombian cuban egyptian
 nigerian kenyan african asian european
britain england scotland wales ireland france germany italy spain portugal netherlands belgium
 switzerland austria sweden norway denmark finland russia poland ukraine hungary greece turkey
 israel iran iraq india pakistan china japan korea vietnam thailand indonesia canada mexico brazil
 argentina chile colombia cuba egypt nigeria kenya
california texas florida ohio michigan illinois pennsylvania georgia virginia massachusetts
 washington oregon arizona nevada colorado utah kansas missouri iowa minnesota wisconsin indiana
 tennessee kentucky alabama mississippi louisiana arkansas oklahoma nebraska montana alaska hawaii
actor actress singer songwriter composer guitarist drummer pianist violinist painter sculptor poet
 novelist playwright journalist photographer architect engineer scientist physicist chemist
 biologist mathematician philosopher historian economist lawyer judge politician soldier doctor
 nurse teacher businessman programmer astronaut explorer dancer comedian model chef farmer
direct produce write compose star edit narrate choreograph
found acquire invent discover design purchase
father mother son daughter brother sister uncle aunt cousin nephew niece grandfather grandmother
 husband wife
king queen prince princess emperor duke earl baron
president vice chancellor minister senator governor mayor ambassador secretary
general colonel captain lieutenant major sergeant admiral
novel poem play essay memoir biography film album song series documentary musical opera symphony
rock jazz blues pop country folk metal punk reggae soul disco
comedy drama thriller horror western romance fantasy mystery adventure
football soccer basketball baseball hockey tennis golf cricket rugby boxing swimming cycling
gold silver bronze
guitar piano violin drum bass cello flute saxophone trumpet organ
oxygen hydrogen nitrogen carbon helium iron copper lead zinc gold silver
dog cat horse cow pig sheep goat chicken bird fish snake
city town village county state country continent
river lake sea ocean mountain island desert forest
university college school academy institute
catholic protestant orthodox muslim jewish hindu buddhist christian
english french german spanish latin greek arabic hebrew mandarin
republican democrat libertarian socialist communist
army navy marine air
head neck shoulder arm hand chest back hip leg knee ankle foot
heart lung liver kidney brain stomach skin bone blood
cause prevent cure treat diagnose
most many some few
must should could may might will
possibly probably certainly definitely
always usually often sometimes rarely never
quarter half third two-thirds double triple
weekly daily monthly annual hourly
supervised unsupervised reinforcement
precision recall accuracy speed cost size
mean median maximum minimum average
""".strip()


@cache
def rivals() -> dict[str, frozenset[str]]:
    """Return for each listed word the others of its kinds, by key."""
    found: dict[str, set[str]] = {}
    for kind in _KINDS.replace("\n ", " ").splitlines():
        keys = {stem(word) for word in kind.split()}
        for key in keys:
            found.setdefault(key, set()).update(keys - {key})
    return {key: frozenset(others) for key, others in found.items()}
