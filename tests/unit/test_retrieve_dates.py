"""Dates in questions: which spans they name, and how near a memory is."""

from datetime import UTC, datetime

import numpy as np
import pytest
from retrieve_records import memory, state_of

from seedmem.retrieve import Query
from seedmem.retrieve.dates import agreement, spans
from seedmem.retrieve.features import Features

DAY = 86_400.0


def at(text):
    return datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()


ASKED = at("2023-10-15T18:30")  # a Sunday


@pytest.mark.parametrize(
    ("question", "start", "days"),
    [
        ("what happened on 7 may 2023?", "2023-05-07", 1),
        ("what happened on may 7th?", "2023-05-07", 1),
        ("who came on 2023-05-07?", "2023-05-07", 1),
        ("what did i do in march?", "2023-03-01", 30),
        ("what did i do last december?", "2022-12-01", 30),
        ("who called in june 2022?", "2022-06-01", 30),
        ("what did i paint in 2021?", "2021-01-01", 365),
        ("whom did i meet two days ago?", "2023-10-13", 1),
        ("whom did i meet yesterday?", "2023-10-14", 1),
        ("what did i cook on friday?", "2023-10-13", 1),
        ("what did i do last month?", "2023-09-01", 30),
    ],
)
def test_a_date_is_read_against_the_moment_of_the_question(question, start, days):
    assert spans(question, ASKED) == [(at(start), at(start) + days * DAY)]


def test_last_week_is_the_seven_days_around_a_week_ago():
    assert spans("what did i do last week?", ASKED) == [
        (at("2023-10-08") - 3.5 * DAY, at("2023-10-08") + 3.5 * DAY)
    ]


@pytest.mark.parametrize(
    "question",
    ["who may have helped me?", "what is on the march route?", "how old is ada?", "", "2 friends?"],
)
def test_questions_without_a_date_name_no_span(question):
    assert spans(question, ASKED) == []


def test_agreement_is_one_inside_and_falls_within_days():
    span = (at("2023-05-07"), at("2023-05-08"))
    made = np.array([span[0] + 5.0, span[1] + 3 * DAY, span[1] + 60 * DAY, np.nan])

    assert agreement(made, [span]) == pytest.approx([1.0, np.exp(-1), 0.0, 0.0], abs=1e-6)


def test_no_span_agrees_with_nothing():
    assert agreement(np.array([1.0, np.nan]), []).tolist() == [0.0, 0.0]


def test_without_as_of_a_relative_date_is_read_against_the_newest_memory():
    state = state_of(
        memory(0, "a", at=at("2023-05-07T10:00")), memory(1, "b", at=at("2023-05-09T10:00"))
    )
    query = Query(text="What happened two days ago?")

    assert Features(state, query).date[0] == 1.0


def test_a_remark_that_mentions_a_day_asks_for_no_date():
    state = state_of(memory(0, "a", at=ASKED))

    assert not Features(state, Query(text="I baked a cake today.", as_of=ASKED)).date.any()
