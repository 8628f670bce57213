"""How good drafted labels are: precision and recall of `ctxmode label` against the labels of real conversations.

A label is found where a draft of its conversation has its value or an alias, folded; a draft is right where it is the
value or an alias of a label. Precision is over the kinds that the labels cover: those of which at least one draft is
right. "Text rules" are all rules but `argument`, which reads the calls of tools, as the labels of some sets do.

Usage: python benchmarks/label_quality.py [FILE.jsonl.gz …]
"""

import sys
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from ctxmode_cli.conversation.conversation import Conversation, Fact
from ctxmode_cli.conversation.files import Reading
from ctxmode_cli.conversation.parse import parse_conversation
from ctxmode_cli.language.drafting import ARGUMENT_RULE, as_labels, find_drafts
from ctxmode_cli.language.fold import fold

SHARED = Path(__file__).resolve().parents[2] / "shared" / "datasets"
KINDS_SHOWN = 12


@dataclass
class Score:
    """Counts of one file; the keys of `drafts` and `right` are kind and rule."""

    conversations: int = 0
    labels: Counter[str] = field(default_factory=Counter)
    drafts: Counter[tuple[str, str]] = field(default_factory=Counter)
    right: Counter[tuple[str, str]] = field(default_factory=Counter)
    links: Counter[str] = field(default_factory=Counter)

    def add(self, conversation: Conversation) -> None:
        """Draft one conversation and compare."""
        drafts = find_drafts(conversation.messages)
        drafted = {"messages": conversation.recorded["messages"], "facts": as_labels(drafts, conversation.messages)}
        facts = parse_conversation(drafted, where="", default_id="").facts
        by_value = {fold(fact.value): (fact, draft.rule) for fact, draft in zip(facts, drafts, strict=True)}
        known = {fold(form) for label in conversation.facts for form in label.forms}
        self.conversations += 1
        for fact, draft in zip(facts, drafts, strict=True):
            key = (draft.fact.kind, draft.rule)
            self.drafts[key] += 1
            self.right[key] += fold(fact.value) in known
        for label in conversation.facts:
            found = [by_value[form] for form in map(fold, label.forms) if form in by_value]
            self.labels["all"] += 1
            self.labels["found"] += bool(found)
            self.labels["found by text rules"] += any(rule != ARGUMENT_RULE for _, rule in found)
            if label.probe_at:
                self.labels["needed"] += 1
                self.labels["needed found"] += bool(found)
            if found:
                self._compare(label, found[0][0])

    def _compare(self, label: Fact, fact: Fact) -> None:
        """What a draft says of when its fact is needed and how long it holds, against its label."""
        self.links["probes"] += len(label.probe_at)
        self.links["drafted probes"] += len(fact.probe_at)
        self.links["right probes"] += len({*label.probe_at} & {*fact.probe_at})
        self.links["changes"] += label.superseded_at is not None
        self.links["drafted changes"] += fact.superseded_at is not None
        self.links["right changes"] += label.superseded_at == fact.superseded_at is not None

    def precision(self, *, text_rules_only: bool) -> str:
        """Over the kinds of which at least one draft is right."""
        keys = [key for key in self.drafts if key[1] != ARGUMENT_RULE or not text_rules_only]
        covered = {kind for kind, rule in keys if self.right[kind, rule]}
        chosen = [key for key in keys if key[0] in covered]
        return share(sum(self.right[key] for key in chosen), sum(self.drafts[key] for key in chosen))


def share(part: int, whole: int) -> str:
    """A share in per cent, and of how many."""
    return f"{part / whole:.1%} of {whole:,}" if whole else "–"


def print_row(name: str, score: Score) -> None:
    """One line of the table."""
    labels, links = score.labels, score.links
    cells = (
        share(labels["found"], labels["all"]),
        share(labels["needed found"], labels["needed"]),
        score.precision(text_rules_only=False),
        share(labels["found by text rules"], labels["all"]),
        score.precision(text_rules_only=True),
        share(links["right probes"], links["probes"]),
        share(links["right probes"], links["drafted probes"]),
        share(links["right changes"], links["changes"]),
        share(links["right changes"], links["drafted changes"]),
    )
    print(f"| {name} | " + " | ".join(cells) + " |")


def print_kinds(name: str, score: Score) -> None:
    """The kinds with the most drafts, and how many of each are right."""
    print(f"\n{name}, {score.conversations} conversations\n\n| kind | drafts | right |\n|---|---|---|")
    drafts: Counter[str] = Counter()
    right: Counter[str] = Counter()
    for (kind, rule), count in score.drafts.items():
        shown = "argument of a call" if rule == ARGUMENT_RULE else kind
        drafts[shown] += count
        right[shown] += score.right[kind, rule]
    for kind, count in drafts.most_common(KINDS_SHOWN):
        print(f"| {kind} | {count:,} | {right[kind] / count:.1%} |")


def main(paths: list[str]) -> None:
    """Print the table, and then the kinds of each file."""
    print(
        "| file | recall | of needed facts | precision | recall, text rules | precision, text rules "
        "| probes: recall | precision | changes: recall | precision |\n" + "|---" * 10 + "|"
    )
    scores = {}
    for path in paths:
        score = scores[Path(path).name.split(".")[0]] = Score()
        for conversation in Reading([path]).conversations():
            score.add(conversation)
        print_row(Path(path).name.split(".")[0], score)
    for name, score in scores.items():
        print_kinds(name, score)


main(sys.argv[1:] or [str(path) for path in sorted(SHARED.glob("*.jsonl.gz")) if "interleaved" not in path.name])
