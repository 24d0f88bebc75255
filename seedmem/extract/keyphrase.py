"""Subjects without any model: what stands between function words, in any script.

After RAKE (Rose et al. 2010, "Automatic Keyword Extraction from Individual
Documents"): a candidate is a run of content words, and its score is the sum
over its words of degree / frequency, so longer runs and the words in them win.
"""

from collections import Counter
from collections.abc import Iterator, Sequence

import regex

from seedmem.extract.port import SMALL_TALK, TOPIC, Extracted, worth_keeping
from seedmem.text import split_speaker

_WORDS = 3  # of a candidate: longer runs hold verbs that a model would have told apart
_CJK_MOST = 6  # characters of a run without spaces; longer ones are clauses
_NO_WORDS = r"[\p{Han}\p{Katakana}\p{Hiragana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}ー々]"
_TOKEN = regex.compile(
    r"(?V1)(?P<unspaced>[\p{Han}\p{Katakana}ー々]+)"
    rf"|(?P<word>[[\p{{L}}\p{{N}}\p{{M}}]--{_NO_WORDS}]+(?:['’-][\p{{L}}\p{{N}}\p{{M}}]+)*)"
    r"|(?P<end>[.!?…:\n])"
    r"|(?P<stop>[^\s])"
)
_CJK_STOP = regex.compile(
    r"[的了是在我你他她它们們不就也都和与與很这這那个個有要会會到说說去把被给給吗嗎呢吧啊]"
)
_FILLERS = """
    a able about actually after again all almost already also always am amazing an and another
    any appreciate are around as ask asked at away back be became because been before being
    believe best better big both but by call called came can can't come could couldn't decided
    determined did didn't do does doesn't doing don't done down each easy enjoy enjoyed even
    ever every everyone excited exciting feel feeling feels felt few finally find first for
    found from gave get gets getting give glad go goes going gone gonna good got great had
    happen happened happy hard has hasn't have haven't having he he's hear heard help helped
    helps her here hers him his hope how however i i'd i'll i'm i've if important in inspiring
    into is isn't it it's its just keep kept kinda knew know last lately later let let's like
    liked likes little long look looked looking looks lot love loved lucky made make makes
    making many may maybe me mean means meet met might mind mine more most much must my need
    needed never new next nice no not now of off often on once one only or other our out over
    own planning pretty probably proud pushing put quite ran read really recently right said
    same saw say saying says see seeing seem seemed seen sent share she she's should show since
    so some someone something soon sounds special started still stopped such super sure take
    taken taking talk talked tell than thank thanks that that's the their them then there
    there's these they they're they've thing things think this those though thought through to
    together told too took tough tried try trying two until up us use used using usually very
    visited wait wanna want wanted wants was wasn't watched we we'd we'll we're we've well went
    were weren't what what's when where which while who who's why will wish with without won't
    work worked working would wouldn't yet you you'd you'll you're you've your yours yourself
"""
_STOP = frozenset(_FILLERS.split()) | SMALL_TALK


class KeyphraseExtractor:
    """Finds runs of content words and capitalised names. Thread-safe."""

    def extract(self, texts: Sequence[str]) -> list[tuple[Extracted, ...]]:
        """Return the subjects of each text: names first, then phrases by their score."""
        return [_subjects(split_speaker(text)[1]) for text in texts]


def _subjects(text: str) -> tuple[Extracted, ...]:
    runs = [run for run in _runs(text) if run]
    score = _scores(runs)
    runs.sort(key=lambda run: -sum(score[word] for word in run))  # equal ones in text order
    topics = [topic for run in runs for topic in (" ".join(run), run[-1])]  # the head comes last
    names = (Extracted(" ".join(run), None) for run in _names(text))
    return worth_keeping([*names, *(Extracted(topic, TOPIC) for topic in topics)])


def _scores(runs: Sequence[Sequence[str]]) -> dict[str, float]:
    """Return degree / frequency of each word: the mean length of the runs that it is in."""
    frequency: Counter[str] = Counter()
    degree: Counter[str] = Counter()
    for run in runs:
        for word in run:
            frequency[word] += 1
            degree[word] += len(run)
    return {word: degree[word] / count for word, count in frequency.items()}


def _runs(text: str) -> Iterator[tuple[str, ...]]:
    """Yield the runs of content words in lower case, each cut to its last ``_WORDS``."""
    run: list[str] = []
    for match in _TOKEN.finditer(text):
        word = match.group()
        if match.lastgroup == "word" and _is_content(word):
            run.append(_bare(word))
            continue
        yield tuple(run[-_WORDS:])
        run = []
        if match.lastgroup == "unspaced":
            yield from ((part,) for part in _CJK_STOP.split(word) if 2 <= len(part) <= _CJK_MOST)
    yield tuple(run[-_WORDS:])


def _names(text: str) -> Iterator[tuple[str, ...]]:
    """Yield the runs of capitalised words that do not begin a sentence."""
    run: list[str] = []
    begins = True
    for match in _TOKEN.finditer(text):
        word = match.group()
        if match.lastgroup == "word" and word[0].isupper() and not begins and _is_content(word):
            run.append(word)
        else:
            if run:
                yield tuple(run)
            run = []
        begins = match.lastgroup == "end"
    if run:
        yield tuple(run)


def _is_content(word: str) -> bool:
    """Whether ``word`` may be part of a phrase: no function word, no number."""
    return (
        len(word) > 2
        and word.lower().replace("’", "'") not in _STOP
        and _bare(word) not in _STOP
        and not word.isdigit()
    )


def _bare(word: str) -> str:
    """Return ``word`` in lower case without a possessive ending."""
    return word.lower().removesuffix("'s").removesuffix("’s")
