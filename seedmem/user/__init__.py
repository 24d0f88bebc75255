"""The hot state of one user: records in, searchable views out. Nothing here ranks."""

from seedmem.user.state import UserState

__all__ = ["UserState"]
