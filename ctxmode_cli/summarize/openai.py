"""The live summarizer: a model behind an OpenAI-compatible endpoint writes the summary."""

from bisect import bisect_left
from collections.abc import Iterator, Mapping
from dataclasses import replace

from ctxmode_cli.context.plan import SummaryError, SummaryRequest, SummaryResult
from ctxmode_cli.conversation.message import Message, content_text
from ctxmode_cli.llm import ChatModel, Completion, Failures, LlmError
from ctxmode_cli.summarize.asking import Question, question
from ctxmode_cli.summarize.wording import Wording, language, over_window, over_window_error, wording
from ctxmode_cli.tokens.counter import TokenCounter


class OpenAiSummarizer:
    """Has a model write the summary; one call for each request, whatever becomes of it.

    The conversation goes in as data: one message between tags whose code does not occur in it, so that nothing in it
    can close them, with every message on labelled lines that nothing in it can begin. Behind the session's own prefix
    it goes as that prefix, and the instructions behind it.

    A call that failed is billed like one that was answered: what a time-out or a fault of the endpoint costs is not
    known, and the higher figure is the safe one.

    Args:
        models: The models that may be asked, by name: that of each request's counter.
        counter: That of the session's model: counts the summary's text, which goes into its requests.
    """

    def __init__(self, models: Mapping[str, ChatModel], counter: TokenCounter) -> None:
        self._models = models
        self._counter = counter
        self.failures = Failures()
        """How often a summary could not be had, by what was wrong."""

    def __call__(self, request: SummaryRequest) -> SummaryResult:
        """The summary.

        Raises:
            SummaryError: The call would not fit the model's window, the target hardly holds the title, or the answer
                is none: it failed, or is empty, refused, cut off or over the target.
            CtxmodeError: The endpoint cannot be used as things are set.
        """
        try:
            return self._summary(request)
        except SummaryError as error:
            if not error.over_by:  # else it is asked for again, with less to tell
                self.failures.add(str(error))
            raise

    def _summary(self, request: SummaryRequest) -> SummaryResult:
        words = wording(language(request))
        room = request.target_tokens - self._counter.text(words.title)
        if room < 1:
            raise SummaryError(f"the summary's target of {request.target_tokens} tokens holds no more than its title")
        call = _call(request, words, room)
        _refuse_over_window(request, words, room, call.prompt_tokens)
        try:
            answer = self._models[request.counter.model.name].complete(call.messages, max_tokens=room, tools=call.tools)
        except LlmError as error:
            raise SummaryError(str(error), prompt_tokens=call.prompt_tokens) from error
        text = f"{words.title}{answer.text.strip().removeprefix(words.title).strip()}\n"
        text_tokens = self._counter.text(text)
        fault = _fault(answer, text_tokens, request.target_tokens)
        if fault is not None:
            completion_tokens = request.counter.text(answer.text)
            raise SummaryError(
                f"the summary {fault}", prompt_tokens=call.prompt_tokens, completion_tokens=completion_tokens
            )
        return SummaryResult(text, text_tokens, call.prompt_tokens)


def _fault(answer: Completion, text_tokens: int, target_tokens: int) -> str | None:
    """Why an answer is no summary; None where it is one."""
    over = text_tokens > target_tokens
    return answer.fault or (f"is over its target of {target_tokens} tokens" if over else None)


def _call(request: SummaryRequest, words: Wording, room: int) -> Question:
    counter, prefix = request.counter, request.prefix
    instructions = words.instructions(room, behind_prefix=prefix is not None)
    if prefix is None:
        return question(instructions, _data(request, words), counter)
    tokens = counter.generated("system", counter.text(instructions)) + prefix.tokens
    messages = [*prefix.messages(), {"role": "system", "content": instructions}]
    return Question(messages, tokens, prefix.history.tools)


def _refuse_over_window(request: SummaryRequest, words: Wording, room: int, prompt_tokens: int) -> None:
    """Refuse a call over the window; `over_by` is what the oldest messages count without which it fits.

    Not what it is over by: in the call a message takes fewer tokens than in a session, where it holds an image, or more.

    Raises:
        SummaryError: It is over the window.
    """

    def fits(unseen: int) -> bool:
        seen = replace(request, messages=request.messages[unseen:])
        return over_window(request, _call(seen, words, room).prompt_tokens) <= 0

    over_by = over_window(request, prompt_tokens)
    if over_by > 0:
        if request.prefix is None:
            unseen = bisect_left(range(len(request.messages)), True, key=fits)
            over_by = sum(map(request.counter.message, request.messages[:unseen]))
        raise over_window_error(request, over_by)


def _data(request: SummaryRequest, words: Wording) -> dict[str, str]:
    """The last summary and the messages."""
    previous = (request.previous or "").removeprefix(words.title).strip()
    conversation = "\n".join(line for message in request.messages for line in _labelled(message))
    parts = {"summary": previous, "conversation": conversation}
    return {name: text for name, text in parts.items() if text}


def _labelled(message: Message) -> Iterator[str]:
    """A message as lines that begin with who speaks; lines within a text are indented, so that they begin none."""
    speaker = " ".join(f"{message.role} {message.name or ''}".split())
    text = content_text(message.content)
    if text or not message.tool_calls:
        yield f"{speaker}: {_indented(text)}"
    for call in message.tool_calls:
        yield _indented(f"{speaker} calls {call.name}: {call.arguments}")


def _indented(text: str) -> str:
    return "\n  ".join(text.splitlines())
