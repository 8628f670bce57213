"""The page: all that the other forms say, in one file that asks for nothing."""

import sys

import pytest

from ctxmode_cli.errors import CtxmodeError
from ctxmode_cli.report.html.page import require_html


def test_missing_libraries_are_named_with_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the extra the error says which library is missing, and the hint how to get it."""
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    with pytest.raises(CtxmodeError, match="vl_convert, which is not installed") as raised:
        require_html()
    assert raised.value.hint == 'pip install "ctxmode[html]"'
