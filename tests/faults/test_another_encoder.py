"""F53: another encoder serves from a generation of its own, and the way back stays open."""

import pytest
from scenarios.stage import Stage

from streams.client import Client
from streams.events import MemoryCreated, Status

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

TOLD = [MemoryCreated(user_id="ada", memory_id=f"m{n}", text=f"note {n}") for n in range(20)]
LATE = [MemoryCreated(user_id="ada", memory_id="late", text="told to the second encoder")]


def test_f53_a_change_of_encoder_and_back_mixes_no_spaces(settings, workers, showed):
    stage = Stage(settings)
    first = workers()
    stage.play(TOLD)
    stage.settle()
    first.stop()

    def ask(**question):
        answer = client.ask("ada", k=100, deadline_ms=20_000, **question)
        return answer.status, {hit.memory_id for hit in answer.hits}

    with Client(settings) as client:
        second = workers(encoder="hash:32")
        before_the_replay = ask(text="note 3")
        of_the_old_space = ask(vector=[1.0] * 64, encoder="hash/64")
        of_the_old_length = ask(vector=[1.0] * 64)
        second.stop()
        stage.forget_offsets()  # what a change of encoder needs: the log is read again
        second.start()
        stage.play(LATE)
        stage.settle()
        after_the_replay = ask(text="note 3")
        second.stop()

        first.start()
        way_back = ask(text="note 3")

    every = {event.memory_id for event in TOLD}
    assert before_the_replay == (Status.OK, set())
    assert of_the_old_space == of_the_old_length == (Status.INVALID, set())
    assert after_the_replay == (Status.OK, every | {"late"})
    assert way_back == (Status.OK, every)
    showed(memories=len(TOLD), encoders=2)
