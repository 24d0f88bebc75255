"""How many CPUs this process may use: by its affinity, and by the quota of its control group."""

import math
import os
import sys
from contextlib import suppress
from pathlib import Path

CGROUP = Path("/sys/fs/cgroup")


def available_cpus(cgroup: Path = CGROUP) -> int:
    """Return the CPUs that threads may keep busy, at least 1; a quota of 1.5 counts as 1.

    A pool with more threads than that is stopped by the kernel, all of it, again and again.
    """
    on_linux = sys.platform == "linux"
    owned = len(os.sched_getaffinity(0)) if on_linux else os.cpu_count() or 1
    return max(1, math.floor(min(owned, _quota(cgroup))))


def _quota(cgroup: Path) -> float:
    """Return the quota in CPUs, infinite where there is none."""
    with suppress(OSError, ValueError):  # version 2: "150000 100000", or "max 100000"
        quota, period = (cgroup / "cpu.max").read_text().split()
        return int(quota) / int(period)
    with suppress(OSError, ValueError):  # version 1: -1 for none
        quota = (cgroup / "cpu/cpu.cfs_quota_us").read_text()
        period = (cgroup / "cpu/cpu.cfs_period_us").read_text()
        return int(quota) / int(period) if int(quota) > 0 else math.inf
    return math.inf
