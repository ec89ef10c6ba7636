"""Whether a plan fits into the memory that its learner is allowed, before anything is allocated.

Learners check their own weights as well. On a tree that is all: how many weights its nodes keep is known only after
they are learned.
"""

from __future__ import annotations

from codekin._system.memory import in_units
from codekin._system.stored_rows import is_sparse
from codekin.coding import Codebook
from codekin.fitting.learner_choice import memory_limit
from codekin.fitting.plan import Plan
from codekin.model.class_vectors import n_class_entries
from codekin.samples import Samples

BYTES_PER_KEPT_WEIGHT = {"float32": 4, "float16": 2, "int8": 1}
BYTES_PER_ENTRY = 32
"""Of class vectors that are learned: features, mean, value and curvature, where it is in the list of its feature, and
the finished entry."""


def check_memory_needs(plan: Plan, samples: Samples) -> None:
    """Raise MemoryError unless the plan's codes and class vectors fit into what its learner is allowed."""
    limit = memory_limit(plan.learner)
    if limit is None:
        return
    _check_codes(plan, int(samples.X.shape[1]), limit)
    most = limit // BYTES_PER_ENTRY
    # Class vectors have at most as many entries as the samples, so that these are counted by class only if it matters.
    if plan.rerank is not None and is_sparse(samples.X) and samples.X.nnz > most:
        n_entries = n_class_entries(samples.X, samples.class_index, plan.n_classes, most)
        if n_entries > most:
            raise MemoryError(
                f"The class vectors of a re-ranking need at least {in_units(BYTES_PER_ENTRY * n_entries)} for "
                f"{n_entries:,} entries x {BYTES_PER_ENTRY} bytes, but {in_units(limit)} are allowed by max_memory. "
                "Allow more, or do without a re-ranking."
            )


def _check_codes(plan: Plan, n_features: int, limit: int) -> None:
    """On a trellis: how many weights a tree keeps is known only after learning."""
    if plan.has_tree or not isinstance(plan.codebook, Codebook):
        return
    n_weights = n_features * plan.codebook.n_bits
    kept = BYTES_PER_KEPT_WEIGHT[plan.precision] * (plan.n_members - 1)
    # A learner that does not say how much a weight takes learns as many bits at a time as fit.
    needed = n_weights * (kept + getattr(plan.learner, "bytes_per_weight", 0))
    if needed > limit:
        codes = "A code needs" if plan.n_members == 1 else f"{plan.n_members} codes need"
        raise MemoryError(
            f"{codes} {in_units(needed)} for {n_features:,} features x {plan.codebook.n_bits:,} bits, but "
            f"{in_units(limit)} are allowed by max_memory. Allow more, or use fewer codes, bits or features."
        )
