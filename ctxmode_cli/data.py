"""Where the package's own data files are: inside the installed package, or beside it in a checkout."""

from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path


def data_file(name: str) -> Traversable:
    """The data file `name` (a path below `datasets/` in the checkout, `ctxmode_cli/_data` in the wheel)."""
    installed = files("ctxmode_cli") / "_data"
    root: Traversable = installed if installed.is_dir() else Path(__file__).resolve().parent.parent / "datasets"
    return root.joinpath(*name.split("/"))
