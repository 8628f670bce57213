"""What `-o` names: files and run folders, opened before the run and put in place only when all is written."""

import itertools
from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager, ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

from ctxmode_cli.conversation.inputs import STDIN
from ctxmode_cli.conversation.streams import beside
from ctxmode_cli.errors import CtxmodeError, system_errors

if TYPE_CHECKING:
    from ctxmode_cli.replay.run_folder import RunFolder
    from ctxmode_cli.simulate.charges import Simulation


class OutputFile:
    """A result file: a place beside it is taken at once, so that a wrong path fails in the first second."""

    def __init__(self, path: Path, form: str) -> None:
        self.format = form
        self._path = path
        self._open = ExitStack()

    def __enter__(self) -> Self:
        with self._told():
            self._part = self._open.enter_context(beside(self._path.resolve()))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._told():
            self._open.__exit__(kind, error, trace)

    def write(self, content: str | bytes) -> None:
        """Write the whole file."""
        with self._told():
            self._part.write_bytes(content.encode() if isinstance(content, str) else content)

    def append(self, lines: Iterable[str]) -> None:
        """Write some more lines."""
        with self._told(), self._part.open("ab") as part:
            part.writelines(f"{line}\n".encode() for line in lines)

    def _told(self) -> AbstractContextManager[None]:
        return system_errors("the file cannot be written", where=str(self._path))


@dataclass
class Outputs:
    """The outputs of one run."""

    files: list[OutputFile] = field(default_factory=list)
    folders: list["RunFolder"] = field(default_factory=list)


def refuse_inputs(inputs: Iterable[str], outputs: Iterable[str]) -> None:
    """Refuse to write over what is read, under whatever name.

    Raises:
        CtxmodeError: An output is one of the inputs.
    """
    for source, output in itertools.product(inputs, outputs):
        with suppress(OSError):  # one of them is not there
            if Path(output).samefile(source):
                raise CtxmodeError("the output is one of the inputs", where=output, hint="write to another file")


def open_outputs(
    names: Iterable[str], stack: ExitStack, extensions: Mapping[str, str], simulation: "Simulation | None" = None
) -> Outputs:
    """Open every output; `stack` puts them in place at its end, or removes them after an error.

    Args:
        names: What the user named.
        stack: Holds them open.
        extensions: Which format each extension of a file stands for.
        simulation: What a run folder's rows are charged by; None for a command that keeps no rows.

    Raises:
        CtxmodeError: An extension has no format, or a place cannot be written.
    """
    outputs = Outputs()
    for name in dict.fromkeys(names):
        path = Path(name)
        if name == STDIN:
            hint = "stdout has the result already, in the form that --format names"
            folder = "" if simulation is None else " or a run folder"
            raise CtxmodeError(f"-o takes a file{folder}, and not stdout", where=name, hint=hint)
        if simulation is not None and (not path.suffix or name.endswith("/")):
            from ctxmode_cli.replay.run_folder import RunFolder  # pyarrow is heavy, and only a run folder needs it

            outputs.folders.append(stack.enter_context(RunFolder(path, simulation)))
        elif path.suffix.lower() in extensions:
            outputs.files.append(stack.enter_context(OutputFile(path, extensions[path.suffix.lower()])))
        else:
            folder = "" if simulation is None else ", or no extension (or a slash at the end) for a run folder"
            hint = f"{' '.join(extensions)}{folder}"
            raise CtxmodeError(f'no format is written to "{path.suffix or path.name}"', where=name, hint=hint)
    return outputs
