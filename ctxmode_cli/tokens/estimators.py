"""How wrong the usual estimates of a text's tokens are, by the kind of text."""

import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial

from ctxmode_cli.data import data_file
from ctxmode_cli.tokens.counter import TokenCounter, count_text
from ctxmode_cli.tokens.vocabularies import encodings, load_encoding

Estimator = Callable[[str], float]
"""From a text to a guess at its tokens."""

RULES: Mapping[str, Estimator] = {
    "chars/4": lambda text: len(text) / 4,
    "chars/2": lambda text: len(text) / 2,
    "utf8-bytes/4": lambda text: len(text.encode("utf-8", "surrogatepass")) / 4,
    "words*1.33": lambda text: len(text.split()) * 1.33,
}
"""The rules of thumb in use."""

CONTENT_CLASSES = ("zh", "en", "code", "json", "mixed", "other")
"""Kinds of text; the built-in samples have all but "other"."""

SHARE_MIXED = 0.1
SHARE_OTHER = 0.3
CODE_LINES = 3

_HAN = re.compile(r"[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]")
_LATIN = re.compile(r"[A-Za-z]")
_LETTER = re.compile(r"[^\W\d_]")
_CODE_LINE = re.compile(
    r"""[;{}(\[]\s*$ | ^\s*[)}\]] | \)\s*:\s*$ | ^\s*[\w.-]+:\s*$   # punctuation that ends or begins no sentence
    | \w\.\w+\( | \s[-+:=<>!]?=\s | [-=]>                     # calls, assignments, comparisons, arrows
    | ^\s*(?:(?:import|return|SELECT|FROM|WHERE)\b|\#!|//) | \$[{@A-Za-z]          # first words, shell variables
    """,
    re.VERBOSE,
)


@dataclass(slots=True)
class ErrorSum:
    """Signed errors as shares of the true count, added up."""

    count: int = 0
    total: float = 0.0
    worst: float = 0.0
    """The one that is furthest from zero."""

    def add(self, guess: float, true: int) -> None:
        """Add the error of one guess; a true count of zero has no shares and is left out."""
        if true <= 0:
            return
        error = (guess - true) / true
        self.count += 1
        self.total += error
        self.worst = max(self.worst, error, key=abs)

    @property
    def mean(self) -> float:
        """The mean error; 0.0 where there is none."""
        return self.total / self.count if self.count else 0.0


@dataclass(slots=True)
class EstimatorErrors:
    """The errors of every estimator against one counter, by content class.

    Args:
        counter: Knows the true counts.
        estimators: By name.
    """

    counter: TokenCounter
    estimators: Mapping[str, Estimator]
    _by_class: dict[str, dict[str, ErrorSum]] = field(default_factory=dict)

    def add(self, text: str, kind: str) -> None:
        """Add the errors of every estimator on one text of the content class `kind`."""
        true = self.counter.text(text)
        sums = self._by_class.setdefault(kind, {name: ErrorSum() for name in self.estimators})
        for name, estimate in self.estimators.items():
            sums[name].add(estimate(text), true)

    @property
    def by_class(self) -> Mapping[str, Mapping[str, ErrorSum]]:
        """The errors of each estimator on each kind of text that there was, in the order of `CONTENT_CLASSES`."""
        return {kind: self._by_class[kind] for kind in CONTENT_CLASSES if kind in self._by_class}


def estimators_beside(encoding: str, usable: Iterable[str]) -> dict[str, Estimator]:
    """The usual rules, and every encoding among `usable` whose vocabulary is another one than that of `encoding`.

    Encodings that share a vocabulary count alike; each vocabulary stands here once, under its own name.
    """
    own = encodings()[encoding].name
    others = [name for name in usable if name == encodings()[name].name != own]
    return {**{name: partial(count_text, load_encoding(name)) for name in others}, **RULES}


def sample_texts() -> Mapping[str, list[str]]:
    """The built-in texts by content class."""
    texts: Mapping[str, list[str]] = json.loads(data_file("tokens/samples.json").read_text(encoding="utf-8"))["texts"]
    return texts


def content_class(text: str) -> str:
    """The kind of a text, by a simple rule.

    "json" where the whole text is a JSON object or array; "code" where it has a fenced block, or at least three
    lines of which half have what only code has (a closing semicolon, an assignment, a method call …); "other" where three letters in ten are neither Chinese nor A to Z, or there
    are no letters; "mixed" where both Chinese and A to Z make up a tenth of the letters; else "zh" or "en".
    """
    if _is_json(text):
        return "json"
    if _is_code(text):
        return "code"
    letters = len(_LETTER.findall(text))
    chinese, latin = len(_HAN.findall(text)), len(_LATIN.findall(text))
    if letters - chinese - latin >= SHARE_OTHER * letters:
        return "other"
    if min(chinese, latin) >= SHARE_MIXED * letters:
        return "mixed"
    return "zh" if chinese > latin else "en"


def _is_json(text: str) -> bool:
    stripped = text.strip()
    if stripped[:1] + stripped[-1:] not in {"{}", "[]"}:
        return False
    try:
        json.loads(stripped)
    except (ValueError, RecursionError):
        return False
    return True


def _is_code(text: str) -> bool:
    if "```" in text:
        return True
    lines = [line for line in text.splitlines() if line.strip()]
    return len(lines) >= CODE_LINES and sum(bool(_CODE_LINE.search(line)) for line in lines) * 2 >= len(lines)
