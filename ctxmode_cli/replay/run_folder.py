"""The run folder: one row per request, probe and call beside a request, as Parquet, beside the results."""

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, closing
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import pyarrow as pa
import pyarrow.parquet as pq

from ctxmode_cli.context.audit import CLASSES, dropped_by_class
from ctxmode_cli.context.context import AuxiliaryCall, Context
from ctxmode_cli.context.history import History, Note
from ctxmode_cli.conversation.conversation import Fact
from ctxmode_cli.conversation.jsonl import sorted_json
from ctxmode_cli.conversation.streams import beside
from ctxmode_cli.errors import CtxmodeError, system_errors
from ctxmode_cli.replay.breakdown import utf8
from ctxmode_cli.replay.session import SessionReplay
from ctxmode_cli.score.harm import Harm
from ctxmode_cli.simulate.charges import Charge, Simulation

MONEY = pa.decimal128(38, 12)
"""USD."""

REQUESTS = pa.schema(
    {
        "conversation_id": pa.string(),
        "request": pa.int32(),
        "turn": pa.int32(),
        "mode": pa.string(),
        "prompt_tokens": pa.int64(),
        "cached_tokens": pa.int64(),
        "completion_tokens": pa.int64(),
        "latency_s": pa.float64(),
        "cost_usd": MONEY,
        "cost_uncached_usd": MONEY,
        "pieces": pa.int32(),
        "dropped_messages": pa.int32(),
        "compressed_messages": pa.int32(),
        "dropped_input": pa.int32(),
        "dropped_recent": pa.int32(),
        "dropped_older": pa.int32(),
        "dropped_documents": pa.int32(),
        "invalid": pa.list_(pa.string()),
        "unsendable": pa.string(),
    }
)
PROBES = pa.schema(
    {
        "conversation_id": pa.string(),
        "fact_id": pa.string(),
        "kind": pa.string(),
        "mode": pa.string(),
        "request": pa.int32(),
        "age_turns": pa.int32(),
        "position": pa.float64(),
        "in_context": pa.bool_(),
        "modelled": pa.float64(),
        "answered": pa.bool_(),
    }
)
HARM = pa.schema(
    {
        "conversation_id": pa.string(),
        "mode": pa.string(),
        "request": pa.int32(),
        "kind": pa.string(),
        "fact_id": pa.string(),
        "old_fact_id": pa.string(),
        "message": pa.int32(),
        "statement": pa.string(),
    }
)


def _calls(own: str, kind: pa.DataType) -> pa.Schema:
    """The columns of a table of calls beside the requests, with the one that only these have."""
    return pa.schema(
        {
            "conversation_id": pa.string(),
            "request": pa.int32(),
            "mode": pa.string(),
            "model": pa.string(),
            own: kind,
            "prompt_tokens": pa.int64(),
            "cached_tokens": pa.int64(),
            "completion_tokens": pa.int64(),
            "unseen_tokens": pa.int64(),
            "failed": pa.bool_(),
            "cost_usd": MONEY,
            "cost_uncached_usd": MONEY,
            "latency_s": pa.float64(),
            "text": pa.string(),
        }
    )


CALLS = {"summary": _calls("strategy", pa.string()), "card": _calls("message", pa.int32())}
"""By purpose."""
ROWS_HELD = 2_000
"""Rows of a table that wait to be written together; summaries hold whole texts."""
TABLES = {
    "requests": REQUESTS,
    "probes": PROBES,
    "harm": HARM,
    "summaries": CALLS["summary"],
    "card_calls": CALLS["card"],
}
"""By the names of their files."""


class _Table:
    """A Parquet file that rows are appended to; columns that a row does not name are null."""

    def __init__(self, path: Path, schema: pa.Schema) -> None:
        self._schema = schema
        self._writer = pq.ParquetWriter(path, schema, compression="zstd")
        self._rows: list[dict[str, Any]] = []

    def append(self, row: dict[str, Any]) -> None:
        self._rows.append(row)
        if len(self._rows) >= ROWS_HELD:
            self._flush()

    def close(self) -> None:
        self._flush()
        self._writer.close()

    def _flush(self) -> None:
        if self._rows:
            self._writer.write_table(pa.Table.from_pylist(self._rows, schema=self._schema))
            self._rows = []


class RunFolder:
    """Writes a run beside its final place, and moves it there when all of it is written.

    Args:
        path: The folder; it must not exist yet, so that no run is lost.
        simulation: What the charges are priced by.

    Raises:
        CtxmodeError: It exists, or cannot be made.
    """

    def __init__(self, path: Path, simulation: Simulation) -> None:
        if path.exists() or path.is_symlink():
            raise CtxmodeError("the run folder exists already", where=str(path), hint="name another, or remove it")
        self._path = path
        self._simulation = simulation
        with self._told(), ExitStack() as stack:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._part = stack.enter_context(beside(path))
            self._part.mkdir()
            self._requests, self._probes, self._harm, summaries, card_calls = (
                stack.enter_context(closing(_Table(self._part / f"{name}.parquet", schema)))
                for name, schema in TABLES.items()
            )
            self._calls = {"summary": summaries, "card": card_calls}
            self._open = stack.pop_all()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._told():
            self._open.__exit__(kind, error, trace)

    def _told(self) -> AbstractContextManager[None]:
        return system_errors("the run folder cannot be written", where=str(self._path))

    def add(self, session: SessionReplay) -> None:
        """Write the rows of one conversation."""
        with self._told():
            self._add(session)

    def _add(self, session: SessionReplay) -> None:
        conversation_id = utf8(session.conversation.id)
        for mode, rows in session.modes.items():
            for row, charge, completion_tokens in zip(
                rows.requests, rows.charges, session.completion_tokens, strict=True
            ):
                key = {"conversation_id": conversation_id, "mode": mode, "request": row.request}
                self._requests.append(
                    key
                    | {"turn": row.turn, "unsendable": row.unsendable, "invalid": list(row.invalid)}
                    | {"completion_tokens": completion_tokens}
                    | (_sent(row.context, session.history) if row.context else {})
                    | (self._charged(charge, self._simulation.model) if charge else {})
                )
                if row.context and charge:
                    for call, charged in zip(row.context.calls, charge.calls, strict=True):
                        self._calls[call.purpose].append(key | self._called(call, charged))
            for score in rows.scores:
                fact, place = session.conversation.facts[score.fact], score.place
                self._probes.append(
                    {
                        "conversation_id": conversation_id,
                        "fact_id": utf8(fact.id),
                        "kind": utf8(fact.kind),
                        "mode": mode,
                        "request": score.request,
                        "age_turns": score.age_turns,
                        "position": None if place is None else place.position,
                        "in_context": place is not None,
                        "modelled": 0.0 if place is None else place.use,
                        "answered": score.answered,
                    }
                )

            for harm in rows.harm:
                key = {"conversation_id": conversation_id, "mode": mode, "request": harm.request}
                self._harm.append(key | _harmed(harm, session.conversation.facts))

    def finish(self, results: str, run: Mapping[str, Any]) -> None:
        """Write what the rows add up to, and what the run was made with.

        Args:
            results: `results.json`.
            run: Settings, versions and input digests.
        """
        with self._told():
            (self._part / "results.json").write_text(results, encoding="utf-8")
            (self._part / "run.json").write_text(f"{sorted_json(run, indent=2)}\n", encoding="utf-8")

    def _called(self, call: AuxiliaryCall, charge: Charge) -> dict[str, Any]:
        """Columns of a call beside the request."""
        said = {field: value for field, value in call._asdict().items() if field in CALLS[call.purpose].names}
        return said | {"text": utf8(call.text)} | self._charged(charge, call.model)

    def _charged(self, charge: Charge, model: str) -> dict[str, Any]:
        """Columns that any call has: what it read from the cache, how long it takes, and USD where the price is known."""
        latency_s = None if charge.latency_ms is None else charge.latency_ms / 1000
        columns = {"cached_tokens": charge.usage.cached, "latency_s": latency_s}
        rates = self._simulation.providers[model].rates
        if rates is None:
            return columns
        cost, uncached = rates.cost(charge.usage, charge.tier), rates.cost_uncached(charge.usage, charge.tier)
        return columns | {"cost_usd": cost, "cost_uncached_usd": uncached}


def _sent(context: Context, history: History) -> dict[str, Any]:
    dropped = dropped_by_class(context, history)
    return {
        "prompt_tokens": context.prompt_tokens,
        "pieces": len(context.pieces),
        "dropped_messages": context.dropped_messages(history),
        "compressed_messages": sum(isinstance(piece, Note) and piece.replaces is not None for piece in context.pieces),
        **{f"dropped_{name}": dropped[name] for name in CLASSES},
    }


def _harmed(harm: Harm, facts: Sequence[Fact]) -> dict[str, Any]:
    return {
        "kind": harm.kind,
        "fact_id": utf8(facts[harm.fact].id),
        "old_fact_id": None if harm.old is None else utf8(facts[harm.old].id),
        "message": harm.message,
        "statement": utf8(harm.statement) or None,
    }
