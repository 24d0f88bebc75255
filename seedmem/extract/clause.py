"""One clause of a parsed sentence, in pieces from which a question can be put together."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from seedmem.extract.names import Names

if TYPE_CHECKING:
    from spacy.tokens import Span, Token

_LONGEST = 9  # words of one piece
_SUBJECTS = frozenset({"nsubj", "nsubjpass"})
_OBJECTS = frozenset({"dobj", "attr", "acomp", "oprd", "ccomp"})
_PIECES = _OBJECTS | {"prt", "dative", "prep", "xcomp", "agent"}
_CUT = frozenset({"relcl", "advcl", "parataxis", "punct", "intj", "cc", "conj", "mark", "neg"})
_EMPTY = frozenset(
    {"it", "this", "that", "there", "which", "who", "what", "these", "those", "'s", "’s"}
)  # subjects that say nothing; the last two are those of *let's*
_TIMES = frozenset({"DATE", "TIME"})
_PLACES = frozenset({"GPE", "LOC", "FAC", "ORG"})
_PLACE_WORDS = frozenset({"in", "at", "to", "from", "near", "on", "around"})


@dataclass(frozen=True, slots=True)
class Clause:
    """Who did what, and how the sentence goes on."""

    subject: str
    auxiliary: str
    """That a question puts before the subject: did, does, is, will …"""
    verb: str
    """As it follows the auxiliary; empty for the verb *be*."""
    finite: str
    """As it follows *who*: went, has gone."""
    pieces: tuple[tuple[str, str], ...]
    """(kind, text) after the verb. Kinds: object, time, place, company, rest."""
    has_reason: bool
    is_past: bool
    is_about_a_person: bool

    def without(self, *kinds: str) -> str:
        """Return the pieces after the verb, but for those of ``kinds``."""
        return " ".join(text for kind, text in self.pieces if kind not in kinds)

    def has(self, kind: str) -> bool:
        """Whether a piece is of ``kind``."""
        return any(kind == one for one, _ in self.pieces)


def clauses(sentence: "Span", names: Names) -> Iterator[Clause]:
    """Yield the clauses of ``sentence`` whose subject says who or what."""
    for verb in sentence:
        subject = _subject(verb)
        if verb.pos_ not in ("VERB", "AUX") or subject is None or verb.dep_ in ("aux", "auxpass"):
            continue
        if subject.lower_ in _EMPTY:
            continue
        who = _decapitalised(_rendered(_phrase(subject), names), subject)
        plural = who in ("you", "they") or subject.tag_ in ("NNS", "NNPS")
        auxiliary, form = _verb_forms(verb, who, plural=plural)
        yield Clause(
            subject=who,
            auxiliary=auxiliary,
            verb=form,
            finite=verb.lower_ if verb.tag_ == "VBD" else f"{auxiliary} {form}".strip(),
            pieces=tuple(_pieces(verb, names)),
            has_reason=any(child.dep_ == "advcl" and child.i > verb.i for child in verb.children),
            is_past=verb.tag_ in ("VBD", "VBN"),
            is_about_a_person=subject.pos_ in ("PRON", "PROPN"),
        )


def _subject(verb: "Token") -> "Token | None":
    """Return the subject, or for a verb joined by *and* that of the verb before it."""
    for child in verb.children:
        if child.dep_ in _SUBJECTS:
            return child
    if verb.dep_ == "conj" and verb.head.pos_ in ("VERB", "AUX"):
        return _subject(verb.head)
    return None


def _verb_forms(verb: "Token", who: str, *, plural: bool) -> tuple[str, str]:
    """Return the auxiliary and the verb as they stand in a question."""
    helpers = [child for child in verb.children if child.dep_ in ("aux", "auxpass")]
    modal = next((helper.lemma_.lower() for helper in helpers if helper.tag_ == "MD"), None)
    if modal is not None:
        return modal, verb.lemma_
    if verb.lemma_ == "be":
        return _be(who, plural=plural, past=verb.tag_ in ("VBD", "VBN")), ""
    if verb.tag_ == "VBG" or any(helper.dep_ == "auxpass" for helper in helpers):
        past = any(helper.tag_ == "VBD" for helper in helpers)
        return _be(who, plural=plural, past=past), verb.lower_
    if verb.tag_ in ("VBD", "VBN"):
        return "did", verb.lemma_
    return ("do" if plural or who == "I" else "does"), verb.lemma_


def _be(who: str, *, plural: bool, past: bool) -> str:
    if plural:
        return "were" if past else "are"
    if past:
        return "was"
    return "am" if who == "I" else "is"


def _pieces(verb: "Token", names: Names) -> Iterator[tuple[str, str]]:
    for child in verb.children:
        if child.i < verb.i or child.dep_ not in _PIECES | {"npadvmod"}:
            continue
        tokens = _phrase(child)
        text = _rendered(tokens, names)
        if text:
            yield _kind(child, tokens), text


def _kind(piece: "Token", tokens: "Sequence[Token]") -> str:
    labels = {token.ent_type_ for token in tokens}
    if piece.dep_ == "npadvmod" or (piece.dep_ == "prep" and labels & _TIMES):
        return "time"
    if piece.dep_ == "prep" and piece.lower_ in _PLACE_WORDS and labels & _PLACES:
        return "place"
    if piece.dep_ == "prep" and piece.lower_ == "with":
        return "company"
    return "object" if piece.dep_ in _OBJECTS else "rest"


def _decapitalised(phrase: str, subject: "Token") -> str:
    """Return ``phrase`` as it stands inside a sentence: only names keep their capital."""
    if subject.left_edge.is_sent_start and subject.left_edge.pos_ not in ("PRON", "PROPN"):
        return phrase[:1].lower() + phrase[1:]
    return phrase


def _phrase(root: "Token") -> "list[Token]":
    """Return the tokens under ``root`` in order, without side clauses, at most ``_LONGEST``."""
    kept = [root]
    for token in kept:  # grows while it is read
        kept += [
            child for child in token.children if child.dep_ not in _CUT or child.tag_ == "HYPH"
        ]
    return sorted(kept, key=lambda token: token.i)[:_LONGEST]


def _rendered(tokens: "Sequence[Token]", names: Names) -> str:
    """Return the words of ``tokens`` with the persons named."""
    text = ""
    end = None  # of the token before, in characters of the document
    for token in tokens:
        gap = " " if token.idx != end else ""  # also where something was left out
        text += gap + (names.instead_of(token.lower_) or token.text)
        end = token.idx + len(token.text)
    return text.strip()
