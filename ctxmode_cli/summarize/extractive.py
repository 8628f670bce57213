"""The offline summarizer: the most telling sentences, verbatim, within a token target; deterministic."""

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from importlib.resources import files
from typing import NamedTuple

from ctxmode_cli.context.plan import SummaryError, SummaryRequest, SummaryResult
from ctxmode_cli.conversation.message import Message, content_text
from ctxmode_cli.conversation.parse import parse_message
from ctxmode_cli.language.sentences import is_chinese, sentences
from ctxmode_cli.summarize.salience import weigh
from ctxmode_cli.tokens.counter import TokenCounter

_TITLES = {
    "en": "[Summary of the conversation so far: generated, not a message from the user]\n",
    "zh": "[此前对话的摘要：自动生成，不是用户的消息]\n",
}
DECIDED, OPEN, CONSTRAINT = range(3)
_HEADINGS = {
    "en": ("## Decided\n", "## Open\n", "## The user's hard constraints\n"),
    "zh": ("## 已确定\n", "## 待解决\n", "## 用户的硬性要求\n"),
}
_SECTION_OF = {heading.rstrip("\n"): section for names in _HEADINGS.values() for section, heading in enumerate(names)}

_MISFITS = 3
"""Lines that may fail to fit before the choice ends; one overlong line must not end it."""


class _Line(NamedTuple):
    """A sentence that may go into the summary."""

    section: int
    text: str
    """The sentence as it stands in the summary, with its bullet and its line break."""
    salience: float


class _Written(NamedTuple):
    """The last summary that was written, so that it need not be read again."""

    text: str
    tokens: int
    lines: list[_Line]


class ExtractiveSummarizer:
    """Picks whole sentences of user and assistant by what they carry: numbers, names, constraints, decisions.

    Sentences are verbatim and never cut, so that nothing is invented and no negation is lost. The running summary's
    own sentences compete with the new ones. The call is counted as if a model had been sent the prompt of the
    conversation's language, the last summary and the messages.

    Args:
        counter: Counts the summary's text; its lines add up exactly, since each ends with a line break and none
            begins with one.
    """

    def __init__(self, counter: TokenCounter) -> None:
        self._counter = counter
        self._line_tokens = lru_cache(maxsize=4096)(counter.text)
        self._last = _Written("", 0, [])
        self._prompt_tokens = {lang: counter.message(_prompt(lang)) for lang in _TITLES}

    def __call__(self, request: SummaryRequest) -> SummaryResult:
        """The summary.

        Raises:
            SummaryError: The target does not even hold the title.
        """
        lang = self._lang(request)
        prompt_tokens = self._prompt_tokens[lang] + request.messages_tokens + self._counter.REPLY_TOKENS
        if request.previous is not None:
            prompt_tokens += self._counter.generated("system", self._text_tokens(request.previous))
        lines = _distinct([*self._previous_lines(request.previous), *_new_lines(request.messages)])
        chosen, text_tokens = self._choose(lines, lang, request.target_tokens)
        text = "".join(_write(chosen, lang))
        self._last = _Written(text, text_tokens, chosen)
        return SummaryResult(text, text_tokens, prompt_tokens)

    @staticmethod
    def _lang(request: SummaryRequest) -> str:
        if request.previous is not None:
            return "zh" if request.previous.startswith(_TITLES["zh"]) else "en"
        spoken = " ".join(content_text(message.content) for message in request.messages if message.role == "user")
        return "zh" if is_chinese(spoken) else "en"

    def _text_tokens(self, summary: str) -> int:
        if summary == self._last.text:
            return self._last.tokens
        return self._counter.text(summary)

    def _previous_lines(self, summary: str | None) -> list[_Line]:
        """The lines of the running summary, which is mostly the one just written."""
        if summary is None:
            return []
        return self._last.lines if summary == self._last.text else _read(summary)

    def _choose(self, lines: Sequence[_Line], lang: str, target: int) -> tuple[list[_Line], int]:
        """The best lines that fit, in the order they are written, and the tokens of the whole text."""
        used = self._line_tokens(_TITLES[lang])
        if used > target:
            raise SummaryError(f"the summary's target of {target} tokens does not hold its title")
        chosen: list[int] = []
        opened: set[int] = set()
        misfits = 0
        for index in sorted(range(len(lines)), key=[line.salience for line in lines].__getitem__, reverse=True):
            section, text, _ = lines[index]
            tokens = self._line_tokens(text)
            if section not in opened:
                tokens += self._line_tokens(_HEADINGS[lang][section])
            if used + tokens <= target:
                used += tokens
                opened.add(section)
                chosen.append(index)
            elif (misfits := misfits + 1) == _MISFITS:
                break
        # By section, as whoever has to read the summary finds them: equal lines then compete alike next time.
        return sorted((lines[index] for index in sorted(chosen)), key=lambda line: line.section), used


def _prompt(lang: str) -> Message:
    text = (files("ctxmode_cli.summarize") / "prompts" / f"{lang}.md").read_text(encoding="utf-8")
    return parse_message({"role": "system", "content": text})


def _read(summary: str) -> list[_Line]:
    """The lines of a summary that was written here."""
    section = DECIDED
    lines = []
    for line in summary.split("\n"):
        if line.startswith("- "):
            lines.append(_Line(section, f"{line}\n", weigh(line[2:]).salience))
        else:
            section = _SECTION_OF.get(line, section)
    return lines


def _new_lines(messages: Iterable[Message]) -> Iterator[_Line]:
    """The sentences of user and assistant; the assistant's questions are left to their answers."""
    for message in messages:
        if message.role == "tool":
            continue
        from_user = message.role == "user"
        for sentence in sentences(content_text(message.content)):
            question = sentence[-1] in "?？"
            if question and not from_user:
                continue
            salience, constrains = weigh(sentence)
            section = CONSTRAINT if constrains and from_user else OPEN if question else DECIDED
            yield _Line(section, f"- {sentence}\n", salience)


def _distinct(lines: Iterable[_Line]) -> list[_Line]:
    """The lines without repetitions; the first of each stays."""
    first: dict[str, _Line] = {}
    for line in lines:
        first.setdefault(line.text, line)
    return list(first.values())


def _write(lines: Sequence[_Line], lang: str) -> Iterator[str]:
    yield _TITLES[lang]
    for section, heading in enumerate(_HEADINGS[lang]):
        members = [line.text for line in lines if line.section == section]
        if members:
            yield heading
            yield from members
