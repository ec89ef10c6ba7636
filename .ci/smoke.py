"""Use an installed codekin as a stranger would, where only the wheel is installed.

`python .ci/smoke.py --environment FOLDER DIST` makes such an environment from the wheel in DIST, on any system, and
runs this program there; without arguments it runs at once. `make smoke` and CI call it.
"""

import argparse
import subprocess
import sys
import sysconfig
import tempfile
import venv
from pathlib import Path


def in_new_environment(folder: Path, dist: Path) -> None:
    """Make an environment, install the wheel, and run this program there."""
    folder = folder.absolute()  # this program runs elsewhere below
    (wheel,) = dist.resolve().glob("*.whl")
    venv.create(folder, with_pip=True, clear=True)
    python = folder / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")
    subprocess.run([python, "-m", "pip", "install", "--quiet", str(wheel)], check=True)
    # Elsewhere, so that the source next to this program cannot be imported instead.
    subprocess.run([python, str(Path(__file__).resolve())], check=True, cwd=folder)


def main() -> None:
    import numpy as np
    from sklearn.datasets import load_digits
    from sklearn.model_selection import train_test_split
    from sklearn.svm import LinearSVC

    import codekin
    from codekin.data import load_dataset

    assert "site-packages" in codekin.__file__, f"the wheel is not what was imported: {codekin.__file__}"

    X_train, X_test, y_train, y_test = train_test_split(*load_digits(return_X_y=True), random_state=0)
    classifier = codekin.ECOCClassifier(LinearSVC(), n_bits=10, random_state=0).fit(X_train / 16, y_train)
    accuracy = classifier.score(X_test / 16, y_test)
    assert accuracy > 0.8, f"digits with 10 bits: accuracy {accuracy:.3f}"
    best = classifier.top_k(X_test[:5] / 16, 3)
    assert np.shape(best[0]) == (5, 3)

    with tempfile.TemporaryDirectory() as folder:
        saved = codekin.save_model(classifier, Path(folder) / "model")
        assert (codekin.load_model(saved).predict(X_test / 16) == classifier.predict(X_test / 16)).all()

    compiled = _compiled_in_a_first_training(load_dataset("icd10cm"))
    assert not compiled, f"compiled in a first training, although the wheel brings the kernels: {compiled}"

    suffix = ".exe" if sys.platform == "win32" else ""
    command = Path(sysconfig.get_path("scripts")) / f"codekin{suffix}"
    version = subprocess.run([command, "--version"], check=True, capture_output=True, text=True).stdout
    assert codekin.__version__ in version, version
    listed = subprocess.run([command, "study", "list"], check=True, capture_output=True, text=True).stdout
    assert "exhaustive" in listed, listed
    print(f"codekin {codekin.__version__}: imported, fitted (accuracy {accuracy:.3f}), saved, command line answers")


def _compiled_in_a_first_training(diagnoses) -> list[str]:
    """The kernels that Numba compiles while texts and features are learned and classified for the first time."""
    import platform

    from numba.core import event

    from codekin.cli.main import main as codekin_main
    from codekin.data import make_sparse_topics
    from codekin.data.writing import export_dataset
    from codekin.kernels.calling import PORTABLE

    if f"{sys.platform} {platform.machine()}" not in PORTABLE:
        return []
    with tempfile.TemporaryDirectory() as home, event.install_recorder("numba:compile") as recorder:
        folder = Path(home)
        for name, split in (("train", diagnoses.train), ("test", diagnoses.test)):
            lines = (f"{label}\t{text}\n" for label, text in zip(split.y, split.texts, strict=True))
            (folder / f"{name}.tsv").write_text("".join(lines), encoding="utf-8")
        # So many classes get a learned re-ranking.
        export_dataset(make_sparse_topics(1000, 5000, n_features=500, rng=0), folder)
        for kind in ("tsv", "svm"):
            train, test, model = (str(folder / name) for name in (f"train.{kind}", f"test.{kind}", f"model-{kind}"))
            assert codekin_main(["train", train, model, "--validation", test, "--quiet"]) == 0
            assert codekin_main(["predict", model, test, "--output", str(folder / "answers.tsv")]) == 0
    return sorted({str(each.data["dispatcher"]) for _, each in recorder.buffer})


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--environment", type=Path)
    parser.add_argument("dist", type=Path, nargs="?", default=Path("dist"))
    arguments = parser.parse_args()
    if arguments.environment is None:
        main()
    else:
        in_new_environment(arguments.environment, arguments.dist)
