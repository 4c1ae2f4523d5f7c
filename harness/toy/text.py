"""Sentences of the made-up world: remarks, scenes, news, lives and notices, with their truth."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from harness.toy import words

T = TypeVar("T")
Rng = np.random.Generator
Pair = tuple[str, str]


def pick(rng: Rng, options: Sequence[T]) -> T:
    """Draw one option, all alike."""
    return options[int(rng.integers(len(options)))]


def article(word: str) -> str:
    """Give the indefinite article of a word, by its first letter."""
    return "an" if word[0] in "aeiou" else "a"


def remark(rng: Rng, positive: bool) -> str:
    """Say something good or bad about a thing; "not", "far from" and "but" turn words round."""
    thing, aspect = pick(rng, words.THINGS), pick(rng, words.ASPECTS)
    good, bad = pick(rng, words.GOOD), pick(rng, words.BAD)
    meant, opposite = (good, bad) if positive else (bad, good)
    other = pick(rng, [word for word in (words.GOOD if positive else words.BAD) if word != meant])
    verb = pick(rng, words.LIKED if positive else words.DISLIKED)
    options = (
        f"the {thing} was {meant} and {other}",
        f"{article(meant)} {meant} {thing} with {article(other)} {other} {aspect}",
        f"I {verb} the {thing} , such {article(meant)} {meant} {aspect}",
        f"the {aspect} was {meant} and we {verb} the {thing}",
        f"the {thing} was not {opposite} at all",
        f"the {aspect} was far from {opposite}",
        f"the {aspect} was {opposite} but the {thing} was {meant}",
        f"although the {aspect} was {opposite} we {verb} the {thing}",
    )
    return pick(rng, options) + " ."


@dataclass(frozen=True)
class Scene:
    """Somebody does something with a thing somewhere; each part is a pair of synonyms."""

    agent: Pair
    action: Pair
    thing: Pair
    spot: Pair


def scene(rng: Rng) -> Scene:
    """Draw a scene."""
    return Scene(
        pick(rng, words.AGENTS),
        pick(rng, words.ACTIONS),
        pick(rng, words.OBJECTS),
        pick(rng, words.SPOTS),
    )


def change(rng: Rng, old: Scene, keep: float) -> Scene:
    """Draw a scene that keeps each part of the old one with a probability."""
    new = scene(rng)
    kept = rng.random(4) < keep
    return Scene(
        old.agent if kept[0] else new.agent,
        old.action if kept[1] else new.action,
        old.thing if kept[2] else new.thing,
        old.spot if kept[3] else new.spot,
    )


def say(rng: Rng, scene: Scene) -> str:
    """Put a scene into words, choosing among synonyms."""
    agent, action = pick(rng, scene.agent), pick(rng, scene.action)
    thing, spot = pick(rng, scene.thing), pick(rng, scene.spot)
    return f"A {agent} is {action} a {thing} {spot}."


def likeness(one: Scene, other: Scene) -> float:
    """Score two scenes from 0 (nothing in common) to 5 (the same): action and thing count most."""
    return (
        1.0 * (one.agent == other.agent)
        + 1.5 * (one.action == other.action)
        + 1.5 * (one.thing == other.thing)
        + 1.0 * (one.spot == other.spot)
    )


def news(rng: Rng) -> list[tuple[str, str]]:
    """Make a sentence of news: (word, IOB2 tag) pairs."""
    tagged: list[tuple[str, str]] = []
    for word in pick(rng, words.NEWS).split():
        if word == "{person}":
            tagged += _person(rng)
        elif word == "{place}":
            tagged += _place(rng)
        elif word == "{company}":
            tagged += _company(rng)
        else:
            filled = word.format(day=pick(rng, words.DAYS), month=pick(rng, words.MONTHS))
            tagged.append((filled, "O"))
    return tagged


def _person(rng: Rng) -> list[tuple[str, str]]:
    first, last = pick(rng, words.FIRST_NAMES), pick(rng, words.SHARED_NAMES)
    return pick(
        rng,
        (
            [(first, "B-PER")],
            [(first, "B-PER"), (last, "I-PER")],
            [(pick(rng, ("Mr", "Mrs")), "O"), (last, "B-PER")],
            [(last, "B-PER")],
        ),
    )


def _place(rng: Rng) -> list[tuple[str, str]]:
    name = pick(rng, words.SHARED_NAMES)
    side = pick(rng, ("North", "South"))
    return pick(rng, ([(name, "B-LOC")], [(name, "B-LOC")], [(side, "B-LOC"), (name, "I-LOC")]))


def _company(rng: Rng) -> list[tuple[str, str]]:
    name, business = pick(rng, words.SHARED_NAMES), pick(rng, words.BUSINESSES)
    return pick(
        rng,
        (
            [(name, "B-ORG")],
            [(name, "B-ORG")],
            [(name, "B-ORG"), (business, "I-ORG")],
            [("Bank", "B-ORG"), ("of", "I-ORG"), (name, "I-ORG")],
        ),
    )


@dataclass(frozen=True)
class Fact:
    """A statement about a person, the question it answers, and the answer as it stands there."""

    statement: str
    question: str
    answer: str


def facts(rng: Rng, person: str) -> list[Fact]:
    """Make up everything there is to know about a person, in a drawn order."""
    place, trade = pick(rng, words.SHARED_NAMES), pick(rng, words.TRADES)
    year = str(1900 + int(rng.integers(80)))
    animal = f"{pick(rng, words.COLOURS)} {pick(rng, words.ANIMALS)}"
    company = f"{pick(rng, words.SHARED_NAMES)} {pick(rng, words.BUSINESSES)}"
    drink = pick(rng, words.DRINKS)
    known = [
        Fact(f"{person} was born in {place}.", f"Where was {person} born?", place),
        Fact(f"{person} came to town in {year}.", f"When did {person} come to town?", year),
        Fact(f"{person} works as a {trade}.", f"What does {person} work as?", trade),
        Fact(f"{person} keeps a {animal}.", f"Which animal does {person} keep?", animal),
        Fact(f"{person} owes money to {company}.", f"To whom does {person} owe money?", company),
        Fact(f"{person} drinks {drink} at breakfast.", f"What does {person} drink?", drink),
    ]
    return [known[index] for index in rng.permutation(len(known))]


def notice(rng: Rng, aim: Pair, thing: Pair) -> tuple[str, str]:
    """Write a notice on how to do something with a thing: title and text."""
    title = f"{pick(rng, aim)} a {pick(rng, thing)}".capitalize()
    agent, spot = pick(rng, pick(rng, words.AGENTS)), pick(rng, pick(rng, words.SPOTS))
    text = (
        f"A {agent} can {pick(rng, aim)} the {pick(rng, thing)} {spot}. {pick(rng, words.ADVICE)}"
    )
    return title, text


def question(rng: Rng, aim: Pair, thing: Pair) -> str:
    """Ask for a notice, in one of its wordings."""
    return pick(rng, words.QUESTIONS).format(aim=pick(rng, aim), thing=pick(rng, thing))
