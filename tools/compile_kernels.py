"""Compile the kernels that an installation brings with it, by using codekin as its users do.

    python tools/compile_kernels.py FOLDER

``setup.py`` calls it while a wheel or an editable installation is built, with ``src/codekin/kernels/compiled`` of that
installation as the folder. The code is made for the processor in ``codekin.kernels.compiling.PORTABLE``, and used where
Python, Numba and the source are those of the build; anywhere else Numba compiles as it always did. A kernel that meets
types of another kind than here is compiled at its first use, too: what many people do belongs below.
"""

import os
import platform
import subprocess
import sys
import tempfile
from pathlib import Path

N_FEATURES = 500
MANY_FEATURES = 70_000
"""More than two bytes can number, as texts have."""
SOURCES = Path(__file__).resolve().parent.parent / "src"


def use_commands(folder: Path) -> None:
    """Texts and features in files: training by several recipes, predictions, explanations, sets of classes."""
    from scipy.sparse import csr_array

    from codekin import Predictor
    from codekin.cli.main import main
    from codekin.data import load_dataset, make_sparse_topics
    from codekin.data.writing import export_dataset

    diagnoses = load_dataset("icd10cm")
    for name, split, step in (("train", diagnoses.train, 4), ("test", diagnoses.test, 10)):
        rows = list(zip(split.y.tolist(), split.texts or (), strict=True))[::step]
        lines = (f"{diagnoses.class_names[k] if diagnoses.class_names else k}\t{text}\n" for k, text in rows)
        (folder / f"{name}.tsv").write_text("".join(lines), encoding="utf-8")
        lines = (f"{'odd' if k % 2 else 'even'};{k % 40}\t{text}\n" for k, text in rows)
        (folder / f"several-{name}.tsv").write_text("".join(lines), encoding="utf-8")
    for n_features in (MANY_FEATURES, N_FEATURES):
        export_dataset(make_sparse_topics(300, 3000, n_features=n_features, rng=0), folder)
        for name in ("train.svm", "test.svm") if n_features == MANY_FEATURES else ():
            (folder / name).rename(folder / f"wide-{name}")
    of_texts, of_features = (folder / "train.tsv", folder / "test.tsv"), (folder / "train.svm", folder / "test.svm")
    of_many = folder / "wide-train.svm", folder / "wide-test.svm"
    of_several, separated = (folder / "several-train.tsv", folder / "several-test.tsv"), ["--label-separator", ";"]
    of_this_many = ["--n-features", MANY_FEATURES]
    recipes = [
        (of_texts, []),
        (of_texts, ["--no-validation"]),
        (of_texts, ["--code", "tree", "--rerank", "learned"]),
        (of_texts, ["--max-model-bytes", "200KB"]),
        (of_several, separated),
        (of_several, [*separated, "--no-validation"]),
        (of_several, [*separated, "--code", "tree", "--width", "4"]),
        (of_several, [*separated, "--code", "tree", "--estimator", "softmax"]),
        (of_features, []),
        (of_features, ["--taxonomy", folder / "taxonomy.txt"]),
        (of_features, ["--width", "4", "--estimator", "arow"]),
        (of_features, ["--width", "2", "--rerank", "learned", "--no-validation"]),
        (of_features, ["--code", "tree", "--rerank", "learned", "--no-validation"]),
        (of_features, ["--code", "tree", "--n-codes", "2"]),
        (of_many, of_this_many),
        (of_many, [*of_this_many, "--no-validation"]),
        (of_many, [*of_this_many, "--width", "4", "--rerank", "learned", "--no-validation"]),
    ]
    for number, ((train, test), options) in enumerate(recipes):
        model, one = folder / f"model-{number}", folder / f"one{test.suffix}"
        one.write_text(test.read_text(encoding="utf-8").splitlines(keepends=True)[0], encoding="utf-8")
        validation = [] if "--no-validation" in options else ["--validation", test]
        more = [option for option in options if option != "--no-validation"]
        for command in (
            ["train", train, model, *validation, *more, "--quiet"],
            ["predict", model, test, "--top-k", "3", "--output", folder / "answers.tsv"],
            ["evaluate", model, test],
            ["explain", model, one],
        ):
            code = main([str(part) for part in command])
            if code != 0:
                raise RuntimeError(f"codekin {' '.join(map(str, command))} failed with {code}.")
        n_features = MANY_FEATURES if train == of_many[0] else N_FEATURES
        row = csr_array(([1.0], ([0], [3])), shape=(1, n_features))
        sample = row if test.suffix == ".svm" else "type 2 diabetes with kidney disease"
        Predictor.load(model).top_k(sample, 3)
        Predictor.load(model).top_k_proba(sample, 3)
    for source, target in (("train.svm", "train.npz"), ("train.svm", "train.svm.gz")):
        main(["data", "convert", str(folder / source), str(folder / target)])


def use_estimators(folder: Path) -> None:
    """Arrays: codes with linear learners and trees, all designs of assignments, dense samples, single predictions."""
    import numpy as np
    from sklearn.datasets import load_digits
    from sklearn.linear_model import LogisticRegression
    from sklearn.svm import LinearSVC
    from sklearn.tree import DecisionTreeClassifier

    from codekin import ECOCClassifier, ExtremeClassifier, Predictor, load_model, save_model

    X, y = load_digits(return_X_y=True)
    X = X / 16
    for number, classifier in enumerate(
        (
            ECOCClassifier(LinearSVC(), random_state=0),
            ECOCClassifier(LogisticRegression(), n_bits=8, random_state=0),
            ECOCClassifier(DecisionTreeClassifier(max_depth=4), n_bits=12, random_state=0),
            ECOCClassifier(LinearSVC(), codebook="one_vs_rest", random_state=0),
            ExtremeClassifier(random_state=0),
            ExtremeClassifier(4, random_state=0),
            ExtremeClassifier(code="tree", random_state=0),
        )
    ):
        classifier.fit(X[:900], y[:900])
        classifier.predict(X[900:])
        classifier.predict_proba(X[900:])
        classifier.top_k(X[900:], 3)
        saved = save_model(classifier, folder / f"array-{number}")
        load_model(saved).predict(X[:5])
        Predictor.load(saved).top_k(X[0], 3)
    means = np.random.default_rng(0).normal(size=(400, 16)).astype(np.float32)
    for n_classes in (150, 400):
        classifier = ExtremeClassifier(random_state=0)
        classifier.fit(np.repeat(means[:n_classes], 3, axis=0), np.repeat(np.arange(n_classes), 3))
        classifier.predict(means)
        classifier.top_k_proba(means, 3)


def main() -> int:
    into = Path(sys.argv[1]).absolute()
    # Not by PYTHONPATH: that is how pip hands the packages of its build environment on.
    sys.path.insert(0, str(SOURCES))
    if os.environ.get("CODEKIN_KERNELS_INTO"):
        with tempfile.TemporaryDirectory() as folder:
            for use in (use_commands, use_estimators):
                use(Path(folder))
        return 0
    from codekin.kernels.calling import BUILDING, PORTABLE

    machine = f"{sys.platform} {platform.machine()}"
    if machine not in PORTABLE:
        print(f"No kernels are compiled in advance for {machine}; Numba compiles them at their first use.")
        return 0
    into.mkdir(parents=True, exist_ok=True)
    for old in into.glob("*.kernel"):
        old.unlink()
    environment = {**os.environ, "NUMBA_CPU_NAME": PORTABLE[machine][0], BUILDING: str(into)}
    command = [sys.executable, __file__, str(into)]
    return subprocess.run(command, env=environment, check=False, stdout=subprocess.DEVNULL).returncode


if __name__ == "__main__":
    raise SystemExit(main())
