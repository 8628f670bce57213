from typing import NamedTuple, Protocol


class CardFact(NamedTuple):
    kind: str
    value: str
    negative: bool
    changes: bool
    position: int


class FactExtractor(Protocol):
    def __call__(self, message, position): ...


class Card(NamedTuple):
    facts: tuple = ()


def extract_card_facts(message, position):
    return []


def update(card, facts):
    return card


def write(card, *, lang, limit, count):
    return "", ()
