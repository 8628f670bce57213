"""Presets: settings by product, which stand behind all that a user sets."""

import tomllib
from collections.abc import Mapping
from typing import Any

from ctxmode_cli.data import data_file
from ctxmode_cli.errors import CtxmodeError


def find_preset(name: str) -> Mapping[str, Any]:
    """The settings of a preset, by option name.

    Raises:
        CtxmodeError: There is no such preset.
    """
    presets = tomllib.loads(data_file("context/presets.toml").read_text(encoding="utf-8"))
    if name not in presets:
        raise CtxmodeError(f'preset is "{name}"', hint=f"one of {', '.join(presets)}")
    settings: Mapping[str, Any] = presets[name]
    return settings
