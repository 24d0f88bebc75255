"""A user's latest questions by request id, so that a recall may name the request alone."""

from streams.store.keys import UserKeys
from streams.store.session import OWNED, Session

KEPT = 1_000  # of a user; the oldest go first
LIFETIME = 30 * 86_400  # seconds after the user's last question


class Questions:
    """Questions are a convenience, not durable state: a lost one costs one training pair."""

    def __init__(self, session: Session) -> None:
        self._session = session

    async def keep(self, user_id: str, request_id: str, text: str) -> None:
        """Remember what a request asked, of a user who has memories."""
        keys = UserKeys(self._session.namespace, user_id)
        entry = (b"id", request_id.encode(), b"text", text.encode())
        add = (user_id, "XADD", "MAXLEN", "~", KEPT, "*", *entry)
        owned = self._session.call(OWNED, [keys.meta, keys.questions], add)
        await self._session.run([owned, ("EXPIRE", keys.questions, LIFETIME)])

    async def find(self, user_id: str, request_id: str) -> str | None:
        """Return what the request asked, or None when it is not among the latest."""
        key = UserKeys(self._session.namespace, user_id).questions
        (entries,) = await self._session.run([("XREVRANGE", key, "+", "-", "COUNT", KEPT)])
        for _, entry in entries:
            if entry[b"id"] == request_id.encode():
                return str(entry[b"text"].decode())
        return None
