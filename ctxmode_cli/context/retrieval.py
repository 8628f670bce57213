"""Which of the documents that were retrieved for a turn are worth sending: in chunks, without repeats, best first."""

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

from ctxmode_cli.language.fold import CJK_START, fold
from ctxmode_cli.language.negation import may_deny
from ctxmode_cli.language.numbers import NUMERALS, numbers_data
from ctxmode_cli.tokens.counter import TokenCounter

NEAR_DUPLICATE = 95
"""Likeness in per cent (Indel: characters kept, of all in both) from which two chunks are one text, lightly edited.

Chunks that follow one template, such as two entries of a list, mostly lie below.
"""

_TERM = re.compile(rf"[^\W{CJK_START}-\U0010ffff_]+(?:['.-][^\W{CJK_START}-\U0010ffff_]+)*|[{CJK_START}-\U0010ffff]+")
"""A word, or a run of a script that is written without spaces."""


class Chunk(NamedTuple):
    """A part of a retrieved document, or all of it."""

    document: int
    """Index of the document."""
    text: str
    place: tuple[int, int]
    """Chunks are read in the order of their places, which may not be that of their ranks."""


class Retrieved(NamedTuple):
    """What was chosen of a turn's documents."""

    chunks: tuple[Chunk, ...]
    """Best first: what a budget leaves out goes from the end."""
    dropped: Mapping[str, int]
    """How many chunks were not chosen, by reason.

    `empty` (a document without text), `duplicate`, `near_duplicate` (of a chunk that ranks better), or `rank` (there
    were enough better ones).
    """

    def texts(self, count: int) -> list[str]:
        """The texts of the best `count` chunks, in the order in which they are read."""
        return [chunk.text for chunk in sorted(self.chunks[:count], key=lambda chunk: chunk.place)]


class _Candidate(NamedTuple):
    document: int
    part: int
    text: str
    folded: str
    terms: Sequence[str]


def as_recorded(documents: Sequence[Mapping[str, Any]]) -> Retrieved:
    """All documents, whole and in their order; they rank by their scores where all have one, else by their order."""
    ranked = _by_score(documents) or range(len(documents))
    return Retrieved(tuple(Chunk(index, documents[index]["text"], (index, 0)) for index in ranked), {})


def choose(
    query: str, documents: Sequence[Mapping[str, Any]], *, most: int | None, tokens: int | None, counter: TokenCounter
) -> Retrieved:
    """The best chunks of the documents.

    Where all documents have a score, they rank by it, and the chunks of one document by BM25 among themselves; it is
    read in its own order all the same. Else all chunks rank, and are read, by BM25. What ranks alike keeps the
    recorded order.

    Args:
        query: What the user said in this turn.
        documents: As recorded: `text`, perhaps `score` (higher is better).
        most: How many chunks are chosen at most; None for all.
        tokens: How many tokens a chunk has at most, from 4 on, which one character may take; None leaves documents
            whole. They are cut at the highest level of text that fits: paragraphs, sentences, words, characters.
        counter: Counts the tokens.
    """
    parts = [_split(document["text"], tokens, counter) for document in documents]
    candidates = [
        _candidate(document, part, text) for document, texts in enumerate(parts) for part, text in enumerate(texts)
    ]
    dropped = Counter(empty=parts.count([]))
    chosen: list[Chunk] = []
    seen: dict[str, _Candidate] = {}
    for candidate, place in _ranked(query, documents, candidates):
        reason = _reason(candidate, seen, most)
        if reason:
            dropped[reason] += 1
        else:
            seen[candidate.text.strip()] = candidate
            chosen.append(Chunk(candidate.document, candidate.text, place))
    return Retrieved(tuple(chosen), +dropped)


def _split(text: str, tokens: int | None, counter: TokenCounter) -> list[str]:
    """The chunks of a text: none where it is blank, itself where it fits."""
    if not text.strip():
        return []
    if tokens is None or counter.text(text) <= tokens:
        return [text]
    from semantic_text_splitter import TextSplitter  # noqa: PLC0415 - most replays have no document to split

    # The splitter takes UTF-8, which carries no lone surrogates; these are counted as this character anyway.
    valid = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    chunks = TextSplitter.from_callback(counter.text, tokens).chunks(valid)
    return [chunk for chunk in chunks if chunk.strip()]  # Unicode's white space, which it trims, lacks U+001C to U+001F


def _candidate(document: int, part: int, text: str) -> _Candidate:
    folded = fold(text)
    return _Candidate(document, part, text, folded, _terms(folded))


def _terms(folded: str) -> list[str]:
    """What a text is looked up by: its words, and the pairs of neighbours of a script without spaces."""
    terms: list[str] = []
    for run in _TERM.findall(folded):
        if run[0] < CJK_START or len(run) == 1:
            terms.append(run)
        else:
            terms.extend(map("".join, pairwise(run)))
    return terms


def _by_score(documents: Sequence[Mapping[str, Any]]) -> list[int]:
    """The documents' indexes, the highest score first; none unless all have a score."""
    scores = [score for score in map(_score, documents) if score is not None]
    if len(scores) < len(documents):
        return []
    return sorted(range(len(scores)), key=lambda index: -scores[index])


def _score(document: Mapping[str, Any]) -> float | None:
    """A document's score; None where it has none, or one that is no number: a record may hold anything there."""
    score = document.get("score")
    return score if isinstance(score, int | float) and -math.inf < score < math.inf else None


def _ranked(
    query: str, documents: Sequence[Mapping[str, Any]], candidates: Sequence[_Candidate]
) -> list[tuple[_Candidate, tuple[int, int]]]:
    """The candidates, best first, and where each is read."""
    by_score = _by_score(documents)
    in_parts = any(candidate.part for candidate in candidates)
    relevance = _bm25(_terms(fold(query)), candidates) if in_parts or not by_score else [0.0] * len(candidates)
    by_relevance = sorted(range(len(candidates)), key=lambda index: -relevance[index])
    if not by_score:
        return [(candidates[index], (rank, 0)) for rank, index in enumerate(by_relevance)]
    rank_of = {document: rank for rank, document in enumerate(by_score)}
    ranked = sorted((candidates[index] for index in by_relevance), key=lambda chunk: rank_of[chunk.document])
    return [(chunk, (rank_of[chunk.document], chunk.part)) for chunk in ranked]


def _bm25(query: Sequence[str], candidates: Sequence[_Candidate]) -> Sequence[float]:
    """How relevant each candidate is: BM25 in Lucene's form, k1 1.5, b 0.75, which are the library's own settings.

    Source: Robertson and Zaragoza, The Probabilistic Relevance Framework: BM25 and Beyond, 2009; Lù, BM25S, 2024.
    """
    known = {term for candidate in candidates for term in candidate.terms}
    asked = [term for term in query if term in known]
    if not asked:
        return [0.0] * len(candidates)
    import bm25s  # noqa: PLC0415 - takes longer than all of `--help`, and most replays have no documents

    index = bm25s.BM25()
    index.index([list(candidate.terms) for candidate in candidates], show_progress=False)
    scores: Sequence[float] = index.get_scores(asked).tolist()
    return scores


def _reason(candidate: _Candidate, seen: Mapping[str, _Candidate], most: int | None) -> str | None:
    """Why a candidate is not chosen, after those that rank better; None where it is."""
    if candidate.text.strip() in seen:
        return "duplicate"
    if any(_is_near_duplicate(candidate, better) for better in seen.values()):
        return "near_duplicate"
    return "rank" if len(seen) == most else None


def _is_near_duplicate(one: _Candidate, other: _Candidate) -> bool:
    """Whether two texts say the same in all but the same words.

    However alike they are, they do not where one has a number or a denial that the other has not.
    """
    from rapidfuzz import fuzz  # noqa: PLC0415 - most replays have no documents

    if fuzz.ratio(one.folded, other.folded, score_cutoff=NEAR_DUPLICATE) == 0:
        return False
    ours, theirs = Counter(one.terms), Counter(other.terms)
    return not any(map(_carries_weight, (ours - theirs) + (theirs - ours)))


def _carries_weight(term: str) -> bool:
    """Whether a term is a number, or denies something."""
    english = numbers_data()["english"]
    if term in english["words"] or term in english["magnitudes"] or may_deny(term):
        return True
    return any(char.isdigit() or char in NUMERALS for char in term)
