"""Which class has which codeword: an order for each code, by one policy or by the best of several in a trial."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from codekin._system.memory import require_memory
from codekin.assignments import AssignmentResult, assign
from codekin.assignments.direct import online_assignment
from codekin.assignments.result import POLICIES
from codekin.classes import ClassDistances, ClassTree
from codekin.classes.means import halving_order
from codekin.code import KINDS, Assignment, Code, Codebook, IntArray
from codekin.code.tree import label_tree
from codekin.fitting.classes import MAX_CLASSES_AS_MATRIX, Classes, classes_as_learned
from codekin.fitting.plan import Plan
from codekin.fitting.trial import SEED, Holdout, hold_out_classes, most_accurate
from codekin.learners import AROW, Learner
from codekin.samples import Samples

ENOUGH_HELD_OUT = 1_000
"""With fewer held-out samples, differences of a point between trees are chance."""
STAGE = "trying the {} order"

Found = tuple[Assignment, AssignmentResult | None]


class RepeatedOrderError(ValueError):
    """A further code would get the order of the first one."""


@dataclass
class Orders:
    """The orders of the codes of a model, each searched when it is first needed.

    ``policy`` is how all orders are found; ``result`` is the result of the search for the first one, and
    ``class_distances`` what it has followed, if anything.
    """

    policy: Any
    first: Assignment
    result: AssignmentResult | None
    class_distances: ClassDistances | None
    codebook: Codebook
    classes: Classes
    rng: np.random.Generator
    _others: list[Assignment] = field(default_factory=list)

    def of(self, n_codes: int) -> list[Assignment]:
        """The orders of the first codes; a larger ``n_codes`` only appends to them."""
        while len(self._others) < n_codes - 1:
            (rng,) = self.rng.spawn(1)
            number, has_taxonomy = len(self._others) + 1, self.classes.given_tree is not None
            policy = next_order(self.codebook, self.policy, number, has_taxonomy=has_taxonomy)
            self._others.append(other_assignment(self.first, policy, self.codebook, self.classes, rng=rng))
        return [self.first, *self._others[: n_codes - 1]]


def next_order(codebook: Codebook, policy: Any, number: int, *, has_taxonomy: bool) -> Any:
    """How the order of a further code is found if that of the first is found by ``policy``.

    On trees, a taxonomy and halving complement each other as well as two halvings, in less time; a taxonomy has one
    order.

    >>> [next_order(label_tree(9, 2), "halving", number, has_taxonomy=True) for number in (1, 2)]
    ['preserving', 'halving']
    """
    if not isinstance(policy, str) or policy not in codebook.complementary_orders:
        return policy
    by_taxonomy, from_samples = codebook.complementary_orders
    return by_taxonomy if number == 1 and policy == from_samples and has_taxonomy else from_samples


def choose_orders(
    plan: Plan,
    samples: Samples,
    held_out: Samples | None = None,
    *,
    tried: tuple[str, ...] = (),
    classes: Classes | None = None,
) -> Orders:
    """The orders for the assignment of a plan, or for the best of those that are ``tried``.

    - ``classes``: of the samples, if something is known of them already.
    """
    policy, codebook, found, rng = plan.assignment, plan.codebook, None, plan.generators.assignment
    if classes is None:
        own = plan.generators.distances
        classes = classes_as_learned(plan.learner, samples, plan.n_classes, plan.class_distances, rng=own)
    shape = tuple(getattr(samples.X, "shape", ()))
    if codebook.width is not None and codebook.weights_per_feature is not None and len(shape) == 2:
        require_memory(  # before a search for an order, which may need some, too
            4 * int(shape[1]) * codebook.weights_per_feature,
            f"A model of {int(shape[1]):,} features x {codebook.n_bits:,} bits x 4 bytes",
            "Use fewer bits, fewer features (number them without gaps, or hash them) or more memory.",
        )
    if tried and codebook.is_tried_on_some_classes:
        policy = best_of_trees(tried, samples, classes.tree, width=codebook.width or 2, learner=plan.learner)
    elif tried:
        assert held_out is not None
        orders = {name: _found(name, codebook, classes, rng) for name in tried}
        learner = AROW(n_epochs=1, max_memory=getattr(plan.learner, "max_memory", None))
        trial = Holdout(samples, held_out)

        def accuracy(policy: str) -> float:
            """After one pass over all samples."""
            code = Code(codebook, orders[policy][0])
            return trial.accuracy(code, learner, "exponential", np.random.default_rng(SEED))

        policy = most_accurate(orders, accuracy, STAGE)
        found = orders[policy]
    first, result = _found(policy, codebook, classes, rng) if found is None else found
    if plan.policy:
        first = replace(first, policy=plan.policy)
    is_constant = codebook.constant_bits(first)
    if is_constant.any():
        warnings.warn(
            f"{int(is_constant.sum())} of the {codebook.n_bits} bits of this {codebook.name} codebook tell no classes "
            f"apart, the first of them bit {int(is_constant.argmax())}: all their classes are on one side.",
            UserWarning,
            stacklevel=2,
        )
    return Orders(policy, first, result, classes.known_distances, codebook, classes, rng)


def best_of_trees(policies: tuple[str, ...], samples: Samples, tree: ClassTree, *, width: int, learner: Learner) -> str:
    """The policy whose label tree of some of the classes is the most accurate.

    A taxonomy may be worth two points or cost as many, and nothing that can be computed from it says which. The trial
    cannot say whether a second tree pays: that gains up to half a point of every part, and of the whole only beyond
    50,000 classes. The first policy where there are too few samples, or where class means, which other policies need,
    do not fit into memory.

    - ``tree``: the known class tree, for the policies that need one.
    - ``width``: the most children of a node.
    """
    try:
        trial = hold_out_classes(samples, tree.n_classes)
    except MemoryError:
        return policies[0]
    if len(trial.held_out) < ENOUGH_HELD_OUT:
        return policies[0]
    assert trial.classes is not None
    known, each = tree.restricted_to(trial.classes), trial.samples.of_each_label()
    smaller = label_tree(known.n_classes, min(width, known.n_classes))
    loss = learner.decoding_loss(smaller)

    def accuracy(policy: str) -> float:
        rng = np.random.default_rng(SEED)
        of_trial = Classes(lambda: each.X, each.class_index, known.n_classes, each.weights, known, rng)
        order, _ = _found(policy, smaller, of_trial, rng)
        return trial.accuracy(Code(smaller, order), learner, loss, rng)

    return most_accurate(policies, accuracy, STAGE)


def other_assignment(
    first: Assignment, policy: Any, codebook: Codebook, classes: Classes, *, rng: np.random.Generator
) -> Assignment:
    """An assignment for a further code: found like the first one, and different from it.

    The depth-first order is that of the same class tree with the children of every node shuffled. Halving depends on
    the seed only where several classes are equally far apart; if it repeats the first order, it sees half the features.
    """
    if policy == "ordered":
        codeword_of_class = np.empty(classes.n_classes, dtype=np.intp)
        codeword_of_class[classes.tree.class_order(rng)] = np.arange(classes.n_classes)
        return Assignment(codeword_of_class, method="ordered")
    attempts: list[dict[str, float]] = [{}, {"share": 0.5}] if policy in codebook.halved_orders else [{}]
    for options in attempts:
        other, _ = _found(policy, codebook, classes, rng, **options)
        # Few classes have few orders, so the same one may be found twice by chance.
        if classes.n_classes < 8 or not np.array_equal(other.codeword_of_class, first.codeword_of_class):
            return other
    others = " or ".join(repr(name) for name in ("learnability", "preserving", "random") if name != policy)
    raise RepeatedOrderError(
        f"assignment={policy!r} finds the same order every time: more codes would only repeat the first. "
        f"Use {others} with n_codes greater than 1."
    )


def leaf_assignment(
    policy: str, codebook: Codebook, classes: Classes, rng: np.random.Generator, *, share: float = 1.0
) -> Found:
    """Which class is at which leaf of a tree.

    "halving" sorts the classes so that halves, halves of halves and so on hold classes with similar means, which makes
    the nodes of the tree clusters of classes; "learnability" does so with the factors of learnability instead of means,
    "cooccurrence" with the labels that samples have together, "mixed" with these and the means. They can do with a
    ``share`` of the features. "preserving" takes the depth-first order of the known class tree, "breaking" the same
    with neighbours as far apart as the tree allows.
    """
    leaves = np.arange(classes.n_classes)
    if policy in ("random", "identity"):
        return Assignment(rng.permutation(leaves) if policy == "random" else leaves, method=policy), None
    is_halved = policy in codebook.halved_orders
    order = _halved(policy, classes, rng, share) if is_halved else classes.tree.class_order()
    leaf_of_class = np.empty(classes.n_classes, dtype=np.intp)
    leaf_of_class[order] = codebook.similar_order(classes.n_classes, breaking=policy == "breaking")
    return Assignment(leaf_of_class, method=policy), None


VECTORS: dict[str, Callable[[Classes], Any]] = {
    "halving": Classes.class_means,
    "learnability": Classes.learnability_factors,
    "cooccurrence": Classes.known_cooccurrences,
    "mixed": Classes.mixed_vectors,
}
"""The vectors of classes that an order halves."""


def _halved(policy: str, classes: Classes, rng: np.random.Generator, share: float) -> IntArray:
    found = VECTORS[policy](classes)
    vectors: Any = getattr(found, "factors", found)
    if share < 1:
        vectors = vectors[:, rng.permutation(vectors.shape[1])[: math.ceil(share * vectors.shape[1])]]
    return halving_order(vectors, rng)


def choose_assignment(
    choice: Any, codebook: Codebook, classes: Classes, rng: np.random.Generator
) -> tuple[Assignment, AssignmentResult | None]:
    """An assignment of codewords to classes, and the result of the search that found it, if there was one.

    ``choice``: a policy, a name from ``ASSIGNMENTS``, a function of codebook and distances, or the assignment. The
    policy "learnability" is :func:`learnability_assignment`, "online" is LTLS's own; all others follow the distances of
    ``classes``.
    """
    if isinstance(choice, str):
        return _assignment_by_name(choice, codebook, classes, rng)
    if callable(choice) and not isinstance(choice, Assignment | AssignmentResult):
        choice = choice(codebook, classes.distances, rng=rng)
    if isinstance(choice, AssignmentResult):
        return choice.assignment, choice
    assignment = choice if isinstance(choice, Assignment) else Assignment(choice)
    if assignment.n_classes != classes.n_classes:
        raise ValueError(
            f"The assignment is for {assignment.n_classes} classes, but the labels have {classes.n_classes}."
        )
    return assignment, None


def _assignment_by_name(
    name: str, codebook: Codebook, classes: Classes, rng: np.random.Generator
) -> tuple[Assignment, AssignmentResult | None]:
    if name == "learnability":
        result = learnability_assignment(codebook, classes, rng)
        return replace(result.assignment, policy=name), result
    if name == "online":
        samples = classes.needed_numbers("samples of the assignment 'online'"), classes.class_index
        return online_assignment(*samples, codebook, n_classes=classes.n_classes, rng=rng), None
    if name == "random":
        # Avoids computing distances, which may take long.
        return Assignment(rng.permutation(codebook.n_codewords)[: classes.n_classes], method="random"), None
    if name == "identity" or (name in POLICIES and (codebook.is_designed or codebook._has_equal_assignments())):
        # Distances would make no difference.
        policy = name if name in POLICIES else ""
        return Assignment(np.arange(classes.n_classes), method="identity", policy=policy), None
    result = assign(codebook, classes.distances, name, rng=rng)
    return result.assignment, result


def learnability_assignment(
    codebook: Codebook, classes: Classes, rng: np.random.Generator, **options: Any
) -> AssignmentResult:
    """The best assignment that a search finds for a linear learner: the one whose bits are easiest to learn.

    Up to 200 classes the search uses a matrix of all pairs. With more it needs no matrix, and starts from the
    depth-first order, with shuffled children, of the taxonomy or of a class tree made by halving the set of classes.

    - ``rng``: different generators give different assignments that are about equally good.
    - ``**options``: of :func:`codekin.assignments.assign`: ``time_limit``, ``n_restarts`` and ``progress``.
    """
    if classes.n_classes <= MAX_CLASSES_AS_MATRIX:
        return assign(codebook, classes.learnability, rng=rng, **options)
    tree = classes.given_tree or classes.learned_tree()
    order = tree.class_order(rng)
    return assign(codebook, classes.learnability, "vector_swaps", rng=rng, class_order=order, **options)


FINDERS: dict[str, Callable[..., Found]] = {**dict.fromkeys(KINDS, choose_assignment), "tree": leaf_assignment}
"""From a named order to an assignment, for each kind of code."""


def _found(policy: Any, codebook: Codebook, classes: Classes, rng: np.random.Generator, **options: Any) -> Found:
    find = FINDERS[codebook.kind] if isinstance(policy, str) else choose_assignment
    return find(policy, codebook, classes, rng, **options)
