"""What "auto" means: the values of settings that a user leaves open, and the measurements behind them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, cast

import numpy as np

from codekin._system.arrays import are_directions
from codekin._system.memory import available_memory
from codekin._system.rows import StoredRows, is_sparse
from codekin.assignments import AssignmentResult
from codekin.classes import ClassTree
from codekin.code import Assignment
from codekin.code.tree import LEAVES_PER_CHILD
from codekin.codebooks import trellis_codebook
from codekin.fitting.setting import Table, codes_of, is_auto
from codekin.learners import AROW, LEARNERS, Learner, LinearSVM, Softmax, VectorSoftmax, learner_of
from codekin.learners.tree_samples import BYTES_PER_WEIGHT
from codekin.model.reranking import CandidateSource
from codekin.samples import Samples

MANY_CLASSES, SEVERAL_CLASSES = 100, 3
"""From this many classes on, embeddings and sparse samples get a label tree by default, and a search for the order of
a trellis and a re-ranking are worth their time. Trees are as accurate as trellises of 150 and 374 classes and more
accurate beyond, with fewer bytes, a third of the time per prediction and a quarter of the training time or less."""
FLAT_CLASSES = 1_000
"""Fewer classes of sparse samples are children of one node, each with a support vector machine: on 58 and 713 classes
of texts that is 0.7 and 0.8 points better than a tree that is re-ranked, in fewer bytes and less time
(``benchmarks/few_classes.py``, one seed), on 374 it is level; on 1,532 classes it is 0.1 points worse and slower."""
MOST_FLAT_BYTES = 2**30
"""The most memory for the weights and dual variables of these machines."""
FEW_SAMPLES = 300
"""Fewer samples of fewer than 100 classes stay on a trellis: held-out ones are too few to choose a temperature by."""
WIDTHS = (10, 5, 2)
"""The default is the first of these widths whose weights fit into memory. At width 2 the bits know less about ten
digits than the class means do; beyond 10, a point costs twice the time and memory."""
FEW_CLASSES = 500
"""With fewer classes and re-ranking, width 2 and a searched order are half a point better than width 10: 91.7 and
91.1 % on 150 classes, in three times the time."""
NARROW_ORDER, NARROW_ORDER_RANKED = 9, 4
"""The greatest widths at which the order of the classes is searched, without and with re-ranking: above, it is not
measurably better than the depth-first order."""
NARROW_LISTS = 4
"""The greatest width at which an index lists better candidates than a trellis: at width 2 of 12,582 classes 46.7 and
42.1 % are right, at width 5 46.9 and 46.7, at width 10 47.4 and 47.8."""
TOO_MANY_CLASSES = 50_000
"""With more classes, the factors that fit into memory carry too little information, and the depth-first order of a
trellis is better: 17.9 against 16.4 % on 102,673 classes. Two trees are then 0.8 points better than one, and still
trained in less time than the trees of others."""
WIDEST_TREE = 64
"""The default tree is as shallow as this branching factor allows."""
MAX_CLUSTERED_CLASSES = 2_000
"""Class trees of more classes are learned by halving the set of classes, not by joining pairs: with 12,582 classes,
that takes one second instead of 20."""
GENTLE_PRUNING = 0.001
"""How much validation accuracy pruning may cost by default."""
NARROW = 2
"""The width up to which AROW is as accurate as softmax, in half the time."""


@dataclass(frozen=True, eq=False)
class FitSettings:
    """The settings of a fit.

    An attribute with the name of a setting is its value for these samples: as given, or what "auto" means.

    - ``table``: the rows of the settings, which say what "auto" means.
    - ``given``: all values as they were given.
    - ``held_out``: the validation samples; ``has_sets``: whether a sample may have several labels.
    """

    table: Table
    given: Mapping[str, Any]
    n_classes: int
    seed: tuple[int, ...]
    X: Any
    class_tree: ClassTree | None = None
    held_out: Samples | None = None
    has_sets: bool = False
    _found: dict[str, Any] = field(default_factory=dict, repr=False)

    def settled(self, name: str) -> Any:
        """The given value of a setting or the one that others imply; "auto" if it is open."""
        follows, value = self.table[name].follows, self.given[name]
        return follows(self) if is_auto(value) and follows is not None else value

    def __getattr__(self, name: str) -> Any:
        if name not in self.table:
            raise AttributeError(name)
        if name not in self._found:
            value, resolve = self.settled(name), self.table[name].resolve
            self._found[name] = resolve(self) if is_auto(value) and resolve is not None else value
        return self._found[name]

    def with_given(self, **values: Any) -> FitSettings:
        """The same with other values of some settings."""
        return replace(self, given={**self.given, **values}, _found={})

    def _as_wide(self) -> FitSettings:
        """The same with all classes below one node, unless the width is given."""
        return self.with_given(width=self.n_classes) if is_auto(self.given["width"]) else self


# ----- many classes -------------------------------------------------------------------------------------------------


def code_of(s: Any) -> str:
    """Whether the codewords are paths of a trellis or leaves of a tree."""
    given = s.given
    is_open = (
        given["width"] == "auto"
        and given["max_bits"] is None
        and not given["n_reserved"]
        and is_auto(given["loss"])
        and isinstance(given["assignment"], str)
        and "tree" in codes_of(given["assignment"])
    )
    is_tree = codes_of(given["assignment"]) == ("tree",) or (
        is_open and (_are_many(s) or _are_few(s)) and can_learn_trees(given["estimator"])
    )
    return "tree" if is_tree else "trellis"


def rerank_of(s: Any) -> str | None:
    """How the best classes are rescored.

    100 or more classes of sparse samples or embeddings are re-ranked, since that gains most where a bit has to separate
    most classes, and fewer classes of sparse samples on trees; other dense samples and machines for each class are not.
    """
    if _are_flat(s) or _has_machines(s):
        return None
    return "learned" if _are_many(s) or (s.code == "tree" and _are_few(s)) else None


def width_of(s: Any) -> int:
    """The width of a trellis, or the most children of a node of a tree."""
    if s.code == "tree":
        return int(s.n_classes) if _are_flat(s) else tree_width(s.n_classes)
    if _is_compact(s) and s.n_classes < FEW_CLASSES:
        return 2
    allowed = getattr(s.given["estimator"], "max_memory", None)
    limits = [limit for limit in (allowed, available_memory()) if limit is not None]
    most_bits = min(limits, default=np.inf) / (BYTES_PER_WEIGHT * int(s.X.shape[1]))
    widths: list[int] = [min(width, s.n_classes) for width in WIDTHS]
    return next((w for w in widths if trellis_codebook(s.n_classes, w).n_bits <= most_bits), widths[-1])


def n_codes_of(s: Any) -> int:
    """How many codes there are."""
    return 2 if s.code == "tree" and s.n_classes > TOO_MANY_CLASSES else 1


def precision_of(s: Any) -> str:
    """How weights are stored."""
    return "int8" if s.code == "tree" or _is_compact(s) else "float32"


def prune_of(s: Any) -> float | None:
    """How much validation accuracy pruning may cost."""
    return GENTLE_PRUNING if s.code != "tree" and _is_compact(s) and s.held_out is not None else None


def candidates_of(s: Any) -> CandidateSource:
    """What lists the candidates of a re-ranking."""
    return candidate_source(s.code, s.rerank, s.width, s.n_classes)


def candidate_source(code: str, rerank: str | None, width: int, n_classes: int) -> CandidateSource:
    """What lists the candidates of a re-ranking by default.

    >>> candidate_source("trellis", "learned", 2, 1_000), candidate_source("tree", "learned", 64, 1_000)
    ('index', 'code')
    """
    is_narrow = code == "trellis" and width <= NARROW_LISTS and n_classes >= MANY_CLASSES
    return "index" if is_narrow and rerank is not None else "code"


def assignments_of(s: Any) -> tuple[str, ...]:
    """How the assignment is found; a trial chooses one of several policies.

    "ordered" is the depth-first order, whose neighbours have similar paths.
    """
    if _are_flat(s):
        return ("identity",)  # all orders are equal
    if s.code == "tree":
        # A taxonomy may gain two points or lose as many, which a trial finds out.
        return ("halving",) if s.class_tree is None else ("preserving", "halving")
    is_wide = min(s.width, s.n_classes + s.n_reserved) > (NARROW_ORDER if s.rerank is None else NARROW_ORDER_RANKED)
    if is_wide or not MANY_CLASSES <= s.n_classes <= TOO_MANY_CLASSES:
        return ("ordered",)
    is_tried = s.class_tree is not None and s.held_out is not None
    return ("learnability", "ordered") if is_tried else ("learnability",)


def width_that_follows(s: Any) -> Any:
    """The width that uses at most ``max_bits``, if that is given."""
    if s.given["max_bits"] is None:
        return "auto"
    return trellis_codebook(s.n_classes, "auto", n_bits=s.given["max_bits"]).width


def rerank_that_follows(s: Any) -> Any:
    """Reserved codewords rule a re-ranking out, and an index needs one."""
    if s.given["n_reserved"]:
        return None
    return "learned" if s.given["candidates"] in ("index", "both") else "auto"


def n_codes_that_follow(s: Any) -> Any:
    """Several codes differ in the orders of their classes."""
    return 1 if is_one_order(s.given["assignment"]) or s.given["n_reserved"] else "auto"


def is_one_order(choice: Any) -> bool:
    """Whether the ``assignment`` parameter of an estimator is a single assignment, not a way to find some."""
    return isinstance(choice, Assignment | AssignmentResult) or not (isinstance(choice, str) or callable(choice))


def tree_width(n_classes: int) -> int:
    """The default number of children of a tree's nodes: few levels, and above the leaves as many as allowed.

    A power of 2, so that the children of a node are halves of halves of its classes where these were halved.

    >>> [tree_width(n) for n in (20, 100, 1_532, 12_582, 102_673)]
    [64, 8, 32, 64, 32]
    """
    if n_classes < MANY_CLASSES:
        return WIDEST_TREE
    halvings, depth = math.log2(max(n_classes / LEAVES_PER_CHILD, 2)), 2
    while math.ceil(halvings / depth) > math.log2(WIDEST_TREE):
        depth += 1
    return 1 << math.ceil(halvings / depth)


def _are_many(s: Any) -> bool:
    return bool(s.n_classes >= MANY_CLASSES and (is_sparse(s.X) or are_directions(s.X)))


def _are_few(s: Any) -> bool:
    """Whether a tree of the classes of sparse samples is learned at once: it is not learned in turns."""
    is_unlimited = getattr(s.given["estimator"], "max_memory", None) is None and not isinstance(s.X, StoredRows)
    is_enough = is_sparse(s.X) and s.X.shape[0] >= FEW_SAMPLES
    return bool(SEVERAL_CLASSES <= s.n_classes < FLAT_CLASSES and is_enough and is_unlimited)


def may_be_flat(given: Mapping[str, Any], n_classes: int) -> bool:
    """Whether each class gets a machine of its own that separates it from the others, if the samples allow it."""
    learner = given["estimator"]
    is_open = all(is_auto(given[name]) for name in ("code", "width", "assignment", "candidates"))
    is_single = given["rerank"] in ("auto", None) and given["n_codes"] in ("auto", 1) and given["taxonomy"] is None
    is_wanted = is_auto(learner) or hasattr(learner, "svm") or hasattr(learner_of(learner), "usual_temperature")
    return SEVERAL_CLASSES <= n_classes < FLAT_CLASSES and is_open and is_single and is_wanted


def _are_flat(s: Any) -> bool:
    """Whether machines are learned, for which there has to be memory."""
    if not may_be_flat(s.given, s.n_classes) or not _are_few(s) or s.code != "tree":
        return False
    (n_samples, n_features), free = s.X.shape, available_memory()
    n_bytes = (BYTES_PER_WEIGHT * n_features + LinearSVM.bytes_per_sample * n_samples) * s.n_classes
    return bool(n_bytes <= min(MOST_FLAT_BYTES, np.inf if free is None else free / 2))


def with_learner(s: FitSettings) -> FitSettings:
    """The same settings with machines or vectors as the learner, if they are what "auto" means for these samples."""
    given = AutoLearner() if is_auto(s.given["estimator"]) else s.given["estimator"]
    if has_vectors(given):
        return s.with_given(**{name: value for name, value in OF_VECTORS.items() if is_auto(s.given[name])})._as_wide()
    if not hasattr(given, "svm"):
        return s
    if _may_have_vectors(s):
        return s.with_given(**{**OF_VECTORS, "estimator": given.vectors})._as_wide()
    return s.with_given(estimator=given.svm) if _are_flat(s) or _has_machines(s) else s


def _has_machines(s: Any) -> bool:
    """Whether a machine for each child of a tree's nodes learns several labels per sample, better than softmax does.

    Of Debian's packages 77.7 and 76.6 % get one of theirs as the best of 17,829 dependencies.
    """
    learner = s.given["estimator"]
    is_wanted = is_auto(learner) or hasattr(learner, "svm") or hasattr(learner_of(learner), "usual_temperature")
    is_open = is_auto(s.given["rerank"]) and s.given["candidates"] in ("auto", "code")
    is_in_memory = getattr(learner, "max_memory", None) is None and not isinstance(s.X, StoredRows)
    return bool(s.has_sets and is_wanted and is_open and is_in_memory and is_sparse(s.X) and s.code == "tree")


OF_VECTORS = {
    "code": "tree",
    "assignment": "identity",  # all orders are equal
    "prune": None,
    "precision": "int8",
    "rerank": None,
    "candidates": "code",
    "n_codes": 1,
}
"""What settings mean where each class has a vector; the width is the number of classes."""


def has_vectors(learner: Any) -> bool:
    """Whether a learner gives each class a vector of its own."""
    return bool(getattr(learner_of(learner) or learner, "has_vectors", False))


def _may_have_vectors(s: FitSettings) -> bool:
    """Whether there are many classes of dense samples, nothing asks for a code, and there is memory for vectors."""
    given, most = s.given, getattr(s.given["estimator"], "max_memory", None)
    is_open = all(
        isinstance(given[name], str | int | None) and given[name] in ("auto", value)
        for name, value in OF_VECTORS.items()
    )
    is_open &= given["width"] == "auto" and given["max_bits"] is None and is_auto(given["loss"])
    is_plain = given["taxonomy"] is None and not given["n_reserved"] and given["code"] == "auto"
    if not (is_open and is_plain and s.n_classes >= MANY_CLASSES) or is_sparse(s.X):
        return False
    return VectorSoftmax.n_bytes(s.X.shape[0], s.X.shape[1], s.n_classes) <= min(
        limit for limit in (most, available_memory(), np.inf) if limit is not None
    )


def _is_compact(s: Any) -> bool:
    """With re-ranking, weights take one byte and are pruned if there are validation samples."""
    return s.rerank is not None and _are_many(s)


# ----- learners -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class AutoLearner:
    """AROW on narrow trellises, softmax on wider ones and on trees, LinearSVM, VectorSoftmax: what "auto" means.

    At width 2 softmax is within half a point of AROW on the same bits, for about twice the time; from width 5 on it is
    one to two points better (``benchmarks/trellis_softmax.py``).
    """

    arow: Learner = field(default_factory=AROW)
    softmax: Learner = field(default_factory=Softmax)
    svm: Learner = field(default_factory=LinearSVM)
    vectors: Learner = field(default_factory=VectorSoftmax)

    learns_trees: ClassVar[bool] = True

    @property
    def max_memory(self) -> int | None:
        """How many bytes weights may take while they are learned."""
        return getattr(self.softmax, "max_memory", None)

    def at_width(self, width: int) -> Learner:
        return self.arow if width <= NARROW else self.softmax


def can_learn_trees(learner: Any) -> bool:
    """Whether the ``estimator`` parameter allows a tree."""
    found = AutoLearner() if is_auto(learner) else learner_of(learner) or learner
    return bool(getattr(found, "learns_trees", False))


def trellis_learner(learner: Any, width: int) -> Learner:
    """The learner of a trellis, from the ``estimator`` parameter."""
    learner = AutoLearner() if is_auto(learner) else learner
    if hasattr(learner, "at_width"):
        return cast("Learner", learner.at_width(width))
    found = learner_of(learner)
    if found is None:
        raise ValueError(
            f"The 'estimator' parameter must be one of {['auto', *sorted(LEARNERS)]} or a Learner. "
            f"Got {learner!r} instead."
        )
    return found


def tree_learner(s: Any) -> Learner:
    """The learner of the nodes of a tree, from the ``estimator`` parameter."""
    given = s.given["estimator"]
    if not can_learn_trees(given):
        raise ValueError(f"The nodes of a tree are learned by softmax or svm. Got estimator={given!r} instead.")
    return cast("Learner", getattr(AutoLearner() if is_auto(given) else given, "softmax", None) or learner_of(given))


def with_less_memory(learner: Any, n_bytes: int) -> Any:
    """The ``estimator`` parameter, with a limit on memory that leaves so much of it to the samples."""
    limit = getattr(learner, "max_memory", None)
    if limit is None:
        return learner
    if hasattr(learner, "at_width"):
        each = (learner.arow, learner.softmax, learner.svm, learner.vectors)
        return AutoLearner(*(with_less_memory(one, n_bytes) for one in each))
    return replace(learner, max_memory=max(limit - n_bytes, 1))
