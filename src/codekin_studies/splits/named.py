"""Learners of splits by the dotted name of a class: any classifier of scikit-learn.

Importing a name runs code. Names of other packages are refused unless the user trusts them (``--trust``); the file of
a study cannot say so itself.
"""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Collection, Mapping
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from codekin.code import CodingMatrix

TRUSTED = "sklearn"


def is_named(name: str) -> bool:
    """Whether this is a dotted name, not one of our learners.

    >>> is_named("sklearn.svm.LinearSVC"), is_named("linear_svm")
    (True, False)
    """
    return all(part.isidentifier() for part in name.split(".")) and "." in name


def classifier_of(name: str, parameters: Mapping[str, Any], trusted: Collection[str] = ()) -> Any:
    """A classifier, not fitted; a ValueError says why there is none."""
    package = name.partition(".")[0]
    if package not in (TRUSTED, *trusted):
        raise ValueError(
            f"{name} is not of scikit-learn, and importing it runs its code. If you trust it, say --trust {package}."
        )
    module, _, of_class = name.rpartition(".")
    found: Any = None
    try:
        found = getattr(import_module(module), of_class)
    except (ImportError, AttributeError):
        raise ValueError(f"There is no {name}.") from None
    if not (inspect.isclass(found) and hasattr(found, "fit") and hasattr(found, "get_params")):
        raise ValueError(f"{name} is not a classifier.")
    make: Any = found
    try:
        known = make().get_params(deep=False)
    except TypeError:
        raise ValueError(f"{name} cannot be made without another estimator.") from None
    unknown = [key for key in parameters if key not in known]
    if unknown:
        raise ValueError(f"{name} has no parameter {unknown[0]!r}. It has {', '.join(known)}.")
    made = make(**parameters)
    if not (hasattr(made, "decision_function") or hasattr(made, "predict_proba")):
        raise ValueError(f"{name} gives neither decisions nor probabilities, so its bits have no margins.")
    if getattr(made, "_estimator_type", "classifier") != "classifier":
        raise ValueError(f"{name} is not a classifier.")
    validate = getattr(made, "_validate_params", None)
    if validate is not None:
        validate()  # raises a ValueError
    return made


def named_margins(  # noqa: PLR0917
    name: str,
    parameters: Mapping[str, Any],
    X: tuple[NDArray[Any], NDArray[Any]],
    signs: CodingMatrix,
    y: Any,
    seed: int,
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """The margins of one classifier per column of ``signs``, on training and on test samples.

    They are its decisions or, without any, twice the probability of +1, less one. Warnings are not repeated for every
    split. The configuration was checked before, so the name is imported as it is.
    """
    made = classifier_of(name, parameters, trusted=(name.partition(".")[0],))
    if "random_state" in made.get_params(deep=False) and "random_state" not in parameters:
        made.set_params(random_state=seed)
    from sklearn.base import clone

    columns: tuple[list[Any], list[Any]] = ([], [])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for column in signs.T:
            fitted = clone(made).fit(X[0], column[y])
            for part, samples in zip(columns, X, strict=True):
                if hasattr(fitted, "decision_function"):
                    part.append(fitted.decision_function(samples))
                else:
                    part.append(2 * fitted.predict_proba(samples)[:, 1] - 1)
    train, test = (np.column_stack(part).astype(np.float32) for part in columns)
    return train, test
