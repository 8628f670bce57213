"""A finished run in a notebook: where the tokens go, and which facts are lost.

Each part below is a cell. Make a run first, then start it with `python examples/read_a_run.py run/`:

    ctxmode compare logs.jsonl -o run/
"""

# %%
import sys

from ctxmode_cli import open_run

run = open_run(sys.argv[1] if len(sys.argv) > 1 else "run")
print(run.results["answer"])

# %% Prompt tokens of each mode; a request that cannot be sent has none.
tokens = run.requests.groupby("mode")["prompt_tokens"]
print(tokens.agg(["count", "mean", "max", "sum"]).round(1).to_string())

# %% Recall in context by the age of the fact, in turns: where the lines part, a mode forgets.
ages = run.probes.pivot_table(index="age_turns", columns="mode", values="in_context", aggfunc="mean")
print(ages.round(2).to_string())

# %% The conversations in which a mode loses most facts, to look at with `ctxmode inspect`.
lost = run.probes[~run.probes["in_context"]]
worst = lost.groupby(["mode", "conversation_id"])["fact_id"].nunique().sort_values(ascending=False)
print(worst.head(10).to_string())

# %% What the summaries cost, to the last digit: money is exact.
cost = sum(run.summaries["cost_usd"].dropna())
print(f"{len(run.summaries)} summaries for {cost} USD")
