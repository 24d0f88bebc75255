"""How a worker's interpreter is set, so that its own threads and memory do not delay questions."""

import gc
import sys

SWITCH = 0.001  # seconds that a thread computes before another may; Python's own are 0.005


def settle_in() -> None:
    """Call once everything is loaded and started; takes some 50 ms.

    The event loop waits for the interpreter after each look at its sockets, behind threads
    that compute. And a full collection looks at every object there is, 60 ms of those of a
    worker that knows no user yet; what was loaded at the start is left out from now on.
    """
    sys.setswitchinterval(SWITCH)
    gc.collect()
    gc.freeze()
