"""Fit the `article` profiles to the published comparison, on the run of one seed.

Usage: python reports/article/fit.py RUN

RUN is the run folder of a comparison of `full` and `summary` without a prompt cache (`-o RUN`). Two parameters of each
profile are free, and decided by two published figures; all others are assumed, and stand in the profiles' files.
"""

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.optimize import root

from ctxmode_cli.score.position import Curve, find_position_profile
from ctxmode_cli.simulate.latency import find_profile, noise_factors

P95_S = {"full": 2.8, "summary": 1.4}
RECALL = {"full": 0.82, "summary": 0.89}
SEED = 0


def fit_latency(requests: pd.DataFrame) -> dict[str, float]:
    """Overhead and time of a prompt token, in seconds, with which the simulated p95 of both modes are the published ones."""
    profile = find_profile("article")
    factors = {
        conversation: noise_factors(profile, SEED, conversation, int(count))
        for conversation, count in (requests.groupby("conversation_id")["request"].max() + 1).items()
    }
    noise = np.array([factors[key][request] for key, request in zip(requests["conversation_id"], requests["request"])])
    prompt = requests["prompt_tokens"].to_numpy()
    decoding = profile.inter_token_s * np.maximum(requests["completion_tokens"].to_numpy() - 1, 0)
    of = {mode: (requests["mode"] == mode).to_numpy() for mode in P95_S}

    def missed(parameters: np.ndarray) -> list[float]:
        overhead, per_million = parameters
        seconds = (overhead + per_million / 1e6 * prompt + decoding) * noise
        return [np.percentile(seconds[of[mode]], 95, method="inverted_cdf") - P95_S[mode] for mode in P95_S]

    found = root(missed, [0.3, 150.0])
    overhead, per_million = found.x
    return {"overhead_s": overhead, "per_token_s": per_million / 1e6}


def fit_position(probes: pd.DataFrame) -> dict[str, float]:
    """The use in the middle of long prompts, and at the end, with which modelled recall is the published one."""
    profile = find_position_profile("article")
    facts = probes.groupby(["mode", "conversation_id", "fact_id"])

    def missed(parameters: np.ndarray) -> list[float]:
        middle, end = parameters
        curves = (*profile.curves[:-2], Curve((0, 0.5, 1), (0.95, middle, end)), Curve((0, 0.5, 1), (0.95, 0.45, end)))
        use = replace(profile, curves=curves).use(
            probes["position"].fillna(0).to_numpy(), probes["prompt_tokens"].to_numpy()
        )
        by_fact = probes.assign(use=np.where(probes["in_context"], use, 0)).groupby(facts.grouper.names)["use"].mean()
        recall = by_fact.groupby("mode").mean()
        return [recall[mode] - RECALL[mode] for mode in RECALL]

    middle, end = root(missed, [0.6, 0.9]).x
    return {"middle": middle, "end": end}
