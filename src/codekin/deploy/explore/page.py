"""The page itself: one HTML file with everything in it, below five megabytes."""

from __future__ import annotations

import html
import os
from dataclasses import dataclass, field
from math import factorial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from codekin._system.arrays import as_narrow
from codekin._system.files import whole_file
from codekin._system.memory import in_units
from codekin._system.messages import with_article
from codekin._version import __version__
from codekin.code import entry_for
from codekin.data.row_features import Features, FittedRows
from codekin.deploy.explore.content import MOST_TO_TYPE, N_BEST, WRITERS, described
from codekin.deploy.export.page import ROWS, described_model, packed
from codekin.deploy.export.page import SCRIPTS as ENGINE
from codekin.explaining import quadrature
from codekin.pages.html import asset, filled
from codekin.samples import Samples

MAX_BYTES = 5_000_000
LEAST_STEP = 0.1
"""Accuracies are rounded to this many points: two bytes each, which compress well."""
LABEL_LENGTHS = (80, 40, 20, 8)
"""How many characters of a label are kept; fewer if the page would be too large."""
SCRIPTS = {
    "codekin.deploy.export": (*ENGINE, ROWS),
    "codekin.deploy.explore": ("explorer.js", "panels.js", "contributions.js", "sample.js", "moving.js"),
}
FRAME = '<iframe srcdoc="{page}" title="{title}" style="width: 100%; height: 46rem; border: 1px solid #8886"></iframe>'


@dataclass(frozen=True)
class ExplorerPage:
    """A page that shows how a model works; notebooks display it.

    Parameters
    ----------
    html : str
        The page, which needs no other file and no network.
    title : str
        Its heading.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from codekin import ECOCClassifier
    >>> X, y = load_digits(return_X_y=True)
    >>> page = ECOCClassifier(n_bits=10, random_state=0).fit(X[:300], y[:300]).explore(X[300:400], y[300:400])
    >>> page
    <ExplorerPage 'Explorer': ...>
    """

    html: str = field(repr=False)
    title: str = "Explorer"

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the page to a file, which appears whole or not at all.

        Parameters
        ----------
        path : path
            The file; an existing one is replaced.

        Returns
        -------
        Path
            The file.
        """
        target = Path(path)
        with whole_file(target) as stream:
            stream.write(self.html.encode("utf-8"))
        return target

    def _repr_html_(self) -> str:
        """The page in a frame, for notebooks."""
        return FRAME.format(page=html.escape(self.html, quote=True), title=html.escape(self.title, quote=True))

    def __repr__(self) -> str:
        """One line: the title and the size."""
        return f"<ExplorerPage {self.title!r}: {in_units(len(self.html.encode('utf-8')))}>"


def explorer_page(
    classifier: Any,
    X: Any = None,
    y: ArrayLike | None = None,
    *,
    texts: list[Any] | None = None,
    vectorizer: Features | None = None,
    accuracies: ArrayLike | None = None,
    title: str = "Explorer",
    feature_name: Any = None,
) -> ExplorerPage:
    """A page about a fitted classifier; see ``ECOCClassifier.explore``.

    ``feature_name`` is a function from the row of a sample and a feature to what the feature is called there.
    """
    classifier._check_is_fitted()
    entry_for(WRITERS, classifier.codebook_)
    samples = None
    if (X is None) != (y is None):
        raise ValueError(f"explore needs samples and their labels, or neither. Got no {'X' if X is None else 'y'}.")
    if X is not None and y is not None:
        checked = classifier._validated_samples(X)
        samples = Samples(checked, classifier._class_index(y))
        n = checked.shape[0] if hasattr(checked, "shape") else len(checked)
        if len(samples.class_index) != n or (texts is not None and len(texts) != n):
            raise ValueError(f"There are {n} samples. Got another number of labels or texts.")
        if n == 0:
            raise ValueError("explore needs at least one sample, or none at all. Got an empty X.")
    names = _names(classifier, vectorizer, texts) if feature_name is None else feature_name
    if isinstance(vectorizer, FittedRows) and texts is not None:
        n_shown = vectorizer.columns.places("embeddings").start
        texts = [" | ".join(map(str, row[:n_shown])) for row in texts] if n_shown else None
    typed, note = _typed(classifier, vectorizer)
    swept = None if accuracies is None else _checked_accuracies(classifier.model_, accuracies)
    script = "\n".join(asset(package, name) for package, names in SCRIPTS.items() for name in names)
    footer = f"This is {with_article(type(classifier).__name__)}. Everything is in this page; nothing leaves it. "
    footer += f"Made with codekin {__version__}."
    style = asset("codekin.deploy.explore", "explorer.css")
    values = {"title": html.escape(title), "style": style, "script": script, "footer": footer}
    for length in LABEL_LENGTHS:
        description, arrays = described(classifier, samples, texts, names, length)
        if swept is not None:
            arrays["accuracies"] = swept
        own = [note] if note else []
        if samples is None:
            own.append("Samples, confusions and the losses of bits need a file of samples: give one with --data.")
        if length < LABEL_LENGTHS[0]:
            own.append(f"Labels are cut to {length} characters, so that the page stays small.")
        content = packed({**description, "notes": own}, arrays)
        model = typed
        if model and len(content) + len(model) > MAX_BYTES - 100_000:
            model = ""
            own.append(f"Typing texts is left out: this model would add {in_units(len(typed))}.")
            content = packed({**description, "notes": own}, arrays)
        page = filled(asset("codekin.deploy.explore", "explorer.html"), {**values, "content": content, "model": model})
        if len(page.encode("utf-8")) <= MAX_BYTES:
            break
    else:
        raise ValueError(f"A page about this model would take {in_units(len(page))}; at most 5 MB are allowed.")
    return ExplorerPage(page, title)


def _checked_accuracies(model: Any, accuracies: ArrayLike) -> NDArray[np.uint16]:
    """Accuracies in percent as whole numbers of tenths, one for each order of the codewords.

    They are in lexicographic order of ``codeword_of_class``, as :func:`itertools.permutations` lists them.
    """
    given = np.asarray(accuracies, dtype=np.float64)
    n = factorial(model.n_classes) if model.n_classes <= 10 else 0
    if given.shape != (n,) or model.codebook.n_codewords != model.n_classes:
        raise ValueError(
            "The accuracies of a sweep are one for each assignment of at most 10 classes to as many codewords. "
            f"Got shape {given.shape} for {model.n_classes} classes and {model.codebook.n_codewords} codewords."
        )
    if not (np.isfinite(given).all() and given.min() >= 0 and given.max() <= 100):
        raise ValueError("The accuracies of a sweep must be between 0 and 100 percent. Got one that is not.")
    return np.rint(given / LEAST_STEP).astype(np.uint16)


def _typed(classifier: Any, vectorizer: Features | None) -> tuple[str, str]:
    """What a page needs to predict texts, and what to say if it cannot."""
    if vectorizer is None:
        return "", ""
    model = classifier.model_
    if model.n_classes > MOST_TO_TYPE:
        return "", f"Texts can be typed for up to {MOST_TO_TYPE:,} classes."
    try:
        description, arrays = described_model(classifier, vectorizer, N_BEST)
    except ValueError as error:
        return "", f"Texts cannot be typed here. {error}"
    # In the order of the page; the labels are there, too.
    description["labels"] = []
    arrays["class_of_path"] = as_narrow(np.argsort(model.assignment.codeword_of_class, kind="stable"))
    arrays["quadrature_places"], arrays["quadrature_weights"] = quadrature()
    ranking = model.ranking
    description["n_best"] = model.n_classes if ranking is None else min(ranking.n_candidates, model.n_classes)
    return packed(description, arrays), ""


def _names(classifier: Any, vectorizer: Any, texts: list[Any] | None) -> Any:
    if vectorizer is not None and texts is not None:

        def word(row: int, feature: int) -> str:
            return " / ".join(vectorizer.terms_by_column(texts[row]).get(feature, [f"feature {feature}"]))

        return word
    names = getattr(classifier, "feature_names_in_", None)
    return lambda _, feature: f"feature {feature}" if names is None else str(names[feature])
