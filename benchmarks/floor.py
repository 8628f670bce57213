"""The floor: read a file of conversations and encode every message once with tiktoken, nothing else.

TIKTOKEN_CACHE_DIR names a folder that holds the vocabulary.
"""

import gzip
import json
import sys

import tiktoken


def main(path: str) -> None:
    """Print how many tokens there are."""
    encode = tiktoken.get_encoding("o200k_base").encode_ordinary
    tokens = 0
    with gzip.open(path, "rb") as lines:
        for line in lines:
            for message in json.loads(line)["messages"]:
                tokens += len(encode(message["content"] or ""))
                for call in message.get("tool_calls") or ():
                    tokens += len(encode(call["function"]["arguments"]))
    print(tokens)


main(sys.argv[1])
