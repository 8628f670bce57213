"""The tests of scores share the generated conversations of the context's tests."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "context"))
