"""The fitted model: one or more codes with their bits and decoders, a ranking of their best classes, a temperature.

Classes are indices here; estimators add labels. A code gives class ``y`` a probability proportional to ``exp(-loss_y /
temperature)``, normalised exactly over all classes; several codes give the mean of theirs. On a tree it is the product
of those on the path to a leaf, with the margins in every node divided by the temperature. A re-ranking keeps the total
probability of the candidates and redistributes it in proportion to ``exp(-final loss / its own temperature)``.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from codekin._system.parallel import available_threads
from codekin._system.rows import Row, n_samples_in
from codekin.code import Assignment, Code, Codebook, CodingMatrix, FloatArray, IntArray, Margins
from codekin.decoding import decoder_of
from codekin.decoding.decoder import NO_LOSS, Decoder, SingleBest, check_k
from codekin.decoding.losses import LossLike
from codekin.learners import FittedBits
from codekin.learners.linear import single_margins
from codekin.model.paths import RANKED, RankedPaths
from codekin.model.probabilities import ClassPrior, Marginals, code_log_proba
from codekin.model.reranking import CANDIDATES_PER_BLOCK, Candidates, RankedCodes, Reranking, with_candidates
from codekin.samples import rows_at

BLOCKS_AT_ONCE = 4
"""How many blocks of samples are ranked before the next margins are computed, or two for each thread."""
NUMBERS_AT_ONCE = 1 << 20
"""How many losses or probabilities are held at once where those of all classes are needed."""


@dataclass(frozen=True, eq=False)
class FittedCode:
    """A code with the predictors of its bits and a decoder.

    Parameters
    ----------
    code : Code
        The codeword of every class.
    bits : FittedBits
        The predictors of the bits.
    decoder : Decoder
        From margins to classes.
    """

    code: Code
    bits: FittedBits = field(repr=False)
    decoder: Decoder

    @classmethod
    def of(cls, code: Code, bits: FittedBits, loss: LossLike, *, is_weighted: bool = False) -> FittedCode:
        """A code and its bits with the fastest decoder for this code.

        Parameters
        ----------
        code : Code
        bits : FittedBits
        loss : str or callable
            The decoding loss.
        is_weighted : bool, default=False
            Divide the loss of a class by the number of its non-zero bits.

        Returns
        -------
        FittedCode
        """
        return cls(code, bits, decoder_of(code, loss, is_weighted=is_weighted))

    def __post_init__(self) -> None:
        link = getattr(self.bits, "link", "softmax")
        if getattr(self.decoder, "link", link) != link:
            object.__setattr__(self, "decoder", replace(cast("Any", self.decoder), link=link))

    def with_narrow_beam(self) -> FittedCode:
        """The same in less time, for candidate lists of very many samples, if its decoder searches."""
        return replace(self, decoder=self.decoder.with_narrow_beam())


@dataclass(frozen=True, eq=False)
class Model:
    """A fitted model: from samples, an array or a sparse matrix, to margins to classes.

    Parameters
    ----------
    codes : tuple of FittedCode
        The codes, at least one. Several codes need a ranking.
    ranking : Reranking, optional
        How many candidates each code contributes, and what rescores them. The codes must then be on one
        trellis or on trees, with a class for every path.
    n_threads : int, optional
        How many threads rank candidates; by default, as many as there are processors. The result does not depend on it.
    prior : ClassPrior, optional
        How frequent the classes are: the answer to sparse rows without an entry, about which the bits know nothing.
    temperature : float, default=1.0
        Divides losses before they become probabilities.
    probability_decoder : Decoder, optional
        Turns margins into the losses that become probabilities, by default the decoder of the code. Log-odds have a
        loss of their own, which may differ from the decoding loss.
    marginals : Marginals, optional
        Turns the final losses into the probabilities of several labels per sample, instead of all of the above.
    """

    codes: tuple[FittedCode, ...]
    ranking: Reranking | None = field(default=None, repr=False)
    n_threads: int | None = None
    prior: ClassPrior | None = field(default=None, repr=False)
    temperature: float = 1.0
    probability_decoder: Decoder | None = field(default=None, repr=False)
    marginals: Marginals | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        if not self.codes:
            raise ValueError("A model needs at least one code.")
        if self.ranking is not None:
            vectors, codes = self.ranking.vectors, self.ranked.codes
            if vectors is not None and len(vectors.scales) != codes[0].n_classes:
                raise ValueError(f"{self.n_classes} classes need as many class vectors. Got {len(vectors.scales)}.")
        elif len(self.codes) > 1:
            raise ValueError(f"A model without a ranking has a single code. Got {len(self.codes)}.")
        if not (np.isfinite(self.temperature) and self.temperature > 0):
            raise ValueError(f"The 'temperature' of a model must be greater than 0. Got {self.temperature} instead.")
        if self.marginals is not None:
            self.marginals.check(self.n_classes)
        if self.prior is not None and len(self.prior.sizes) != self.n_classes:
            raise ValueError(f"There are frequencies of {len(self.prior.sizes)} classes, not of {self.n_classes}.")

    def with_temperature(self, temperature: float) -> Model:
        """The same model with other probabilities; a higher temperature makes them more equal."""
        return replace(self, temperature=temperature)

    @property
    def first(self) -> FittedCode:
        """The first code with its bits; the only one of most models."""
        return self.codes[0]

    @property
    def code(self) -> Code:
        """The code of the first code."""
        return self.codes[0].code

    @property
    def codebook(self) -> Codebook:
        """The codewords of each code."""
        return self.codes[0].code.codebook

    @property
    def assignment(self) -> Assignment:
        """Which class has which codeword in the first code."""
        return self.codes[0].code.assignment

    @property
    def bits(self) -> FittedBits:
        """The predictors of the first code."""
        return self.codes[0].bits

    @property
    def decoder(self) -> Decoder:
        """The decoder of the first code."""
        return self.codes[0].decoder

    @property
    def is_single(self) -> bool:
        """Whether this is one code without a ranking, which can be trained further and get new classes."""
        return self.ranking is None

    @property
    def n_classes(self) -> int:
        """The number of classes."""
        return self.codes[0].code.n_classes

    @property
    def n_bits(self) -> int:
        """The number of bits of all codes together."""
        return sum(each.code.n_bits for each in self.codes)

    @cached_property
    def coding_matrix(self) -> CodingMatrix:
        """Row ``k`` holds the codewords of class ``k`` in all codes, one after the other."""
        parts = [each.code.coding_matrix for each in self.codes]
        return parts[0] if len(parts) == 1 else np.hstack(parts)

    def margins(self, X: Any) -> Margins:
        """One column per bit, those of the codes one after the other, (n_samples, n_bits)."""
        parts = [np.asarray(part) for part in self.lazy_margins(X)]
        return parts[0] if len(parts) == 1 else np.hstack(parts)

    def lazy_margins(self, X: Any) -> tuple[Any, ...]:
        """The margins of each code as its decoder takes them: those of a tree are computed on demand."""
        return tuple(each.bits.margins(X) for each in self.codes)

    def predict(self, X: Any) -> IntArray:
        """The class index with the smallest loss, (n_samples,)."""
        if self.ranking is None:
            classes = self.decoder.decode(self.lazy_margins(X)[0])
        else:
            classes = self.candidates(X, 1).classes[:, 0]
        if self.prior is not None:
            self.prior.put_best(X, classes[:, None])
        return classes

    def top_k(self, X: Any, k: int) -> tuple[IntArray, FloatArray]:
        """The k class indices with the smallest losses, and those losses, smallest first.

        With a ranking, classes beyond the candidates come after them, in the order of their decoding losses, which are
        raised as far as necessary. Those of rows without an entry are minus the logarithms of the frequencies.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        k : int
            At least 1 and at most the number of classes.

        Returns
        -------
        classes : ndarray of shape (n_samples, k)
        losses : ndarray of shape (n_samples, k)
        """
        check_k(k, self.n_classes)
        if self.ranking is None:
            classes, losses = self.decoder.top_k(self.lazy_margins(X)[0], k)
        else:
            classes, losses = self.ranked.top_k(X, self.lazy_margins(X), k, self.ranking)
        if self.prior is not None:
            self.prior.put_best(X, classes, losses)
        return classes, losses

    def class_losses(self, X: Any) -> FloatArray:
        """The loss of every class, (n_samples, n_classes); slow for very many classes."""
        if self.ranking is None:
            losses = self.decoder.class_losses(self.lazy_margins(X)[0])
        else:
            losses = self.ranked.class_losses(X, self.lazy_margins(X), self.ranking)
        if self.prior is not None:
            losses[self.prior.rows(X)] = self.prior.losses
        return losses

    def top_k_proba(self, X: Any, k: int, *, is_log: bool = False) -> tuple[IntArray, FloatArray]:
        """The k most probable class indices and their probabilities, largest first.

        They are normalised over all classes, without an array of all classes on a trellis or a tree.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        k : int
            At least 1 and at most the number of classes.
        is_log : bool, default=False
            Return logarithms, which are finite even where probabilities are rounded to 0.

        Returns
        -------
        classes : ndarray of shape (n_samples, k)
        probabilities : ndarray of shape (n_samples, k)
        """
        check_k(k, self.n_classes)
        margins = self.lazy_margins(X)
        if self.marginals is not None:
            classes, losses = self.top_k(X, k)
            logs = self.marginals.log_probabilities(losses)
        elif self.ranking is None:
            classes, logs = self.probability_decoders[0].most_probable(margins[0], k, self.temperature)
        else:
            found, of_found = self._candidate_log_proba(X, margins)
            # The candidates come first among the best classes, in the same order.
            if k <= found.shape[1] and (found[:, :k] >= 0).all():
                classes, logs = found[:, :k], of_found[:, :k]
            else:
                classes, _ = self.top_k(X, k)
                of_code = code_log_proba(self, margins, classes)(self.temperature)
                logs = with_candidates(of_code, classes, found, of_found, self.n_classes)
        numbers = logs if is_log else np.exp(logs)
        if self.prior is not None:
            self.prior.put_best(X, classes, numbers, "log_probabilities" if is_log else "probabilities")
        return classes, numbers

    def proba(self, X: Any) -> FloatArray:
        """The probabilities of all classes, (n_samples, n_classes); for very many use :meth:`top_k_proba`."""
        return np.asarray(np.exp(self.log_proba(X)))

    def log_proba(self, X: Any, class_index: IntArray | None = None) -> FloatArray:
        """The logarithms of the probabilities of all classes, or of one class per sample.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        class_index : array of shape (n_samples,), optional
            The class of each sample; -1 for none, whose probability is 0.

        Returns
        -------
        ndarray of shape (n_samples, n_classes), or (n_samples,)
        """
        n_samples = n_samples_in(X)
        if class_index is None:
            every = np.broadcast_to(np.arange(self.n_classes), (n_samples, self.n_classes))
            return self._log_proba_of(X, every, is_every=True)
        logs, step = np.empty(n_samples), max(NUMBERS_AT_ONCE // self.probability_decoders[0].n_listed(1), 1)
        for start in range(0, n_samples, step):
            rows = np.arange(start, min(start + step, n_samples))
            some = X if len(rows) == n_samples else rows_at(X, rows)
            logs[rows] = self._log_proba_of(some, class_index[rows, None])[:, 0]
        return logs

    @property
    def probability_decoders(self) -> tuple[Decoder, ...]:
        """The decoders whose losses become probabilities, one for each code."""
        own = self.probability_decoder
        return tuple(each.decoder for each in self.codes) if own is None else (own,)

    def _log_proba_of(self, X: Any, classes: IntArray, *, is_every: bool = False) -> FloatArray:
        """The logarithms of the probabilities of some classes of each sample; minus infinity for class -1."""
        if self.marginals is not None:
            logs = self.marginals.log_probabilities_of(self.class_losses(X), classes)
        else:
            margins = self.lazy_margins(X)
            logs = code_log_proba(self, margins, classes)(self.temperature)
            if self.ranking is not None:
                found = self._candidate_log_proba(X, margins)
                logs = with_candidates(logs, None if is_every else classes, *found, self.n_classes)
        if self.prior is not None:
            rows = self.prior.rows(X)
            logs[rows] = np.append(self.prior.log_probabilities, -np.inf)[classes[rows]]
        return logs

    def _candidate_log_proba(self, X: Any, margins: Any) -> tuple[IntArray, FloatArray]:
        """The candidates of a re-ranking, and the logarithms of their probabilities."""
        assert self.ranking is not None
        found = self.ranked.candidates(X, margins, None, self.ranking)
        of_code = code_log_proba(self, margins, found.classes)(self.temperature)
        return found.classes, self.ranking.shared_out(of_code, found.losses)

    def candidates(self, X: Any, n: int | None = None) -> Candidates:
        """The candidates of each sample, ranked.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        n : int, optional
            How many of them; by default, all.

        Returns
        -------
        Candidates
        """
        if self.ranking is None:
            raise ValueError("A model without a ranking lists no candidates; use top_k.")
        # Some samples at a time: their margins on all bits take far more memory.
        at_once = CANDIDATES_PER_BLOCK * max(BLOCKS_AT_ONCE, 2 * (self.n_threads or available_threads()))
        every: list[NDArray[Any]] = []
        for start in range(0, max(X.shape[0], 1), at_once):
            some = X[start : start + at_once] if X.shape[0] > at_once else X
            found = self.ranked.candidates(some, self.lazy_margins(some), n, self.ranking)
            if some is X:
                return found
            arrays = (found.classes, found.losses, found.scores, found.is_certified)
            every = every or [np.empty((X.shape[0], *array.shape[1:]), dtype=array.dtype) for array in arrays]
            for whole, array in zip(every, arrays, strict=True):
                whole[start : start + len(array)] = array
        return Candidates(*every)

    def single(self) -> SingleBest:
        """A function from a row, k and ``has_losses`` to class indices and losses, which are undefined without.

        All preparations are made once, in this call.
        """
        bits = [each.bits for each in self.codes]

        def otherwise(row: Row, k: int, *, has_losses: bool) -> tuple[IntArray, FloatArray]:
            if k == 1 and not has_losses:
                return self.predict(row.matrix()), NO_LOSS
            return tuple(found[0] for found in self.top_k(row.matrix(), k))

        if self.ranking is None:
            best = self.decoder.single(bits[0], single_margins)
        else:
            best = self.ranked.single(bits, self.ranking, otherwise)
        return best if self.prior is None else self.prior.single(best)

    def _parts_to_store(self) -> tuple[Model, None]:
        """The model alone, without a classifier around it, for :func:`codekin.storage.save_model`."""
        return self, None

    @cached_property
    def ranked(self) -> RankedCodes:
        """The codes as their kind is ranked; an error if it is not, or if they cannot be ranked together."""
        codes, decoders = zip(*((each.code, each.decoder) for each in self.codes), strict=True)
        return RANKED.get(self.codebook.kind, RankedPaths)(codes, decoders, self.n_threads)
