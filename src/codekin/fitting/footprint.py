"""What a plan costs: memory while it is fitted, and bytes on disk.

Whether a plan fits into the memory that its learner is allowed is checked before anything is allocated. Counted is what
grows with samples, features, classes and bits, besides the samples themselves: weights in training and those of
finished codes, class means, class vectors, factors of a search for an order, lists of candidates and copies of samples.
Not counted are about 40 bytes per sample, for its class, weight and position, and ``WORKING_BYTES``. How many weights a
tree keeps is known only after training: its learner counts them meanwhile, and what a re-ranking needs in addition is
checked before that begins.

The size on disk is exact for a fitted model, and an upper bound before.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import is_dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from codekin._system.arrays import as_narrow
from codekin._system.memory import in_units
from codekin._system.rows import BYTES_PER_VALUE, StoredRows, is_sparse
from codekin.classes.learnability import MAX_COVARIANCE_FEATURES, MAX_FACTOR_ENTRIES
from codekin.code import KINDS, Codebook
from codekin.decoding import Loss
from codekin.fitting.learned_vectors import n_class_entries
from codekin.fitting.orders import next_order
from codekin.fitting.plan import Plan
from codekin.fitting.report import fit_report
from codekin.fitting.trial import LEAST_SAMPLES, MOST_SAMPLES
from codekin.learners.tree_bits import TreeBits
from codekin.learners.tree_samples import BYTES_PER_FEATURE, BYTES_PER_WEIGHT
from codekin.model import FittedCode, Model
from codekin.model.class_vectors import LARGEST_GAP
from codekin.model.probabilities import ClassPrior
from codekin.model.reranking import NUMBERS_OF_INDEX
from codekin.samples import Samples
from codekin.states import SavedClassifier, State

WORKING_BYTES = 16 * 2**20
"""For margins, lists and probabilities of some samples at a time, and small copies of samples. Not counted."""
BYTES_PER_KEPT_WEIGHT = {"float32": 4, "float16": 2, "int8": 1}
BYTES_PER_ENTRY = 48
"""Of class vectors that are learned: features, mean, value and curvature, where it is in the list of its feature, and
the finished entry, now and after the best pass so far."""
BYTES_PER_MEAN = 40
"""Of an entry of class means, while the set of classes is halved."""
BYTES_PER_DISTANCE = 40
"""Of a pair of classes, while few classes are joined to a tree by their distances."""
BYTES_PER_CANDIDATE, BYTES_PER_SCORED, BYTES_PER_LONGEST = 12, 24, 40
"""Of a held-out sample: its class and loss in each list, its scores, and what is computed of the longest list."""
BYTES_TO_COMPRESS = 28
"""Of an entry of dense samples, besides its value, while they are made sparse."""
BYTES_PER_PAIR = 24
"""Of features of a covariance matrix, while it is summed up."""

BYTES_PER_STORED_ENTRY = 3
"""Of class vectors on disk."""
BYTES_PER_BIT = 24
"""The loss of a bit in the report on disk."""
MAX_TRIALS, BYTES_PER_TRIAL = 5, 256
"""Of a search within a budget; there may be a second search."""
BYTES_PER_MEMBER = 1_024
BYTES_BESIDES = 4_096
"""The description and the header of the arrays, besides what follows from the shape of the model."""
WIDEST = -2.2250738585072014e-308
"""No number has more characters."""


class Need(NamedTuple):
    """What needs memory, as the beginning of a sentence, how much, and what to do about it."""

    what: str
    n_bytes: int
    remedy: str

    def check(self, left: float, limit: float | None = None) -> None:
        """Raise MemoryError if it is more than is ``left`` of the limit."""
        if self.n_bytes > left:
            allowed = in_units(left if limit is None else limit)
            raise MemoryError(f"{self.what}, but {allowed} are allowed by max_memory. {self.remedy}")


def check_memory_needs(
    plan: Plan, samples: Samples, held_out: Samples | None, limit: float, tried: tuple[str, ...]
) -> None:
    """Raise MemoryError unless all that is known beforehand fits into the ``limit`` of the plan's learner.

    - ``tried``: the assignments that a trial compares.
    """
    for need in _needs(plan, samples, held_out, limit, tried):
        need.check(limit)


def check_ranking_needs(
    plan: Plan, members: Sequence[FittedCode], samples: Samples, held_out: Samples | None = None
) -> None:
    """Raise MemoryError unless a re-ranking fits next to the codes, now that the weights of trees are known, too."""
    limit = getattr(plan.learner, "max_memory", None)
    if limit is None or not plan.is_ranked:
        return
    own = sum(bytes_in_use(member.bits) for member in members)
    ranking = _ranking(plan, samples, held_out, limit - own, has_codes=False)
    what = f"The codes need {in_units(own)} and their ranking {in_units(ranking.n_bytes)}"
    ranking._replace(what=what).check(limit - own, limit)


@contextmanager
def with_remaining_memory(plan: Plan, n_held: int) -> Iterator[Plan]:
    """The plan for the next code, given the memory that finished codes already use."""
    learner: Any = plan.learner
    limit = getattr(learner, "max_memory", None)
    if limit is None or not is_dataclass(learner):
        yield plan
        return
    if n_held >= limit:
        raise MemoryError(
            f"The codes that are learned need {in_units(n_held)}, but {in_units(limit)} are allowed by max_memory. "
            "Use fewer codes, or allow more."
        )
    allowed: Any = replace(learner, max_memory=limit - n_held)  # type: ignore[type-var]
    try:
        yield replace(plan, learner=allowed)
    except MemoryError as error:
        if "max_memory" not in str(error):  # the system has no more
            raise
        raise MemoryError(f"{error} Finished codes take {in_units(n_held)} of {in_units(limit)} already.") from error


def bytes_in_use(bits: Any) -> int:
    """The memory of learned bits while they are used for predictions."""
    n_bytes = int(getattr(bits, "nbytes", 0))
    if isinstance(bits, TreeBits):
        # Positions of chunks, and single-precision values of rounded weights.
        n_bytes += 12 * len(bits.nodes) + 8 * bits.n_features + (4 * len(bits.weights) if bits.scale else 0)
    return n_bytes


def _needs(
    plan: Plan, samples: Samples, held_out: Samples | None, limit: float, tried: tuple[str, ...]
) -> Iterator[Need]:
    """One after the other, those that take time to find out last."""
    copies = max(_copied_bytes(plan, samples, held_out, tried) - WORKING_BYTES, 0)
    yield BITS[plan.codebook.kind](plan, samples, copies, limit)
    of_orders = _order_needs(plan, tried)
    if "learnability" in of_orders:
        yield _factors(plan, int(samples.X.shape[1]))
    if "class_means" in of_orders:
        yield _means(plan, samples, limit)
    if plan.is_ranked:
        yield _ranking(plan, samples, held_out, limit, tried=tried)


def _all_bits(plan: Plan, samples: Samples, copies: int, _: float) -> Need:
    """Codes whose bits are learned together: the last one in training, the others finished."""
    n_features, n_bits = int(samples.X.shape[1]), plan.codebook.n_bits
    kept = BYTES_PER_KEPT_WEIGHT[plan.precision] * (plan.n_codes - 1)
    # A learner that does not say how much a weight takes learns as many bits at a time as the rest of memory allows.
    each = kept + getattr(plan.learner, "bytes_per_weight", BYTES_PER_KEPT_WEIGHT["float32"])
    needed = n_features * n_bits * each
    codes = "A code needs" if plan.n_codes == 1 else f"{plan.n_codes} codes need"
    what = f"{codes} {in_units(needed)} for {n_features:,} features x {n_bits:,} bits{_and_copies(copies)}"
    return Need(what, needed + copies, "Allow more, or use fewer codes, bits or features.")


def _root(plan: Plan, samples: Samples, copies: int, limit: float) -> Need:
    """The root of a tree, which has all samples and features; other nodes need less, depending on their classes."""
    n_entries, n_children = _n_entries(samples.X), int(plan.codebook.graph.first_bits[1])
    of_rows = 0 if isinstance(samples.X, StoredRows) else BYTES_PER_VALUE * n_entries
    n_features = min(n_entries, int(samples.X.shape[1]))
    each = BYTES_PER_WEIGHT * n_children + BYTES_PER_FEATURE
    if n_features * each + of_rows + copies > limit:
        n_features = _n_used_features(samples.X)
    needed = n_features * each + of_rows
    size = f"{in_units(needed)} for {n_features:,} features x {n_children} children{_and_copies(copies)}"
    remedy = "Use a smaller width or fewer features, or allow more."
    return Need(f"The root of the tree needs {size}", needed + copies, remedy)


BITS: dict[str, Callable[[Plan, Samples, int, float], Need]] = {**dict.fromkeys(KINDS, _all_bits), "tree": _root}
"""What the bits of each kind of code need while they are learned."""


def _factors(plan: Plan, n_features: int) -> Need:
    """The factors of learnability, a vector for each class, and what they are computed from."""
    n_dimensions = min(n_features, MAX_COVARIANCE_FEATURES, max(1, MAX_FACTOR_ENTRIES // plan.n_classes))
    n_numbers = plan.n_classes * n_dimensions
    needed = max(BYTES_PER_PAIR * n_dimensions**2, 12 * n_dimensions**2 + 16 * n_numbers)
    what = f"The search for an order by learnability needs {in_units(needed)} for {plan.n_classes:,} classes"
    return Need(f"{what} x {n_dimensions:,} numbers", needed, "Use the preserving assignment, or allow more.")


def _means(plan: Plan, samples: Samples, limit: float) -> Need:
    """The class means from which a tree of the classes is made."""
    n_entries = _n_class_entries(plan, samples, limit // BYTES_PER_MEAN)
    is_clustered = isinstance(plan.class_distances, str) and plan.class_distances == "clustering"
    of_pairs = max(BYTES_PER_DISTANCE * plan.n_classes**2 - WORKING_BYTES, 0) if is_clustered else 0
    needed = BYTES_PER_MEAN * n_entries + of_pairs
    what = f"A tree of class means needs at least {in_units(needed)} for {n_entries:,} entries"
    and_pairs = f" and the distances of {plan.n_classes:,} classes" if of_pairs else ""
    remedy = "Use the random assignment or the preserving one of a taxonomy, or allow more."
    return Need(f"{what} x {BYTES_PER_MEAN} bytes{and_pairs}", needed, remedy)


def _ranking(
    plan: Plan,
    samples: Samples,
    held_out: Samples | None,
    limit: float,
    *,
    has_codes: bool = True,
    tried: tuple[str, ...] = (),
) -> Need:
    """Lists of candidates and class vectors, if any, next to finished codes whose size is known."""
    n_kept = 0
    if has_codes:
        n_weights = int(samples.X.shape[1]) * (plan.codebook.weights_per_feature or 0)
        n_kept = BYTES_PER_KEPT_WEIGHT[plan.precision] * n_weights * plan.n_codes
    of_samples = _bytes_of_lists(plan, samples, held_out) + _copied_bytes(plan, samples, held_out, tried)
    besides = max(of_samples - WORKING_BYTES, 0) + n_kept
    if plan.rerank is None:
        what = f"The lists of candidates of {plan.n_codes} codes and these codes need {in_units(besides)}"
        return Need(what, besides, "Allow more, or use fewer codes or validation samples.")
    n_entries = _n_class_entries(plan, samples, max(limit - besides, 0) // BYTES_PER_ENTRY)
    needed = BYTES_PER_ENTRY * n_entries + besides
    what = f"The class vectors of a re-ranking need at least {in_units(needed)} for {n_entries:,} entries"
    with_codes = ", besides codes and lists of candidates" if besides else ""
    remedy = "Allow more, or do without a re-ranking."
    return Need(f"{what} x {BYTES_PER_ENTRY} bytes{with_codes}", needed, remedy)


def _bytes_of_lists(plan: Plan, samples: Samples, held_out: Samples | None) -> int:
    """The lists of candidates: of training samples while vectors are learned, of held-out ones to choose by."""
    codebook: Any = plan.codebook
    n_codes, constants = plan.n_codes, codebook.ranking_constants
    if plan.candidates == "code":
        numbers = [n * n_codes for n in constants.candidate_numbers]
    else:
        numbers = [n * (1 + n_codes) for n in NUMBERS_OF_INDEX]
    numbers = [min(n, plan.n_classes) for n in numbers]
    # The short lists of one code begin its long one.
    n_listed = numbers[-1] if n_codes == 1 and plan.candidates == "code" else sum(numbers)
    each = BYTES_PER_CANDIDATE + (0 if plan.rerank is None else BYTES_PER_SCORED)
    n_held_out = len(samples) // 10 if held_out is None else len(held_out)
    of_held_out = n_held_out * (n_listed * each + numbers[-1] * BYTES_PER_LONGEST)
    is_listed = plan.rerank == "learned" and not isinstance(samples.X, StoredRows)
    return int(of_held_out + (4 * min(constants.n_confused, plan.n_classes) * len(samples) if is_listed else 0))


def _order_needs(plan: Plan, tried: tuple[str, ...]) -> set[str]:
    """What the orders of all codes, or those to choose from, are computed from."""
    code = plan.codebook
    policies = [policy for policy in tried or (plan.assignment,) if isinstance(policy, str)]
    if plan.n_codes > 1:
        policies += [next_order(code, policy, 1, has_taxonomy=False) for policy in policies]
    needs = {code.orders.get(policy, "class_distances") for policy in policies}
    # Searches begin with a tree of the classes, which is made from their means if it is not given.
    is_learned = code.takes_searches and isinstance(plan.class_distances, str)
    return needs | ({"class_means"} if is_learned and needs & {"class_distances", "learnability"} else set())


def _copied_bytes(plan: Plan, samples: Samples, held_out: Samples | None, tried: tuple[str, ...]) -> int:
    """Copies of samples in memory: in the types of the kernels, and those of a trial."""
    X, copied = samples.X, bytes_converted(plan.learner, samples.X)
    if isinstance(X, StoredRows) or not hasattr(X, "dtype"):
        return copied
    n_samples, has_trial = max(len(samples), 1), held_out is None and plan.is_ranked
    if plan.codebook.is_tried_on_some_classes and (has_trial or tried):
        # All samples of some of the classes, and once more those to learn from and those that are held out.
        n_tried = min(max(n_samples // 4, LEAST_SAMPLES), 2 * MOST_SAMPLES, n_samples)
        copied += 2 * _bytes_of(X) * n_tried // n_samples
    elif has_trial:
        copied += _bytes_of(X)
    return copied


def bytes_converted(learner: Any, X: Any) -> int:
    """A code's own form of the samples, in the types of the kernels and with a bias."""
    if isinstance(X, StoredRows) or not hasattr(X, "dtype"):
        return 0
    n_entries = _n_entries(X)
    if not is_sparse(X):
        # A flag for each number, and the entries that are not zero while they are collected.
        converted = int(X.size + (BYTES_TO_COMPRESS + X.dtype.itemsize) * n_entries)
    else:
        converted = (4 * (X.dtype != np.float32) + 4 * (X.indices.dtype != np.int32)) * n_entries
    return converted + (BYTES_PER_VALUE * n_entries if getattr(learner, "fit_intercept", False) else 0)


def _and_copies(copies: int) -> str:
    return f" and {in_units(copies)} for copies of samples" if copies else ""


def _bytes_of(X: Any) -> int:
    return int(X.data.nbytes + X.indices.nbytes + X.indptr.nbytes if is_sparse(X) else X.nbytes)


def _n_entries(X: Any) -> int:
    """How many entries the samples have that are not zero, or are stored."""
    return int(X.nnz) if is_sparse(X) else int(np.count_nonzero(X))


def _n_used_features(X: Any) -> int:
    """How many features some sample has; on disk, how many there are."""
    if isinstance(X, StoredRows):
        return X.shape[1]
    return int(np.count_nonzero(np.bincount(X.indices) if is_sparse(X) else np.any(X, axis=0)))


def _n_class_entries(plan: Plan, samples: Samples, most: float) -> int:
    """How many features the samples of each class have, added up, or an upper bound that is at most ``most``.

    There are at most as many as entries of the samples, so that they are counted by class only if it matters.
    """
    n_entries = _n_entries(samples.X) * samples._most_labels
    if n_entries <= most:
        return n_entries
    each = samples.of_each_label()
    return n_class_entries(each.X, each.class_index, plan.n_classes, most)


def bytes_on_disk(model: Model, loss: Loss, parts: SavedClassifier) -> int:
    """The size of a fitted classifier with ``parts``, a report on all bits and all trials that there may be."""
    report = fit_report(model, loss, None, {"budget": "x" * 64}).as_dict()
    widest = {name: WIDEST if value is None or isinstance(value, float) else value for name, value in report.items()}
    n_measured = 0 if model.codes[0].code.codebook.is_lazy else model.n_bits
    widest |= {"bit_losses": [WIDEST] * n_measured, "trials": ["x" * BYTES_PER_TRIAL] * (2 * MAX_TRIALS)}
    return State.of(model, replace(parts, report=widest, temperature=WIDEST)).n_bytes


class SizeAhead(NamedTuple):
    """What models of some samples take on disk besides their weights, at most, before any is fitted.

    - ``n_fixed``: any model with one code: labels, the assignment, the description, the frequencies of the classes.
    - ``n_vectors``: class vectors; None for dense samples and for two classes, which are not re-ranked within a budget.
    """

    n_fixed: int
    n_vectors: int | None

    @classmethod
    def of(cls, samples: Samples, parts: SavedClassifier, learner: Any, n_reserved: int) -> SizeAhead:
        """The size of models with these parts."""
        X, labels, n_classes = samples.X, parts.labels, len(parts.labels)
        of_labels = labels.nbytes if labels.dtype.kind in "biuf" else _json_bytes(labels.tolist())
        names = [] if parts.feature_names is None else [str(name) for name in parts.feature_names]
        class_weight = getattr(learner, "class_weight", None)
        weights = 0 if class_weight is None or isinstance(class_weight, str) else BYTES_PER_BIT * n_classes
        n_fixed = of_labels + _bytes_of_order(n_classes, n_reserved) + _json_bytes(names) + weights + BYTES_BESIDES
        n_fixed += ClassPrior.of(samples, n_classes).sizes.nbytes if hasattr(X, "nnz") else 0
        if not hasattr(X, "nnz") or n_classes <= 2:
            return cls(n_fixed, None)
        each = samples.of_each_label()
        n_entries = n_class_entries(each.X, each.class_index, n_classes)
        n_bridges = n_classes * (int(X.shape[1]) // LARGEST_GAP)
        return cls(n_fixed, BYTES_PER_STORED_ENTRY * (n_entries + n_bridges) + 8 * n_classes)

    def besides_weights(self, codebook: Codebook, n_codes: int, *, has_vectors: bool) -> int:
        """The size of a model of several codes, apart from their weights."""
        n_measured = 0 if codebook.is_lazy else n_codes * codebook.n_bits
        of_codes = BYTES_PER_BIT * n_measured
        of_codes += (n_codes - 1) * (BYTES_PER_MEMBER + _bytes_of_order(codebook.n_codewords))
        return self.n_fixed + of_codes + 2 * MAX_TRIALS * BYTES_PER_TRIAL + ((has_vectors and self.n_vectors) or 0)


def _bytes_of_order(n_classes: int, n_reserved: int = 0) -> int:
    return n_classes * as_narrow(np.array([n_classes + n_reserved])).itemsize


def _json_bytes(value: Any) -> int:
    return len(json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode(errors="backslashreplace"))
