"""How much of each request goes to what: `python reports/article/shares.py AUDIT`.

Reads the lines that `--audit` wrote, and prints the most tokens that any request of a mode gives to system messages, to
the current input, to all else (history, summary, card) and in all. For sessions without tools: shortened outputs are not seen.
"""

import json
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

SHARES = ("system", "input")
"""Purposes that are a share of their own; every other one is history."""
REPLY_TOKENS = 3
"""That an API adds to each request, for the reply."""

Request = tuple[str, int]
"""Conversation, and number within it."""


def shares(lines: Iterable[Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """By mode: the most tokens of each share, and how many requests there are, were cut and cannot be sent."""
    sent: defaultdict[str, defaultdict[Request, Counter[str]]] = defaultdict(lambda: defaultdict(Counter))
    cut: defaultdict[str, set[Request]] = defaultdict(set)
    refused: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for line in lines:
        mode, request = line["mode"], (line["conversation_id"], line["request"])
        if line["action"] == "unsendable":
            refused[mode][line["why"]] += 1
        elif line["action"] == "kept":
            sent[mode][request][line["what"] if line["what"] in SHARES else "history"] += line["sent_tokens"]
        elif line["why"] == "budget":
            cut[mode].add(request)
    return {
        mode: {
            "most_tokens": {
                **{share: max(counts[share] for counts in requests.values()) for share in (*SHARES, "history")},
                "request": max(counts.total() for counts in requests.values()) + REPLY_TOKENS,
            },
            "requests": len(requests),
            "cut_by_the_budget": len(cut[mode]),
            "unsendable": dict(refused[mode]),
        }
        for mode, requests in sent.items()
    }


if __name__ == "__main__":
    audit = Path(sys.argv[1]).read_text(encoding="utf-8").splitlines()
    print(json.dumps(shares(map(json.loads, audit)), indent=2, sort_keys=True))
