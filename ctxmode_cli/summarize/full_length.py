"""Summaries of the length that they are allowed, for sessions whose text says nothing."""

from zlib import crc32

from ctxmode_cli.context.plan import Summarizer, SummaryRequest, SummaryResult
from ctxmode_cli.conversation.message import content_text
from ctxmode_cli.generate.filler import filler


class FullLengthSummarizer:
    """Makes another summarizer's calls, and answers each with filler that is as long as the target allows.

    A summary is shorter only where all that it tells is: what it is told counts with its framing.

    Args:
        summarizer: What the calls are charged as.
    """

    def __init__(self, summarizer: Summarizer) -> None:
        self._summarizer = summarizer

    def __call__(self, request: SummaryRequest) -> SummaryResult:
        """The summary, another text at each refresh.

        Raises:
            SummaryError: The other summarizer's.
        """
        previous = request.previous or ""
        told = request.messages_tokens + len(previous.split())  # filler has a word a token
        tokens = min(request.target_tokens, told)
        last = content_text(request.messages[-1].content)
        number = crc32(f"{previous}\0{last}".encode("utf-8", "surrogatepass"))
        return self._summarizer(request)._replace(text=filler(tokens, number), text_tokens=tokens)
