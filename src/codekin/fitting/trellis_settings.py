"""The settings of a classifier on a trellis, and the choice of those left open."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, fields, replace
from typing import Any, cast

import numpy as np

from codekin._system.memory import available_memory
from codekin._system.stored_rows import is_sparse
from codekin.classes import ClassTree
from codekin.codebooks import trellis_codebook
from codekin.codebooks.label_tree import label_tree
from codekin.coding.tree import LEAVES_PER_CHILD
from codekin.fitting.checked_choices import EVERY_CODE, check_assignment_choice, check_loss_choice, codes_of
from codekin.fitting.choices import is_one_order
from codekin.fitting.learner_choice import can_learn_trees, chosen_learner, memory_limit, tree_learner
from codekin.fitting.plan import Plan, Seed
from codekin.fitting.recipe import GENTLE_PRUNING, Limits, Recipe
from codekin.fitting.rules import OF_INDEX, TRELLIS_RULES, check_rules
from codekin.model.reranking import CandidateSource

MANY_CLASSES = 100
"""From this many classes on, sparse samples get a label tree by default, and a search for the order of a trellis and a
re-ranking are worth their time. Trees are as accurate as trellises of 150 and 374 classes and more accurate beyond,
with fewer bytes, a third of the time per prediction and a quarter of the training time or less."""
WIDTHS = (10, 5, 2)
"""The default is the first of these widths whose weights fit into memory. At width 2 the bits know less about ten
digits than the class means do; beyond 10, a point costs twice the time and memory."""
FEW_CLASSES = 500
"""With fewer classes and re-ranking, width 2 and a searched order are half a point better than width 10: 91.7 and
91.1 % on 150 classes, in three times the time."""
BYTES_IN_TRAINING = 8
"""Per weight, with its curvature."""
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


def tree_width(n_classes: int) -> int:
    """The default number of children of a tree's nodes: few levels, and above the leaves as many as allowed.

    A power of 2, so that the children of a node are halves of halves of its classes where these were halved.

    >>> [tree_width(n) for n in (100, 1_532, 12_582, 102_673)]
    [8, 32, 64, 32]
    """
    halvings, depth = math.log2(max(n_classes / LEAVES_PER_CHILD, 2)), 2
    while math.ceil(halvings / depth) > math.log2(WIDEST_TREE):
        depth += 1
    return 1 << math.ceil(halvings / depth)


def candidate_source(code: str, rerank: str | None, width: int, n_classes: int) -> CandidateSource:
    """What lists the candidates of a re-ranking by default.

    >>> candidate_source("trellis", "learned", 2, 1_000), candidate_source("tree", "learned", 64, 1_000)
    ('index', 'code')
    """
    is_narrow = code == "trellis" and width <= NARROW_LISTS and n_classes >= MANY_CLASSES
    return "index" if is_narrow and rerank is not None else "code"


@dataclass(frozen=True, eq=False)
class TrellisSettings:
    """The parameters of a :class:`codekin.TrellisClassifier`, which documents them; "auto" if open.

    ``validation`` is not None if there are validation samples.
    """

    n_classes: int
    seed: Seed
    class_tree: ClassTree | None
    width: Any
    max_bits: int | None
    n_spare: int
    assignment: Any
    learner: Any
    loss: Any
    prune: Any
    precision: Any
    rerank: Any
    n_members: Any
    max_model_bytes: int | None
    max_microseconds: float | None
    time_limit: float | None
    code: Any = "trellis"
    candidates: Any = "auto"
    validation: Any = field(default=None, repr=False)

    def __post_init__(self) -> None:
        """Check that the settings are consistent."""
        check_loss_choice(self.loss)
        check_assignment_choice(self.assignment, "auto", codes=EVERY_CODE)
        check_rules(TRELLIS_RULES, {setting.name: getattr(self, setting.name) for setting in fields(self)})

    @property
    def limits(self) -> Limits | None:
        """The budget, if there is one."""
        if self.max_model_bytes is None and self.max_microseconds is None:
            return None
        return Limits(self.max_model_bytes, self.max_microseconds, self.time_limit)

    @property
    def open(self) -> dict[str, Any]:
        """The settings of a recipe, "auto" if they do not follow from the others."""
        settings = {setting.name: getattr(self, setting.name) for setting in fields(Recipe)}
        if is_one_order(self.assignment) and self.n_members == "auto":
            settings["n_members"] = 1  # several codes differ in the orders of their classes
        if self.max_bits is not None:
            codebook = trellis_codebook(self.n_classes, "auto", n_bits=self.max_bits)
            settings["width"] = cast("Any", codebook.trellis).width
        if self.n_spare:
            settings.update(rerank=None, n_members=1)
        if settings["rerank"] == "auto" and self.candidates in OF_INDEX:
            settings["rerank"] = "learned"
        return settings

    def of_code(self, X: Any) -> TrellisSettings:
        """The same with the code that suits the samples, if it is open."""
        if self.code != "auto":
            return self
        is_tree = codes_of(self.assignment) == ("tree",) or (
            self.n_classes >= MANY_CLASSES
            and is_sparse(X)
            and self.width == "auto"
            and self.max_bits is None
            and not self.n_spare
            and self.loss == "auto"
            and isinstance(self.assignment, str)
            and "tree" in codes_of(self.assignment)
            and can_learn_trees(self.learner)
        )
        return replace(self, code="tree" if is_tree else "trellis")

    def default_recipe(self, X: Any) -> Recipe:
        """The recipe without a budget.

        100 or more classes of sparse samples are re-ranked, since that gains most where a bit has to separate most
        classes; fewer classes or dense samples are not: their class vectors would be as large as one predictor per
        class. With re-ranking, weights take one byte and are pruned if there are validation samples. Beyond 50,000
        classes there are two trees.
        """
        given, is_many = self.open, self.n_classes >= MANY_CLASSES and is_sparse(X)
        rerank = given["rerank"]
        if rerank == "auto":
            rerank = "learned" if is_many else None
        n_members = 2 if self.code == "tree" and self.n_classes > TOO_MANY_CLASSES else 1
        defaults: dict[str, Any] = {"n_members": n_members, "rerank": rerank}
        if self.code == "tree":
            defaults |= {"width": tree_width(self.n_classes), "precision": "int8", "prune": None}
        else:
            is_compact = rerank is not None and is_many
            defaults["width"] = 2 if is_compact and self.n_classes < FEW_CLASSES else self._widest(int(X.shape[1]))
            defaults["precision"] = "int8" if is_compact else "float32"
            defaults["prune"] = GENTLE_PRUNING if is_compact and self.validation is not None else None
        width = defaults["width"] if given["width"] == "auto" else given["width"]
        defaults["candidates"] = candidate_source(self.code, rerank, width, self.n_classes)
        return Recipe(**{name: defaults[name] if value == "auto" else value for name, value in given.items()})

    def _widest(self, n_features: int) -> int:
        limits = [limit for limit in (memory_limit(self.learner), available_memory()) if limit is not None]
        room = min(limits, default=np.inf) / (BYTES_IN_TRAINING * n_features)
        widths = [min(width, self.n_classes) for width in WIDTHS]
        return next((w for w in widths if trellis_codebook(self.n_classes, w).n_bits <= room), widths[-1])

    def plan(self, recipe: Recipe, *, has_validation: bool) -> Plan:
        """All settings, with those of a recipe."""
        if recipe.code == "tree":
            return self._tree_plan(recipe)
        n_paths = self.n_classes + self.n_spare
        codebook = trellis_codebook(n_paths, min(recipe.width, n_paths))
        width = cast("Any", codebook.trellis).width
        learned_tree = "clustering" if self.n_classes <= MAX_CLUSTERED_CLASSES else "splitting"
        return Plan(
            codebook=codebook,
            class_distances=learned_tree if self.class_tree is None else self.class_tree,
            assignment=self._policy(width, has_validation, is_ranked=recipe.rerank is not None),
            policy="preserving" if isinstance(self.assignment, str) and self.assignment == "preserving" else "",
            learner=chosen_learner(self.learner, width),
            loss=self.loss,
            **self._shared(recipe),
        )

    def _shared(self, recipe: Recipe) -> dict[str, Any]:
        """The settings of a plan that do not depend on the kind of code."""
        of_recipe = {
            name: getattr(recipe, name) for name in ("n_members", "rerank", "candidates", "precision", "prune")
        }
        return {"n_classes": self.n_classes, "seed": self.seed, **of_recipe}

    def _tree_plan(self, recipe: Recipe) -> Plan:
        """All settings of a code whose codewords are the leaves of a tree."""
        leaves = self.assignment
        if isinstance(leaves, str) and leaves == "auto":
            # A taxonomy may gain two points or lose as many, which a pilot finds out.
            leaves = "halving" if self.class_tree is None else ("preserving", "halving")
        return Plan(
            codebook=label_tree(self.n_classes, recipe.width),
            class_distances="splitting" if self.class_tree is None else self.class_tree,
            assignment=leaves,
            learner=tree_learner(self.learner),
            **self._shared(recipe),
        )

    def _policy(self, width: int, has_validation: bool, *, is_ranked: bool) -> Any:
        """How the assignment is found: "preserving" is the depth-first order, whose neighbours have similar paths."""
        if not isinstance(self.assignment, str):
            return self.assignment
        if self.assignment != "auto":
            return "ordered" if self.assignment == "preserving" else self.assignment
        is_wide = width > (NARROW_ORDER_RANKED if is_ranked else NARROW_ORDER)
        if is_wide or not MANY_CLASSES <= self.n_classes <= TOO_MANY_CLASSES:
            return "ordered"
        is_tried = self.class_tree is not None and has_validation
        return ("learnability", "ordered") if is_tried else "learnability"
