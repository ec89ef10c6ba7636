"""A task: one piece of a study, identified by what it computes."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any


@dataclass(frozen=True)
class Task:
    """Something to be computed, in full detail: equal tasks have equal results.

    ``kind`` says which function computes it, ``parameters`` are its arguments, seeds included. ``label`` is its name
    for display, without effect on the result. ``weight`` is an estimate of how long it takes, for the time left.

    >>> task = Task("train", {"dataset": "digits", "seed": 0})
    >>> task.key == Task("train", {"seed": 0, "dataset": "digits"}, label="digits").key
    True
    >>> task.key == Task("train", {"dataset": "digits", "seed": 1}).key
    False
    """

    kind: str
    parameters: Mapping[str, Any]
    label: str = field(default="", compare=False)
    weight: float = field(default=1.0, compare=False)

    @cached_property
    def key(self) -> str:
        """The hash of the kind and the parameters: the name of the result."""
        content = json.dumps([self.kind, self.parameters], sort_keys=True, separators=(",", ":"), allow_nan=False)
        return hashlib.sha256(content.encode()).hexdigest()[:20]


@dataclass(frozen=True)
class Stage:
    """Tasks that may run in any order, after those of all earlier stages."""

    name: str
    tasks: list[Task]
