"""The options that every replaying command shares: one table, from which the command line is made."""

import functools
import inspect
from collections.abc import Callable, Collection
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_origin, get_type_hints

import typer
from typer.models import OptionInfo

from ctxmode_cli.context.config import ContextConfig

if TYPE_CHECKING:
    from ctxmode_cli.commands.config_file import ConfigFile
    from ctxmode_cli.replay.results import Selection

SETTINGS = {
    "model": "Model: tokenizer, window.",
    "max_tokens": "Business budget of every mode but full; clamped to the window.",
    "reserved_output": "Tokens of the window kept free for the reply.",
    "system_tokens": "Ceiling on system messages and tool schemas.",
    "input_tokens": "Ceiling on the current input.",
    "history_tokens": "Ceiling on history.",
    "budget_low": "Share of history's room to cut back to when the budget forces a cut (1: to the brim).",
    "sliding_turns": "Complete turns in the sliding window.",
    "sliding_low": "Turns to cut back to when the window is full (default: slide every turn).",
    "summary_threshold": "Complete turns kept verbatim beside the summary.",
    "summary_every": "Complete turns beyond these before the next refresh.",
    "summary_trigger": "What asks for a refresh.",
    "compress_ratio": "Share of the input budget that history may fill before the tokens trigger.",
    "summary_strategy": "Summarise summary and news, or the originals again.",
    "summary_target_tokens": "Most tokens of a summary's text.",
    "summary_role": "Role of the summary message.",
    "summary_model": "Model that summarises (default: gpt-4o-mini; with the session's prefix the session's own).",
    "summary_prefix": "session: the summary call goes behind the session's own prefix, which is cached.",
    "summary_call": "Whether the request waits for the summary call (blocking).",
    "fact_card": "Keep the facts that were said on a card of their own.",
    "fact_card_tokens": "Most tokens of the card's text.",
    "placement": "Card and hard constraints: head (after the system prompt) or tail (before the current input).",
    "tool_max_tokens": "A tool output of more tokens becomes its key paths and statistics (not in full).",
    "tool_history": "Tool outputs of earlier turns: line (one each) or full (not in the mode full).",
    "tool_priority": "low: where history does not fit, call groups go before other talk.",
    "max_documents": "Most chunks of retrieved documents (default: from the window; full: all).",
    "document_tokens": "Most tokens of a chunk (default: from the window; full: whole documents).",
    "document_priority": "low: documents go before any history does; high: after it, and they stand in front.",
}
"""Settings of a mode that are options, with their help; names and types are those of ContextConfig."""

FILE_KEYS: dict[str, Any] = {}
"""What the top of a configuration file may set: the options of each command that `with_replay_options` made, annotated."""

ANSWERS = ("answer", "answer_model", "answer_probes", "judge_model")
"""Fields of ReplayOptions that are about recall (answered)."""
GATE = ("gate", "against", "allow_different_data")
"""Fields of ReplayOptions that are about the gate."""
LIVE = (
    "summarizer",
    "fact_card_extractor",
    "base_url",
    "llm_cache",
    "llm_timeout",
    "llm_retries",
    "llm_rate",
    "llm_concurrency",
    "dry_run",
    *ANSWERS,
)
"""Fields of ReplayOptions that are about live calls."""

TABLED = ("gate",)
"""Options that no key of a configuration file sets, since a table of their name says more than they do."""

LARGEST = 1_000_000_000
"""No number of seconds or sessions is larger, so that whatever follows from it stays finite."""

OutputFormat = Literal["table", "json", "jsonl", "csv", "markdown"]
ON_ERROR = Annotated[Literal["fail", "skip"], typer.Option(help="What a bad record does.")]
MAX_ERRORS = Annotated[int | None, typer.Option(min=0, help="Bad records that are borne.")]
TABLE_OR_JSON = Annotated[Literal["table", "json"], typer.Option("--format", help="Form of the result on stdout.")]
"""For commands whose result has no other form."""

GATE_OPTION = typer.Option(
    "--gate", metavar="RULE", help='What has to hold: "summary.recall.in_context >= 0.85"; repeats.'
)
AGAINST_OPTION = typer.Option(metavar="SNAPSHOT", help="Results or run folder that it must not be worse than.")
DIFFERENT_DATA_OPTION = typer.Option("--allow-different-data", help="Compare with runs on other data, too.")


def _read_config(ctx: typer.Context, name: str | None) -> Any:  # typer looks up the types of a callback's signature
    """The ConfigFile, which from now on stands behind every option that is not set elsewhere."""
    from ctxmode_cli.commands.config_file import read_config

    config = read_config(Path(), name)
    ctx.default_map = {**(ctx.default_map or {}), **config.options}
    return config


def _read_preset(ctx: typer.Context, name: str | None) -> str | None:  # as above; either may be read first
    """The preset's name; its settings stand behind the configuration file's."""
    from ctxmode_cli.commands.presets import find_preset

    if name is not None:
        ctx.default_map = {**find_preset(name), **(ctx.default_map or {})}
    return name


@dataclass(frozen=True, slots=True)
class ReplayOptions:
    """What the user asked of a replaying command, the mode's own settings apart."""

    preset: Annotated[
        str | None,
        typer.Option(
            help="Settings by product: customer-service, writing, coding.", callback=_read_preset, is_eager=True
        ),
    ] = None
    seed: Annotated[int, typer.Option(help="Seed of all that is drawn; printed.")] = 0
    limit: Annotated[int | None, typer.Option(min=1, help="Replay only the first N conversations.")] = None
    sample: Annotated[int | None, typer.Option(min=1, help="Replay a seeded sample of N conversations.")] = None
    probes: Annotated[
        Literal["labelled", "all"] | None, typer.Option(help="Which requests are asked for a fact (default: labelled).")
    ] = None
    price_date: Annotated[str | None, typer.Option(help="Day whose prices hold (default: that of the table).")] = None
    cache_rules: Annotated[
        str, typer.Option(help="Prompt cache: auto (by model), none, a provider's or rule's name.")
    ] = "auto"
    cache_scope: Annotated[
        Literal["session", "shared"], typer.Option(help="Each session starts cold, or its system prompt is warm.")
    ] = "session"
    think_time: Annotated[
        float | None,
        typer.Option(min=0, max=LARGEST, help="Seconds between turns where the record has no times."),
    ] = None
    latency_profile: Annotated[str, typer.Option(help="How latency is simulated: a name or a .toml file.")] = "article"
    position_profile: Annotated[
        str, typer.Option(help="How likely a fact is used where it stands: a name or a .toml file.")
    ] = "article"
    sessions_per_day: Annotated[int | None, typer.Option(min=1, max=LARGEST, help="Adds the daily cost.")] = None
    summarizer: Annotated[
        Literal["extractive", "openai"], typer.Option(help="Summaries made offline, or by a model (live calls).")
    ] = "extractive"
    fact_card_extractor: Annotated[
        Literal["rules", "openai"],
        typer.Option(help="Facts for the card found by rules, or by a model in user messages (live calls)."),
    ] = "rules"
    answer: Annotated[
        bool, typer.Option("--answer", help="Recall (answered): ask a model for the facts (live calls).")
    ] = False
    answer_model: Annotated[str | None, typer.Option(help="Model that is asked (default: the session's).")] = None
    answer_probes: Annotated[
        int, typer.Option(min=1, max=LARGEST, help="Probes of each conversation that it is asked, at most.")
    ] = 1
    judge_model: Annotated[
        str | None, typer.Option(help="Model that grades the answers (default: none, the matcher grades).")
    ] = None
    base_url: Annotated[
        str | None, typer.Option(help="OpenAI-compatible endpoint of live calls; the key is in OPENAI_API_KEY.")
    ] = None
    llm_cache: Annotated[
        str | None,
        typer.Option(metavar="DIR", help="Where answers of live calls are kept (default: the user's cache)."),
    ] = None
    llm_timeout: Annotated[
        float, typer.Option(min=0.1, max=LARGEST, help="Seconds to wait for the answer of a live call.")
    ] = 60.0
    llm_retries: Annotated[int, typer.Option(min=0, max=100, help="Repetitions of a live call that fails.")] = 4
    llm_rate: Annotated[int | None, typer.Option(min=1, max=LARGEST, help="Most live calls a minute.")] = None
    llm_concurrency: Annotated[
        int, typer.Option(min=1, max=100, help="Conversations replayed side by side while live calls are made.")
    ] = 4
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only say what live calls would be made, and what they cost.")
    ] = False
    on_error: ON_ERROR = "fail"
    max_errors: MAX_ERRORS = None
    format: Annotated[OutputFormat, typer.Option(help="Form of the result on stdout.")] = "table"
    output: Annotated[
        list[str] | None,
        typer.Option(
            "--output",
            "-o",
            help="Also write FILE (.json .jsonl .csv .md .html .xml .parquet), or a run folder; repeats.",
        ),
    ] = None
    gate: Annotated[list[str] | None, GATE_OPTION] = None
    against: Annotated[str | None, AGAINST_OPTION] = None
    allow_different_data: Annotated[bool, DIFFERENT_DATA_OPTION] = False
    audit: Annotated[
        str | None, typer.Option(help="Write what was kept, compressed and dropped of each request (.jsonl).")
    ] = None
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Nothing on stderr but errors.")] = False
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Say more on stderr.")] = False

    @property
    def selection(self) -> "Selection":
        """What was chosen of the data, as the results tell it."""
        from ctxmode_cli.replay.results import Selection

        probes = self.probes or "labelled"
        return Selection(self.limit, self.sample, probes, self.on_error, self.max_errors)


CONFIG = Annotated[
    str | None,
    typer.Option(
        help="Configuration file (default: ctxmode.toml, else pyproject.toml).", callback=_read_config, is_eager=True
    ),
]


MODES = Annotated[str, typer.Option(help="Modes to compare, separated by commas.")]
BASELINE = Annotated[
    str | None, typer.Option(help="Mode that the others are related to (default: full, else the first).")
]


def with_replay_options(
    command: Callable[..., None], without: Collection[str] = (), unfiled: Collection[str] = ()
) -> Callable[..., None]:
    """Give a command the shared options, from command line, environment or file.

    It receives them as `settings` (a ModeSettings) and `options`.

    Args:
        command: The command.
        without: Fields of ReplayOptions that mean nothing to it: they keep their defaults.
        unfiled: Its own options that are about one run, and that no configuration file sets.
    """
    own = [
        parameter
        for parameter in inspect.signature(command).parameters.values()
        if parameter.name not in {"settings", "options"}
    ]
    setting_types = get_type_hints(ContextConfig)
    settings = [
        _option(name, Annotated[setting_types[name], typer.Option(help=text)], ContextConfig)
        for name, text in SETTINGS.items()
    ]
    option_types = get_type_hints(ReplayOptions, include_extras=True)
    shared = [field.name for field in fields(ReplayOptions) if field.name not in without]
    options = [_option(name, option_types[name], ReplayOptions) for name in shared]

    never = {*unfiled, *TABLED}
    filed = [parameter for parameter in (*own, *settings, *options) if parameter.name not in never]
    FILE_KEYS.update({parameter.name: parameter.annotation for parameter in filed if _is_option(parameter)})

    @functools.wraps(command)
    def wrapper(ctx: typer.Context, config: "ConfigFile", **values: Any) -> None:
        from ctxmode_cli.commands.mode_settings import ModeSettings

        command(
            settings=ModeSettings({name: values.pop(name) for name in SETTINGS}, _given(ctx), config),
            options=ReplayOptions(**{name: values.pop(name) for name in shared}),
            **values,
        )

    context = inspect.Parameter("ctx", inspect.Parameter.KEYWORD_ONLY, annotation=typer.Context)
    config = inspect.Parameter("config", inspect.Parameter.KEYWORD_ONLY, default=None, annotation=CONFIG)
    # Behind `config`, since a preset may be named in the file.
    parameters = (context, *own, *settings, config, *options)
    keyword_only = [parameter.replace(kind=parameter.KEYWORD_ONLY) for parameter in parameters]
    wrapper.__signature__ = inspect.Signature(keyword_only)  # type: ignore[attr-defined]
    wrapper.__annotations__ = {}
    return wrapper


def _option(name: str, annotation: Any, owner: type) -> inspect.Parameter:
    """An option with the default of its dataclass field."""
    default = next(field.default for field in fields(owner) if field.name == name)
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


def _given(ctx: typer.Context) -> dict[str, str]:
    """The settings from the command line or the environment, and where each stood."""
    sources = {name: getattr(ctx.get_parameter_source(name), "name", "") for name in SETTINGS}
    forms = {"COMMANDLINE": lambda name: f"--{name.replace('_', '-')}", "ENVIRONMENT": _variable}
    return {name: forms[source](name) for name, source in sources.items() if source in forms}


def _is_option(parameter: inspect.Parameter) -> bool:
    annotation = parameter.annotation
    return get_origin(annotation) is Annotated and isinstance(annotation.__metadata__[0], OptionInfo)


def _variable(name: str) -> str:
    """The environment variable of an option."""
    return f"CTXMODE_{name.replace('-', '_').upper()}"


def from_environment(command: Callable[..., None]) -> Callable[..., None]:
    """Let the environment set each option of a command as CTXMODE_ and its name; the help says so once, not for each."""
    for parameter in inspect.signature(command).parameters.values():
        if _is_option(parameter):
            [info] = parameter.annotation.__metadata__
            # Inside Annotated, typer keeps the first name of an option where its default would stand.
            names = [str(name) for name in (info.default, *(info.param_decls or ())) if str(name).startswith("--")]
            name = names[0].removeprefix("--") if names else parameter.name
            info.envvar = _variable(name)
            info.show_envvar = False
    return command
