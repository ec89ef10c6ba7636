"""A page about a coded classifier."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from numpy.typing import ArrayLike

if TYPE_CHECKING:
    from codekin.datasets import FittedVectorizer

HOME = "codekin.explore.page"
"""Pages lie above estimators, so they are looked up when one is wanted."""


class Explored:
    """A classifier that can be looked at in a browser or a notebook."""

    def explore(
        self,
        X: Any = None,
        y: ArrayLike | None = None,
        *,
        texts: list[str] | None = None,
        vectorizer: FittedVectorizer | None = None,
        accuracies: ArrayLike | None = None,
        title: str = "Explorer",
    ) -> Any:
        """A page that shows how this classifier works: its coding matrix, classes, bits and predictions.

        The page is one HTML file below 5 MB that needs no network; notebooks display it.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features), default=None
            Samples, usually of a test set: for confusions, the losses of bits and predictions to look at.
        y : array-like of shape (n_samples,), default=None
            Their labels.
        texts : list of str, default=None
            The texts of the samples.
        vectorizer : FittedVectorizer, default=None
            Converts texts to features. With a single code on a trellis, texts can then be typed into the page.
        accuracies : array-like of shape (n_classes!,), default=None
            For at most ten classes: the test accuracy of every assignment in percent, in lexicographic order of
            ``codeword_of_class``.
        title : str, default="Explorer"
            The heading of the page.

        Returns
        -------
        ExplorerPage
            Displayed by notebooks; ``save(path)`` writes it.
        """
        page = import_module(HOME).explorer_page
        return page(self, X, y, texts=texts, vectorizer=vectorizer, accuracies=accuracies, title=title)
