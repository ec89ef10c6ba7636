"""Whether a plan fits into the memory that its learner is allowed, before anything is allocated.

What is counted is what grows with samples, features, classes and bits, beyond the samples themselves: weights in
training and those of finished codes, class means, class vectors, factors of a search for an order, lists of candidates
and copies of samples. Not counted are about 40 bytes per sample, for its class, weight and position, and
``WORKING_BYTES``. How many weights a tree keeps is known only after learning: the learner counts them meanwhile, and
what a re-ranking needs besides them is checked before it begins.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import is_dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from codekin._system.memory import in_units
from codekin._system.stored_rows import BYTES_PER_VALUE, StoredRows, is_sparse
from codekin.class_distances.learnability import MAX_COVARIANCE_FEATURES, MAX_FACTOR_ENTRIES
from codekin.coding import Codebook
from codekin.fitting.learner_choice import memory_limit
from codekin.fitting.part import LEAST_SAMPLES, MOST_SAMPLES
from codekin.fitting.plan import Plan
from codekin.learners.tree_bits import TreeBits
from codekin.learners.tree_memory import BYTES_PER_FEATURE, BYTES_PER_WEIGHT
from codekin.model import Member
from codekin.model.class_vectors import n_class_entries
from codekin.model.judges import NUMBERS_OF_INDEX
from codekin.samples import Samples

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


class Need(NamedTuple):
    """What needs memory, as the beginning of a sentence, how much, and what to do about it."""

    what: str
    n_bytes: int
    remedy: str


def check_memory_needs(plan: Plan, samples: Samples, held_out: Samples | None = None) -> None:
    """Raise MemoryError unless all that is known beforehand fits into what the plan's learner is allowed."""
    limit = memory_limit(plan.learner)
    if limit is None:
        return
    for need in _needs(plan, samples, held_out, limit):
        _check(need, limit)


def check_ranking_needs(
    plan: Plan, members: Sequence[Member], samples: Samples, held_out: Samples | None = None
) -> None:
    """Raise MemoryError unless a re-ranking fits beside the members that are learned: those of trees are known now."""
    limit = memory_limit(plan.learner)
    if limit is None or not plan.is_ranked:
        return
    own = sum(bytes_in_use(member.bits) for member in members)
    ranking = _ranking(plan, samples, held_out, limit - own, has_codes=False)
    what = f"The codes need {in_units(own)} and their ranking {in_units(ranking.n_bytes)}"
    _check(Need(what, ranking.n_bytes, ranking.remedy), limit - own, limit)


@contextmanager
def beside(plan: Plan, n_held: int) -> Iterator[Plan]:
    """The plan for the next code, given the memory that finished codes already use."""
    learner: Any = plan.learner
    limit = memory_limit(learner)
    if limit is None or n_held == 0 or not is_dataclass(learner):
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


def bytes_held(bits: Any) -> int:
    """What learned bits take in memory before they are used."""
    return int(getattr(bits, "nbytes", 0))


def bytes_in_use(bits: Any) -> int:
    """What learned bits take in memory while they are used for predictions."""
    n_bytes = bytes_held(bits)
    if isinstance(bits, TreeBits):
        # Positions of chunks, and single-precision values of rounded weights.
        n_bytes += 12 * len(bits.nodes) + 8 * bits.n_features + (4 * len(bits.weights) if bits.scale else 0)
    return n_bytes


def _check(need: Need, left: float, limit: float | None = None) -> None:
    if need.n_bytes > left:
        allowed = in_units(left if limit is None else limit)
        raise MemoryError(f"{need.what}, but {allowed} are allowed by max_memory. {need.remedy}")


def _needs(plan: Plan, samples: Samples, held_out: Samples | None, limit: float) -> Iterator[Need]:
    """One after the other, those that take time to find out last."""
    copies = max(_copied_bytes(plan, samples, held_out) - WORKING_BYTES, 0)
    if plan.has_tree:
        yield _root(plan, samples, copies, limit)
    elif isinstance(plan.codebook, Codebook):
        yield _codes(plan, int(samples.X.shape[1]), copies)
    if _is_searched(plan):
        yield _factors(plan, int(samples.X.shape[1]))
    if _has_means(plan):
        yield _means(plan, samples, limit)
    if plan.is_ranked:
        yield _ranking(plan, samples, held_out, limit)


def _codes(plan: Plan, n_features: int, copies: int) -> Need:
    """Codes of a trellis: the last one in training, the others finished."""
    n_weights = n_features * plan.codebook.n_bits
    kept = BYTES_PER_KEPT_WEIGHT[plan.precision] * (plan.n_members - 1)
    # A learner that does not say how much a weight takes learns as many bits at a time as fit beside finished ones.
    needed = n_weights * (kept + getattr(plan.learner, "bytes_per_weight", BYTES_PER_KEPT_WEIGHT["float32"]))
    codes = "A code needs" if plan.n_members == 1 else f"{plan.n_members} codes need"
    size = f"{in_units(needed)} for {n_features:,} features x {plan.codebook.n_bits:,} bits"
    remedy = "Allow more, or use fewer codes, bits or features."
    return Need(f"{codes} {size}{_and_copies(copies)}", needed + copies, remedy)


def _root(plan: Plan, samples: Samples, copies: int, limit: float) -> Need:
    """The root of a tree, which has all samples and features; other nodes need less, depending on their classes."""
    tree, n_entries = plan.codebook.tree, _n_entries(samples.X)
    of_rows = 0 if isinstance(samples.X, StoredRows) else BYTES_PER_VALUE * n_entries
    n_children = int(tree.first_bits[1] - tree.first_bits[0])
    n_features = min(n_entries, int(samples.X.shape[1]))
    each = BYTES_PER_WEIGHT * n_children + BYTES_PER_FEATURE
    if n_features * each + of_rows + copies > limit:
        n_features = _n_used_features(samples.X)
    needed = n_features * each + of_rows
    size = f"The root of the tree needs {in_units(needed)} for {n_features:,} features x {n_children} children"
    remedy = "Use a smaller width or fewer features, or allow more."
    return Need(f"{size}{_and_copies(copies)}", needed + copies, remedy)


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


def _ranking(plan: Plan, samples: Samples, held_out: Samples | None, limit: float, *, has_codes: bool = True) -> Need:
    """Lists of candidates and class vectors, if any, beside finished codes whose size is known."""
    n_kept = 0
    if has_codes and isinstance(plan.codebook, Codebook) and not plan.has_tree:
        n_weights = int(samples.X.shape[1]) * plan.codebook.n_bits * plan.n_members
        n_kept = BYTES_PER_KEPT_WEIGHT[plan.precision] * n_weights
    of_samples = _bytes_of_lists(plan, samples, held_out) + _copied_bytes(plan, samples, held_out)
    besides = max(of_samples - WORKING_BYTES, 0) + n_kept
    if plan.rerank is None:
        what = f"The lists of candidates of {plan.n_members} codes and these codes need {in_units(besides)}"
        return Need(what, besides, "Allow more, or use fewer codes or validation samples.")
    n_entries = _n_class_entries(plan, samples, max(limit - besides, 0) // BYTES_PER_ENTRY)
    needed = BYTES_PER_ENTRY * n_entries + besides
    what = f"The class vectors of a re-ranking need at least {in_units(needed)} for {n_entries:,} entries"
    with_codes = ", besides codes and lists of candidates" if besides else ""
    remedy = "Allow more, or do without a re-ranking."
    return Need(f"{what} x {BYTES_PER_ENTRY} bytes{with_codes}", needed, remedy)


def _bytes_of_lists(plan: Plan, samples: Samples, held_out: Samples | None) -> int:
    """What lists of candidates take: of training samples while vectors are learned, of held-out ones to choose by."""
    n_members = plan.n_members
    if plan.candidates == "code":
        numbers = [n * n_members for n in plan.codebook.ranking_constants.candidate_numbers]
    else:
        numbers = [n * (1 + n_members) for n in NUMBERS_OF_INDEX]
    numbers = [min(n, plan.n_classes) for n in numbers]
    # The short lists of one code begin its long one.
    n_listed = numbers[-1] if n_members == 1 and plan.candidates == "code" else sum(numbers)
    each = BYTES_PER_CANDIDATE + (0 if plan.rerank is None else BYTES_PER_SCORED)
    n_judges = len(samples) // 10 if held_out is None else len(held_out)
    of_judges = n_judges * (n_listed * each + numbers[-1] * BYTES_PER_LONGEST)
    n_confused = min(plan.codebook.ranking_constants.n_confused, plan.n_classes)
    is_listed = plan.rerank == "learned" and not isinstance(samples.X, StoredRows)
    return int(of_judges + (4 * n_confused * len(samples) if is_listed else 0))


def _is_searched(plan: Plan) -> bool:
    """Whether factors of learnability are needed; few classes have a matrix instead, which is small."""
    return "learnability" in _policies(plan)


def _has_means(plan: Plan) -> bool:
    """Whether a tree of the classes is made from their means."""
    policies = _policies(plan)
    if plan.has_tree:
        # A second tree halves the set of classes if the first follows a taxonomy.
        return "halving" in policies or (plan.n_members > 1 and "preserving" in policies)
    is_learned = isinstance(plan.class_distances, str)
    return is_learned and any(policy not in ("random", "identity", "online") for policy in policies)


def _policies(plan: Plan) -> tuple[str, ...]:
    policy = plan.assignment
    names = policy if isinstance(policy, tuple) else (policy,)
    return tuple(name for name in names if isinstance(name, str))


def _copied_bytes(plan: Plan, samples: Samples, held_out: Samples | None) -> int:
    """What copies of samples in memory take: in the types of the kernels, and those of a trial."""
    X, copied = samples.X, bytes_converted(plan.learner, samples.X)
    if isinstance(X, StoredRows) or not hasattr(X, "dtype"):
        return copied
    n_samples = max(len(samples), 1)
    if plan.has_tree and (isinstance(plan.assignment, tuple) or (held_out is None and plan.is_ranked)):
        # Of some of the classes, all of their samples, and once more those to learn from and those that judge.
        n_tried = min(max(n_samples // 4, LEAST_SAMPLES), 2 * MOST_SAMPLES, n_samples)
        copied += 2 * _bytes_of(X) * n_tried // n_samples
    elif held_out is None and plan.is_ranked:
        copied += _bytes_of(X)
    return copied


def bytes_converted(learner: Any, X: Any) -> int:
    """What one code's own form of the samples takes in memory, in the types of the kernels and with a bias."""
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
    n_entries = _n_entries(samples.X)
    if n_entries <= most:
        return n_entries
    return n_class_entries(samples.X, samples.class_index, plan.n_classes, most)
