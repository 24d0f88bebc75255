"""From stored bytes to the adapter that serves: what cannot be trusted is set aside."""

import logging

from seedmem.adapt import Adapter, from_bytes
from seedmem.errors import SeedmemError
from seedmem.vectors import VectorSpace
from streams.store import AdapterStore

logger = logging.getLogger(__name__)


async def serving_adapter(store: AdapterStore, user_id: str, space: VectorSpace) -> Adapter | None:
    """Return the adapter that serves a user, None for the identity.

    It is the newest sound one that is not above the current version: a damaged, foreign or stale
    one is logged and set aside, and the one before it serves. Raises as the store does.
    """
    current = (await store.standing(user_id)).current
    if not current:
        return None
    for version in await store.versions(user_id):
        raw = await store.load(user_id, version) if version <= current else None
        if raw is None:
            continue
        try:
            return from_bytes(raw, user_id=user_id, space=space, version=version)
        except SeedmemError as error:
            logger.error("adapter version %d is set aside and does not serve: %s", version, error)
            await store.quarantine(user_id, version, raw)
    return None
