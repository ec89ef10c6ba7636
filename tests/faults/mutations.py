"""Corrupted files: bytes flipped, inserted or deleted, and JSON with a changed value.

``CODEKIN_FUZZ_EXAMPLES`` says how many are tried; ``make fuzz`` sets it high.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from copy import deepcopy
from typing import Any

from hypothesis import strategies as st

EXAMPLES = int(os.environ.get("CODEKIN_FUZZ_EXAMPLES", "120"))
FEW_EXAMPLES = max(EXAMPLES // 12, 1)
"""For what takes longer than reading a few bytes."""

TOKENS = st.sampled_from(
    [
        *[b"1", b"0", b"-3", b"cat", b":", b" ", b"\t", b"\n", b"\r\n", b",", b"#", b"|", b"'", b"1:1", b"2:0.5"],
        *[b"1e5", b".", b"nan", b"\xff", b"\0", b"\x1f\x8b", b"PK\x03\x04", b"9999999999", b"\xc3\xa4", b"\x0b"],
        *[b"3 4 5\n", b"qid:1", b"{", b"[", b'"', b"null", b"true", b"1e999", b"]", b"}"],
    ]
)
SOUPS = st.one_of(st.lists(TOKENS, max_size=30).map(b"".join), st.binary(max_size=60))
"""Bytes that never were valid."""

ODD_VALUES = st.sampled_from(
    [None, True, -1, 0, 1, 3, 10**18, 2**63, -(2**63), 0.5, 1e308, "", "x", "os.system", [], [1], [[]], {}, {"a": 1}]
)

ADDED_NAMES = st.sampled_from(["", "x", "__class__", "n_jobs", "n_symbols", "is_real", "width", "params", "files"])
"""Of fields that were not there."""


@st.composite
def mutated_bytes(draw: Callable[[Any], Any], contents: list[bytes]) -> bytes:
    """One of the contents in which some bytes are flipped, replaced, put in, or left out."""
    content = bytearray(draw(st.sampled_from(contents)))
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(content)))
        if start < len(content) and draw(st.booleans()):
            content[start] ^= 1 << draw(st.integers(0, 7))
            continue
        content[start : start + draw(st.sampled_from([0, 0, 1, 1, 2, 10, 10_000]))] = draw(
            st.one_of(st.just(b""), TOKENS, st.binary(max_size=3), TOKENS.map(lambda token: token * 30))
        )
    return bytes(content)


@st.composite
def mutated_json(draw: Callable[[Any], Any], content: Any) -> Any:
    """The content in which some values, anywhere, became others, are gone, or are new."""
    changed = deepcopy(content)
    for _ in range(draw(st.integers(1, 3))):
        place = changed
        while True:
            keys = list(place) if isinstance(place, dict) else list(range(len(place)))
            if not keys:
                break
            key = draw(st.sampled_from(keys))
            inner = place[key]
            if isinstance(inner, dict | list) and inner and draw(st.booleans()):
                place = inner
                continue
            how = draw(st.integers(0, 5))
            if how == 0:
                del place[key]
            elif how == 1 and isinstance(place, dict):
                place[draw(ADDED_NAMES)] = deepcopy(draw(ODD_VALUES))
            else:
                place[key] = deepcopy(draw(ODD_VALUES))  # which a later change may change
            break
    return changed


class Refusal(str):
    """The sentence of an error."""

    __slots__ = ()


def value_or_refusal(read: Callable[[], Any], *errors: type[Exception]) -> Any:
    """What was read, or the sentence with which that was refused; any other error is a defect."""
    try:
        return read()
    except errors as error:
        sentence = Refusal(error)
    assert "\n" not in sentence, sentence
    return sentence
