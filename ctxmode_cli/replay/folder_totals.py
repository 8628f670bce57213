"""What the rows of a run folder add up to, conversation by conversation."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from ctxmode_cli.replay.by_conversation import ByConversation, FactScore
from ctxmode_cli.replay.statistics import FIXED_POINT, Replicates, Sums

CALL_TABLES = ("summaries", "card_calls")
_CONVERSATION = ("mode", "conversation_id")
_FACT = (*_CONVERSATION, "fact_id")
_HITS = (("in_context", "count"), ("in_context", "sum"))
_COSTS = (("cost_usd", "sum"), ("cost_uncached_usd", "sum"))


def read_by_conversation(folder: Path) -> ByConversation:
    """What becomes of each labelled conversation.

    Raises:
        OSError: A table is missing or damaged.
    """
    found = ByConversation()
    for mode, conversation, fact, probes, hits in _grouped(folder / "probes.parquet", _FACT, _HITS):
        found.score(mode, conversation).facts[fact] = FactScore(probes, hits)
    for mode, conversation, harm in _grouped(folder / "harm.parquet", _CONVERSATION, [("kind", "count")]):
        found.score(mode, conversation).harm = harm
    return found


def read_replicates(folder: Path, seed: int) -> Replicates:
    """The bootstrap of a run, drawn again from its rows, so that it can be compared with another pair by pair.

    Args:
        folder: The run folder.
        seed: Of the run.

    Raises:
        OSError: A table is missing or damaged.
    """
    found: defaultdict[str, defaultdict[str, Sums]] = defaultdict(lambda: defaultdict(lambda: _NOTHING))
    for mode, conversation, part in (*_request_sums(folder), *_call_sums(folder), *_probe_sums(folder)):
        modes = found[conversation]
        modes[mode] = Sums._make(map(sum, zip(modes[mode], part, strict=True)))
    replicates = Replicates(seed)
    for conversation, modes in found.items():
        replicates.add(conversation, modes)
    return replicates


_NOTHING = Sums._make([0] * len(Sums._fields))


def _request_sums(folder: Path) -> Iterator[tuple[str, str, Sums]]:
    columns = [(name, how) for name in ("prompt_tokens", "latency_s") for how in ("count", "sum")]
    for mode, conversation, requests, tokens, replied, latency_s, *costs in _grouped(
        folder / "requests.parquet", _CONVERSATION, [*columns, *_COSTS]
    ):
        cost, uncached = map(_money, costs)
        yield (
            mode,
            conversation,
            _NOTHING._replace(
                sessions=1,
                cost=cost,
                cost_uncached=uncached,
                requests=requests,
                tokens=tokens or 0,
                replied=replied,
                latency_ms=round((latency_s or 0) * 1000),
            ),
        )


def _call_sums(folder: Path) -> Iterator[tuple[str, str, Sums]]:
    """Of the calls beside the requests."""
    for name in CALL_TABLES:
        for mode, conversation, *costs in _grouped(folder / f"{name}.parquet", _CONVERSATION, _COSTS):
            cost, uncached = map(_money, costs)
            yield mode, conversation, _NOTHING._replace(cost=cost, cost_uncached=uncached)


def _probe_sums(folder: Path) -> Iterator[tuple[str, str, Sums]]:
    columns = [*_HITS, ("modelled", "mean"), ("answered", "count"), ("answered", "sum")]
    for mode, conversation, _, probes, hits, used, answers, right in _grouped(
        folder / "probes.parquet", _FACT, columns
    ):
        yield (
            mode,
            conversation,
            _NOTHING._replace(
                facts=1,
                in_context=hits * FIXED_POINT // probes,
                used=round(used * FIXED_POINT),
                answered_facts=int(answers > 0),
                answered=right * FIXED_POINT // answers if answers else 0,
            ),
        )


def _money(amount: Decimal | None) -> int:
    """In fixed point; 0 where no price is known."""
    return 0 if amount is None else round(amount * FIXED_POINT)


def _grouped(path: Path, keys: Sequence[str], columns: Sequence[tuple[str, str]]) -> Iterator[tuple[Any, ...]]:
    """Keys and aggregates of each group of a table's rows."""
    wanted = list(dict.fromkeys([*keys, *(column for column, _ in columns)]))
    table = read_table(path, wanted)
    missing = sorted(set(wanted) - set(table.column_names))
    if missing:
        raise OSError(f"it has no {missing[0]}")
    table = table.group_by(list(keys)).aggregate(list(columns))
    names = [*keys, *(f"{column}_{how}" for column, how in columns)]
    yield from zip(*(table.column(name).to_pylist() for name in names), strict=True)


def read_table(path: Path, columns: Sequence[str] | None = None) -> pa.Table:
    """A table of a run folder.

    Args:
        path: Of the file.
        columns: Those that are read, as far as it has them; None: all.

    Raises:
        OSError: It is missing or damaged.
    """
    try:
        return pq.read_table(path, columns=columns)
    except pa.ArrowException as error:
        raise OSError(str(error)) from error
