"""Role extract: subjects come from memories when nobody upstream sends them."""

from typing import Any

from reading import everything_in, until

from streams.client import Client
from streams.events import Filters
from streams.topics import Topics


def test_subjects_follow_their_memory_through_change_and_deletion(settings, workers):
    workers(role="serve")
    workers(role="extract")
    topic = Topics(settings.namespace).subject_extracted

    def subjects() -> dict[str, list[str]]:
        """Names that are alive, of those of which the last event is no tombstone."""
        last: dict[str, dict[str, Any]] = {}
        for event in everything_in(settings, topic):
            last[event["subject_id"]] = event
        alive = [event for event in last.values() if not event.get("deleted")]
        return {event["name"].casefold(): event["memory_ids"] for event in alive}

    with Client(settings) as client:
        client.remember("ada", "Marta booked a train to Vienna.", memory_id="trip")
        until(lambda: "vienna" in " ".join(subjects()))
        found = until(
            lambda: client.ask("ada", "where?", filters=Filters(subjects=["Vienna"])).hits
        )
        assert [hit.memory_id for hit in found] == ["trip"]

        client.remember("ada", "Marta booked a boat to Oslo.", memory_id="trip")
        until(lambda: "oslo" in " ".join(subjects()) and "vienna" not in " ".join(subjects()))

        client.forget("ada", "trip")
        until(lambda: not subjects())
