"""How much memory a process has held."""

from __future__ import annotations

import sys
from contextlib import suppress
from pathlib import Path

__all__ = ["peak_memory"]


def peak_memory(*, reset: bool = False) -> float:
    """Return the most memory that this process ever held, in MiB; on Linux since a reset.

    Parameters
    ----------
    reset : bool, default=False
        Whether to forget what was held before, where the system can.
    """
    if reset:
        with suppress(OSError):  # no such thing elsewhere, or not allowed
            Path("/proc/self/clear_refs").write_text("5")
    try:
        status = Path("/proc/self/status").read_text()
    except OSError:
        return _peak_of_life()
    return int(status.split("VmHWM:")[1].split()[0]) / 2**10


def _peak_of_life() -> float:
    try:
        import resource
    except ModuleNotFoundError:  # no word of it from this system
        return 0.0
    # A child begins with what its parent held when it was forked.
    usage = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return usage / (2**20 if sys.platform == "darwin" else 2**10)
