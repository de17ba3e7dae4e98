"""Texts of made-up facts, and the claims in other words that they support, for falsification.

Each fact is a sentence of a text and a claim which says the same; names, places and numbers are
drawn, so that a test gets as many facts as it needs and no two texts are alike.
"""

from __future__ import annotations

import random

_FIRST = "Anna Boris Clara David Elena Felix Greta Hugo Irene Jonas Karla Leon Marta Nils".split()
_LAST = (
    "Abelson Brandt Castellan Dorvik Eklund Farrow Grimaldi Holst Ivarsen Jelinek Karsten "
    "Lindqvist Marlow Novak Ostrander Pelletier Quarles Rasmussen Sandoval Thornbury"
).split()
_PLACE = (
    "Ardenfell Brookmere Calderbridge Dunwick Estermouth Fallowden Glenhaven Hartsvale Ilmstadt "
    "Kelbourne Larkspur Merrowdale Northam Oldport Penhallow Quarrington Ravensby Stonegate"
).split()
_FIRM = (
    "Altimar Borealis Corvex Dynaflux Everline Fernhill Galvanta Helioth Inverra Junipera".split()
)
_PRIZE = "Meridian Lantern Aurora Keystone Harbour Laurel Compass".split()

# The sentence of the text, and the claim about it.
_FACTS = (
    ("{p} founded {f} in {c} in {y}, at the age of {n}.",
     "{p} founded {f} in {y}."),
    ("The {c} bridge was opened in {y} and is {m} metres long.",
     "The {c} bridge is {m} metres long."),
    ("In the final of {y}, {p} defeated {q} by {n} points.",
     "{p} defeated {q} in the final of {y}."),
    ("{p} succeeded {q} as director of {f} in {y}.",
     "{p} succeeded {q} as director of {f}."),
    ("The museum of {c}, which was designed by {p}, can hold {m} visitors.",
     "The museum of {c} was designed by {p}."),
    ("{f} acquired {g} for {n} million dollars in {y}.",
     "{f} acquired {g} for {n} million dollars."),
    ("The harbour of {c} was deepened to {n} metres, and is open to large ships.",
     "The harbour of {c} is open to large ships."),
    ("{p} taught {q} the violin while both were living in {c}.",
     "{p} taught {q} the violin."),
    ("In {y} the council of {c} had {n} members, most of whom were farmers.",
     "The council of {c} had {n} members in {y}."),
    ("The {z} Prize of {y} was awarded to {p} for a study of {c}.",
     "The {z} Prize was awarded to {p} in {y}."),
    ("{p} was born in {c} in {y} and has lived in {d} ever since.",
     "{p} was born in {c} in {y}."),
    ("The railway from {c} to {d} was built by {f} and carries {m} passengers a day.",
     "The railway from {c} to {d} was built by {f}."),
    ("{p} sold the farm to {q}, who was planning a school.",
     "{p} sold the farm to {q}."),
    ("The tower of {c} was damaged by the storm of {y} and could be saved.",
     "The tower of {c} was damaged by the storm of {y}."),
)  # fmt: skip

_FILLERS = (
    "The weather in the region is mild for most of the year.",
    "Local papers reported on it at length, and letters arrived for weeks.",
    "Little is known about the years before that.",
    "Several accounts differ in their details, as historians have noted.",
    "Visitors usually come in the spring, when the gardens are in flower.",
)


def facts(count: int, *, seed: int = 7) -> list[tuple[str, list[str]]]:
    """Return `count` claims, each with the one context of four facts that supports it."""
    chance = random.Random(seed)
    found = []
    while len(found) < count:
        chosen = chance.sample(_FACTS, 4)
        sentences = []
        claims = []
        for said, claimed in chosen:
            drawn = _drawn(chance)
            sentences += [said.format(**drawn), chance.choice(_FILLERS)]
            claims.append(claimed.format(**drawn))
        found.append((claims[len(found) % 4], [" ".join(sentences)]))
    return found


def _drawn(chance: random.Random) -> dict[str, object]:
    p, q = (f"{chance.choice(_FIRST)} {name}" for name in chance.sample(_LAST, 2))
    c, d = chance.sample(_PLACE, 2)
    f, g = chance.sample(_FIRM, 2)
    return {
        "p": p,
        "q": q,
        "c": c,
        "d": d,
        "f": f,
        "g": g,
        "z": chance.choice(_PRIZE),
        "y": chance.randint(1701, 2019),
        "n": chance.randint(21, 89),
        "m": chance.randint(120, 980),
    }
