"""Which Redis errors pass by themselves."""

import pytest
from redis import exceptions

from streams.errors import ForeignRecordError, StoreRefusedError, StoreUnavailableError
from streams.store.faults import is_transient, translate

WRAPPED = "Error running script (call to f_1): @user_script:50: @user_script: 50: "
PASSING = [
    exceptions.ConnectionError("Connection refused"),
    exceptions.TimeoutError("Timeout reading from socket"),
    exceptions.BusyLoadingError("Redis is loading the dataset in memory"),
    exceptions.ReadOnlyError("READONLY You can't write against a read only replica."),
    exceptions.ResponseError("OOM command not allowed when used memory > 'maxmemory'."),
    exceptions.ResponseError(WRAPPED + "-OOM command not allowed when used memory > 'maxmemory'."),
    exceptions.ResponseError(WRAPPED + "-READONLY You can't write against a read only replica."),
    exceptions.ResponseError("MISCONF Errors writing to the AOF file: No space left on device"),
    exceptions.ResponseError("BUSY Redis is busy running a script."),
    ConnectionResetError(104, "reset"),
]
LASTING = [
    exceptions.AuthenticationError("invalid username-password pair"),
    exceptions.AuthorizationError("not allowed"),
    exceptions.NoPermissionError("this user has no permissions to run the 'evalsha' command"),
    exceptions.ResponseError("WRONGTYPE Operation against a key holding the wrong kind of value"),
    exceptions.ResponseError("unknown command 'EVALSHA'"),
    ValueError("not from Redis"),
]


@pytest.mark.parametrize("error", PASSING, ids=str)
def test_what_passes_by_itself_is_waited_for(error):
    assert is_transient(error)


@pytest.mark.parametrize("error", LASTING, ids=str)
def test_what_does_not_pass_is_not_waited_for(error):
    assert not is_transient(error)


def test_errors_get_the_names_of_this_service():
    assert isinstance(translate(PASSING[0]), StoreUnavailableError)
    assert isinstance(translate(LASTING[0]), StoreRefusedError)
    foreign = exceptions.ResponseError("FOREIGN meta names another user")
    assert isinstance(translate(foreign), ForeignRecordError)
