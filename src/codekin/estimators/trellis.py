"""TrellisClassifier: from a thousand to a million classes with a logarithmic number of bits and decoding to match."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from numbers import Integral, Real
from typing import Any, Literal, Self, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import minimize_scalar
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import validate_data

from codekin.class_trees import ClassTree
from codekin.codebooks import trellis_codebook
from codekin.coding import FloatArray, IntArray, Margins
from codekin.decoding import ShortestPathDecoder, get_loss
from codekin.estimators.choices import Classes, choose_assignment
from codekin.estimators.coded import CodedClassifier, checked_weights
from codekin.learners import AROW, BitLearner, Checkpoints, EpochReport, TrainingProgress, Validation
from codekin.model import CodedModel, make_decoder

MAX_TEMPERATURE = 100.0
MAX_CLUSTERED_CLASSES = 15_000
"""A class tree of more classes than this is learned by halving the set of classes instead of joining pairs."""
LEARNERS = {"arow": AROW}
"""Name -> learner with its default settings."""


class TrellisClassifier(CodedClassifier):
    """Multiclass classification with the paths of a trellis as codewords.

    A trellis of width ``b`` has as many paths as there are classes and ``O(b**2 log_b K)`` edges. Every class is a
    path, every edge is a bit, all bits are learned in one pass over the samples, and the best class is the shortest
    path (W-LTLS, Evron et al. 2018). Similar classes get similar paths: in the depth-first order of a class tree
    (Evron et al. 2023).

    Parameters
    ----------
    width : int or "auto", default=2
        The width of the trellis: the wider, the more bits, bytes and accuracy. "auto" takes the widest within
        ``n_bits`` or ``max_model_bytes``.
    n_bits : int, default=None
        The most bits that the automatic width may use.
    max_model_bytes : int, default=None
        The most bytes that the weights may take for the automatic width.
    taxonomy : ClassTree, list of (parent, child) pairs, nested dict or networkx graph, default=None
        The class tree; its leaves are named like the labels. None learns one from the class means.
    assignment : str, Assignment, array or callable, default="preserving"
        "preserving" gives the paths in their order to the classes in the tree's depth-first order; "random",
        "breaking", the name of a search from ``codekin.assignments.ASSIGNMENTS``, or for each class its path.
    learner : "arow" or BitLearner, default="arow"
        Who learns the bits: the name stands for ``AROW()``.
    loss : str or callable, default="exponential"
        The decoding loss, a function of ``z = bit * margin``.
    prune : float, default=None
        Drop as many small weights as cost at most this much accuracy on the validation samples of :meth:`fit`: 0.001
        is a tenth of a point. None keeps all weights.
    random_state : int, RandomState instance or None, default=None
        Determines the order of the samples in each pass and the random assignment.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels.
    codebook_ : Codebook
        The codewords, paths of ``codebook_.trellis``.
    assignment_ : Assignment
        Which class has which path.
    assignment_result_ : AssignmentResult or None
        What the search for it found; None if the assignment was given.
    class_distances_ : ClassDistances or None
        Path lengths in the class tree; None if there is no taxonomy and the assignment did not need to learn one.
    loss_ : Loss
        The decoding loss.
    temperature_ : float
        What the losses are divided by before they become probabilities; chosen by the validation samples, 1 without.
    model_ : CodedModel
        The fitted code.
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

    temperature_: float

    _parameter_constraints: dict[str, Any] = {  # noqa: RUF012  (scikit-learn's convention)
        "width": [Interval(Integral, 2, None, closed="left"), StrOptions({"auto"})],
        "n_bits": [Interval(Integral, 1, None, closed="left"), None],
        "max_model_bytes": [Interval(Integral, 1, None, closed="left"), None],
        "taxonomy": "no_validation",
        "assignment": "no_validation",
        "learner": "no_validation",
        "loss": [str, callable],
        "prune": [Interval(Real, 0, 1, closed="left"), None],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        width: int | Literal["auto"] = 2,
        *,
        n_bits: int | None = None,
        max_model_bytes: int | None = None,
        taxonomy: Any = None,
        assignment: Any = "preserving",
        learner: Any = "arow",
        loss: Any = "exponential",
        prune: float | None = None,
        random_state: Any = None,
    ) -> None:
        self.width = width
        self.n_bits = n_bits
        self.max_model_bytes = max_model_bytes
        self.taxonomy = taxonomy
        self.assignment = assignment
        self.learner = learner
        self.loss = loss
        self.prune = prune
        self.random_state = random_state

    def fit(
        self,
        X: Any,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        validation: tuple[Any, ArrayLike] | None = None,
        on_epoch: Callable[[EpochReport], None] | None = None,
        progress: Callable[[TrainingProgress], None] | None = None,
        checkpoints: Checkpoints | None = None,
    ) -> Self:
        """Choose the paths of the classes and learn the bits.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
            Labels of any type.
        sample_weight : array-like of shape (n_samples,), default=None
        validation : tuple (X, y), default=None
            Samples to choose the best pass and the temperature by. Labels that are not in ``y`` count as errors.
        on_epoch : callable, default=None
            Called with an ``EpochReport`` after each pass over the samples.
        progress : callable, default=None
            Called with a ``TrainingProgress`` several times a second.
        checkpoints : Checkpoints, default=None
            Where to leave what is needed to go on after an interruption: see :class:`codekin.learners.Checkpoints`.
            With the same samples, parameters and ``random_state`` a resumed fit ends like an undisturbed one.

        Returns
        -------
        TrellisClassifier
            Itself.
        """
        self._validate_params()
        if self.prune is not None and validation is None:
            raise ValueError(f"prune={self.prune} needs validation samples, which say what a weight is worth.")
        X, y = validate_data(self, X, y, accept_sparse="csr", dtype=[np.float32, np.float64])
        check_classification_targets(y)
        self.classes_, class_index = np.unique(y, return_inverse=True)
        weights = checked_weights(sample_weight, X)
        self._choose_parts(X, class_index, weights)
        learner = self._learner()
        decoder = make_decoder(self.codebook_, self.assignment_, self.loss_)
        held_out = None if validation is None else self._held_out(*validation)
        watchers = {"on_epoch": on_epoch, "progress": progress, "checkpoints": checkpoints}
        # Only what is there: a learner of one's own need not know them all.
        options: dict[str, Any] = {name: value for name, value in watchers.items() if value is not None}
        if held_out is not None:
            X_held, y_held = held_out
            options["validation"] = Validation(
                X_held, lambda margins: float((decoder.decode(margins) == y_held).mean())
            )
        matrix = self.codebook_.coding_matrix(self.assignment_)
        bits: Any = learner.fit_bits(X, class_index, matrix, sample_weight=weights, rng=self._rng, **options)
        if self.prune is not None:
            bits = bits.pruned(options["validation"], max_loss=self.prune)
        self.model_ = CodedModel(self.codebook_, self.assignment_, bits, decoder)
        self.temperature_ = 1.0 if held_out is None else self._best_temperature(*held_out)
        self._measure(X, class_index)
        return self

    def partial_fit(
        self, X: Any, y: ArrayLike, classes: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Make one pass over a further batch of samples.

        The assignment is chosen at the first call and stays; without a taxonomy it follows from that batch.

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
        X, y = validate_data(self, X, y, accept_sparse="csr", dtype=[np.float32, np.float64], reset=is_first)
        check_classification_targets(y)
        class_index = self._batch_class_index(y, classes)
        weights = checked_weights(sample_weight, X)
        if is_first:
            self._choose_parts(X, class_index, weights)
        learner = self._learner()
        if not hasattr(learner, "partial_fit_bits"):
            raise ValueError(f"The learner {type(learner).__name__} cannot learn batch by batch.")
        bits = learner.partial_fit_bits(
            None if is_first else self.model_.bits,
            X,
            class_index,
            self.codebook_.coding_matrix(self.assignment_),
            sample_weight=weights,
            rng=self._rng,
        )
        decoder = make_decoder(self.codebook_, self.assignment_, self.loss_)
        self.model_ = CodedModel(self.codebook_, self.assignment_, bits, decoder)
        self.temperature_ = 1.0
        self._measure(X, class_index)
        return self

    def top_k_proba(self, X: Any, k: int) -> tuple[NDArray[Any], FloatArray]:
        """The k most probable labels and their probabilities, exactly normalised over all classes.

        The probability of a class is proportional to ``exp(-loss / temperature_)``. The sum over all paths is made by
        the forward recursion in time O(n_bits): nothing has the size of the number of classes.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        k : int
            At least 1 and at most the number of classes.

        Returns
        -------
        labels : ndarray of shape (n_samples, k)
        probabilities : ndarray of shape (n_samples, k)
        """
        margins = self.bit_margins(X)
        classes, _ = self._decoder.top_k(margins, k)
        return self.classes_[classes], np.exp(self._log_probabilities(margins, classes))

    def predict_proba(self, X: Any) -> FloatArray:
        """The probabilities of all classes; see :meth:`top_k_proba` for a few of very many.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
        """
        margins = self.bit_margins(X)
        every = np.broadcast_to(np.arange(len(self.classes_)), (len(margins), len(self.classes_)))
        return np.exp(self._log_probabilities(margins, every))

    def __sklearn_tags__(self) -> Any:
        """Sparse rows are what it is made for."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    @property
    def _decoder(self) -> ShortestPathDecoder:
        return cast("ShortestPathDecoder", self.model_.decoder)

    def _learner(self) -> BitLearner | Any:
        if not isinstance(self.learner, str):
            return self.learner
        if self.learner not in LEARNERS:
            raise ValueError(
                f"The 'learner' parameter must be one of {sorted(LEARNERS)} or a BitLearner. "
                f"Got {self.learner!r} instead."
            )
        return LEARNERS[self.learner]()

    def _validated_samples(self, X: Any) -> Any:
        return validate_data(self, X, accept_sparse="csr", dtype=[np.float32, np.float64], reset=False)

    def _held_out(self, X: Any, y: ArrayLike) -> tuple[Any, IntArray]:
        X = self._validated_samples(X)
        class_index = self._class_index(y)
        if X.shape[0] != len(class_index):
            raise ValueError(f"The validation samples are {X.shape[0]}, their labels {len(class_index)}.")
        return X, class_index

    def _choose_parts(self, X: Any, class_index: IntArray, weights: FloatArray | None) -> None:
        """Set codebook, assignment, loss and the generator for the learner."""
        n_classes = self._check_n_classes()
        rng_assignment, rng_distances, self._rng = self._generators(3)
        width = self.width if self.width == "auto" else min(self.width, n_classes)
        self.codebook_ = trellis_codebook(
            n_classes, width, n_bits=self.n_bits, max_model_bytes=self.max_model_bytes, n_features=X.shape[1]
        )
        tree = None if self.taxonomy is None else as_class_tree(self.taxonomy, self.classes_)
        learned = "clustering" if n_classes <= MAX_CLUSTERED_CLASSES else "splitting"
        classes = Classes(lambda: X, class_index, n_classes, weights, learned if tree is None else tree, rng_distances)
        policy = "ordered" if isinstance(self.assignment, str) and self.assignment == "preserving" else self.assignment
        self.assignment_, self.assignment_result_ = choose_assignment(policy, self.codebook_, classes, rng_assignment)
        # A tree that no choice needed is not learned only to be measured against.
        self.class_distances_ = classes.distances if tree is not None or "distances" in classes.__dict__ else None
        self.loss_ = get_loss(self.loss)

    def _edge_scores(self, margins: Margins) -> FloatArray:
        """What an edge adds to minus the loss of a path, up to a constant: ``L(-f) - L(f)``."""
        return np.asarray(2 * self.loss_.agreement(margins.astype(np.float64)))

    def _log_probabilities(self, margins: Margins, classes: IntArray) -> FloatArray:
        scores = self._edge_scores(margins) / self.temperature_
        paths = self._decoder.path_scores(scores, classes)
        return np.asarray(paths - self._decoder.log_partition(scores)[:, None], dtype=np.float64)

    def _best_temperature(self, X: Any, class_index: IntArray) -> float:
        """The temperature under which the held-out classes are most likely."""
        known = np.flatnonzero(class_index >= 0)
        if len(known) == 0:
            return 1.0
        scores = self._edge_scores(self.model_.margins(X[known]))
        of_class = self._decoder.path_scores(scores, class_index[known][:, None])[:, 0]

        def negative_log_likelihood(log_temperature: float) -> float:
            temperature = np.exp(log_temperature)
            return float((self._decoder.log_partition(scores / temperature) - of_class / temperature).sum())

        limit = float(np.log(MAX_TEMPERATURE))
        best = minimize_scalar(negative_log_likelihood, bounds=(-limit, limit), method="bounded")
        return float(np.exp(best.x))


def as_class_tree(taxonomy: Any, labels: NDArray[Any]) -> ClassTree:
    """The class tree whose class ``k`` is ``labels[k]``, from whatever can stand for a tree.

    Parameters
    ----------
    taxonomy : ClassTree, list of (parent, child) pairs, nested dict or networkx graph
        Names of leaves are compared with the labels as text, so that 7 and "7" are the same. If they do not agree, the
        labels 0, 1, ... are the numbers of the classes of a ClassTree.
    labels : ndarray of shape (n_classes,)

    Returns
    -------
    ClassTree
    """
    names = [str(label) for label in labels.tolist()]
    if isinstance(taxonomy, ClassTree):
        return _tree_of_labels(taxonomy, names)
    if isinstance(taxonomy, Mapping):
        return _tree_of_labels(ClassTree.from_nested(taxonomy), names)
    if hasattr(taxonomy, "edges"):
        taxonomy = list(taxonomy.edges)
    return ClassTree.from_edges([(str(parent), str(child)) for parent, child in taxonomy], classes=names)


def _tree_of_labels(tree: ClassTree, names: list[str]) -> ClassTree:
    leaves = None if tree.class_labels is None else [str(label) for label in tree.class_labels]
    place = {leaf: k for k, leaf in enumerate(leaves or [])}
    missing = [name for name in names if name not in place]
    if not missing:
        return tree if leaves == names else tree.restricted_to(np.array([place[name] for name in names], dtype=np.intp))
    if names == [str(k) for k in range(tree.n_classes)]:
        return tree
    raise ValueError(
        f"The taxonomy of {tree.n_classes} classes has no leaf for {len(missing)} of the {len(names)} labels, "
        f"{missing[0]!r} among them."
    )
