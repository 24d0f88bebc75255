"""The parser of data files."""

import json

import pytest

from seedmem.errors import DataError
from seedmem.evaluate.datasets import (
    MemoryItem,
    QueryItem,
    SubjectItem,
    parse_lines,
    parse_locomo,
    parse_time,
)

LOCOMO = [
    {
        "sample_id": "conv-1",
        "conversation": {
            "speaker_a": "Ann",
            "session_2_date_time": "9:05 am on 1 June, 2023",
            "session_2": [{"speaker": "Ben", "dia_id": "D2:1", "text": "Back again."}],
            "session_1_date_time": "1:56 pm on 8 May, 2023",
            "session_1": [
                {"speaker": "Ann", "dia_id": "D1:1", "text": "Look!", "blip_caption": "a dog"}
            ],
        },
        "qa": [
            {"question": "When?", "answer": 2023, "evidence": ["D1:1; D2:01"], "category": 2},
            {"question": "No evidence?", "answer": "none", "evidence": [], "category": 1},
            {"question": "What?", "adversarial_answer": "x", "evidence": ["D1:1"], "category": 5},
        ],
    }
]


def test_each_kind_of_line_becomes_its_item() -> None:
    lines = [
        '{"kind": "memory", "user_id": "u", "id": "m", "text": "hello", "session": 3, '
        '"speaker": "user", "timestamp": "1970-01-02"}',
        "",
        b'{"kind": "subject", "user_id": "u", "id": "s", "text": "greeting", "memories": ["m"]}',
        '{"kind": "query", "user_id": "u", "id": "q", "text": "?", "gold": ["m"], "extra": 1}',
    ]

    assert list(parse_lines(lines)) == [
        MemoryItem(
            user_id="u", id="m", text="hello", session="3", speaker="user", created_at=86_400.0
        ),
        SubjectItem(user_id="u", id="s", name="greeting", memory_ids=("m",)),
        QueryItem(user_id="u", id="q", text="?", gold=("m",)),
    ]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{bad", "line 2"),
        ("[]", "line 2"),
        ('{"kind": "memory", "user_id": "u", "id": "m"}', "line 2: field 'text'"),
        ('{"kind": "poem"}', "line 2: field 'poem' is missing or unknown"),
        (
            '{"kind": "memory", "user_id": "u", "id": "m", "text": "", "timestamp": "soon"}',
            "got 'soon'",
        ),
    ],
)
def test_a_line_that_does_not_fit_is_named(line: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        list(parse_lines(["", line]))


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("1970-01-01T01:00:00", 3_600.0),
        ("1970-01-01T01:00:00+01:00", 0.0),
        ("1970-01-03", 172_800.0),
        ("January-02-1970", 86_400.0),
        ("1:30 am on 2 January, 1970", 91_800.0),
        (None, None),
    ],
)
def test_a_time_is_read_in_each_form(text: str | None, seconds: float | None) -> None:
    assert parse_time(text) == seconds


def test_locomo_as_published_becomes_turns_in_order_and_questions_with_evidence() -> None:
    items = list(parse_locomo(json.dumps(LOCOMO)))

    assert [(i.id, i.text, i.session) for i in items if isinstance(i, MemoryItem)] == [
        ("D1:1", "Ann: Look!", "1"),
        ("D2:1", "Ben: Back again.", "2"),
    ]
    assert items[0] == MemoryItem(
        user_id="conv-1", id="D1:1", text="Ann: Look!", session="1", speaker="Ann",
        created_at=1_683_554_160.0,
    )  # fmt: skip
    assert [i for i in items if isinstance(i, QueryItem)] == [
        QueryItem(
            user_id="conv-1", id="conv-1-q0", text="When?", gold=("D1:1", "D2:1"),
            category="temporal", answer="2023",
        ),
        QueryItem(
            user_id="conv-1", id="conv-1-q2", text="What?", gold=("D1:1",),
            category="adversarial", answer="x",
        ),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "message"),
    [("{bad", "not JSON"), ("{}", "want a list"), ('[{"sample_id": "x"}]', "sample 0")],
)
def test_what_is_not_locomo_is_refused(text: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        list(parse_locomo(text))
