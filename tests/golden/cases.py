"""Settings, data and seed of each case, and what is kept of it.

The corpus guards changes that must not change results. Each case is fitted, saved and loaded through public names;
kept are digests of all arrays and of the description in the saved folder, the best classes of some samples with their
probabilities, and what ONNX and an exported page answer. ``python -m tests.golden`` writes ``answers.json`` after a
change that was meant; the CHANGELOG then says which bytes changed and why.
"""

from __future__ import annotations

import hashlib
import json
import platform
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_digits
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression, Ridge, RidgeClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier
from threadpoolctl import threadpool_limits

from codekin import ECOCClassifier, ExtremeClassifier, SubclassClassifier, load_model, save_model
from codekin._system.arrays import read_arrays
from codekin.classes import ClassTree
from codekin.data import TextVectorizer, load_dataset

ANSWERS = Path(__file__).parent / "answers.json"
SKOPS = "learners.skops"
ASK, SHOWN = "return { best: TEXTS.map((text) => predict(given, text, N_BEST)) };", ("label", "probability")
N_ASKED, N_BEST = 6, 3
UNSETTLED = ("versions", "files", "sha256", "microseconds", "seconds")
"""What differs from run to run, or says only that something else does."""
OWN_MATRIX = np.sign(np.random.default_rng(3).normal(size=(10, 12)))


@dataclass(frozen=True)
class Case:
    """A classifier, the data that it is fitted on, and where its model is exported to."""

    make: Callable[[], Any]
    data: str = "digits"
    has_validation: bool = False
    has_onnx: bool = False
    has_page: bool = False
    then: Callable[[Any, Any, Any], Any] | None = None
    """What is done after fitting, with further samples."""
    is_same_elsewhere: bool = True
    """Not if eigenvectors of a nearly symmetric problem decide: they differ between processors."""


@dataclass(frozen=True)
class Data:
    """Training, validation and asked samples; texts have a vectorizer."""

    train: tuple[Any, Any]
    validation: tuple[Any, Any]
    asked: Any
    texts: list[str] | None = None
    vectorizer: Any = None
    class_tree: ClassTree | None = None


@cache
def data(name: str) -> Data:
    """The samples of a data set of the corpus."""
    if name == "digits":
        X, y = load_digits(return_X_y=True)
        X /= 16
        return Data((X[:700], y[:700]), (X[700:900], y[700:900]), X[900:960])
    icd = load_dataset("icd10cm")
    vectorizer = TextVectorizer("words", word_ngrams=(1, 1)).fit(icd.train.texts)
    transform, texts = vectorizer.transform, icd.test.texts[::60]
    parts = [(transform(icd.train.texts[start::step]), icd.train.y[start::step]) for start, step in ((0, 5), (1, 20))]
    return Data(*parts, transform(texts), texts, vectorizer, icd.class_tree)


def _grown(classifier: Any, X: Any, y: Any) -> Any:
    new = X[:40] + 0.5
    classifier.add_classes(new, np.arange(40) % 2 + 10)
    return classifier.partial_fit(X, y)


def _ecoc(estimator: Any = None, **settings: Any) -> Callable[[], Any]:
    return lambda: ECOCClassifier(estimator, random_state=0, **settings)


def _many(**settings: Any) -> Callable[[], Any]:
    return lambda: ExtremeClassifier(random_state=0, **settings)


CASES: dict[str, Case] = {
    "default of few classes": Case(_ecoc(), has_onnx=True),
    "preserving": Case(_ecoc(LinearSVC(), n_bits=10), has_onnx=True),
    "random": Case(_ecoc(LinearSVC(), n_bits=10, assignment="random")),
    "breaking": Case(_ecoc(RidgeClassifier(), n_bits=10, assignment="breaking")),
    "one-vs-one": Case(_ecoc(LinearSVC(), codebook="one_vs_one", weighted_decoding=True), has_onnx=True),
    "learned decoding": Case(_ecoc(LinearSVC(), n_bits=15, decoding="learned")),
    "trees": Case(_ecoc(DecisionTreeClassifier(random_state=1), n_bits=15)),
    "forests": Case(_ecoc(RandomForestClassifier(4, random_state=1), n_bits=8)),
    "naive Bayes": Case(_ecoc(GaussianNB(), n_bits=12)),
    "three symbols": Case(_ecoc(LinearDiscriminantAnalysis(), n_symbols=3, n_bits=6)),
    "targets": Case(_ecoc(Ridge(), codebook="random_projection", n_bits=6), has_onnx=True),
    "calibrated": Case(_ecoc(LinearSVC(), n_bits=10, calibrate="cv")),
    "balanced": Case(_ecoc(LogisticRegression(), codebook="hadamard", class_weight="balanced", loss="hinge")),
    "own matrix": Case(_ecoc("arow", codebook=OWN_MATRIX, class_distances="means"), has_onnx=True),
    "softmax of few classes": Case(_ecoc("softmax", codebook="one_vs_rest")),
    "designed": Case(_ecoc(LinearSVC(), codebook="spectral", class_distances="confusion"), is_same_elsewhere=False),
    "trellis as a codebook": Case(_ecoc(LogisticRegression(), codebook="trellis")),
    "classes in parts": Case(
        lambda: SubclassClassifier(ECOCClassifier(RidgeClassifier(), n_bits=10, random_state=0), random_state=0)
    ),
    "dense trellis": Case(_many(width=3), has_validation=True),
    "dense tree": Case(_many(code="tree", width=3), has_validation=True),
    "grown": Case(_many(width=2, rerank=None, n_reserved=4), then=_grown),
    "a machine of each class": Case(_many(), "icd10cm", has_onnx=True, has_page=True),
    "machines with validation": Case(_many(), "icd10cm", has_validation=True),
    "default of many classes": Case(_many(code="tree"), "icd10cm", has_onnx=True, has_page=True),
    "default with validation": Case(_many(code="tree"), "icd10cm", has_validation=True),
    "with a taxonomy": Case(
        lambda: ExtremeClassifier(taxonomy=data("icd10cm").class_tree, random_state=0), "icd10cm", has_validation=True
    ),
    "the paper's trellis": Case(_many(width=2, code="trellis", rerank=None, estimator="arow"), "icd10cm"),
    "wide trellis": Case(_many(width=5, code="trellis", rerank=None), "icd10cm", has_onnx=True, has_page=True),
    "indexed trellis": Case(_many(width=2, code="trellis"), "icd10cm", has_validation=True),
    "re-ranked by means": Case(
        _many(width=4, code="trellis", rerank="centroid", candidates="code", precision="int8", prune=0.005),
        "icd10cm",
        has_validation=True,
        has_onnx=True,
        has_page=True,
    ),
    "two trellises": Case(_many(width=3, code="trellis", n_codes=2), "icd10cm", has_validation=True),
    "two trees": Case(
        _many(code="tree", width=8, n_codes=2, assignment="random", rerank="centroid"),
        "icd10cm",
        has_page=True,
    ),
    "single precision tree": Case(
        _many(code="tree", width=4, rerank=None, precision="float32"), "icd10cm", has_onnx=True
    ),
    "a budget": Case(_many(max_model_bytes=200_000), "icd10cm", has_validation=True),
}


def environment() -> dict[str, str]:
    """What the bytes of a model may depend on besides the code: libraries and the processor."""
    import llvmlite.binding
    import numba
    import scipy
    import sklearn

    return {
        "machine": f"{platform.system()} {platform.machine()} {llvmlite.binding.get_host_cpu_name()}",
        "numba": numba.__version__,
        "numpy": np.__version__,
        "scikit-learn": sklearn.__version__,
        "scipy": scipy.__version__,
    }


def answers(name: str, home: Path) -> dict[str, Any]:
    """Fit a case, save it, load it, and ask the loaded one; files go into a folder."""
    case = CASES[name]
    samples = data(case.data)
    classifier = case.make()
    keywords = {"validation": samples.validation} if case.has_validation else {}
    with threadpool_limits(1):  # how sums are rounded depends on the threads of BLAS
        classifier.fit(*samples.train, **keywords)
        if case.then is not None:
            classifier = case.then(classifier, *samples.validation)
    folder = save_model(classifier, home / "model")
    loaded = load_model(folder, trusted=True) if (folder / SKOPS).exists() else load_model(folder)
    labels, probabilities = _best(loaded, samples.asked)
    found = {"bytes": digests(folder), "predicted": _digest(labels[:, 0]), "best": _rows(labels, probabilities)}
    if case.has_onnx:
        found["onnx"] = _of_onnx(loaded, samples, home)
    return found


def _best(classifier: Any, X: Any) -> tuple[np.ndarray, np.ndarray]:
    if hasattr(classifier, "top_k_proba"):
        return classifier.top_k_proba(X, N_BEST)
    every = classifier.predict_proba(X)
    order = np.argsort(-every, axis=1, kind="stable")[:, :N_BEST]
    return classifier.classes_[order], np.take_along_axis(every, order, axis=1)


def _rows(labels: Any, probabilities: Any) -> list[list[Any]]:
    rows = zip(labels[:N_ASKED].tolist(), np.asarray(probabilities)[:N_ASKED].tolist(), strict=True)
    return [[row, [float(f"{p:.6g}") for p in of_row]] for row, of_row in rows]


def _of_onnx(classifier: Any, samples: Data, home: Path) -> list[list[Any]]:
    import onnxruntime

    from codekin.deploy.export import export_onnx, padded_rows

    X = samples.asked[:N_ASKED]
    path = export_onnx(classifier, home / "model.onnx", k=N_BEST, input="sparse" if samples.texts else "dense")
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    is_double = session.get_inputs()[0].type == "tensor(double)"
    if samples.texts:
        inputs = dict(zip(("features", "values"), padded_rows(X), strict=True))
    else:
        inputs = {"X": X.astype(np.float64 if is_double else np.float32)}
    return _rows(*session.run(("labels", "probabilities"), inputs))


def page_answers(home: Path) -> list[list[Any]]:
    """What a page says that is exported from the model in a folder; skips the test without a browser."""
    from codekin.deploy.export import export_page
    from tests.browser import seen_by

    samples, classifier = data("icd10cm"), load_model(home / "model")
    page = export_page(classifier, home / "page", vectorizer=samples.vectorizer)
    script = ASK.replace("TEXTS", json.dumps(samples.texts[:N_ASKED])).replace("N_BEST", str(N_BEST))
    seen = seen_by(script, page.read_text(encoding="utf-8"), home)
    labels, probabilities = (np.array([[one[of] for one in row] for row in seen["best"]]) for of in SHOWN)
    return _rows(labels, probabilities)


def digests(folder: Path) -> dict[str, str]:
    """A short digest of every array of a model folder, and of its description without versions, checksums and times.

    Measures in the description have nine digits: the last ones depend on the order of sums.
    """
    description = json.loads((folder / "model.json").read_text(encoding="utf-8"))
    found = {"description": _digest(json.dumps(_settled(description), sort_keys=True).encode())}
    return found | {name: _digest(array) for name, array in sorted(read_arrays(folder / "arrays.safetensors").items())}


def _settled(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _settled(part) for key, part in value.items() if key not in UNSETTLED}
    if isinstance(value, list):
        return [_settled(part) for part in value]
    return f"{value:.9g}" if isinstance(value, float) else value


def _digest(content: Any) -> str:
    if isinstance(content, np.ndarray):
        content = f"{content.dtype.str}{content.shape}".encode() + np.ascontiguousarray(content).tobytes()
    return hashlib.sha256(content).hexdigest()[:12]
