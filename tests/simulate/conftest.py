"""The tests of simulated figures share the generated conversations and the slow reference of the context's tests."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "context"))
