"""All settings of a fit, with all automatic choices made."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from threading import Lock
from typing import Any, Literal, NamedTuple

import numpy as np

from codekin.coding import Codebook
from codekin.fitting.checked_choices import shown
from codekin.learners import Checkpoints, EpochReport, Learner
from codekin.learners.compact import Precision
from codekin.model.reranking import CandidateSource

Seed = tuple[int, ...]


class Generators(NamedTuple):
    """Independent generators, one for each random choice."""

    codebook: np.random.Generator
    assignment: np.random.Generator
    distances: np.random.Generator
    bits: np.random.Generator


@dataclass(frozen=True, eq=False)
class Plan:
    """All settings of a fit, none of them left open.

    - ``codebook``: which codewords exist, or how they are made.
    - ``class_distances``: how far apart classes are, or how that is learned.
    - ``assignment``: which class gets which codeword, or how that is found; a trial chooses one of several names.
    - ``learner``: learns the bits.
    - ``seed``: determines all random choices.
    - ``n_bits``: how many bits codewords have, for codebooks that leave the choice.
    - ``n_symbols``: how many symbols a column may have.
    - ``reason``: why this codebook was chosen, if the user left it open.
    - ``policy``: the user's name for the assignment, if it has another name here.
    - ``loss``: the decoding loss; "auto" is the learner's own.
    - ``weighted_decoding``: divide the loss of a class by the number of its non-zero bits.
    - ``decoding``: by the loss, by weights learned from margins, or by the latter if it pays on held-out samples.
    - ``calibrate``: turn margins into log-odds with samples that the bits have not seen.
    - ``rerank``: how the best classes are rescored.
    - ``candidates``: what lists the classes to rescore.
    - ``precision``: how weights are stored.
    - ``prune``: how much validation accuracy pruning may cost; "to fit" drops weights that cost next to nothing, and
      as many more as a budget requires.
    """

    n_classes: int
    codebook: Any
    class_distances: Any
    assignment: Any
    learner: Learner
    seed: Seed
    n_bits: int | None = None
    n_symbols: int = 2
    policy: str = ""
    reason: str = ""
    loss: Any = "auto"
    weighted_decoding: bool = False
    decoding: Literal["loss", "learned", "auto"] = "loss"
    calibrate: Literal["cv", "holdout"] | None = None
    n_members: int = 1
    rerank: Literal["centroid", "learned"] | None = None
    candidates: CandidateSource = "code"
    precision: Precision = "float32"
    prune: float | Literal["to fit"] | None = None

    @property
    def width(self) -> int | None:
        """The width of the trellis or tree whose paths are the codewords; None for other codes."""
        graph = self.codebook.graph if isinstance(self.codebook, Codebook) else None
        return None if graph is None else int(graph.width)

    @property
    def has_tree(self) -> bool:
        """Whether the codewords are the leaves of a tree."""
        return isinstance(self.codebook, Codebook) and self.codebook.tree is not None

    @property
    def is_ranked(self) -> bool:
        """Whether candidates are listed and ranked, instead of a single best class being decoded."""
        return self.rerank is not None or self.n_members > 1

    def generators(self) -> Generators:
        """The same generators at every call. The paths of a trellis are not drawn."""
        drawn = np.random.default_rng(self.seed).spawn(4)
        return Generators(drawn[3], *drawn[:3]) if self.width is not None else Generators(*drawn)

    def as_dict(self) -> dict[str, Any]:
        """The settings as JSON values: names and numbers as they are, everything else by its name.

        ``n_symbols`` is left out if it is 2.
        """
        told = {field.name: _plain(getattr(self, field.name)) for field in fields(self)}
        if self.n_symbols == 2:
            del told["n_symbols"]
        return told

    def __str__(self) -> str:
        """One setting per line, without empty ones."""
        told = {name: value for name, value in self.as_dict().items() if value not in (None, "", False)}
        return "\n".join(f"{name:<18} {value}" for name, value in told.items())


def _plain(value: Any) -> Any:
    if value is None or isinstance(value, str | bool | int | float):
        return value
    if isinstance(value, tuple):
        return ", ".join(str(_plain(item)) for item in value)
    if isinstance(value, Codebook):
        return value.name if value.graph is None else f"{value.name} of width {value.graph.width}"
    return repr(value) if hasattr(value, "decoding_loss") else shown(value)


@dataclass(frozen=True, eq=False)
class Watch:
    """Where a fit reports every pass over the samples and saves checkpoints."""

    on_epoch: Callable[[EpochReport], None] | None = None
    checkpoints: Checkpoints | None = None

    def one_by_one(self) -> Watch:
        """The same for codes that are learned at the same time: their reports wait for each other."""
        if self.on_epoch is None:
            return self
        on_epoch, lock = self.on_epoch, Lock()

        def report(of_pass: EpochReport) -> None:
            with lock:
                on_epoch(of_pass)

        return replace(self, on_epoch=report)

    def options(self, checkpoints: Checkpoints | None) -> dict[str, Any]:
        """The options for a learner: only those that are set, since a custom learner need not know them all."""
        given = {"on_epoch": self.on_epoch, "checkpoints": checkpoints}
        return {name: value for name, value in given.items() if value is not None}
