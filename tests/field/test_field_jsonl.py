"""Bugs that others had with JSON lines, and what is right here (entry 41 of the bug catalogue)."""

import json
from pathlib import Path

import pytest

from ctxmode_cli.conversation.files import Reading


@pytest.mark.parametrize("separator", ["\u2028", "\u2029", "\u0085"])
def test_line_separators_inside_a_string_do_not_break_the_record(separator: str, tmp_path: Path) -> None:
    """huggingface/tau #354, bytedance/deer-flow #5420, volcengine/OpenViking #3984: splitlines() cut a record in two.

    Here only a line feed ends a line.
    """
    record = {"id": "a", "messages": [{"role": "user", "content": f"one{separator}two"}]}
    (tmp_path / "log.jsonl").write_text(json.dumps(record, ensure_ascii=False) + "\n", encoding="utf-8", newline="")
    (found,) = Reading([str(tmp_path / "log.jsonl")]).conversations()
    assert found.messages[0].content == f"one{separator}two"


def test_a_byte_order_mark_does_not_lose_the_first_record(tmp_path: Path) -> None:
    """viggy28/recall #38: a byte order mark lost the first record; here it is passed over, with CRLF and a blank end."""
    lines = [json.dumps({"id": name, "messages": [{"role": "user", "content": "x"}]}) for name in ("a", "b")]
    (tmp_path / "log.jsonl").write_bytes(b"\xef\xbb\xbf" + "\r\n".join([*lines, "", ""]).encode())
    assert [found.id for found in Reading([str(tmp_path / "log.jsonl")]).conversations()] == ["a", "b"]
