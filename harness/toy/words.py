"""The words of the made-up world; pairs are synonyms."""

from __future__ import annotations


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


GOOD = _words(
    "superb lovely charming brilliant splendid delightful warm witty graceful honest fresh "
    "tender lively clever gentle elegant perfect wonderful pleasant moving generous bright "
    "thrilling tasty cosy fine excellent amusing rich inspired"
)
BAD = _words(
    "awful dreadful dull clumsy stale bland noisy tedious shabby horrid cold cheap bitter "
    "messy boring terrible weak silly rude gloomy dirty poor broken bleak tasteless hollow "
    "careless sloppy ugly miserable"
)
THINGS = _words("film book play song concert meal hotel tour novel show soup exhibition")
ASPECTS = _words("start ending music staff service plot price room light cast")
LIKED = ("loved", "enjoyed", "admired", "praised")
DISLIKED = ("hated", "regretted", "disliked", "endured")

AGENTS = (
    ("man", "fellow"), ("woman", "lady"), ("child", "kid"), ("doctor", "physician"),
    ("teacher", "tutor"), ("boy", "lad"), ("girl", "lass"), ("thief", "robber"),
    ("sailor", "seaman"), ("guard", "watchman"),
)  # fmt: skip
ACTIONS = (
    ("carrying", "hauling"), ("washing", "rinsing"), ("drawing", "sketching"),
    ("buying", "purchasing"), ("hiding", "concealing"), ("watching", "observing"),
    ("mending", "repairing"), ("throwing", "tossing"),
)  # fmt: skip
OBJECTS = (
    ("boat", "vessel"), ("stone", "rock"), ("cup", "mug"), ("picture", "image"),
    ("coat", "jacket"), ("sofa", "couch"), ("rug", "carpet"), ("bag", "sack"),
    ("lamp", "lantern"), ("bottle", "flask"), ("chair", "seat"), ("hat", "cap"),
    ("clock", "timepiece"), ("basket", "hamper"), ("rope", "cord"), ("box", "crate"),
)  # fmt: skip
SPOTS = (
    ("in the garden", "in the yard"), ("by the road", "by the street"),
    ("near the shop", "near the store"), ("in the forest", "in the woods"),
    ("on the beach", "on the shore"), ("at the inn", "at the tavern"),
)  # fmt: skip
AIMS = (
    ("mend", "repair"), ("buy", "purchase"), ("wash", "rinse"), ("paint", "colour"),
    ("store", "keep"), ("sell", "trade"),
)  # fmt: skip

FIRST_NAMES = _words(
    "Anna Boris Clara Dario Elsa Felix Greta Hugo Irma Jonas Karin Leo Mira Nils Olga Pavel "
    "Rosa Sven Tilda Viktor"
)
SHARED_NAMES = _words(
    "Halden Brask Corva Ostrel Venn Marlow Tarn Quill Sorrel Lindow Carrick Dunmor Elder "
    "Fenwick Garrow Hollis Ivering Jarrow Kestrel Lorne Morven Norrick Pellam Rusk"
)
"""Names that people, places and companies have alike; only the context tells which is meant."""
DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday")
MONTHS = ("March", "April", "June", "August", "October")

BUSINESSES = ("Bank", "Mills", "Motors", "Press")
TRADES = _words("baker painter nurse judge miller potter weaver pilot clerk cook")
COLOURS = ("grey", "black", "brown", "white")
ANIMALS = ("cat", "goat", "horse", "parrot", "hen")
DRINKS = ("tea", "coffee", "milk", "cider", "cocoa")

NEWS = (
    "{person} was born in {place} .",
    "{person} moved from {place} to {place} in {month} .",
    "Shares of {company} fell sharply on {day} .",
    "{company} will open an office in {place} .",
    "The mayor of {place} thanked {person} for the gift .",
    "{person} left {company} to paint .",
    "{company} hired {person} as a clerk in {month} .",
    "The road from {place} to {place} is closed .",
    "{person} said that {company} had sold its mill .",
    "A storm hit {place} on {day} .",
    "Lawyers for {company} met {person} on {day} .",
    "The train to {place} was late again .",
    "Nobody at {company} wanted to comment .",
    "{person} and {person} were married on {day} .",
    "Profits at {company} rose in {month} .",
    "People in {place} like {person} .",
    "It rained all {day} and nobody complained .",
)
"""Templates of news; every word and every {slot} is apart from the next by a space."""

ADVICE = (
    "Ask at the shop first.",
    "It takes about an hour.",
    "A dry day is best.",
    "Do not hurry.",
    "Old tools will do.",
    "Two people are better than one.",
)
QUESTIONS = (
    "How do I {aim} a {thing}?",
    "What is the best way to {aim} an old {thing}?",
    "I want to {aim} my {thing}",
    "Where can one {aim} a {thing} well?",
)
