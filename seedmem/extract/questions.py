"""Templates: a parsed turn → the questions that somebody may ask about it later."""

from collections.abc import Iterator
from itertools import chain, zip_longest
from typing import TYPE_CHECKING

from seedmem.extract.clause import Clause, clauses
from seedmem.extract.names import Names
from seedmem.extract.spacy import subjects_of

if TYPE_CHECKING:
    from spacy.tokens import Doc

_MOST = 6  # of one text; the mean over dialogue turns is about four
_TOPICS = 2  # of one text


def questions(doc: "Doc", names: Names) -> tuple[str, ...]:
    """Return the questions of a text: the best of each clause first, then on its topics."""
    asked = [list(_about(clause)) for sentence in doc.sents for clause in clauses(sentence, names)]
    in_turn = chain.from_iterable(zip_longest(*asked))
    # people last: in talk they are mostly those spoken to
    subjects = sorted(subjects_of(doc), key=lambda subject: subject.type == "PERSON")
    topics = [f"What did {names.speaker} say about {one.name}?" for one in subjects[:_TOPICS]]
    found = [question for question in in_turn if question][: _MOST - len(topics)]
    return tuple(dict.fromkeys(found + topics))


def _about(clause: Clause) -> Iterator[str]:
    """Yield the questions that ``clause`` answers, the most telling ones first."""
    if not clause.pieces:
        return
    if clause.has_reason:
        yield _ask("Why", clause, clause.without("time"))
    if clause.has("time") or (clause.is_past and clause.verb):
        yield _ask("When", clause, clause.without("time"))
    if clause.has("place"):
        yield _ask("Where", clause, clause.without("place", "time"))
    if clause.has("company"):
        yield _ask("Who", clause, f"{clause.without('company', 'time')} with")
    if clause.has("object") and clause.verb:
        yield _ask("What", clause, clause.without("object", "time"))
    if clause.has("object") and not clause.verb:
        yield _ask("Why" if clause.is_about_a_person else "How", clause, clause.without("time"))
    yield f"Who {clause.finite} {clause.without('time')}?"


def _ask(word: str, clause: Clause, rest: str) -> str:
    words = (word, clause.auxiliary, clause.subject, clause.verb, rest)
    return " ".join(" ".join(words).split()) + "?"
