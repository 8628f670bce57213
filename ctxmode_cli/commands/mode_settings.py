"""What each mode of a run is set to, once command line, environment and configuration file have had their say."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ctxmode_cli.commands.config_file import ConfigFile, NamedMode
from ctxmode_cli.context.config import ContextConfig, ContextMode
from ctxmode_cli.errors import CtxmodeError


@dataclass(frozen=True, slots=True)
class ModeSettings:
    """The settings of every mode of a run.

    A mode's own section of the file is stronger than a default or the top of the file, and weaker than the command
    line and the environment.
    """

    values: Mapping[str, Any]
    """Every setting, for a mode without a section of its own."""
    given: Mapping[str, str]
    """Settings from the command line or the environment, and where each stood, such as `--sliding-turns`."""
    file: ConfigFile

    @property
    def modes(self) -> list[str]:
        """The names that a mode can have: those of the built-in ones, then the file's."""
        return list(dict.fromkeys([*ContextMode, *self.file.modes]))

    def chosen(self, modes: str, baseline: str | None) -> list[str]:
        """The names in a list separated by commas, each once and the baseline among them.

        Raises:
            CtxmodeError: It is no such list.
        """
        names = [name.strip() for name in modes.split(",") if name.strip()]
        if not names or len(set(names)) != len(names):
            raise CtxmodeError(f'modes is "{modes}"', hint=f"some of {', '.join(self.modes)}, each once")
        if baseline is not None and baseline not in names:
            raise CtxmodeError(
                f'baseline is "{baseline}", which is not among the modes', hint=f"one of {', '.join(names)}"
            )
        return names

    def config(self, mode: str) -> ContextConfig:
        """The settings of one mode, built in or named in the file.

        Raises:
            CtxmodeError: There is no such mode, or its settings do not go together.
        """
        section = self._section(mode)
        own = {key: value for key, value in section.settings.items() if key not in self.given}
        try:
            return ContextConfig(mode=section.base, **{**self.values, **own})
        except CtxmodeError as error:
            if not own:
                raise
            # The file alone was in order: what it sets does not go with what was given.
            raise CtxmodeError(f"modes.{mode}.{error.message}", hint=error.hint, where=self.file.where) from error

    def overrides(self, modes: Iterable[str]) -> Iterator[str]:
        """A sentence for each setting of a mode's own section that the command line or the environment changes."""
        for mode in modes:
            for key, value in self._section(mode).settings.items():
                if key in self.given and value != self.values[key]:
                    yield (
                        f"{self.given[key]} {self.values[key]} is stronger than {key} = {value} in [modes.{mode}] of "
                        f"{self.file.where}"
                    )

    def _section(self, mode: str) -> NamedMode:
        if mode in self.file.modes:
            return self.file.modes[mode]
        if mode in list(ContextMode):
            return NamedMode(mode, {})
        raise CtxmodeError(f'mode is "{mode}"', hint=f"one of {', '.join(self.modes)}")
