"""What summarizers have in common: the words of each language, which of them a summary takes, and the model's window."""

import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from string import Template

from ctxmode_cli.context.plan import SummaryError, SummaryRequest
from ctxmode_cli.language.sentences import language_of

LANGUAGES = ("en", "zh")


@dataclass(frozen=True, slots=True)
class Wording:
    """All that is said in one language."""

    title: str
    """First line of every summary, with its line break: whoever reads it in a request knows what it is."""
    headings: tuple[str, ...]
    """Of what is decided, what is open, and the user's hard constraints, with their line breaks."""
    prompt: Template
    between_tags: str
    above: str

    def instructions(self, tokens: int, *, behind_prefix: bool) -> str:
        """What a model is told to do.

        Args:
            tokens: Most tokens of what it writes.
            behind_prefix: Whether the conversation stands above as it was held; else it comes between tags.
        """
        return self.prompt.substitute(
            where=(self.above if behind_prefix else self.between_tags).strip(),
            headings="".join(self.headings).rstrip("\n"),
            tokens=tokens,
        )


@cache
def wording(lang: str) -> Wording:
    """The words of one of the languages."""
    text = (files("ctxmode_cli.summarize") / "prompts" / f"{lang}.toml").read_text(encoding="utf-8")
    words = tomllib.loads(text)
    return Wording(
        title=words["title"],
        headings=tuple(words["headings"]),
        prompt=Template(words["instructions"].strip()),
        between_tags=words["between_tags"],
        above=words["above"],
    )


def language(request: SummaryRequest) -> str:
    """The language of a summary: the running summary's own, or else the user's."""
    if request.previous is not None:
        return "zh" if request.previous.startswith(wording("zh").title) else "en"
    return language_of(request.messages)


def over_window(request: SummaryRequest, prompt_tokens: int) -> int:
    """By how many tokens a call's prompt and the target are over the window of its model; 0 or less where they fit."""
    return prompt_tokens + request.target_tokens - request.counter.model.window


def over_window_error(request: SummaryRequest, over_by: int) -> SummaryError:
    """The error in the place of a call over the window."""
    return SummaryError(f"the call is over the window of {request.counter.model.name}", over_by=over_by)
