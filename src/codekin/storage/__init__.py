"""A fitted model as a folder of arrays and JSON, and back; never pickle.

    model.json          what the model is: format, shapes, choices, labels, versions, checksums of the other files
    arrays.safetensors  all arrays, memory-mapped when loaded
    learners.skops      learners of other libraries, if they are not among those that are stored as arrays

A folder is written under a temporary name and renamed when it is complete. ``docs/reference/formats.md`` describes it.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from codekin._system.arrays import are_plain, read_arrays, write_arrays
from codekin._system.files import (
    bytes_in,
    check_folder,
    json_checksum,
    sha256,
    visible,
    whole_file,
    whole_folder,
)
from codekin._version import __version__
from codekin.data.model_input import ModelInput
from codekin.learners.independent import are_of_estimators
from codekin.model import Model
from codekin.states import (
    ARRAYS,
    DESCRIPTION,
    FORMAT,
    FORMAT_VERSION,
    LEARNER_FILE,
    ModelFolderError,
    SavedClassifier,
    State,
    as_json,
)
from codekin.states.values import Json
from codekin.storage.loaded import LoadedClassifier

if TYPE_CHECKING:
    from codekin.storage.assignments import SavedAssignment, load_assignment, save_assignment

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


def __dir__() -> list[str]:
    return __all__


def __getattr__(name: str) -> Any:
    if name in ("SavedAssignment", "load_assignment", "save_assignment"):  # they need all codebooks and searches
        return getattr(import_module("codekin.storage.assignments"), name)
    raise AttributeError(f"module 'codekin.storage' has no attribute {name!r}")


Trust = bool | Sequence[str]
"""True for everything that a file of learners holds, or the full names of types that skops does not trust by itself."""


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
    with whole_folder(target) as unfinished:
        write_arrays(unfinished / ARRAYS, state.arrays)
        if state.learners:
            from skops.io import dump

            dump(state.learners, unfinished / LEARNER_FILE)
        files = [path for path in (unfinished / ARRAYS, unfinished / LEARNER_FILE) if path.exists()]
        facts = {path.name: {"bytes": path.stat().st_size, "sha256": sha256(path)} for path in files}
        description = {**state.description, "files": facts}
        description["sha256"] = json_checksum(description)
        with whole_file(unfinished / DESCRIPTION) as stream:
            stream.write(as_json(description))
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
    """The folder as a path, if a model may be saved there, and an error otherwise; called before training."""
    target = Path(folder)
    found = [path.name for path in visible(target)] if target.is_dir() else []
    if (target.exists() and not target.is_dir()) or (found and DESCRIPTION not in found):
        raise FileExistsError(f"{target} exists and is not a model folder. Choose another name.")
    others = [name for name in found if name not in (DESCRIPTION, ARRAYS, LEARNER_FILE)]
    if others:
        more = "" if len(others) == 1 else f" and {len(others) - 1} more"
        raise FileExistsError(
            f"{target} holds {others[0]}{more} besides a model; saving another there would remove that. Move it, or "
            "choose another name."
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
        Whichever was saved, ready to predict. Arrays stay on disk until they are used. If nothing has
        imported scikit-learn, this is an object that imports it, and becomes the estimator, only when it is needed: not
        to predict sparse rows.
    """
    saved = load_saved(folder, trusted=trusted)
    if "sklearn" in sys.modules or not saved.needs_no_estimator:
        return saved.model
    return LoadedClassifier(saved)


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
    """The content of a model folder.

    ``coded`` is the Model that predicts; ``parts`` are those of the classifier, None for a code without labels.
    """

    folder: Path
    coded: Model
    model_input: ModelInput
    parts: SavedClassifier | None

    @cached_property
    def model(self) -> Any:
        """What was saved: the estimator, or the Model."""
        from codekin import estimators

        if self.parts is None:
            return self.coded
        with _explained(self.folder):
            classifier = getattr(estimators, self.parts.kind)._from_stored(self.coded, self.parts)
            parts = self.parts.subclasses
            return classifier if parts is None else estimators.SubclassClassifier._from_stored(classifier, parts)

    def takes(self, X: Any) -> bool:
        """Whether the Model can predict these samples: its estimator, which needs scikit-learn, would check nothing."""
        return self.needs_no_estimator and self.parts is not None and are_plain(X, self.parts.n_features)

    @property
    def needs_no_estimator(self) -> bool:
        """Whether the Model takes plain rows: it has learners of codekin, and features without names."""
        parts = self.parts
        is_plain = parts is not None and parts.feature_names is None and parts.subclasses is None
        return is_plain and not are_of_estimators(self.coded.codes[0].bits)

    @property
    def n_bytes(self) -> int:
        """The size of the folder."""
        return bytes_in(self.folder)


def load_saved(folder: str | os.PathLike[str], *, trusted: Trust = False) -> SavedModel:
    """Read all of a model folder once."""
    source = Path(folder)
    while True:
        before = _identity(source)
        try:
            state = _read(source, trusted)
            with _explained(source):
                model, parts, model_input = state.restored()
        except (ModelFolderError, FileNotFoundError):
            if _identity(source) == before:
                raise
        else:
            if _identity(source) == before:
                return SavedModel(source, model, model_input, parts)
        # Another process has saved a model here in the meantime, so that half of each was read.


def _identity(source: Path) -> object:
    """What distinguishes a folder from one that replaces it."""
    try:
        facts = (source / DESCRIPTION).stat()
    except OSError:
        return None
    return facts.st_dev, facts.st_ino, facts.st_mtime_ns


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


def _read(folder: Path, trusted: Trust) -> State:
    """The state in a model folder, in the format in which it was written; checksums are compared."""
    description = _description(folder)
    try:
        arrays = read_arrays(folder / ARRAYS)
    except ValueError as error:
        raise ModelFolderError(str(error)) from error
    file = description["files"].get(LEARNER_FILE)
    learners = [] if file is None else read_learners(folder / LEARNER_FILE, file["sha256"], trusted)
    return State(description, arrays, learners)


def _description(folder: Path) -> Json:
    """The content of ``model.json``, checked against its own checksum and those of the other files."""
    path = folder / DESCRIPTION
    if not path.is_file():
        raise ModelFolderError(f"{folder} is not a model folder: it has no {DESCRIPTION}.")
    try:
        description = json.loads(path.read_text(encoding="utf-8"))
        checksum = json_checksum(description) if isinstance(description, dict) else None
    except (ValueError, RecursionError) as error:
        raise ModelFolderError(f"{path} is not JSON: {error}.") from error
    if not isinstance(description, dict) or description.get("format") != FORMAT:
        raise ModelFolderError(f"{path} does not describe a model: its 'format' must be {FORMAT!r}.")
    version = description.get("format_version")
    if version not in range(1, FORMAT_VERSION + 1):
        raise ModelFolderError(
            f"{path} has format version {version}; codekin {__version__} reads versions 1 to {FORMAT_VERSION}."
        )
    if description.get("sha256") != checksum:
        raise ModelFolderError(f"{path} was changed after it was written: its checksum does not match.")
    files = description.get("files")
    if not isinstance(files, dict) or ARRAYS not in files or not set(files) <= {ARRAYS, LEARNER_FILE}:
        raise ModelFolderError(f"{path}: 'files' must list {ARRAYS}, and nothing but that and {LEARNER_FILE}.")
    for name, facts in files.items():
        file = folder / name
        if not file.is_file():
            raise ModelFolderError(f"{file} is missing.")
        if not isinstance(facts, dict) or file.stat().st_size != facts.get("bytes"):
            raise ModelFolderError(f"{file} has {file.stat().st_size} bytes, which is not what {DESCRIPTION} says.")
        if sha256(file) != facts.get("sha256"):
            raise ModelFolderError(f"{file} was changed after it was written: its checksum does not match.")
    return description


def read_learners(path: Path, checksum: str, trusted: Trust) -> list[Any]:
    """The learners of a skops file, which can run anything, so that users must trust it."""
    if isinstance(trusted, str):
        raise TypeError(f"'trusted' must be True or a list of names. Got {trusted!r} instead.")
    if not trusted:
        raise ModelFolderError(
            f"{path} holds learners stored by skops, which can run anything. If you know where it comes from, load it "
            "with trusted=True, on the command line with --trust."
        )
    content = path.read_bytes()
    if hashlib.sha256(content).hexdigest() != checksum:
        raise ModelFolderError(f"{path} was changed after it was written: its checksum does not match.")
    from skops.io import get_untrusted_types, loads

    try:
        learners = loads(content, trusted=get_untrusted_types(data=content) if trusted is True else list(trusted))
    except Exception as error:  # skops raises what zipfile, json and the constructors raise
        reason = " ".join(str(error).split()).rstrip(".")
        raise ModelFolderError(f"{path} cannot be read by skops: {type(error).__name__}: {reason}.") from error
    if not isinstance(learners, list):
        raise ModelFolderError(f"{path} must hold a list of learners. It holds a {type(learners).__name__}.")
    return learners
