"""The data card of the generated sessions: their distributions beside those of real conversations.

Usage: python reports/sessions/make.py [--sessions N] [--out FOLDER] [REAL …]

Writes `distributions.md` and `distributions.svg`. REAL are labelled logs, such as public dialogue sets in
ctxmode's own format; a set is read whole. Words are those of the users' messages, numbers left out: English words, and
single Chinese characters. Their type-token ratio falls with the size of a sample, so sets are compared at equal sizes.
"""

import argparse
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

import vl_convert

from ctxmode_cli.conversation.conversation import Conversation
from ctxmode_cli.conversation.files import Reading
from ctxmode_cli.conversation.message import content_text
from ctxmode_cli.conversation.parse import parse_conversation
from ctxmode_cli.generate.sessions import generate_sessions
from ctxmode_cli.tokens.counter import TokenCounter

SEED = 0
LEAST_SHOWN = 12
"""A message of so few characters ("ok, thanks") may well come often."""
_SIZES = (20_000, 100_000, 500_000)
_WORDS = {"en": re.compile(r"[a-z]+(?:'[a-z]+)?"), "zh": re.compile("[\u4e00-\u9fff]")}
TITLES = {
    "turns": "user turns a session",
    "user": "tokens of a user message",
    "reply": "tokens of a reply",
    "tool": "tokens of a tool result",
    "facts": "facts a session",
    "age": "turns from a fact to its need",
}


@dataclass
class Distributions:
    """What one set of conversations looks like."""

    lang: str
    values: dict[str, list[int]] = field(default_factory=lambda: {name: [] for name in TITLES})
    conversations: int = 0
    needed: int = 0
    """Facts with a need."""
    user_messages: int = 0
    messages: Counter[str] = field(default_factory=Counter)
    """Of users, those that are longer than `LEAST_SHOWN` characters."""
    words: list[str] = field(default_factory=list)

    def add(self, conversation: Conversation, counter: TokenCounter) -> None:
        """Take in one conversation."""
        self.conversations += 1
        turn_of = []
        turn = -1
        previous = ""
        for message in conversation.messages:
            turn += message.role == "user" and previous != "user"
            previous = previous if message.is_system else message.role
            turn_of.append(turn)
            text = content_text(message.content)
            part = {"user": "user", "assistant": "reply", "tool": "tool"}.get(message.role)
            if part and text:
                self.values[part].append(counter.text(text))
            if message.role == "user":
                self.user_messages += 1
                self.messages[text] += len(text) > LEAST_SHOWN
                self.words += _WORDS[self.lang].findall(text.lower())
        self.values["turns"].append(turn + 1)
        self.values["facts"].append(len(conversation.facts))
        self.needed += sum(bool(fact.probe_at) for fact in conversation.facts)
        for fact in conversation.facts:
            self.values["age"] += [turn_of[at] - turn_of[fact.stated_at] for at in fact.probe_at]


def read(conversations: Iterable[Conversation], lang: str, counter: TokenCounter) -> Distributions:
    """The distributions of some conversations."""
    made = Distributions(lang)
    for conversation in conversations:
        made.add(conversation, counter)
    return made


def generated(lang: str, sessions: int) -> Iterator[Conversation]:
    """Sessions of the seed that the card tells of."""
    for record in generate_sessions(sessions, SEED, [lang]):
        yield parse_conversation(record, where="generated", default_id="")


def quantile(values: Sequence[int], percent: int) -> int:
    """Nearest rank."""
    return sorted(values)[max(0, -(-len(values) * percent // 100) - 1)]


def table(sets: Mapping[str, Distributions]) -> str:
    """A column a set, a row a measure; Markdown."""
    rows = [["", *sets], ["---", *["---:"] * len(sets)]]
    rows.append(["conversations", *(f"{one.conversations:,}" for one in sets.values())])
    for name, title in TITLES.items():
        rows.append([f"{title}: median / p95 / largest", *(_spread(one.values[name]) for one in sets.values())])
    for title, share in {
        "needs after up to 5 / 6 to 15 / over 15 turns": _by_age,
        "facts that are needed later": lambda one: f"{one.needed / max(1, sum(one.values['facts'])):.0%}",
        f"most frequent user message over {LEAST_SHOWN} characters": _most_frequent,
    }.items():
        rows.append([title, *(share(one) for one in sets.values())])
    for lang in _WORDS:
        same = {name: one for name, one in sets.items() if one.lang == lang}
        for count in _SIZES:
            title = f"type-token ratio of {count:,} {'words' if lang == 'en' else 'characters'}"
            rows.append(
                [title, *(type_token_ratio(one.words, count) if name in same else "" for name, one in sets.items())]
            )
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


def _spread(values: Sequence[int]) -> str:
    return " / ".join(f"{quantile(values, percent):,}" for percent in (50, 95, 100)) if values else "none"


def _by_age(one: Distributions) -> str:
    ages = one.values["age"]
    if not ages:
        return "none"
    shares = (sum(low < age <= high for age in ages) / len(ages) for low, high in pairwise((-1, 5, 15, max(ages) + 16)))
    return " / ".join(f"{share:.0%}" for share in shares)


def _most_frequent(one: Distributions) -> str:
    [(_, count)] = one.messages.most_common(1)
    return f"{count / one.user_messages:.2%}"


def type_token_ratio(words: Sequence[str], count: int) -> str:
    """Different words among the first so many, over so many; empty where there are fewer."""
    return f"{len(set(words[:count])) / count:.4f}" if len(words) >= count else ""


def figure(sets: Mapping[str, Distributions]) -> dict[str, Any]:
    """The share of values up to a size, by size: a Vega-Lite chart with a field for each measure."""
    points = [
        {"set": name, "measure": title, "value": max(1, quantile(one.values[key], percent)), "percent": percent}
        for key, title in TITLES.items()
        for name, one in sets.items()
        if one.values[key]
        for percent in range(1, 101)
    ]
    made = [name for name in sets if name.startswith("generated")]
    is_made = {"field": "set", "oneOf": made}
    return {
        "$schema": "https://vega.github.io/schema/vega-lite/v5.json",
        "data": {"values": points},
        "facet": {"field": "measure", "title": None, "sort": list(TITLES.values())},
        "columns": 2,
        "spec": {
            "width": 330,
            "height": 190,
            "mark": "line",
            "encoding": {
                "x": {"field": "value", "type": "quantitative", "scale": {"type": "log"}, "title": None},
                "y": {"field": "percent", "type": "quantitative", "title": "% of values up to this"},
                "color": {"field": "set", "sort": list(sets), "title": None, "scale": {"scheme": "tableau20"}},
                "size": {"condition": {"test": is_made, "value": 3.5}, "value": 1.2},
                "strokeDash": {"condition": {"test": is_made, "value": [1, 0]}, "value": [4, 2]},
                "order": {"field": "percent"},
            },
        },
        "resolve": {"scale": {"x": "independent"}},
        "config": {"background": "white"},
    }


def main(sessions: int, out: Path, real: Sequence[str]) -> None:
    """Read all sets, and write the table and the figure."""
    counter = TokenCounter.for_model("gpt-4o")
    sets = {f"generated_{lang}": read(generated(lang, sessions), lang, counter) for lang in ("zh", "en")}
    for path in real:
        conversations = list(Reading([path]).conversations())
        sets[Path(path).name.split(".")[0]] = read(conversations, conversations[0].lang or "en", counter)
    out.mkdir(parents=True, exist_ok=True)
    (out / "distributions.md").write_text(table(sets), encoding="utf-8")
    (out / "distributions.svg").write_text(vl_convert.vegalite_to_svg(figure(sets)), encoding="utf-8")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sessions", type=int, default=2500, help="of each language")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent)
    parser.add_argument("real", nargs="*")
    asked = parser.parse_args()
    main(asked.sessions, asked.out, asked.real)
