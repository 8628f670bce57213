"""Fits the `article` profiles to the published comparison: `fit.py RUN`.

RUN is the run folder of `full` and `summary` over generated sessions, without a prompt cache. Two published figures decide two
parameters of each profile; all others are assumed, and stand in the profiles' files. Prints the fitted ones as JSON.
"""

import json
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.optimize import root

from ctxmode_cli.score.position import Curve, PositionProfile, find_position_profile
from ctxmode_cli.simulate.latency import find_profile, noise_factors

P95_S = {"full": 2.8, "summary": 1.4}
RECALL = {"full": 0.82, "summary": 0.89}
END_FALLS = 0.05
"""Between the two longest lengths of the position profile."""


def fit_latency(requests: pd.DataFrame, seed: int) -> list[float]:
    """Seconds of overhead and of a prompt token, with which the p95 of both modes is the published one."""
    profile = find_profile("article")
    counts = requests.groupby("conversation_id")["request"].max() + 1
    factors = {name: noise_factors(profile, seed, name, int(count)) for name, count in counts.items()}
    columns = {}
    for mode, rows in requests.groupby("mode"):
        noise = [factors[name][number] for name, number in zip(rows["conversation_id"], rows["request"], strict=True)]
        decoding = profile.inter_token_s * (rows["completion_tokens"] - 1).clip(lower=0)
        columns[mode] = (rows["prompt_tokens"].to_numpy(), decoding.to_numpy(), np.array(noise))

    def missed(parameters: Sequence[float]) -> list[float]:
        overhead, per_thousand = parameters
        return [
            float(
                np.percentile((overhead + per_thousand / 1000 * prompt + decoding) * noise, 95, method="inverted_cdf")
            )
            - P95_S[mode]
            for mode, (prompt, decoding, noise) in columns.items()
        ]

    overhead, per_thousand = root(missed, [0.4, 0.1]).x
    return [float(overhead), float(per_thousand / 1000)]


def fit_position(probes: pd.DataFrame) -> list[float]:
    """The use at the head, and at the end of the middle length, with which recall (modelled) is the published one."""
    profile = find_position_profile("article")
    position, prompt = probes["position"].fillna(0).to_numpy(), probes["prompt_tokens"].to_numpy()

    def missed(parameters: Sequence[float]) -> list[float]:
        use = np.where(probes["in_context"], _with_ends(profile, *parameters).use(position, prompt), 0)
        by_fact = probes.assign(use=use).groupby(["mode", "conversation_id", "fact_id"])["use"].mean()
        recall = by_fact.groupby("mode").mean()
        return [float(recall[mode]) - RECALL[mode] for mode in RECALL]

    return [float(value) for value in root(missed, [0.95, 0.8]).x]


def _with_ends(profile: PositionProfile, head: float, end: float) -> PositionProfile:
    """The profile with another use at both ends."""
    ends = (head, end, end - END_FALLS)
    curves = [
        Curve(curve.positions, (head, *curve.use[1:-1], last)) for curve, last in zip(profile.curves, ends, strict=True)
    ]
    return replace(profile, curves=tuple(curves))


def main(run: Path) -> None:
    """Print the parameters."""
    key = ["conversation_id", "mode", "request"]
    requests = pd.read_parquet(run / "requests.parquet", columns=[*key, "prompt_tokens", "completion_tokens"])
    probes = pd.read_parquet(run / "probes.parquet").merge(requests, on=key)
    seed = json.loads((run / "run.json").read_text(encoding="utf-8"))["seed"]
    overhead, per_token = fit_latency(requests, seed)
    head, end = fit_position(probes)
    latency = {"overhead_s": round(overhead, 4), "per_token_s": round(per_token, 7)}
    print(json.dumps({"latency": latency, "position": {"head": round(head, 4), "end": round(end, 4)}}, indent=2))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
