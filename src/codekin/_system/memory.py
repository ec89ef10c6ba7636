"""How much memory is available, checked before large allocations, and sizes in readable units."""

from __future__ import annotations

import ctypes
import os
import re
from contextlib import suppress
from pathlib import Path

MEMINFO = Path("/proc/meminfo")
CONTROL_GROUP = Path("/sys/fs/cgroup")
STATM = Path("/proc/self/statm")


def available_memory() -> int | None:
    """How many bytes this process can still allocate without swapping, or None if the system does not say.

    The minimum over the machine, the control group (a container's limit) and the process's own limit (``ulimit -v``).
    """
    sources = (_left_on_machine(), _left_in_control_group(), _left_in_address_space())
    left = [known for known in sources if known is not None]
    return min(left) if left else None


def require_memory(n_bytes: int, what: str, remedy: str) -> None:
    """Raise MemoryError, ``what`` needs too much and a ``remedy``, if fewer than ``n_bytes`` are available.

    >>> require_memory(10**18, "A matrix of all pairs", "Use a class tree.")
    Traceback (most recent call last):
        ...
    MemoryError: A matrix of all pairs needs 931,322,574.6 GiB, but ... are available. Use a class tree.
    """
    left = available_memory()
    if left is not None and n_bytes > left:
        raise MemoryError(f"{what} needs {in_units(n_bytes)}, but {in_units(left)} are available. {remedy}")


def give_back() -> None:
    """Return memory that was freed to the system, if the C library keeps it (glibc does); takes about a millisecond."""
    with suppress(OSError, TypeError, AttributeError):  # there is no such library, as on Windows, or function
        ctypes.CDLL(None).malloc_trim(0)


def in_units(n_bytes: float) -> str:
    """A number of bytes in readable units.

    >>> in_units(512), in_units(3 * 2**20), in_units(1.5 * 2**30)
    ('512 B', '3.0 MiB', '1.5 GiB')
    """
    power = next((power for power in range(3) if n_bytes < 1024 ** (power + 1)), 3)
    return f"{n_bytes:.0f} B" if power == 0 else f"{n_bytes / 1024**power:,.1f} {' KMG'[power]}iB"


def in_bytes(text: str) -> int:
    """Parse a number of bytes with an optional unit, in any case: kB or K, KiB and so on up to T.

    >>> in_bytes("5MB"), in_bytes("1.5 GiB"), in_bytes("800")
    (5000000, 1610612736, 800)
    """
    match = re.fullmatch(r"\s*([0-9]+(?:\.[0-9]*)?|\.[0-9]+)\s*(?:([kmgt]?)(i?)b|([kmgt]))?\s*", text, re.IGNORECASE)
    if match is None or (match[3] and not match[2]):
        raise ValueError(
            f"A size must be a number of bytes, perhaps with a unit, like 800, 5MB or 1.5GiB. Got {text!r}."
        )
    prefix = (match[2] or match[4] or "").lower()
    base = 1024 if match[3] else 1000
    return int(float(match[1]) * base ** ["", "k", "m", "g", "t"].index(prefix))


def _left_on_machine() -> int | None:
    with suppress(OSError):
        for line in MEMINFO.read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    with suppress(AttributeError, ValueError, OSError):
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return None


def _left_in_control_group() -> int | None:
    try:
        limit = (CONTROL_GROUP / "memory.max").read_text().strip()
        used = int((CONTROL_GROUP / "memory.current").read_text())
        # The system drops cached files when memory runs short.
        statistics = (CONTROL_GROUP / "memory.stat").read_text().split()
        cached = int(statistics[statistics.index("inactive_file") + 1])
    except (OSError, ValueError):
        return None
    return None if limit == "max" else max(int(limit) - used + cached, 0)


def _left_in_address_space() -> int | None:
    try:
        import resource

        limit = resource.getrlimit(resource.RLIMIT_AS)[0]
        if limit == resource.RLIM_INFINITY:
            return None
        used = int(STATM.read_text().split()[0]) * resource.getpagesize()
    except (ImportError, OSError):
        return None
    return max(limit - used, 0)
