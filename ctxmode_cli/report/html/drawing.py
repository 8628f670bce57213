"""Charts as drawings, and the script that draws them anew in a browser; both by vl-convert, which needs no network."""

import re
from collections.abc import Mapping
from functools import cache
from typing import Any

_VEGA_LITE = "6.4"
"""The version that draws, in the page and for it."""
_ID = re.compile(r'(\bid="|url\(#|href="#)([\w-]+)')
_SNIPPET = "window.vegaEmbed = vegaEmbed;"


def svg(spec: Mapping[str, Any], name: str) -> str:
    """A drawing that needs no script.

    Args:
        spec: In Vega-Lite.
        name: Names the drawing within its page: its parts are numbered anew behind it, since the numbers of the
            library go on from drawing to drawing.
    """
    import vl_convert  # noqa: PLC0415 - it comes with an extra, and is heavy

    numbers: dict[str, int] = {}

    def own(found: re.Match[str]) -> str:
        return f"{found[1]}{name}-{numbers.setdefault(found[2], len(numbers))}"

    return _ID.sub(own, vl_convert.vegalite_to_svg(dict(spec), vl_version=_VEGA_LITE))


@cache
def script() -> str:
    """Vega, Vega-Lite and Vega-Embed as one script, which makes `vegaEmbed` known; about 0.9 MB."""
    import vl_convert  # noqa: PLC0415 - see above

    return str(vl_convert.javascript_bundle(_SNIPPET, vl_version=_VEGA_LITE))
