"""Text from logs, made safe to print."""


def visible(text: str) -> str:
    """`text` with control, bidirectional and unencodable characters shown as escapes, not acted upon."""
    return "".join(char if char.isprintable() else repr(char)[1:-1] for char in text)
