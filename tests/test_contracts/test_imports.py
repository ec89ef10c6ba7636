"""Importing is cheap: heavy packages are imported where they are used."""

import subprocess
import sys

import pytest

from codekin import ExtremeClassifier, TextClassifier, save_model
from codekin.data import make_sparse_topics
from codekin.kernels.calling import SHIPPED


def modules_after(statement: str) -> set[str]:
    code = f"import sys\n{statement}\nprint('\\n'.join(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    return set(done.stdout.split())


def test_importing_the_package_imports_nothing_heavy():
    heavy = {"numba", "matplotlib", "pandas", "networkx", "safetensors", "skops", "rich", "typer"}
    assert not heavy & modules_after("import codekin")


def test_asking_the_command_line_for_its_version_imports_nothing_heavy():
    modules = modules_after(
        "import contextlib\nfrom codekin.cli.main import main\n"
        "with contextlib.suppress(SystemExit): main(['--version'])"
    )
    assert not {"numba", "matplotlib", "pandas"} & modules


HEAVY = {"sklearn", "pandas", "scipy.stats", "scipy.optimize"}
# Code of kernels that were edited later does not fit, and Numba, which imports linear algebra, compiles them.
COMPILED_AT = min((path.stat().st_mtime for path in SHIPPED.glob("*.kernel")), default=0.0)
EDITED_AT = max(path.stat().st_mtime for path in SHIPPED.parent.glob("*.py"))
AND_NUMBA = HEAVY | ({"numba.core", "numba.core.types", "scipy.linalg"} if COMPILED_AT > EDITED_AT else set())


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """Model folders: of texts on a trellis, and of features on a tree."""
    home = tmp_path_factory.mktemp("models")
    texts = [f"{animal} {sound}" for animal in ("cat", "dog", "owl") for sound in ("purrs", "barks", "hoots", "runs")]
    labels = [text.split()[0] for text in texts]
    topics = make_sparse_topics(20, 200, n_features=50, rng=0)
    return {
        "texts": TextClassifier(features="words", random_state=0).fit(texts, labels).save(home / "texts"),
        "features": save_model(
            ExtremeClassifier(code="tree", random_state=0).fit(topics.X, topics.y), home / "features"
        ),
    }


def test_a_prediction_of_the_command_line_imports_neither_scikit_learn_nor_pandas(folders, tmp_path):
    inputs = {"texts": "a cat\n", "features": "1:0.5 3:1\n"}
    for name, line in inputs.items():
        (tmp_path / name).write_text(line)
        arguments = ["predict", str(folders[name]), str(tmp_path / name)]
        arguments += ["--format", "svmlight"] if name == "features" else []
        modules = modules_after(
            "import contextlib\nfrom codekin.cli.main import main\n"
            f"with contextlib.suppress(SystemExit): main({arguments})"
        )
        assert "codekin.model.model" in modules
        assert not AND_NUMBA & modules


@pytest.mark.parametrize("name", ["texts", "features"])
def test_a_predictor_imports_neither_scikit_learn_nor_pandas(folders, name):
    sample = "'a cat'" if name == "texts" else "numpy.ones(50)"
    modules = modules_after(
        f"import numpy\nfrom codekin import Predictor\np = Predictor.load({str(folders[name])!r})\n"
        f"assert p.predict({sample}) in p.labels\np.top_k({sample}, 2)"
    )
    assert "codekin.model.model" in modules
    assert not AND_NUMBA & modules
