"""Which codewords exist: the interface of a codebook.

There are five kinds: signs, below, and, each in its own module, symbols, targets, and the paths of a trellis or a tree.
Only they know what sets them apart. Other code asks the codebook, or has a table with an entry for each kind.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from codekin._system.arrays import frozen
from codekin.code._statistics import CodewordStatistics
from codekin.code._statistics import EquidistantCodebookWarning as EquidistantCodebookWarning  # noqa: PLC0414
from codekin.code.geometry import bit_reversed, principal_order
from codekin.code.types import CodingMatrix, FloatArray, IntArray, Margins, RankingConstants

MAX_SYMBOLS = 127
"""The most symbols of a column: they are numbered from 0 in a signed byte."""
MAX_SYMBOLS_OF_ONE = 32_767
"""The most symbols of a single column, which has two bytes for them."""


class Codebook(CodewordStatistics):
    """A set of distinct codewords, the rows of a matrix with entries -1, 0 and +1, of more symbols, or of real numbers.

    Parameters
    ----------
    matrix : array-like of shape (n_codewords, n_bits), optional
        The codewords. A zero means that the bit ignores the class of this codeword. With more than two symbols, which
        are numbered from 0, a -1 means that. May be left out if ``trellis`` or ``tree`` is given; the matrix is then
        computed on demand.
    name : str, default="given"
        What kind of codebook it is, for information.
    is_designed : bool, default=False
        Whether row ``k`` was made for class ``k`` (spectral, ordinal and tree codes). An assignment policy leaves
        such a codebook as it is; a search requested by name does not.
    trellis : TrellisGraph, optional
        The graph whose paths are the codewords. It only allows a faster decoder.
    tree : TreeGraph, optional
        The tree whose leaves are the codewords: each child of a node is a bit that ignores the classes elsewhere.
    n_symbols : int, default=2
        How many symbols a column may have, at most 127: two are written as -1 and +1, more are numbered from 0.
    is_real : bool, default=False
        Whether entries are targets, any finite numbers, which regressors learn. A zero is then a number like any other,
        and distances between codewords are squared Euclidean ones, divided by 4: the same as those of -1 and +1.

    Attributes
    ----------
    kind : {"signs", "symbols", "targets", "trellis", "tree"}
        What the codewords are made of, which follows from the parameters.
    n_codewords : int
        The number of codewords.
    n_bits : int
        The number of bits, or columns, of a codeword; each needs one predictor.

    Examples
    --------
    >>> codebook = Codebook([[1, 1, 1], [1, -1, -1], [-1, 1, -1], [-1, -1, 1]], name="parity")
    >>> codebook
    <Codebook parity: 4 codewords x 3 bits, minimum distance 2, equidistant>
    >>> Codebook([[0, 0], [1, 2], [2, 1], [0, 1]], n_symbols=3)
    <Codebook given: 4 codewords x 2 columns of 3 symbols, minimum distance 1>
    >>> Codebook([[0, 2], [0.5, -1], [-2, 0]], is_real=True)
    <Codebook given: 3 codewords x 2 real bits, minimum distance 1.8125>
    """

    kind: ClassVar[str]
    is_lazy: ClassVar[bool] = False
    """Whether margins are computed on demand, since a sample needs only a few of very many."""
    usual_size_power: ClassVar[float] = 0.0
    """The power of the class sizes that probabilities are usually divided by; 0 if that is not done for this kind."""
    orders: ClassVar[Mapping[str, str]] = {
        "preserving": "class_distances",
        "breaking": "class_distances",
        "random": "",
        "learnability": "learnability",
    }
    """The named policies that give codewords to classes, and what each needs to know about the classes."""
    takes_searches: ClassVar[bool] = True
    """Whether the methods of :mod:`codekin.assignments` are further orders."""
    error_scale: ClassVar[float] = 2.0
    """How much larger the squared errors of a column are than those of the indicators of its symbols."""
    learned_in: ClassVar[str] = "blocks"
    """What a learner of all bits learns at a time: "blocks" of columns, or "nodes" of a tree, each from its samples."""
    softmax_damping: ClassVar[float] = 0.3
    """The damping of :class:`codekin.learners.Softmax` that suits this kind."""
    uses_all_threads: ClassVar[bool] = False
    """Whether learning a single code keeps all threads busy, so that several codes are learned in turn."""
    is_tried_on_some_classes: ClassVar[bool] = False
    """Whether a smaller code of some of the classes, in the same order, shows which choices suit all of them."""
    complementary_orders: ClassVar[tuple[str, ...]] = ()
    """Two orders, by a taxonomy and from the samples, whose codes make different errors."""
    halved_orders: ClassVar[tuple[str, ...]] = ()
    """Orders that halve the set of classes; the seed changes them only where classes are equally far apart."""
    has_log_odds: ClassVar[bool] = True
    """Whether margins can be treated as the log-odds of bits."""
    ignored: ClassVar[float] = 0
    """The entry of a class that a column does not learn from."""
    has_symbol_margins: ClassVar[bool] = False
    """Whether a column has a margin for each of its symbols, not a single one."""
    width: int | None = None
    """The width of the graph whose paths are the codewords, if there is one."""
    graph: Any = None
    """The trellis or tree whose paths are the codewords, if there is one."""
    trellis: Any = None
    tree: Any = None
    """The graph of a trellis, or that of a tree."""
    is_real: bool = False
    """Whether the entries are real-valued targets."""

    def __new__(
        cls,
        matrix: ArrayLike | None = None,
        *,
        name: str = "given",  # noqa: ARG004  (for __init__, as the next one)
        is_designed: bool = False,  # noqa: ARG004
        trellis: Any = None,
        tree: Any = None,
        n_symbols: int = 2,
        is_real: bool = False,
    ) -> Codebook:
        """A codebook of the kind that the parameters ask for."""
        if cls is not Codebook:
            return super().__new__(cls)
        if sum(given is not None for given in (matrix, trellis, tree)) != 1:
            raise ValueError(
                "A codebook needs exactly one of a matrix, a trellis and a tree. Got none of them, or several."
            )
        is_single = matrix is not None and np.shape(matrix)[1:] == (1,)
        if not 2 <= n_symbols <= (2 if matrix is None else MAX_SYMBOLS_OF_ONE if is_single else MAX_SYMBOLS):
            most = f"at most {MAX_SYMBOLS}" if matrix is not None else "2 on a trellis or a tree"
            raise ValueError(f"The 'n_symbols' parameter of a codebook must be at least 2 and {most}. Got {n_symbols}.")
        if is_real and (matrix is None or n_symbols > 2):
            raise ValueError("A codebook of real numbers needs a matrix, and has no symbols. Got is_real=True.")
        if matrix is None:
            kind = "trellis" if tree is None else "tree"
        else:
            kind = kind_of_matrix(n_symbols=n_symbols, is_real=is_real)
        from codekin.code import KINDS

        return super().__new__(KINDS[kind])

    def __init__(
        self,
        matrix: ArrayLike | None = None,
        *,
        name: str = "given",
        is_designed: bool = False,
        trellis: Any = None,
        tree: Any = None,
        n_symbols: int = 2,
        is_real: bool = False,  # noqa: ARG002  (decides the kind)
    ) -> None:
        self.name = name
        self.n_symbols = int(n_symbols)
        self.is_designed = is_designed
        self._take(next(given for given in (matrix, trellis, tree) if given is not None))

    @classmethod
    def of_symbols(cls, matrix: ArrayLike, n_symbols: int, **settings: Any) -> Codebook:
        """The codebook of a matrix whose symbols are numbered from 0; two of them become -1 and +1.

        Parameters
        ----------
        matrix : array-like of shape (n_codewords, n_bits)
        n_symbols : int
        **settings : dict
            Further parameters of a codebook.

        Returns
        -------
        Codebook
        """
        symbols = np.asarray(matrix)
        return cls(symbols if n_symbols > 2 else 2 * symbols - 1, n_symbols=n_symbols, **settings)

    @property
    def parameters(self) -> dict[str, Any]:
        """The parameters that make it this kind, besides its matrix or graph, its name and whether it is designed."""
        return {}

    def check_spare_codewords(self, n_classes: int) -> None:
        """Raise if a model for this number of classes would have far more codewords than classes."""

    def __reduce__(self) -> Any:
        """Copies and pickles are made without deciding the kind again."""
        return object.__new__, (type(self),), self.__dict__

    def _take(self, given: Any) -> None:
        """Check and keep the given matrix; kinds made of a graph keep that instead."""
        given = np.asarray(given)
        if given.ndim != 2 or 0 in given.shape:
            raise ValueError(
                f"The matrix of a codebook must have two dimensions and must not be empty. Got shape {given.shape}."
            )
        matrix = self._checked(given)
        _, first, counts = np.unique(matrix, axis=0, return_index=True, return_counts=True)
        if (counts > 1).any():
            row = int(first[counts > 1].min())
            twins = np.flatnonzero((matrix == matrix[row]).all(axis=1))
            raise ValueError(
                f"The codewords of a codebook must be distinct. Rows {int(twins[0])} and {int(twins[1])} of this "
                f"{self.name} codebook are equal."
            )
        matrix.flags.writeable = False
        self._matrix = matrix
        self.n_codewords, self.n_bits = matrix.shape

    def _checked(self, given: NDArray[Any]) -> CodingMatrix:
        """The entries in the type of this kind; an error if one of them is not allowed."""
        raise NotImplementedError

    def check_learner(self, name: str, learns_targets: bool) -> None:
        """Raise unless a learner learns the entries of this kind.

        Parameters
        ----------
        name : str
            What to call the learner.
        learns_targets : bool
            Whether it learns real numbers, as regressors do.
        """
        if learns_targets:
            raise ValueError(
                f"The bits of the {self.name} codebook are signs or symbols, which classifiers learn. Got {name}, a "
                "regressor; use a classifier, or a codebook of real numbers, such as 'eigen_targets'."
            )

    def loss_of_margins(self, natural_loss: str) -> str:
        """The decoding loss that suits margins, given the loss that the learner of a bit minimises."""
        return natural_loss

    @classmethod
    def entries_to_tell_apart(cls, column: CodingMatrix) -> IntArray | None:  # noqa: ARG003
        """The entries that are the classes of a column's learner, in increasing order; None if it learns numbers."""
        return np.array([-1, 1])

    @classmethod
    def constant_sign(cls, entry: int) -> int:
        """The sign of a column with this entry only."""
        return entry

    @property
    def softmax_loss(self) -> str:
        """The decoding loss under which the probabilities of a softmax are exact."""
        return "linear" if self.is_ternary else "logistic"

    @property
    def path_edges(self) -> IntArray | None:
        """The edges of every codeword's path, (n_codewords, n), -1 after the last, if +1 means an edge of a path."""
        return None

    @property
    def n_margins(self) -> int:
        """The number of margins of a sample: one per bit, or one per symbol of columns with more than two symbols."""
        return self.n_bits

    @property
    def weights_per_feature(self) -> int | None:
        """How many weights linear bits have for each feature; None if that is known only after training."""
        return self.n_bits

    def similar_order(self, n: int, *, breaking: bool = False) -> IntArray:
        """``n`` evenly spaced codewords in an order in which neighbours are similar or, to break, dissimilar.

        Parameters
        ----------
        n : int
        breaking : bool, default=False

        Returns
        -------
        ndarray of shape (n,)
        """
        chosen = self._similar_order()[np.arange(n) * self.n_codewords // n]
        return chosen[bit_reversed(n)] if breaking else chosen

    def _similar_order(self) -> IntArray:
        return principal_order(self.indicators)

    def bit_losses(
        self, margins: Margins, codewords: CodingMatrix, class_index: IntArray, loss: Callable[[Any], Any]
    ) -> FloatArray:
        """The mean loss of each bit over the samples, whose mean is epsilon (Eq. 3); zeros of a codeword cost ``L(0)``.

        That of a real bit is the square of what is missing to its target, which for -1 and +1 is the squared loss. That
        of a column of more symbols is minus the log-probability of the true one.

        Parameters
        ----------
        margins : array of shape (n_samples, n_margins)
        codewords : array of shape (n_classes, n_bits)
            Those of the classes.
        class_index : array of shape (n_samples,)
        loss : callable
            The loss of the bits.

        Returns
        -------
        ndarray of shape (n_bits,)
        """
        return np.asarray(loss(codewords[class_index] * np.asarray(margins, dtype=np.float64)).mean(axis=0))

    def size_terms(self, size_of_codeword: FloatArray, power: float) -> FloatArray:  # noqa: ARG002
        """What to add to the margin of each bit to divide probabilities by a power of the class sizes.

        Parameters
        ----------
        size_of_codeword : array of shape (n_codewords,)
        power : float

        Returns
        -------
        ndarray of shape (n_bits,)
        """
        return np.zeros(self.n_bits)


class SignCodebook(Codebook):
    """The rows of a matrix with entries -1, 0 and +1, 0 where a bit ignores a class: one binary predictor per bit."""

    kind = "signs"

    def _checked(self, given: NDArray[Any]) -> CodingMatrix:
        place = first_outside(~np.isin(given, (-1, 0, 1)))
        if place is not None:
            entry = given[place]
            remedy = " Give n_symbols if there are more than two." if entry > 1 else ""
            if given.dtype.kind == "f" and entry % 1:
                remedy = " Give is_real=True for targets that regressors learn."
            raise ValueError(
                f"The entries of a codebook must be -1, 0 or +1. Got {entry} in row {place[0]}, column {place[1]}."
                f"{remedy}"
            )
        matrix = np.array(given, dtype=np.int8, order="C")
        if (matrix == 0).any() and not ((matrix > 0).any() and (matrix < 0).any()):
            raise ValueError(
                f"The entries of a codebook must have both signs, since a bit ignores classes where it is 0. Got only "
                f"{np.unique(matrix).tolist()}. Write a matrix of 0 and 1 as 2 * matrix - 1."
            )
        return matrix


class GraphCodebook(Codebook):
    """The paths of a graph, whose edges are the bits: two numbers define them, and their matrix is lazy."""

    ranking_constants: ClassVar[RankingConstants]
    widths_to_try: ClassVar[tuple[int, ...]] = ()
    """The widths besides the default that a search within a budget tries, in this order."""

    def _take(self, given: Any) -> None:
        self.graph = given
        self.n_codewords, self.n_bits, self.width = int(given.n_paths), int(given.n_edges), int(given.width)

    @cached_property
    def matrix(self) -> CodingMatrix:
        return frozen(self.graph.codewords(np.arange(self.graph.n_paths, dtype=np.intp)))

    def codewords(self, indices: ArrayLike) -> CodingMatrix:
        known: Any = super() if "matrix" in self.__dict__ else self.graph
        return np.asarray(known.codewords(np.asarray(indices, dtype=np.intp)))

    def _similar_order(self) -> IntArray:
        """Paths with numbers close to each other share most of their edges."""
        return np.arange(self.n_codewords)

    @cached_property
    def min_distance(self) -> float:
        return float(self.graph.min_distance)

    def constant_bits(self, assignment: Any) -> NDArray[np.bool_]:  # noqa: ARG002
        """None count: it is fine if all paths share an edge."""
        return np.zeros(self.n_bits, dtype=bool)

    def least_bytes(self, n_features: int) -> int:  # noqa: ARG002
        """The bytes on disk of a code without any weights."""
        return 0

    def _distance_text(self) -> str:
        return f", minimum distance {self.min_distance:g}"


def kind_of_matrix(*, n_symbols: int = 2, is_real: bool = False) -> str:
    """The kind of a codebook that is made of a matrix, from its other parameters."""
    return "targets" if is_real else "symbols" if n_symbols > 2 else "signs"


def symbol_parameters(n_symbols: int) -> dict[str, int]:
    """The parameters that tell a codebook to have this many symbols; none for the two that all codebooks have."""
    return {"n_symbols": n_symbols} if n_symbols > 2 else {}


def first_outside(is_outside: NDArray[np.bool_]) -> tuple[int, int] | None:
    """The row and column of the first entry that is not allowed."""
    return tuple(int(i) for i in np.argwhere(is_outside)[0]) if is_outside.any() else None  # type: ignore[return-value]
