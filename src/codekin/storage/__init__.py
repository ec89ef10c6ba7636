"""A fitted model as a folder of arrays and JSON, and back; never pickle.

    model.json          what the model is: format, shapes, choices, labels, versions, checksums of the other files
    arrays.safetensors  all arrays, memory-mapped when loaded
    learners.skops      learners of other libraries, if they are not among those that are stored as arrays

A folder is written under a temporary name and renamed when it is complete. ``docs/reference/formats.md`` describes it.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from reprlib import repr as shortened
from typing import Any

from codekin._system.files import bytes_in, check_folder, visible
from codekin.data.model_input import ModelInput
from codekin.model import Model
from codekin.states import DESCRIPTION, ModelFolderError, SavedClassifier, State
from codekin.storage.assignments import SavedAssignment, load_assignment, save_assignment
from codekin.storage.folder import MODEL_FILES, Trust, read_folder, write_folder

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
    model : ECOCClassifier, ExtremeClassifier, SubclassClassifier, TextClassifier or Model
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
    own = getattr(model, "model_input_", None) if model_input is None else model_input
    target, state = check_target(folder), State.of(*_stored_parts(model), own)
    if state.learners:
        names = ", ".join(sorted({type(learner).__name__ for learner in state.learners}))
        sentence = f"Learners of type {names} are stored by skops, so loading this model will need trusted=True."
        warnings.warn(sentence, stacklevel=2)
    write_folder(target, state)
    return target


def stored_bytes(model: Any, model_input: ModelInput | None = None) -> int:
    """The size of a model on disk in bytes, all files of its folder together, before it is saved.

    Parameters
    ----------
    model : ECOCClassifier, ExtremeClassifier, SubclassClassifier, TextClassifier or Model
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
    >>> from codekin import ExtremeClassifier
    >>> classifier = ExtremeClassifier(random_state=0).fit(*load_iris(return_X_y=True))
    >>> with TemporaryDirectory() as home:
    ...     folder = save_model(classifier, f"{home}/iris")
    ...     stored_bytes(classifier) == sum(file.stat().st_size for file in folder.iterdir())
    True
    """
    own = getattr(model, "model_input_", None) if model_input is None else model_input
    return State.of(*_stored_parts(model), own).n_bytes


def _stored_parts(model: Any) -> tuple[Model, SavedClassifier | None]:
    """A model, and the classifier's settings if it was saved from one."""
    if not hasattr(model, "_parts_to_store"):
        raise TypeError(
            "save_model saves an ECOCClassifier, an ExtremeClassifier, a SubclassClassifier around one, "
            "a TextClassifier or a Model. "
            f"Got an object of type {type(model).__name__}."
        )
    parts: tuple[Model, SavedClassifier | None] = model._parts_to_store()
    return parts


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
    ECOCClassifier, ExtremeClassifier, SubclassClassifier or Model
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
    """The content of a model folder; ``parts`` are those of the classifier, None for a code without labels."""

    folder: Path
    model: Any
    model_input: ModelInput
    parts: SavedClassifier | None

    @property
    def n_bytes(self) -> int:
        """The size of the folder."""
        return bytes_in(self.folder)


def load_saved(folder: str | os.PathLike[str], *, trusted: Trust = False, has_estimator: bool = True) -> SavedModel:
    """Read all of a model folder once; without the estimator, ``model`` is the Model that it would predict with."""
    source = Path(folder)
    while True:
        before = _identity(source)
        try:
            saved = _loaded(source, trusted, has_estimator)
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


def _loaded(source: Path, trusted: Trust, has_estimator: bool) -> SavedModel:
    state = read_folder(source, trusted)
    with _explained(source):
        model, parts, model_input = state.restored()
        loaded = model if parts is None else _classifier(model, parts, has_estimator)
    return SavedModel(source, loaded, model_input, parts)


def _classifier(model: Model, parts: SavedClassifier, has_estimator: bool) -> Any:
    """The estimator of a model, or only the model that it predicts with."""
    from codekin.estimators import ECOCClassifier, ExtremeClassifier, SubclassClassifier, TrellisClassifier

    kinds: dict[str, Any] = {each.__name__: each for each in (ECOCClassifier, ExtremeClassifier, TrellisClassifier)}
    if parts.kind not in kinds:
        raise KeyError(f"a classifier of kind {shortened(parts.kind)}")
    if not has_estimator:
        return kinds[parts.kind]._stored_model(model, parts)
    classifier = kinds[parts.kind]._from_stored(model, parts)
    return classifier if parts.subclasses is None else SubclassClassifier._from_stored(classifier, parts.subclasses)


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
