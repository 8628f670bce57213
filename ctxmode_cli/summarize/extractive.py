"""The offline summarizer: the most telling sentences, verbatim, within a token target; deterministic."""

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from heapq import heapify, heappop, heappush
from itertools import groupby
from operator import attrgetter
from typing import NamedTuple

from ctxmode_cli.context.plan import SummaryError, SummaryRequest, SummaryResult
from ctxmode_cli.conversation.message import Message, content_text
from ctxmode_cli.language.sentences import sentences
from ctxmode_cli.summarize.salience import Weight, weigh
from ctxmode_cli.summarize.wording import LANGUAGES, language, over_window, over_window_error, wording
from ctxmode_cli.tokens.counter import TokenCounter

DECIDED, OPEN, CONSTRAINT = range(3)
_SECTION_OF = {
    heading.rstrip("\n"): section for lang in LANGUAGES for section, heading in enumerate(wording(lang).headings)
}

_FULL = 0.9
"""From this share of the target on, a line that does not fit ends the choice; before, it is only passed over."""
_FRAME = 16
"""Bytes that each line costs besides its text."""


class _Line(NamedTuple):
    """A sentence that may go into the summary."""

    section: int
    text: str
    """The sentence as it stands in the summary, with its bullet and its line break."""
    weight: Weight
    length: int
    """What it costs: bytes, which go with tokens in any script, and its frame."""


_SECTION = attrgetter("section")


class _Written(NamedTuple):
    """A summary and what it is made of; reading its text gives the same lines in the same order."""

    text: str
    tokens: int
    lines: Sequence[_Line]


class ExtractiveSummarizer:
    """Picks whole sentences of user and assistant by what they carry that no other one has told yet, for their length.

    Sentences are verbatim and never cut, so that nothing is invented and no negation is lost. The running summary's
    own sentences compete with the new ones. The call is counted as if a model had been sent the prompt of the
    conversation's language, the last summary and the messages, or that prompt behind the session's own prefix.

    Args:
        counter: That of the session's model: counts the summary's text, which goes into its requests. Lines add up
            exactly, since each ends with a line break and none begins with one.
    """

    def __init__(self, counter: TokenCounter) -> None:
        self._counter = counter
        self._line_tokens = lru_cache(maxsize=4096)(counter.text)
        self._last = _Written("", 0, [])  # so that the running summary need not be read again
        self._instructions_tokens: dict[tuple[str, str], int] = {}
        """Tokens of instructions, by encoding and text."""

    def __call__(self, request: SummaryRequest) -> SummaryResult:
        """The summary.

        Raises:
            SummaryError: The call would not fit the model's window, or the target does not even hold the title.
        """
        lang = language(request)
        previous = self._previous(request.previous)
        prompt_tokens = self._call_tokens(request, lang, previous)
        over_by = over_window(request, prompt_tokens)
        if over_by > 0:
            raise over_window_error(request, over_by)
        new = _new_lines(request.messages, known={line.text for line in previous.lines})
        lines, text_tokens = self._choose([*previous.lines, *new], lang, request.target_tokens)
        written = _Written(_write(lines, lang), text_tokens, lines)
        self._last = written
        return SummaryResult(written.text, text_tokens, prompt_tokens)

    def _call_tokens(self, request: SummaryRequest, lang: str, previous: _Written) -> int:
        """Prompt tokens of the call that a model would be sent."""
        counter = request.counter
        text = wording(lang).instructions(request.target_tokens, behind_prefix=request.prefix is not None)
        key = counter.encoding_name, text
        tokens = self._instructions_tokens.get(key)
        if tokens is None:
            tokens = self._instructions_tokens[key] = counter.generated("system", counter.text(text))
        if request.prefix is not None:
            return tokens + request.prefix.tokens
        tokens += request.messages_tokens + counter.REPLY_TOKENS
        if request.previous is not None:
            alike = counter.encoding_name == self._counter.encoding_name
            tokens += counter.generated("system", previous.tokens if alike else counter.text(request.previous))
        return tokens

    def _previous(self, summary: str | None) -> _Written:
        """The running summary, read; it is mostly the one just written."""
        last = self._last
        if summary is None:
            return _Written("", 0, [])
        if summary == last.text:
            return last
        return _Written(summary, self._counter.text(summary), _read(summary))

    def _choose(self, lines: Sequence[_Line], lang: str, target: int) -> tuple[list[_Line], int]:
        """The best lines that fit, section by section in the order they were said, and the tokens of the whole text.

        The headings of all sections that lines come from are set aside first.
        """
        tokens_of = self._line_tokens
        headings = wording(lang).headings
        title = tokens_of(wording(lang).title)
        if title > target:
            raise SummaryError(f"the summary's target of {target} tokens does not hold its title")
        room = target - title - sum(tokens_of(headings[section]) for section in {line.section for line in lines})
        chosen, used = self._densest(lines, room)
        best = sorted((lines[index] for index in sorted(chosen)), key=_SECTION)
        return best, title + used + sum(tokens_of(headings[section]) for section in {line.section for line in best})

    def _densest(self, lines: Sequence[_Line], room: int) -> tuple[list[int], int]:
        """Indexes of lines that fit, and their tokens: always the one next that tells most that is new for its length.

        What a line adds only shrinks as others are chosen, so that only the one that looks best has to be looked at
        again (the lazy form of the greedy choice: Minoux, 1978).
        """
        told: set[str] = set()
        chosen: list[int] = []
        used = 0
        heap = [(-line.weight.total / line.length, index) for index, line in enumerate(lines)]
        heapify(heap)
        while heap:
            _, index = heappop(heap)
            _, text, weight, length = lines[index]
            sparsity = -weight.beyond(told) / length
            if heap and sparsity > heap[0][0]:
                heappush(heap, (sparsity, index))
                continue
            tokens = self._line_tokens(text)
            if used + tokens <= room:
                used += tokens
                chosen.append(index)
                told.update(weight.units)
            elif used > _FULL * room:
                break
        return chosen, used


def _read(summary: str) -> list[_Line]:
    """The lines of a summary that was written here."""
    section = DECIDED
    lines = []
    for line in summary.split("\n"):
        if line.startswith("- "):
            lines.append(_line(section, line[2:], weigh(line[2:])))
        else:
            section = _SECTION_OF.get(line, section)
    return lines


def _line(section: int, sentence: str, weight: Weight) -> _Line:
    text = f"- {sentence}\n"
    return _Line(section, text, weight, len(text.encode("utf-8", "surrogatepass")) + _FRAME)


def _new_lines(messages: Iterable[Message], known: set[str]) -> Iterator[_Line]:
    """The sentences of user and assistant that carry anything and are not known yet.

    The assistant's questions are left to the answers.
    """
    for message in messages:
        if message.role == "tool":
            continue
        from_user = message.role == "user"
        for sentence in sentences(content_text(message.content)):
            question = sentence[-1] in "?？"
            if question and not from_user:
                continue
            text = f"- {sentence}\n"
            if text in known:
                continue
            known.add(text)
            weight = weigh(sentence)
            if not weight.total:
                continue
            section = CONSTRAINT if weight.constrains and from_user else OPEN if question or weight.opens else DECIDED
            yield _line(section, sentence, weight)


def _write(lines: Iterable[_Line], lang: str) -> str:
    """The text of a summary of these lines, which come section by section."""
    parts = [wording(lang).title]
    for section, members in groupby(lines, key=_SECTION):
        parts.append(wording(lang).headings[section])
        parts.extend(line.text for line in members)
    return "".join(parts)
