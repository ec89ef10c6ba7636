"""TrellisClassifier: a thousand to a million classes with a logarithmic number of bits and fast decoding."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, replace
from numbers import Integral, Real
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import validate_data

from codekin._system.magnitudes import check_single_precision
from codekin._system.stored_rows import StoredRows
from codekin._system.workers import with_workers
from codekin.coding import IntArray
from codekin.coding.labels import EncodedLabels
from codekin.estimators.coded import checked_weights, with_weight
from codekin.estimators.inputs import as_class_tree, held_out_samples, is_valid_already, label_array
from codekin.estimators.path_probabilities import PathProbabilities
from codekin.fitting.budget import fit_within_budget
from codekin.fitting.fit import begin_fit, fit_model, learn_batch
from codekin.fitting.fit_facts import Fit
from codekin.fitting.plan import Watch
from codekin.fitting.recipe import Recipe, Trial
from codekin.fitting.rules import OF_INDEX, RERANK
from codekin.fitting.trellis_settings import TrellisSettings
from codekin.learners import LEARNERS, Checkpoints, EpochReport, Learner, learner_name, learner_of
from codekin.learners.compact import PRECISIONS, Precision
from codekin.model import Model
from codekin.model.reranking import CANDIDATE_SOURCES, CandidateSource
from codekin.progress import Progress, listening
from codekin.samples import Samples
from codekin.storage.classifier_parts import ClassifierParts


def _learns_in_batches(classifier: TrellisClassifier) -> bool:
    has_budget = classifier.max_model_bytes is not None or classifier.max_microseconds is not None
    is_ranked = classifier.rerank in RERANK or classifier.candidates in OF_INDEX
    if is_ranked or classifier.n_members not in ("auto", 1) or has_budget:
        raise AttributeError(
            "Only a single code without re-ranking or a budget can be trained in batches; use fit instead."
        )
    return True


class TrellisClassifier(PathProbabilities):
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
        A budget: the most bytes that the saved model, the whole folder, may take on disk. All settings that are "auto"
        are then chosen on the validation samples of :meth:`fit`: several recipes are tried and the best one within the
        budget is kept. ``trials_`` and :meth:`report` show what was tried.
    max_microseconds : float, default=None
        The same for the time per prediction, in large batches on one thread of this machine.
    time_limit : float, default=None
        Seconds after which no further recipe is tried once one is within the budget; without it, about five are.
    code : {"auto", "trellis", "tree"}, default="auto"
        Whether the codewords are paths of a trellis or of a tree with ``width`` children per node, by default a power
        of 2 up to 64 that gives few levels. "auto" is a tree for 100 or more classes of sparse samples, unless a
        setting needs a trellis.
    taxonomy : ClassTree, list of (parent, child) pairs, nested dict or networkx graph, default=None
        The class tree; its leaves have the names of the labels. If None, a tree of class means is used.
    assignment : str, Assignment, array or callable, default="auto"
        "auto" is "learnability" for 100 to 50,000 classes at widths below 10 (5 with a re-ranking), unless with a
        taxonomy the validation samples prefer "preserving" after one pass of AROW with each; else "preserving".
        "preserving" gives the paths, in their order, to the classes in the tree's depth-first order. "learnability"
        starts there, searches for the paths whose bits are easiest to learn, and needs no taxonomy. Also "random",
        "breaking", "online" (of LTLS: a class gets its path with its first sample), a search from
        ``codekin.assignments.ASSIGNMENTS``, or the path of each class. For a tree, "auto" is "halving": nodes are
        halves of class means; with a taxonomy a pilot on some of the classes chooses between that and "preserving".
    estimator : "auto", "arow", "softmax" or Learner, default="auto"
        The learner of the bits: ``AROW()`` learns each on its own, ``Softmax()`` all of them together, so that the true
        path wins among all paths. "auto" is AROW at width 2 and softmax above, where it is one or two points better.
    loss : str or callable, default="auto"
        The decoding loss, a function of ``z = bit * margin``. "auto" is the logistic loss for softmax, whose
        probabilities are then exact, and the exponential loss otherwise.
    prune : float, "auto" or None, default="auto"
        Drop small weights as long as that costs at most this much accuracy on the validation samples of :meth:`fit`:
        0.001 is a tenth of a point; None keeps all. "auto" depends on the budget, and is 0.001 if "auto" chose int8.
    precision : {"auto", "float32", "float16", "int8"}, default="auto"
        How :meth:`fit` stores the weights: in four, two or one byte each; int8 with a scale for each feature. "float16"
        changes nothing measurable, "int8" next to nothing. "auto" is int8 within a budget or with a re-ranking of 100
        sparse classes or more.
    rerank : "auto", "centroid", "learned" or None, default="auto"
        Rescore the best classes of the code with sparse class vectors: the class means, which need no training, or
        vectors trained to separate each class from those that the code confuses it with. The number of classes and the
        weight of the vectors are chosen on the validation samples of :meth:`fit`. "auto" is "learned" for sparse
        samples of 100 classes or more, None otherwise, and what fits within a budget.
    candidates : {"auto", "code", "index", "both"}, default="auto"
        What lists the classes to rescore: the code's best paths, an index of the class vectors, or both. "auto" is
        "index" for 100 or more classes on trellises of width 2 to 4, "code" otherwise.
    n_members : int or "auto", default="auto"
        How many codes of this width to train, each with its own order of the classes; their losses are added.
        "auto" is 1, or 2 for trees of more than 50,000 classes, or the best within a budget unless ``assignment`` is
        one order. Of two trees, one follows the taxonomy, if there is one, and the other halves the set of classes.
    n_spare : int, default=0
        How many paths to keep free for classes added later: see :meth:`add_classes`. They are spread among the others,
        so that there is one near every class. A code with free paths is not re-ranked.
    n_jobs : int, default=None
        How many of joblib's workers share the work of :meth:`fit`, -1 for all processors: the bits that AROW learns,
        and the restarts of a search for an assignment. By default those of the enclosing ``joblib.parallel_config``,
        or threads of this process without one. The result does not depend on it.
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
        Losses are divided by it to get probabilities; chosen on the validation samples, 1 without them.
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
    >>> classifier = TrellisClassifier(width=3, random_state=0).fit(X[:900] / 16, y[:900])
    >>> bool(classifier.score(X[900:] / 16, y[900:]) > 0.75)
    True
    """

    learner_: Learner
    recipe_: Recipe
    trials_: tuple[Trial, ...]
    temperature_: float

    _parameter_constraints: dict[str, Any] = {  # noqa: RUF012  (scikit-learn's convention)
        "width": [Interval(Integral, 2, None, closed="left"), StrOptions({"auto"})],
        "max_bits": [Interval(Integral, 1, None, closed="left"), None],
        "max_model_bytes": [Interval(Integral, 1, None, closed="left"), None],
        "max_microseconds": [Interval(Real, 0, None, closed="neither"), None],
        "time_limit": [Interval(Real, 0, None, closed="neither"), None],
        "code": [StrOptions({"auto", "trellis", "tree"})],
        "taxonomy": "no_validation",
        "assignment": "no_validation",
        "estimator": "no_validation",
        "loss": [str, callable],
        "prune": [Interval(Real, 0, 1, closed="left"), StrOptions({"auto"}), None],
        "precision": [StrOptions({"auto", *PRECISIONS})],
        "rerank": [StrOptions({"auto", *RERANK}), None],
        "candidates": [StrOptions({"auto", *CANDIDATE_SOURCES})],
        "n_members": [Interval(Integral, 1, None, closed="left"), StrOptions({"auto"})],
        "n_jobs": [Integral, None],
        "n_spare": [Interval(Integral, 0, None, closed="left")],
        "random_state": ["random_state"],
    }

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
        n_members: int | Literal["auto"] = "auto",
        n_spare: int = 0,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.width = width
        self.max_bits = max_bits
        self.max_model_bytes = max_model_bytes
        self.max_microseconds = max_microseconds
        self.time_limit = time_limit
        self.code = code
        self.taxonomy = taxonomy
        self.assignment = assignment
        self.estimator = estimator
        self.loss = loss
        self.prune = prune
        self.precision = precision
        self.rerank = rerank
        self.candidates = candidates
        self.n_members = n_members
        self.n_spare = n_spare
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(
        self,
        X: Any,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        validation: tuple[Any, ArrayLike] | None = None,
        on_epoch: Callable[[EpochReport], None] | None = None,
        progress: Callable[[Progress], None] | None = None,
        checkpoints: Checkpoints | None = None,
        reserved_bytes: int = 0,
    ) -> Self:
        """Choose the paths of the classes and learn the bits.

        Parameters
        ----------
        X : {array-like, sparse matrix, StoredRows} of shape (n_samples, n_features)
            Samples on disk, from :func:`codekin.datasets.cached_data`, are processed block by block.
        y : array-like or EncodedLabels of shape (n_samples,)
            Labels of any type.
        sample_weight : array-like of shape (n_samples,), default=None
            None of them negative. A label whose samples all have weight zero is left out, as if it were not in ``y``.
        validation : tuple (X, y), default=None
            Samples on which the best pass, the re-ranking and the temperature are chosen. Labels that are not in ``y``
            count as mistakes, with a warning; it is an error if none is in it. Without validation samples, a re-ranking
            is chosen by a trial, on trees with some of the classes, and everything is then trained on all samples.
        on_epoch : callable, default=None
            Called with an ``EpochReport`` after each pass over the samples. Several trellises learn at the same time;
            then it is called from their threads, for one pass at a time.
        progress : callable, default=None
            Called with a :class:`codekin.progress.Progress` at every stage and repeatedly within it.
        checkpoints : Checkpoints, default=None
            Where to save what is needed to resume after an interruption: see :class:`codekin.learners.Checkpoints`.
            With the same samples, parameters and ``random_state``, a resumed fit gives the same result.
        reserved_bytes : int, default=0
            How much of ``max_model_bytes`` is for what is saved with the model, such as the vocabulary of texts.

        Returns
        -------
        TrellisClassifier
            Itself.
        """
        self._validate_params()
        X, class_index = self._checked_training_samples(X, y)
        samples = Samples(X, class_index, checked_weights(sample_weight, X))
        self.classes_, class_index = with_weight(self.classes_, class_index, samples.weights)
        if class_index is not samples.class_index:
            samples = replace(samples, class_index=class_index).at(np.flatnonzero(class_index >= 0))
        held_out = None if validation is None else held_out_samples(self, validation)
        settings, watch = self._settings(held_out), Watch(on_epoch, checkpoints)
        with with_workers(self.n_jobs), listening(progress):
            if settings.limits is not None:
                parts = self._parts_around({})
                fit = fit_within_budget(
                    settings, samples, held_out, watch=watch, parts=parts, reserved_bytes=reserved_bytes
                )
            else:
                settings = settings.of_code(samples.X)
                plan = settings.plan(settings.default_recipe(samples.X), has_validation=held_out is not None)
                fit = fit_model(plan, samples, held_out=held_out, watch=watch)
        return self._take(fit)

    def _validate_params(self) -> None:
        for name in ("width", "estimator"):
            given = getattr(self, name)
            if hasattr(given, "fit") and learner_of(given) is None:
                raise ValueError(
                    f"TrellisClassifier learns its bits with {sorted(LEARNERS)} or another Learner of codekin. "
                    f"Got {name}={given!r}; use ECOCClassifier({type(given).__name__}(...)) instead."
                )
        super()._validate_params()

    def _settings(self, held_out: Samples | None = None) -> TrellisSettings:
        n_classes = self._check_n_classes()
        names = {field.name for field in fields(TrellisSettings)} & set(self.get_params(deep=False))
        return TrellisSettings(
            n_classes=n_classes,
            seed=self._seed(),
            class_tree=None if self.taxonomy is None else as_class_tree(self.taxonomy, self.classes_),
            learner=self.estimator,
            validation=held_out,
            **{name: getattr(self, name) for name in names},
        )

    def _take(self, fit: Fit) -> Self:
        """Set the fitted attributes."""
        self.recipe_ = self._take_parts(fit)
        self.learner_, self.trials_, self.temperature_ = fit.learner, fit.trials, fit.temperature.value
        self._report_facts["learner"] = learner_name(fit.learner)
        return self

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
        TrellisClassifier
            Itself.
        """
        self._validate_params()
        is_first = self._is_first_batch(classes)
        y = label_array(y)
        X, y = validate_data(self, X, y, accept_sparse="csr", dtype=[np.float32, np.float64], reset=is_first)
        if not is_first and not self.model_.is_single:
            raise ValueError("A model with a re-ranking or several codes cannot be trained further; use fit instead.")
        check_classification_targets(y)
        class_index = self._batch_class_index(y, classes)
        samples = Samples(X, class_index, checked_weights(sample_weight, X))
        if is_first:
            settings = self._settings().of_code(X)
            recipe = replace(
                settings.default_recipe(X), rerank=None, candidates="code", precision="float32", prune=None
            )
            begun = begin_fit(settings.plan(recipe, has_validation=False), samples)
            return self._take(replace(begun, model=learn_batch(begun.model, begun.learner, samples, begun.rng)))
        self._set_model(learn_batch(self.model_, self.learner_, samples, self._rng))
        self.temperature_, self._report_facts = 1.0, {"learner": learner_name(self.learner_)}
        return self

    def _validated_samples(self, X: Any) -> Any:
        if is_valid_already(self, X):
            return X
        X = validate_data(self, X, accept_sparse="csr", dtype=[np.float32, np.float64], reset=False)
        check_single_precision(X, is_to_learn_from=False)
        return X

    def _checked_training_samples(self, X: Any, y: Any) -> tuple[Any, IntArray]:
        """The samples and their classes; sets the labels and the number of features."""
        if isinstance(X, StoredRows):
            self.n_features_in_ = X.shape[1]
            if X.shape[0] != len(y):
                raise ValueError(f"There are {X.shape[0]} samples on disk. Got {len(y)} labels.")
        else:
            given = np.asarray(y) if isinstance(y, EncodedLabels) else label_array(y)
            X, checked = validate_data(self, X, given, accept_sparse="csr", dtype=[np.float32, np.float64])
            y = y if isinstance(y, EncodedLabels) else checked
        check_single_precision(X, is_to_learn_from=True)
        if isinstance(y, EncodedLabels):
            self.classes_, class_index = y.classes, y.class_index
        else:
            check_classification_targets(y)
            self.classes_, class_index = np.unique(y, return_inverse=True)
        return X, class_index

    def _with_learner(self, parts: ClassifierParts) -> ClassifierParts:
        is_given = self.learner_ is self.estimator
        return replace(parts, learner=self.learner_, is_learner_given=is_given, temperature=self.temperature_)

    @classmethod
    def _stored_params(cls, model: Model, parts: ClassifierParts) -> dict[str, Any]:
        learner = {"estimator": parts.learner} if parts.is_learner_given else {}
        return {"assignment": model.assignment, **parts.params, **learner}

    @classmethod
    def _from_stored(cls, model: Model, parts: ClassifierParts) -> Self:
        classifier = super()._from_stored(model, parts)
        if parts.learner is not None:
            classifier.learner_ = parts.learner
        if parts.temperature is None:
            raise KeyError("temperature")
        classifier.temperature_ = parts.temperature
        return classifier

    def _measured_samples(self, X: Any) -> Any:
        return X if isinstance(X, StoredRows) else self._validated_samples(X)
