"""A fitted model as a folder of arrays and JSON, and back; never pickle.

    model.json          what the model is: format, shapes, choices, labels, versions, checksums of the other files
    arrays.safetensors  all arrays, memory-mapped when loaded
    learners.skops      learners of other libraries, if they are not among those that are stored as arrays

A folder is written under a temporary name and renamed when it is complete. ``docs/formats.md`` describes it in full.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from codekin._system.arrays import Arrays
from codekin._system.folders import bytes_in, check_folder, visible
from codekin.datasets.model_input import ModelInput
from codekin.model import Model
from codekin.model.prior import ClassPrior
from codekin.storage.assignments import SavedAssignment, load_assignment, save_assignment
from codekin.storage.classifier_parts import (
    ClassifierParts,
    describe_classifier,
    home_of,
    restore_classifier,
    with_subclasses,
)
from codekin.storage.consistency import check_classifier, check_input, check_member, check_ranking, check_shape
from codekin.storage.files import (
    ARRAYS,
    DESCRIPTION,
    LEARNER_FILE,
    MODEL_FILES,
    Json,
    ModelFolderError,
    Trust,
    folder_bytes,
    read_arrays,
    read_description,
    read_learners,
    write_folder,
)
from codekin.storage.learner_arrays import describe_learners, restore_learners
from codekin.storage.migrations import migrated
from codekin.storage.model_input import describe_input, restore_input
from codekin.storage.parts import describe_member, restore_member
from codekin.storage.ranked_parts import describe_ranking, restore_ranking

__all__ = [
    "ModelFolderError",
    "ModelInput",
    "SavedAssignment",
    "load_assignment",
    "load_input",
    "load_model",
    "save_assignment",
    "save_model",
    "stored_bytes",
]


def save_model(
    model: Any,
    folder: str | os.PathLike[str],
    *,
    model_input: ModelInput | None = None,
) -> Path:
    """Write a fitted model into a folder.

    Parameters
    ----------
    model : ECOCClassifier, TrellisClassifier, SubclassClassifier or Model
        What to save. The estimator of a SubclassClassifier must be one of the first two.
    folder : path
        Where to save it. An existing model is replaced; a folder with other visible files is refused.
    model_input : ModelInput, optional
        How the samples were read from a file, for programs that will read others: :func:`load_input` returns it.

    Returns
    -------
    Path
        The folder.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from sklearn.datasets import load_iris
    >>> from codekin import ECOCClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> classifier = ECOCClassifier(random_state=0).fit(X, y)
    >>> with TemporaryDirectory() as home:
    ...     again = load_model(save_model(classifier, f"{home}/iris"))
    ...     bool((again.predict(X) == classifier.predict(X)).all())
    True
    """
    target = check_target(folder)
    description, arrays, learners = describe(*_stored_parts(model), model_input)
    if learners:
        names = ", ".join(sorted({type(learner).__name__ for learner in learners}))
        sentence = f"Learners of type {names} are stored by skops, so loading this model will need trusted=True."
        warnings.warn(sentence, stacklevel=2)
    write_folder(target, description, arrays, learners)
    return target


def stored_bytes(model: Any, model_input: ModelInput | None = None) -> int:
    """The size of a model on disk in bytes, all files of its folder together, before it is saved.

    Parameters
    ----------
    model : ECOCClassifier, TrellisClassifier, SubclassClassifier or Model
        What :func:`save_model` would save.
    model_input : ModelInput, optional
        What it would save with it.

    Returns
    -------
    int
        The same as that of the files in the saved folder.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from sklearn.datasets import load_iris
    >>> from codekin import TrellisClassifier
    >>> classifier = TrellisClassifier(random_state=0).fit(*load_iris(return_X_y=True))
    >>> with TemporaryDirectory() as home:
    ...     folder = save_model(classifier, f"{home}/iris")
    ...     stored_bytes(classifier) == sum(file.stat().st_size for file in folder.iterdir())
    True
    """
    return bytes_of_parts(*_stored_parts(model), model_input)


def bytes_of_parts(model: Model, parts: ClassifierParts | None, model_input: ModelInput | None = None) -> int:
    """The size on disk of a model and what is around it."""
    return folder_bytes(*describe(model, parts, model_input))


def _stored_parts(model: Any) -> tuple[Model, ClassifierParts | None]:
    """A model, and the classifier's settings if it was saved from one."""
    if not hasattr(model, "_parts_to_store"):
        raise TypeError(
            "save_model saves an ECOCClassifier, a TrellisClassifier, a SubclassClassifier around one, or a Model. "
            f"Got an object of type {type(model).__name__}."
        )
    parts: tuple[Model, ClassifierParts | None] = model._parts_to_store()
    return parts


def describe(
    model: Model, parts: ClassifierParts | None, model_input: ModelInput | None = None
) -> tuple[Json, Arrays, list[Any]]:
    """A model and the classifier's settings as a description, arrays and the learners that arrays cannot describe."""
    arrays: Arrays = {}
    learners: list[Any] = []
    description: Json = {
        "n_classes": model.n_classes,
        "n_bits": model.n_bits,
        **describe_member(model.first, arrays, learners),
    }
    if model.prior is not None:
        arrays["class_frequencies"] = model.prior.sizes
    if model.ranking is not None:
        description["ranking"] = describe_ranking(model, arrays, learners)
    if parts is not None:
        description["classifier"] = describe_classifier(parts, arrays, learners)
    if model_input is not None:
        description["input"] = describe_input(model_input, arrays)
    kinds = describe_learners(learners, arrays) if learners else None
    if kinds is None:
        return description, arrays, learners
    return {**description, "learners": kinds}, arrays, []


def check_target(folder: str | os.PathLike[str]) -> Path:
    """The folder as a path, if a model may be saved there; called before training.

    Raises
    ------
    FileExistsError
        If something else is there already.
    OSError
        If nothing can be written there.
    """
    target = Path(folder)
    if target.exists() and not (target.is_dir() and ((target / DESCRIPTION).exists() or not visible(target))):
        raise FileExistsError(f"{target} exists and is not a model folder. Choose another name.")
    others = [] if not target.exists() else [path for path in visible(target) if path.name not in MODEL_FILES]
    if others:
        more = "" if len(others) == 1 else f" and {len(others) - 1} more"
        raise FileExistsError(
            f"{target} holds {min(path.name for path in others)}{more} besides a model; saving another there would "
            "remove that. Move it, or choose another name."
        )
    check_folder(target)
    return target


def load_model(folder: str | os.PathLike[str], *, trusted: Trust = False) -> Any:
    """Read back what :func:`save_model` wrote.

    Parameters
    ----------
    folder : path
        A model folder.
    trusted : bool or sequence of str, default=False
        Whether to load learners that are stored by skops, such as pipelines and boosted trees: these can do anything,
        so say True only if you know where the folder comes from. A list of names is passed to skops, which refuses
        types that are neither named nor known to it. Folders without ``learners.skops`` need no trust.

    Returns
    -------
    ECOCClassifier, TrellisClassifier, SubclassClassifier or Model
        Whichever was saved, ready to predict. Arrays stay on disk until they are used.
    """
    return load_saved(folder, trusted=trusted).model


def load_input(folder: str | os.PathLike[str], *, trusted: Trust = False) -> ModelInput:
    """How the samples of a saved model were read from a file.

    Parameters
    ----------
    folder : path
        A model folder.
    trusted : bool or sequence of str, default=False
        As in :func:`load_model`.

    Returns
    -------
    ModelInput
        Empty if nothing was saved about it.
    """
    return load_saved(folder, trusted=trusted).model_input


@dataclass(frozen=True, eq=False)
class SavedModel:
    """The content of a model folder; ``has_labels`` if the model is a classifier, not only a code."""

    model: Any
    model_input: ModelInput
    n_bytes: int
    has_labels: bool


def load_saved(folder: str | os.PathLike[str], *, trusted: Trust = False) -> SavedModel:
    """Read a model folder once, for the model and everything else in it."""
    source = Path(folder)
    while True:
        before = _identity(source)
        try:
            saved = _loaded(source, trusted)
        except (ModelFolderError, FileNotFoundError):
            if _identity(source) == before:
                raise
        else:
            if _identity(source) == before:
                return saved
        # Another process has saved a model here in the meantime, so that half of each was read.


def _identity(source: Path) -> object:
    """What distinguishes a folder from one that replaces it."""
    try:
        facts = (source / DESCRIPTION).stat()
    except OSError:
        return None
    return facts.st_dev, facts.st_ino, facts.st_mtime_ns


def _loaded(source: Path, trusted: Trust) -> SavedModel:
    description = read_description(source)
    arrays = read_arrays(source / ARRAYS)
    file = description["files"].get(LEARNER_FILE)
    learners = [] if file is None else read_learners(source / LEARNER_FILE, file["sha256"], trusted)
    with _explained(source):
        description = migrated(description)
        if "learners" in description:
            learners = restore_learners(description["learners"], arrays)
        model = restore_model(description, arrays, learners)
        check_shape(model, description)
        model_input = restore_input(description.get("input", {"encoding": {}}), arrays)
        classifier: Any = model
        if "classifier" in description:
            parts = restore_classifier(description["classifier"], arrays, learners, model.n_classes)
            check_classifier(parts, model)
            check_input(model_input, parts)
            coded = home_of(parts.kind)._from_stored(model, parts)
            classifier = with_subclasses(coded, parts.subclasses)
    return SavedModel(classifier, model_input, bytes_in(source), has_labels=classifier is not model)


def restore_model(description: Json, arrays: Arrays, learners: list[Any]) -> Model:
    """The model from a description and its arrays."""
    first = restore_member(description, arrays, learners)
    check_member(first)
    prior = ClassPrior(arrays["class_frequencies"]) if "class_frequencies" in arrays else None
    if "ranking" not in description:
        return Model((first,), prior=prior)
    model = restore_ranking(first, description["ranking"], arrays, learners)
    for member in model.members:
        check_member(member)
    check_ranking(model)
    return replace(model, prior=prior)


@contextmanager
def _explained(source: Path) -> Iterator[None]:
    try:
        yield
    except (LookupError, TypeError, AttributeError, ArithmeticError, RecursionError) as error:
        raise ModelFolderError(
            f"{source / DESCRIPTION}: a part of the model is missing or misplaced ({error})."
        ) from error
    except ValueError as error:
        reason = " ".join(str(error).split()).rstrip(".")
        raise ModelFolderError(f"{source}: the parts of the model do not fit together: {reason}.") from error
