"""Reading what a run wrote: the results of a comparison, and the rows of a run folder."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from math import isfinite
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ctxmode_cli.errors import CtxmodeError, system_errors
from ctxmode_cli.replay.by_conversation import ByConversation
from ctxmode_cli.replay.statistics import Replicates

if TYPE_CHECKING:
    import pandas as pd

FORMAT = 1
"""Of the results that are read and written here."""
RESULTS, RUN = "results.json", "run.json"
_MANUAL = "ctxmode compare -o results.json writes one, and -o run/ a whole folder"


@dataclass(frozen=True)
class Run:
    """A finished run, as it lies on disk.

    Money in the frames is exact (`decimal.Decimal`), times are seconds; a null is a missing value.

    Raises:
        CtxmodeError: From each frame: the run is only a results file, a table cannot be read, or pandas is missing.
    """

    path: Path
    """The run folder, or the results file."""
    results: Mapping[str, Any]
    """The comparison in format 1: the same mapping as `results.json`."""
    run: Mapping[str, Any] | None
    """What it was made with, as in `run.json`; None for a results file alone."""

    @cached_property
    def requests(self) -> "pd.DataFrame":
        """One row a request and mode."""
        return self._frame("requests")

    @cached_property
    def probes(self) -> "pd.DataFrame":
        """One row a probe and mode."""
        return self._frame("probes")

    @cached_property
    def summaries(self) -> "pd.DataFrame":
        """One row a summary call, failed ones too."""
        return self._frame("summaries")

    @cached_property
    def card_calls(self) -> "pd.DataFrame":
        """One row a call that read facts for the card, failed ones too."""
        return self._frame("card_calls")

    @cached_property
    def harm(self) -> "pd.DataFrame":
        """One row a stale value that is sent, or a contradicted fact."""
        return self._frame("harm")

    def by_conversation(self) -> ByConversation | None:
        """What becomes of each labelled conversation; None for a results file alone."""
        if self.run is None:
            return None
        from ctxmode_cli.replay.folder_totals import read_by_conversation  # noqa: PLC0415 - pyarrow is heavy

        with system_errors("the run folder cannot be read", where=str(self.path)):
            return read_by_conversation(self.path)

    def replicates(self) -> Replicates | None:
        """The bootstrap of its figures; None for a results file alone."""
        if self.run is None:
            return None
        from ctxmode_cli.replay.folder_totals import read_replicates  # noqa: PLC0415 - as above

        with system_errors("the run folder cannot be read", where=str(self.path)):
            return read_replicates(self.path, self.results.get("seed", 0))

    def _frame(self, name: str) -> "pd.DataFrame":
        if self.run is None:
            hint = "-o run/ keeps the rows of a run"
            raise CtxmodeError(f"a results file has no {name}", where=str(self.path), hint=hint)
        from ctxmode_cli.replay.folder_totals import read_table  # noqa: PLC0415 - as above

        path = self.path / f"{name}.parquet"
        with system_errors("the table cannot be read", where=str(path)):
            table = read_table(path)
        try:
            return table.to_pandas()
        except ImportError as error:  # it is an extra
            message, hint = "frames need pandas, which is not installed", 'pip install "ctxmode[notebook]"'
            raise CtxmodeError(message, hint=hint) from error


def open_run(path: str | PathLike[str]) -> Run:
    """Open a run folder, or a `results.json` by itself; its tables are read when they are asked for.

    Args:
        path: The folder that `-o run/` wrote, or a file that `-o results.json` did.

    Raises:
        CtxmodeError: There is none, or it is none.
    """
    found = Path(path)
    if not found.is_dir():
        return Run(found, _results(found), None)
    run = _object(found / RUN)
    return Run(found, _results(found / RESULTS), run)


def _results(path: Path) -> Mapping[str, Any]:
    document = _object(path)
    modes, data = document.get("modes"), document.get("data")
    parts = [modes, data, *(modes.values() if isinstance(modes, dict) else ())]
    if "format" not in document or not all(isinstance(part, dict) for part in parts):
        raise CtxmodeError("these are no results of a comparison", where=str(path), hint=_MANUAL)
    if document["format"] != FORMAT:
        hint = f"this version reads format {FORMAT}: use the version that wrote it, or run the comparison again"
        raise CtxmodeError(f"the results have format {document['format']}", where=str(path), hint=hint)
    return document


def _finite(digits: str) -> float | None:
    """A number of a file; what no figure can be is unknown, as null is, and so are NaN and Infinity."""
    number = float(digits)
    return number if isfinite(number) else None


def _object(path: Path) -> dict[str, Any]:
    with system_errors("the results cannot be read", where=str(path)):
        data = path.read_bytes()
    try:
        value = json.loads(data, parse_constant=lambda _: None, parse_float=_finite)
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        raise CtxmodeError("this is no JSON object", where=str(path), hint=_MANUAL)
    return value
