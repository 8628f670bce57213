"""The offline summarizer: the most telling sentences, verbatim, within a token target; deterministic."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files

from ctxmode_cli.context.plan import SummaryError, SummaryRequest, SummaryResult
from ctxmode_cli.conversation.message import Message, content_text
from ctxmode_cli.conversation.parse import parse_message
from ctxmode_cli.language.sentences import is_chinese, sentences
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

_CONSTRAINT_CUE = re.compile(
    r"\b(?:must|never|don'?t|do not|not want|no more|only|at most|at least|without|except|allerg\w+|avoid|need to)\b"
    r"|不要|不需要|不用|不能|不想|别再|必须|只要|只能|一定要|以内|以下|至少|最多|过敏|忌",
    re.IGNORECASE,
)
_DECISION_CUE = re.compile(
    r"\b(?:book\w*|reserv\w+|confirm\w*|order\w*|chang\w+|prefer\w*|choose|chosen|cancel\w*|address|name is|member\w*)\b"
    r"|订|预约|确认|改成|改为|换成|选|决定|取消|地址|姓名|会员|叫",
    re.IGNORECASE,
)
_NAME = re.compile(r"(?<=[^.!?]\s)[A-Z][a-z]+|《[^》]+》|“[^”]+”|\"[^\"]+\"")
_DIGIT = re.compile(r"\d")
_SMALL_TALK = re.compile(
    r"^\W*(?:thanks?|thank you|ok(?:ay)?|hi|hello|bye|great|sure|yes|no|你好|谢谢|好的|嗯|再见|不客气)\b", re.I
)


@dataclass(frozen=True, slots=True)
class _Line:
    """A candidate for the summary."""

    section: int
    sentence: str
    order: int


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
        self._prompt_tokens = {lang: counter.message(_prompt(lang)) for lang in _TITLES}

    def __call__(self, request: SummaryRequest) -> SummaryResult:
        """The summary.

        Raises:
            SummaryError: The target does not even hold the title.
        """
        lang = self._lang(request)
        lines = _distinct([*_previous_lines(request.previous), *_new_lines(request.messages)])
        chosen, text_tokens = self._choose(lines, lang, request.target_tokens)
        return SummaryResult(
            text="".join(_write(chosen, lang)),
            text_tokens=text_tokens,
            prompt_tokens=self._prompt_tokens[lang]
            + self._previous_tokens(request)
            + request.messages_tokens
            + self._counter.REPLY_TOKENS,
        )

    @staticmethod
    def _lang(request: SummaryRequest) -> str:
        if request.previous is not None:
            return "zh" if request.previous.startswith(_TITLES["zh"]) else "en"
        spoken = " ".join(content_text(message.content) for message in request.messages if message.role == "user")
        return "zh" if is_chinese(spoken) else "en"

    def _previous_tokens(self, request: SummaryRequest) -> int:
        if request.previous is None:
            return 0
        units = request.previous.splitlines(keepends=True)
        return self._counter.generated("system", sum(map(self._line_tokens, units)))

    def _choose(self, lines: Sequence[_Line], lang: str, target: int) -> tuple[list[_Line], int]:
        """The best lines that fit, in the order they were said, and the tokens of the whole text."""
        used = self._line_tokens(_TITLES[lang])
        if used > target:
            raise SummaryError(f"the summary's target of {target} tokens does not hold its title")
        chosen: list[_Line] = []
        opened: set[int] = set()
        for line in sorted(lines, key=lambda line: (-_salience(line.sentence), line.order)):
            heading = 0 if line.section in opened else self._line_tokens(_HEADINGS[lang][line.section])
            if used + heading >= target:
                break
            tokens = heading + self._line_tokens(f"- {line.sentence}\n")
            if used + tokens <= target:
                used += tokens
                opened.add(line.section)
                chosen.append(line)
        return sorted(chosen, key=lambda line: line.order), used


def _prompt(lang: str) -> Message:
    text = (files("ctxmode_cli.summarize") / "prompts" / f"{lang}.md").read_text(encoding="utf-8")
    return parse_message({"role": "system", "content": text})


def _previous_lines(previous: str | None) -> Iterator[_Line]:
    section = DECIDED
    for order, line in enumerate(previous.split("\n") if previous else ()):
        if line.startswith("- "):
            yield _Line(section, line[2:], order)
        elif line in _SECTION_OF:
            section = _SECTION_OF[line]


def _new_lines(messages: Iterable[Message]) -> Iterator[_Line]:
    order = 1_000_000  # after all lines of the last summary
    for message in messages:
        if message.role == "tool":
            continue
        from_user = message.role == "user"
        for sentence in sentences(content_text(message.content)):
            order += 1
            question = sentence[-1] in "?？"
            if question and not from_user:
                continue
            if from_user and _CONSTRAINT_CUE.search(sentence):
                yield _Line(CONSTRAINT, sentence, order)
            else:
                yield _Line(OPEN if question else DECIDED, sentence, order)


def _distinct(lines: Iterable[_Line]) -> list[_Line]:
    """The lines without repetitions; the first of each stays."""
    first: dict[str, _Line] = {}
    for line in lines:
        first.setdefault(line.sentence, line)
    return list(first.values())


def _write(lines: Sequence[_Line], lang: str) -> Iterator[str]:
    yield _TITLES[lang]
    for section, heading in enumerate(_HEADINGS[lang]):
        members = [line for line in lines if line.section == section]
        if members:
            yield heading
            yield from (f"- {line.sentence}\n" for line in members)


@lru_cache(maxsize=8192)
def _salience(sentence: str) -> float:
    """How much a sentence carries: numbers, names, constraints and decisions, by its length."""
    weight = (
        2.0 * min(3, len(_DIGIT.findall(sentence)))
        + 2.0 * min(3, len(_NAME.findall(sentence)))
        + 3.0 * bool(_CONSTRAINT_CUE.search(sentence))
        + 1.5 * bool(_DECISION_CUE.search(sentence))
        - 2.0 * bool(_SMALL_TALK.match(sentence))
    )
    return weight / (8 + len(sentence)) ** 0.5
