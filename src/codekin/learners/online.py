"""What online learners have in common: settings, and passes over blocks of columns or over the nodes of a tree."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, NamedTuple

import numpy as np

from codekin._system.checkpoints import Checkpoints
from codekin._system.memory import available_memory, in_units
from codekin.code import Code
from codekin.learners.passes import continue_blocks, fit_blocks
from codekin.learners.training import Callbacks, EpochReport, Lesson
from codekin.learners.training_rows import StreamedRows, TrainingRows, Validation
from codekin.learners.tree_nodes import continue_nodes, fit_nodes
from codekin.samples import Samples


class Engine(NamedTuple):
    """How a code is learned: from the beginning, and perhaps further from the result of an earlier call."""

    fit: Callable[..., Any]
    partial_fit: Callable[..., Any] | None = None


ENGINES = {"blocks": Engine(fit_blocks, continue_blocks), "nodes": Engine(fit_nodes, continue_nodes)}
"""Maps what codebooks say about how they are learned, ``codebook.learned_in``, to an engine."""


class CheckedLearner:
    """What learners of all bits have in common: settings that are checked, a limit on memory, and an engine."""

    _engines: ClassVar[Mapping[str, Engine]] = ENGINES
    _from_one: ClassVar[tuple[str, ...]] = ("n_epochs", "patience")
    """The hyper-parameters that are at least 1."""
    _positive: ClassVar[tuple[str, ...]] = ("max_memory",)
    """Those that are greater than 0, or None."""
    bytes_per_sample: ClassVar[int] = 0
    """What learning a bit takes for each sample, which then has to be in memory."""
    n_epochs: int
    class_weight: Any
    max_memory: int | None

    def fit(
        self,
        samples: Samples,
        code: Code,
        *,
        rng: np.random.Generator | int | None = None,
        validation: Validation | None = None,
        on_epoch: Callable[[EpochReport], None] | None = None,
        checkpoints: Checkpoints | None = None,
    ) -> Any:
        """Learn every bit of a code.

        Parameters
        ----------
        samples : Samples
            Sparse rows are used as they are, a dense matrix is compressed, rows on disk are read in shuffled blocks.
        code : Code
        rng : numpy.random.Generator or int, optional
            For the order of the samples.
        validation : Validation, optional
            Scored after each pass; the weights with the best score are returned.
        on_epoch : callable, optional
            Called with an :class:`EpochReport` after each pass.
        checkpoints : Checkpoints, optional
            Where to save, after each pass but the last, what is needed to resume after an interruption; on a tree,
            finished nodes. Resumed training ends with the same predictors as uninterrupted training.

        Returns
        -------
        LinearBits, or TreeBits of a learner of trees
        """
        callbacks = Callbacks(on_epoch, checkpoints)
        return self._engines[code.codebook.learned_in].fit(
            self, samples, code, rng=rng, validation=validation, callbacks=callbacks
        )

    def __post_init__(self) -> None:
        """Check the hyper-parameters."""
        is_name = isinstance(self.class_weight, str)
        if is_name and self.class_weight != "balanced":
            self._refuse("class_weight", "'balanced' or an array with one entry per class")
        for name in self._from_one:
            if getattr(self, name) < 1:
                self._refuse(name, "at least 1")
        for name in self._positive:
            if getattr(self, name) is not None and not getattr(self, name) > 0:
                self._refuse(name, "greater than 0")

    def _refuse(self, name: str, rule: str) -> None:
        value = getattr(self, name)
        raise ValueError(f"The {name!r} parameter of {type(self).__name__} must be {rule}. Got {value!r} instead.")

    @property
    def _memory_limit(self) -> float:
        """How many bytes it may take."""
        return min(limit for limit in (self.max_memory, available_memory(), np.inf) if limit is not None)

    def _refuse_memory(self, needed: int, n_features: int, n_bits: int, remedy: str = "", least: str = "") -> None:
        """Raise before anything is allocated that would not fit."""
        raise MemoryError(
            f"{type(self).__name__} needs {in_units(needed)} for {n_features:,} features x {n_bits:,} bits x "
            f"{needed // (n_features * n_bits)} bytes{least}, but {in_units(self._memory_limit)} are "
            f"{'allowed by max_memory' if self._memory_limit == self.max_memory else 'available'}. "
            f"Use fewer bits, fewer features or more memory{remedy}."
        )


class OnlineLearner(CheckedLearner, ABC):
    """A learner that makes passes over the samples."""

    shuffle: bool
    fit_intercept: bool
    patience: int
    n_threads: int | None

    @abstractmethod
    def _lesson(self, rows: TrainingRows | StreamedRows, code: Code, *, learns_on: bool = False) -> Lesson[Any]:
        """How it learns the columns of a code from some samples, perhaps to learn on later."""

    def partial_fit(
        self, bits: Any, samples: Samples, code: Code, *, rng: np.random.Generator | int | None = None
    ) -> Any:
        """Make one pass over further samples; the given bits are left as they are.

        Parameters
        ----------
        bits : the result of an earlier call, finished linear predictors or None
            None to begin. Finished predictors have weights only; what else determines the steps begins anew.
        samples, code, rng
            As in :meth:`fit`.

        Returns
        -------
        Predictors that can be used and trained further, with twice the memory of finished ones.
        """
        learn = self._engines[code.codebook.learned_in].partial_fit
        assert learn is not None
        return learn(self, bits, samples, code, rng=rng)
