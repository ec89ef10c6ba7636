"""ExtremeClassifier: a hundred to a million classes, learned and decoded along the paths of a tree or a trellis.

TrellisClassifier is the paper's preset of it.
"""

from __future__ import annotations

import inspect
import warnings
from dataclasses import replace
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import validate_data

from codekin.estimators.extreme_fit import ExtremeFit
from codekin.estimators.inputs import checked_weights, label_array
from codekin.estimators.metadata import constraints
from codekin.fitting.fit import begin_fit, learn_batch
from codekin.fitting.orders import choose_orders
from codekin.fitting.plan import extreme_plan
from codekin.fitting.settings import EXTREME_SETTINGS, OF_INDEX, RERANK
from codekin.learners import learner_name
from codekin.learners.compact import Precision
from codekin.model.probabilities import check_one_label
from codekin.model.reranking import CandidateSource
from codekin.samples import Samples


def _learns_in_batches(classifier: ExtremeClassifier) -> bool:
    has_budget = classifier.max_model_bytes is not None or classifier.max_microseconds is not None
    is_ranked = classifier.rerank in RERANK or classifier.candidates in OF_INDEX
    if is_ranked or classifier.n_codes not in ("auto", 1) or has_budget:
        raise AttributeError(
            "Only a single code without re-ranking or a budget can be trained in batches; use fit instead."
        )
    return True


class ExtremeClassifier(ExtremeFit, ClassifierMixin, BaseEstimator):
    """Multiclass classification with the paths of a trellis, or the leaves of a tree, as codewords.

    A trellis of width ``b`` has as many paths as there are classes and ``O(b**2 log_b K)`` edges. Every class is a
    path, every edge is a bit, all bits are learned in one pass over the samples, and the best class is the shortest
    path (W-LTLS, Evron et al. 2018). Similar classes get similar paths, for example by following the depth-first order
    of a class tree (Evron et al. 2023). For very many classes a tree is better: each node has a softmax over its
    children, trained only on its own samples, and a beam search from the root follows the best few nodes of each level.

    Parameters
    ----------
    width : int or "auto", default="auto"
        The width of the trellis or tree: a wider trellis has more bits, takes more bytes and is more accurate. "auto"
        is 10 if memory allows, 2 for 100 to 499 re-ranked classes, the best in a budget or the widest for ``max_bits``.
    max_bits : int, default=None
        The most bits that the automatic width may use; an error if ``width`` is given.
    max_model_bytes : int, default=None
        A budget: the most bytes of the whole model folder. All settings that are "auto" are then chosen on the
        validation samples of :meth:`fit`; ``trials_`` and :meth:`report` show what was tried.
    max_microseconds : float, default=None
        The same for the time per prediction, in large batches on one thread of this machine.
    time_limit : float, default=None
        Seconds after which no further recipe is tried once one is within the budget; without it, about five are.
    code : {"auto", "trellis", "tree"}, default="auto"
        Whether the codewords are paths of a trellis or of a tree with ``width`` children per node, by default a power
        of 2 up to 64 that gives few levels. "auto" is a tree for sparse samples, below 100 classes if there are 300
        samples and three classes, and for 100 or more classes of embeddings, dense vectors of about length 1, unless a
        setting needs a trellis.
    taxonomy : ClassTree, list of (parent, child) pairs, nested dict or networkx graph, default=None
        The class tree; its leaves have the names of the labels. If None, a tree of class means is used.
    assignment : str, Assignment, array or callable, default="auto"
        Which class gets which path. "preserving" follows the depth-first order of the taxonomy or of a learned class
        tree. "learnability" searches for the paths whose bits are easiest to learn. "halving", for trees, halves the
        class means node by node, "cooccurrence" the labels that samples have together, and "mixed" both side by side.
        "auto" is "halving" on trees, "learnability" for 100 to 50,000 classes on narrow trellises, and "preserving"
        otherwise; with a taxonomy, a trial chooses between it and "preserving". Also "random", "breaking", "identity",
        and for trellises "online" (a class gets its path with its first sample, as in LTLS) or a search from
        ``codekin.assignments.ASSIGNMENTS``; or the path of each class.
    estimator : "auto", "arow", "softmax", "svm" or Learner, default="auto"
        The learner of the bits: ``AROW()`` learns each on its own, ``Softmax()`` all of them together, so that the true
        path wins among all paths, ``LinearSVM()`` a machine for each child of a tree's nodes. "auto" is "svm" for
        fewer than 1,000 classes of sparse samples, which are then children of one node; otherwise AROW at width 2 and
        softmax above, where it is one or two points better.
    loss : str or callable, default="auto"
        The decoding loss, a function of ``z = bit * margin``. "auto" is the logistic loss for softmax, whose
        probabilities are then exact, and the exponential loss otherwise.
    prune : float, "auto" or None, default="auto"
        Drop small weights as long as that costs at most this much accuracy on the validation samples of :meth:`fit`:
        0.001 is a tenth of a point; None keeps all. "auto" depends on the budget, and is 0.001 if "auto" chose int8.
    precision : {"auto", "float32", "float16", "int8"}, default="auto"
        How the weights are stored: "float16" changes nothing measurable, "int8" next to nothing. "auto" is int8 for
        trees, within a budget and with a re-ranking of 100 or more classes of sparse samples or embeddings.
    rerank : "auto", "centroid", "learned" or None, default="auto"
        Rescore the best classes of the code with sparse class vectors: the class means, or vectors trained to separate
        each class from those that the code confuses it with. "auto" is "learned" for sparse samples on trees, and for
        100 or more classes of sparse samples or embeddings, unless each class has a machine of its own; None otherwise,
        and what fits within a budget.
    candidates : {"auto", "code", "index", "both"}, default="auto"
        What lists the classes to rescore: the code's best paths, an index of the class vectors, or both. "auto" is
        "index" for 100 or more classes on trellises of width 2 to 4, "code" otherwise.
    n_codes : int or "auto", default="auto"
        How many codes to train, each with its own order of the classes; their losses are added. "auto" is 1, or 2 for
        trees of more than 50,000 classes, or the best within a budget.
    n_reserved : int, default=0
        How many paths to keep free for classes added later: see :meth:`add_classes`. They are spread among the others,
        so that there is one near every class. A code with free paths is not re-ranked.
    n_jobs : int, default=None
        How many of joblib's workers share the work of :meth:`fit`, -1 for all processors. By default those of the
        enclosing ``joblib.parallel_config``, or threads of this process. The result does not depend on it.
    random_state : int, RandomState instance or None, default=None
        Determines the order of the samples in each pass and the random assignment.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels.
    codebook_ : Codebook
        The codewords, paths of ``codebook_.trellis`` or leaves of ``codebook_.tree``.
    assignment_ : Assignment
        Which class has which path.
    assignment_result_ : AssignmentResult or None
        What the search for it found; None if the assignment was given.
    class_distances_ : ClassDistances or None
        Path lengths in the class tree; None if there is no taxonomy and the assignment did not need to learn one.
    learner_ : Learner
        The learner of the bits.
    loss_ : Loss
        The decoding loss.
    temperature_ : float
        Losses are divided by it to get probabilities; chosen on validation samples, or on some of the samples.
    model_ : Model
        The fitted code, or the fitted codes and their re-ranking.
    recipe_ : Recipe
        The values chosen for settings that were "auto".
    trials_ : tuple of Trial
        The recipes that were tried within a budget.
    n_features_in_ : int
        Number of features seen in ``fit``.

    References
    ----------
    Evron, Moroshko, Crammer. Efficient Loss-Based Decoding on Graphs for Extreme Classification. NeurIPS 2018.
    Evron, Onn, Weiss Orzech, Azeroual, Soudry. The Role of Codeword-to-Class Assignments in Error-Correcting Codes: An
    Empirical Study. AISTATS 2023.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> X, y = load_digits(return_X_y=True)
    >>> classifier = ExtremeClassifier(width=3, random_state=0).fit(X[:900] / 16, y[:900])
    >>> bool(classifier.score(X[900:] / 16, y[900:]) > 0.75)
    True
    """

    _parameter_constraints = constraints(EXTREME_SETTINGS)

    def __init__(
        self,
        width: int | Literal["auto"] = "auto",
        *,
        max_bits: int | None = None,
        max_model_bytes: int | None = None,
        max_microseconds: float | None = None,
        time_limit: float | None = None,
        code: Literal["auto", "trellis", "tree"] = "auto",
        taxonomy: Any = None,
        assignment: Any = "auto",
        estimator: Any = "auto",
        loss: Any = "auto",
        prune: float | Literal["auto"] | None = "auto",
        precision: Precision | Literal["auto"] = "auto",
        rerank: Literal["auto", "centroid", "learned"] | None = "auto",
        candidates: CandidateSource | Literal["auto"] = "auto",
        n_codes: int | Literal["auto"] = "auto",
        n_reserved: int = 0,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        given = dict(locals())
        super().__init__(**{name: given[name] for name in self._table})

    @available_if(_learns_in_batches)
    def partial_fit(
        self, X: Any, y: ArrayLike, classes: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Make one pass over a further batch of samples.

        The assignment is chosen at the first call and then kept; without a taxonomy it is based on that batch.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        classes : array-like of shape (n_classes,), default=None
            All labels that will ever occur; needed at the first call.
        sample_weight : array-like of shape (n_samples,), default=None

        Returns
        -------
        ExtremeClassifier
            Itself.
        """
        self._validate_params()
        is_first = self._is_first_batch(classes)
        if not is_first:
            check_one_label(self.model_, "Batches have")
        y = label_array(y)
        X, y = validate_data(self, X, y, accept_sparse="csr", dtype=[np.float32, np.float64], reset=is_first)
        if not is_first and not self.model_.is_single:
            raise ValueError("A model with a re-ranking or several codes cannot be trained further; use fit instead.")
        check_classification_targets(y)
        class_index = self._batch_class_index(y, classes)
        samples = Samples(X, class_index, checked_weights(sample_weight, X))
        if is_first:
            # The width is that of a fit, which may be re-ranked.
            settings = self._settings(X)
            single = {"rerank": None, "candidates": "code", "precision": "float32", "prune": None}
            plan, tried = extreme_plan(settings.with_given(code=settings.code, width=settings.width, **single))
            begun = begin_fit(plan, choose_orders(plan, samples, tried=tried.assignments))
            return self._take(replace(begun, model=learn_batch(begun.model, plan.learner, samples, begun.rng)))
        self._set_model(learn_batch(self.model_, self.learner_, samples, self._rng))
        self._report_facts = {"learner": learner_name(self.learner_)}
        return self

    def _validate_params(self) -> None:
        super()._validate_params()
        BaseEstimator._validate_params(self)

    def __sklearn_tags__(self) -> Any:
        """Sparse rows are accepted."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.classifier_tags.multi_label = True
        return tags


PRESET = {"code": "trellis", "rerank": None}
"""The defaults that differ from those of :class:`ExtremeClassifier`."""


def _preset_signature() -> inspect.Signature:
    of_extreme = inspect.signature(ExtremeClassifier.__init__)
    own = [each.replace(default=PRESET.get(name, each.default)) for name, each in of_extreme.parameters.items()]
    return of_extreme.replace(parameters=own)


class TrellisClassifier(ExtremeClassifier):
    """W-LTLS as published: the paths of a trellis are the codewords, and the classes are not re-ranked.

    The parameters and attributes are those of :class:`ExtremeClassifier`, with two other defaults: ``code="trellis"``
    and ``rerank=None``. This was also the name of :class:`ExtremeClassifier`, so trees and re-rankings still work, with
    a warning.

    References
    ----------
    Evron, Moroshko, Crammer. Efficient Loss-Based Decoding on Graphs for Extreme Classification. NeurIPS 2018.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> X, y = load_digits(return_X_y=True)
    >>> classifier = TrellisClassifier(width=3, random_state=0).fit(X[:900] / 16, y[:900])
    >>> bool(classifier.score(X[900:] / 16, y[900:]) > 0.75)
    True
    """

    _kind = "TrellisClassifier"

    def __init__(self, width: int | Literal["auto"] = "auto", **settings: Any) -> None:
        super().__init__(width, **{**PRESET, **settings})

    __init__.__signature__ = _preset_signature()  # type: ignore[attr-defined]  # scikit-learn reads it

    def _validate_params(self) -> None:
        super()._validate_params()
        if self.code != "trellis" or self.rerank is not None:
            warnings.warn(
                f"TrellisClassifier is for trellises without re-ranking. With code={self.code!r} and "
                f"rerank={self.rerank!r}, use ExtremeClassifier.",
                FutureWarning,
                stacklevel=3,
            )
