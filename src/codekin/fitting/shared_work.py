"""Work shared by the trials of a search within a budget."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from codekin.learners import Checkpoints


@dataclass
class SharedWork:
    """The parts of the codes of every width, and the learned codes of the last width.

    The ``checkpoints`` of a width are removed when the next width starts.
    """

    checkpoints: Checkpoints | None = None
    parts_of: dict[int | None, Any] = field(default_factory=dict)
    _codes: dict[int, Any] = field(default_factory=dict)
    _width: int | None = None

    def checkpoints_of(self, width: int | None, number: int) -> Checkpoints | None:
        """The checkpoints of a member of this width."""
        return None if self.checkpoints is None else self.checkpoints.part(f"width-{width}").part(f"code-{number}")

    def codes_of(self, width: int | None) -> dict[int, Any]:
        """The learned members of this width, by number; those of another width are forgotten."""
        if width != self._width:
            if self.checkpoints is not None and self._width is not None:
                self.checkpoints.part(f"width-{self._width}").clear()
            self._codes, self._width = {}, width
        return self._codes
