"""Which retrieved documents are chosen: chunks, repeats, ranks, Chinese and English, and what is never so."""

import gzip
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
from dialogues import TEXTS, counter, unhurried
from hypothesis import example, given, settings
from hypothesis import strategies as st

from ctxmode_cli.context.retrieval import Retrieved, _bm25, _candidate, as_recorded, choose

DATA_SETS = Path(__file__).resolve().parents[2] / ".." / "shared" / "datasets"

EN = ("Parking costs two pounds an hour.", "The pool closes at nine.", "Breakfast is free for members.")
"""7, 6 and 6 tokens."""
ZH = ("停车每小时两元。", "泳池九点关门。", "会员早餐免费。")
"""6, 7 and 4 tokens."""


def chosen(
    query: str, *texts: str, scores: Sequence[Any] = (), most: int | None = None, tokens: int | None = None
) -> Retrieved:
    documents: list[dict[str, Any]] = [{"id": str(index), "text": text} for index, text in enumerate(texts)]
    for document, score in zip(documents, scores, strict=False):
        document["score"] = score
    return choose(query, documents, most=most, tokens=tokens, counter=counter())


def ranked(retrieved: Retrieved) -> list[str]:
    return [chunk.text for chunk in retrieved.chunks]


# --- chunks ---


@pytest.mark.parametrize("sentences", [EN, ZH], ids=["en", "zh"])
def test_chunks_end_where_sentences_do(sentences: tuple[str, ...]) -> None:
    """A document over the limit is cut between its sentences, in Chinese too."""
    joined = (" " if sentences is EN else "").join(sentences)
    assert sorted(ranked(chosen("", joined, tokens=8))) == sorted(sentences)


def test_what_fits_is_left_as_it_is() -> None:
    """At its limit a document stays whole, white space and all; under it, it is split and trimmed."""
    text = f"  {EN[0]}\n\n{EN[1]}  "
    tokens = counter().text(text)
    assert ranked(chosen("", text, tokens=tokens)) == [text]
    assert ranked(chosen("", text, tokens=8)) == [EN[0], EN[1]]
    assert ranked(chosen("", text)) == [text]


def test_a_text_that_no_encoding_carries_is_split_too() -> None:
    """Half a character, as a cut JSON escape leaves it, reads as the mark for one."""
    assert ranked(chosen("", "pool \ud83d. " * 3, tokens=5))[0].startswith("pool \ufffd")


def test_blank_documents_are_dropped() -> None:
    """A document without text is none."""
    retrieved = chosen("", "", " \n", EN[0])
    assert (ranked(retrieved), retrieved.dropped) == ([EN[0]], {"empty": 2})


# --- ranks ---


def test_scores_rank() -> None:
    """Given scores rank, whatever the query says, and equal ones keep the recorded order."""
    retrieved = chosen("pool", *EN, scores=(0.5, 0.1, 0.5), most=2)
    assert (ranked(retrieved), retrieved.dropped) == ([EN[0], EN[2]], {"rank": 1})
    assert ranked(chosen("pool", *EN, scores=(-1, 2, 10))) == [EN[2], EN[1], EN[0]]


@pytest.mark.parametrize("broken", [None, "0.9", float("nan"), float("inf")])
def test_relevance_ranks_without_scores(broken: object) -> None:
    """Where not all documents have a number as their score, all rank by relevance."""
    assert ranked(chosen("when does the pool close", *EN, scores=(9, broken, 9)))[0] == EN[1]
    assert ranked(chosen("when does the pool close", *EN, scores=(9,)))[0] == EN[1]


@pytest.mark.parametrize(
    ("query", "best"),
    [
        ("And what about PARKING?", EN[0]),
        ("停車多少錢？", ZH[0]),
        ("请问泳池开到几点", ZH[1]),
        ("我是会员，早餐", ZH[2]),
        ("is breakfast free for 会员", EN[2]),
    ],
)
def test_relevance_reads_both_languages(query: str, best: str) -> None:
    """English by words, whatever their case; Chinese by pairs of characters, whatever their script."""
    assert ranked(chosen(query, *EN, *ZH, most=1)) == [best]


def test_a_single_character_is_a_term() -> None:
    """A Chinese word of one character that stands alone is found too."""
    assert ranked(chosen("狗？", "猫", "狗。", most=1)) == ["狗。"]


def test_relevance_by_hand() -> None:
    """Three chunks `a b`, `b c`, `d`, asked for b and a: worked out from the formula.

    Their mean length is 5/3, so that a term of the longer ones weighs 1 / (1 + 1.5 (0.25 + 0.75 * 2 / (5/3))) = 0.36697;
    b is in two of three chunks, ln(1 + 1.5 / 2.5) = 0.47000, a in one, ln(1 + 2.5 / 1.5) = 0.98083.
    """
    candidates = [_candidate(index, 0, text) for index, text in enumerate(("a b", "b c", "d"))]
    assert _bm25(["b", "a"], candidates) == pytest.approx([0.53241, 0.17248, 0.0], abs=1e-4)
    assert _bm25(["x"], candidates) == _bm25([], candidates) == [0.0, 0.0, 0.0]


def test_what_ranks_alike_keeps_its_order() -> None:
    """A query that says nothing about any chunk leaves the recorded order."""
    assert ranked(chosen("thanks", *EN)) == list(EN)


def test_a_cut_document_keeps_its_best_chunks_in_its_order() -> None:
    """By score a document comes whole before the next; cut, it keeps what the query asks for, read in its own order."""
    query = "breakfast for members, and when does the pool close"
    retrieved = chosen(query, " ".join(EN), "".join(ZH), scores=(2, 1), tokens=8, most=2)
    assert ranked(retrieved) == [EN[2], EN[1]]
    assert retrieved.texts(2) == [EN[1], EN[2]]
    assert retrieved.dropped == {"rank": 4}
    more = chosen(query, "".join(ZH), " ".join(EN), scores=(1, 2), tokens=8)
    assert more.texts(4) == [*EN, ZH[0]]
    assert more.texts(1) == [EN[2]]


def test_by_relevance_the_best_is_read_first() -> None:
    """Without scores each chunk stands for itself: they are read as they rank."""
    retrieved = chosen("members pool", " ".join(EN), tokens=8)
    assert retrieved.texts(3) == ranked(retrieved)
    assert retrieved.texts(3)[-1] == EN[0]


# --- repeats ---

RULE = "Guests may check in from three in the afternoon and leave by noon"


def test_repeats_are_dropped_and_the_better_stays() -> None:
    """Of equal texts only that of the better score is left; white space around them does not matter."""
    retrieved = chosen("", EN[0], EN[1], f"{EN[0]} ", scores=(1, 2, 3))
    assert [(chunk.document, chunk.text) for chunk in retrieved.chunks] == [(2, f"{EN[0]} "), (1, EN[1])]
    assert retrieved.dropped == {"duplicate": 1}


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (f"{RULE}.", f"{RULE.upper()}!"),
        (f"{RULE} or later.", f"{RULE} - or  later"),
        ("本店的客人可以帶寵物進入餐廳。", "本店的客人可以带宠物进入餐厅"),
        (
            "本店的客人可以带宠物进入餐厅和花园用餐，还可以在二楼休息并使用那里的免费网络",
            "本店的客人可以带宠物进入餐厅和花园用餐，还可以在二楼休息并使用这里的免费网络",
        ),
    ],
)
def test_near_repeats_are_dropped(one: str, other: str) -> None:
    """A text that was only edited lightly is the same: case, punctuation, script, one small word."""
    retrieved = chosen("", one, other, scores=(1, 2))
    assert (ranked(retrieved), retrieved.dropped) == ([other], {"near_duplicate": 1})


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (f"{RULE}. Room 1207, key 44.", f"{RULE}. Room 1208, key 44."),
        (f"{RULE} on all days but ten.", f"{RULE} on all days but two."),
        (
            "本店的客人可以带宠物进入餐厅和花园用餐，早上九点开门",
            "本店的客人可以带宠物进入餐厅和花园用餐，早上八点开门",
        ),
        (f"{RULE}. They can bring their dogs.", f"{RULE}. They can't bring their dogs."),
        (
            "本店的客人可以带宠物进入餐厅和花园用餐，还可以在二楼休息",
            "本店的客人不可以带宠物进入餐厅和花园用餐，还可以在二楼休息",
        ),
        (RULE, "Dogs sleep in the garden."),
    ],
)
def test_what_differs_in_a_number_or_a_denial_is_no_repeat(one: str, other: str) -> None:
    """However alike two texts are, a number or a denial that only one has makes them say different things."""
    assert chosen("", one, other).dropped == {}


def test_a_repeat_takes_no_place() -> None:
    """The count is of chunks that say something new."""
    retrieved = chosen("", EN[0], EN[0], EN[1], EN[2], most=2)
    assert (ranked(retrieved), retrieved.dropped) == ([EN[0], EN[1]], {"duplicate": 1, "rank": 1})


# --- as recorded ---


def test_as_recorded() -> None:
    """Documents as recorded are all there, blank and repeated ones too; what goes first has the lowest score."""
    documents = [{"text": "a", "score": 1}, {"text": "", "score": 3}, {"text": "a", "score": 2}]
    retrieved = as_recorded(documents)
    assert (retrieved.texts(3), retrieved.dropped) == (["a", "", "a"], {})
    assert [chunk.document for chunk in retrieved.chunks] == [1, 2, 0]
    assert as_recorded([{"text": "b"}, {"text": "a", "score": 1}]).texts(1) == ["b"]


# --- what is always so ---

words = st.sampled_from(["pool", "parking", "nine", "会员", "停车。", "不", "free.", "\n\n", "👨‍👩‍👧", "1207"])
texts = st.one_of(
    st.lists(words, max_size=30).map(" ".join), st.text(max_size=40), st.sampled_from([*TEXTS, *EN, *ZH, "".join(ZH)])
)
limits = st.one_of(st.none(), st.integers(0, 5))
sizes = st.one_of(st.none(), st.integers(4, 30))


@settings(unhurried, max_examples=100)
@given(texts, st.lists(texts, min_size=1, max_size=6), limits, sizes)
@example("", ["0\u0801\x1f"], None, 4)  # a chunk of what is white space to Python and not to the splitter
def test_never_over_the_limits(query: str, documents: list[str], most: int | None, tokens: int | None) -> None:
    """No more chunks than asked for, none over its tokens, none twice, and the same again the next time."""
    retrieved = chosen(query, *documents, most=most, tokens=tokens)
    assert most is None or len(retrieved.chunks) <= most
    assert tokens is None or all(counter().text(chunk.text) <= tokens for chunk in retrieved.chunks)
    assert len({text.strip() for text in ranked(retrieved)}) == len(retrieved.chunks)
    assert all(text.strip() for text in ranked(retrieved))
    assert chosen(query, *documents, most=most, tokens=tokens) == retrieved
    assert sorted(retrieved.texts(len(retrieved.chunks))) == sorted(ranked(retrieved))


@settings(unhurried, max_examples=60)
@given(texts, st.lists(texts, min_size=2, max_size=6), limits, sizes, st.randoms(use_true_random=False))
def test_order_of_the_record_does_not_matter(
    query: str, documents: list[str], most: int | None, tokens: int | None, random: Any
) -> None:
    """With distinct scores the same is chosen, and read in the same order, in whatever order the documents came."""
    scored = list(enumerate(documents))
    shuffled = random.sample(scored, len(scored))
    one, other = (
        chosen(query, *(text for _, text in order), scores=[score for score, _ in order], most=most, tokens=tokens)
        for order in (scored, shuffled)
    )
    assert one.texts(99) == other.texts(99)
    assert ranked(one) == ranked(other)
    assert one.dropped == other.dropped


@settings(unhurried, max_examples=60)
@given(st.lists(texts, min_size=1, max_size=6), sizes)
def test_every_chunk_is_accounted_for(documents: list[str], tokens: int | None) -> None:
    """What is chosen and what is dropped add up to the same, whatever the count."""
    whole, half = (chosen("pool", *documents, most=most, tokens=tokens) for most in (None, 2))
    assert len(whole.chunks) + sum(whole.dropped.values()) == len(half.chunks) + sum(half.dropped.values())
    assert ranked(half) == ranked(whole)[:2]


def _recorded(name: str, role: str, count: int) -> list[str]:
    path = DATA_SETS / f"{name}.jsonl.gz"
    if not path.exists():
        pytest.skip(f"{name} is not there")
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        messages = (message for line in lines for message in json.loads(line)["messages"])
        return list(islice((message["content"] for message in messages if message["role"] == role), count))


@pytest.mark.parametrize(("name", "role", "count"), [("tau2_bench", "system", 1), ("crosswoz", "user", 20)])
def test_recorded_texts(name: str, role: str, count: int) -> None:
    """Real texts, a long policy and short remarks: chunks within their limit, nothing lost, each found by its own words."""
    documents = list(dict.fromkeys(_recorded(name, role, count)))
    retrieved = chosen("", *documents, scores=[1] * len(documents), tokens=200)
    assert retrieved.dropped == {}
    assert all(counter().text(chunk.text) <= 200 for chunk in retrieved.chunks)
    assert "".join("".join(retrieved.texts(999)).split()) == "".join("".join(documents).split())
    asked = retrieved.chunks[len(retrieved.chunks) // 2].text
    assert ranked(chosen(asked, *documents, tokens=200, most=1)) == [asked]


HASHED = """
import sys
from ctxmode_cli.context.manager import ContextManager
manager = ContextManager()
manager.build_request_messages("hello")
assert not {"bm25s", "rapidfuzz", "semantic_text_splitter"} & set(sys.modules)
texts = [f"{word} {other} pool" for word in ("a", "b", "c") for other in ("x y", "z", "x")]
manager.append({"role": "user", "content": "x pool z a", "documents": [{"text": text} for text in texts]})
print(manager.build_request_messages()[-2]["content"])
"""


def test_nothing_hangs_on_the_process() -> None:
    """Another process ranks alike, prints nothing of its own, and loads what ranks only where there are documents."""
    said = [
        subprocess.run(
            [sys.executable, "-c", HASHED],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
            text=True,
        )
        for seed in ("1", "2")
    ]
    assert said[0].stdout == said[1].stdout
    assert said[0].stderr == ""
