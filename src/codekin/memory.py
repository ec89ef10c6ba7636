"""How much memory there is, asked before it is needed, and sizes as people write them."""

from __future__ import annotations

import os
import re
from pathlib import Path

MEMINFO = Path("/proc/meminfo")
CONTROL_GROUP = Path("/sys/fs/cgroup")


def available_memory() -> int | None:
    """The bytes that this process may still take without swapping, or None where the system does not say.

    Returns
    -------
    int or None
        The least of what the machine and the process's control group (a container's limit) have left.
    """
    left = [known for known in (_left_on_machine(), _left_in_control_group()) if known is not None]
    return min(left) if left else None


def in_units(n_bytes: float) -> str:
    """A number of bytes for people.

    Parameters
    ----------
    n_bytes : float

    Returns
    -------
    str

    Examples
    --------
    >>> in_units(512), in_units(3 * 2**20), in_units(1.5 * 2**30)
    ('512 B', '3.0 MiB', '1.5 GiB')
    """
    for unit in ("B", "KiB", "MiB", "GiB"):
        if n_bytes < 1024 or unit == "GiB":
            break
        n_bytes /= 1024
    return f"{n_bytes:.0f} B" if unit == "B" else f"{n_bytes:,.1f} {unit}"


def in_bytes(text: str) -> int:
    """A number of bytes as people write it.

    Parameters
    ----------
    text : str
        A number, perhaps with a unit: B, kB, MB, GB, TB (powers of 1,000) or KiB, MiB, GiB, TiB (powers of 1,024); case
        does not matter, nor does a blank before it, and K, M, G, T are short for kB, MB, GB, TB.

    Returns
    -------
    int

    Examples
    --------
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
    try:
        for line in MEMINFO.read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    except OSError:
        pass
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return None


def _left_in_control_group() -> int | None:
    try:
        limit = (CONTROL_GROUP / "memory.max").read_text().strip()
        used = int((CONTROL_GROUP / "memory.current").read_text())
        # Cached files are given back when memory gets short.
        statistics = (CONTROL_GROUP / "memory.stat").read_text().split()
        cached = int(statistics[statistics.index("inactive_file") + 1])
    except (OSError, ValueError):
        return None
    return None if limit == "max" else max(int(limit) - used + cached, 0)
