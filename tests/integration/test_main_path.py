"""The main job: events in on Kafka, the right memory out, through a real worker."""

from collections.abc import Iterator
from typing import Any

import pytest
from reading import everything_in, until

from streams.client import Client
from streams.events import Filters, Status
from streams.settings import Settings
from streams.topics import Topics

LEAK = "The kitchen tap leaks again, so the plumber comes on Friday"
TRAIN = "I booked the night train to Vienna"
BREAD = "My sourdough finally rose"


@pytest.fixture(scope="module")
def client(service: Settings) -> Iterator[Client]:
    with Client(service) as client:
        yield client


def receipt_of(service: Settings, user: str) -> dict[str, Any] | None:
    receipts = everything_in(service, Topics(service.namespace).erase_receipt)
    return next((receipt for receipt in receipts if receipt["user_id"] == user), None)


def test_a_memory_is_found_as_soon_as_its_token_says(client, user):
    client.remember(user, BREAD)
    token = client.remember(user, LEAK, memory_id="leak").token

    answer = client.ask(user, "when does the plumber come about the tap?", after=token)

    assert answer.status is Status.OK
    assert answer.hits[0].memory_id == "leak"
    assert answer.hits[0].text == LEAK


def test_the_parts_of_a_hit_add_up_to_its_score(client, user):
    client.remember(user, BREAD)
    token = client.remember(user, LEAK).token

    answer = client.ask(user, "plumber", after=token)

    for hit in answer.hits:
        assert sum(hit.parts.values()) == pytest.approx(hit.score, abs=1e-5)


def test_a_forgotten_memory_is_never_found_again(client, user):
    client.remember(user, BREAD)
    client.remember(user, LEAK, memory_id="leak")
    token = client.forget(user, "leak")

    answer = client.ask(user, "plumber tap kitchen", after=token)

    assert [hit.text for hit in answer.hits] == [BREAD]


def test_a_late_old_version_does_not_undo_a_newer_one(client, user):
    client.remember(user, "the new plan is Rome", memory_id="plan", version=2)
    token = client.remember(user, "the old plan was Oslo", memory_id="plan", version=1).token

    answer = client.ask(user, "plan", after=token)

    assert [hit.text for hit in answer.hits] == ["the new plan is Rome"]


def test_a_user_that_nobody_told_anything_has_no_memories(client, user):
    answer = client.ask("nobody", "anything at all?")

    assert (answer.status, answer.hits, answer.abstained) == (Status.OK, [], True)


def test_users_with_look_alike_names_see_only_their_own(client, user):
    names = [user, f"{user}0", f"{user}:", user.upper(), f"{user}u\u0301", f"{user}ú"]
    tokens = {name: client.remember(name, f"the secret of {name!r}").token for name in names}

    answers = {name: client.ask(name, "the secret", after=tokens[name]) for name in names}

    for name, answer in answers.items():
        assert [hit.text for hit in answer.hits] == [f"the secret of {name!r}"]


def test_a_cold_restart_changes_no_answer(settings, workers):
    worker = workers()
    with Client(settings) as client:
        texts = [f"word{number} and some more" for number in range(20)]
        token = [client.remember("ada", text, memory_id=text).token for text in texts][-1]
        before = client.ask("ada", "word7", after=token)

        worker.kill()
        worker.start()

        after = client.ask("ada", "word7", deadline_ms=10_000)
    assert before.hits[0].text == "word7 and some more"
    assert [(h.memory_id, round(h.score, 4)) for h in after.hits] == [
        (h.memory_id, round(h.score, 4)) for h in before.hits
    ]


def test_filters_narrow_the_answer(client, user):
    client.remember(user, LEAK, memory_id="leak", session_id="home", created_at=100.0)
    client.remember(user, TRAIN, memory_id="train", session_id="trip", created_at=200.0)
    client.remember(user, BREAD, memory_id="bread", session_id="home", created_at=300.0)
    client.link(user, "s1", "Travel", ["train"])
    token = client.link(user, "s2", "Baking", ["bread"])

    def found(**filters: object) -> set[str]:
        answer = client.ask(user, "what was it?", after=token, filters=Filters(**filters))
        return {hit.memory_id for hit in answer.hits}

    assert found() == {"leak", "train", "bread"}
    assert found(sessions=["home"]) == {"leak", "bread"}
    assert found(subjects=["TRAVEL"]) == {"train"}
    assert found(since=150.0) == {"train", "bread"}
    assert found(until=250.0) == {"leak", "train"}
    assert found(sessions=["home"], since=150.0) == {"bread"}


def test_as_of_hides_what_came_later(client, user):
    client.remember(user, LEAK, memory_id="leak", created_at="2024-01-01T00:00:00Z")
    token = client.remember(user, BREAD, memory_id="bread", created_at="2024-06-01T00:00:00Z").token

    answer = client.ask(user, "what was it?", after=token, as_of="2024-03-01T00:00:00Z")

    assert [hit.memory_id for hit in answer.hits] == ["leak"]


def test_a_subject_that_came_before_its_memory_links_it_when_it_comes(client, user):
    client.link(user, "s1", "Travel", ["train"])
    token = client.remember(user, TRAIN, memory_id="train").token

    answer = client.ask(user, "what?", after=token, filters=Filters(subjects=["travel"]))

    assert [hit.memory_id for hit in answer.hits] == ["train"]


def test_an_erased_user_is_gone_and_the_receipt_proves_it(client, service, user):
    token = client.remember(user, LEAK).token
    client.remember(f"{user}-other", BREAD)
    client.ask(user, "plumber", after=token)

    client.erase(user, request_id="r1")

    receipt = until(lambda: receipt_of(service, user))
    assert receipt["request_id"] == "r1"
    assert receipt["deleted"]["records"] == 1
    assert receipt["found"] == 0
    assert client.ask(user, "plumber").hits == []
    assert [hit.text for hit in client.ask(f"{user}-other", "bread").hits] == [BREAD]


def test_memories_after_an_erasure_are_kept(client, service, user):
    client.remember(user, LEAK)
    client.erase(user, request_id="r1")
    until(lambda: receipt_of(service, user))

    token = client.remember(user, BREAD).token

    assert [hit.text for hit in client.ask(user, "what?", after=token).hits] == [BREAD]
