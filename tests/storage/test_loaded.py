"""A loaded classifier predicts without scikit-learn, and is the estimator that was saved for everything else."""

import copy
import pickle
import subprocess
import sys

import numpy as np
import pytest
from scipy import sparse

from codekin import ExtremeClassifier, load_model, save_model
from codekin.data import make_sparse_topics
from codekin.storage import load_saved
from codekin.storage.loaded import LoadedClassifier

PROGRAM = """
import sys
import numpy as np
from scipy import sparse
from codekin import load_model

X = sparse.load_npz(sys.argv[2])
model = load_model(sys.argv[1])
answers = [model.predict(X), *model.top_k(X, 3), *model.top_k_proba(X, 2)]
assert not [name for name in ("sklearn", "pandas", "scipy.stats") if name in sys.modules]
assert model.predict(X.toarray()).tolist() == answers[0].tolist()
assert "sklearn" in sys.modules and type(model).__name__ == "ExtremeClassifier"
np.savez(sys.argv[3], *answers)
"""


@pytest.fixture(scope="module")
def topics():
    return make_sparse_topics(20, 200, n_features=50, rng=0)


@pytest.fixture(scope="module")
def folder(topics, tmp_path_factory):
    classifier = ExtremeClassifier(code="tree", random_state=0).fit(topics.X, topics.y)
    return save_model(classifier, tmp_path_factory.mktemp("models") / "tree")


def rows_of(topics):
    return sparse.csr_matrix((topics.X.data, topics.X.indices, topics.X.indptr), shape=topics.X.shape)[:20]


def test_answers_without_scikit_learn_are_those_of_the_estimator(folder, topics, tmp_path):
    sparse.save_npz(tmp_path / "rows.npz", rows_of(topics))
    command = [sys.executable, "-c", PROGRAM, str(folder), str(tmp_path / "rows.npz"), str(tmp_path / "answers.npz")]
    subprocess.run(command, check=True)
    model, X = load_model(folder), rows_of(topics)
    assert type(model) is ExtremeClassifier
    expected = [model.predict(X), *model.top_k(X, 3), *model.top_k_proba(X, 2)]
    with np.load(tmp_path / "answers.npz") as answers:
        assert all(np.array_equal(answers[f"arr_{i}"], own) for i, own in enumerate(expected))


@pytest.mark.parametrize(
    "ask",
    [
        lambda model: model.classes_,
        lambda model: model.predict_proba(np.ones((1, 50))),
        lambda model: isinstance(model, ExtremeClassifier),
        lambda model: setattr(model, "n_jobs", 2),
        repr,
        copy.deepcopy,
        pickle.dumps,
    ],
)
def test_asked_for_more_it_becomes_the_estimator_that_was_saved(folder, topics, ask):
    loaded = LoadedClassifier(load_saved(folder))
    before, X = loaded.predict(rows_of(topics)), rows_of(topics)
    assert type(loaded) is LoadedClassifier
    ask(loaded)
    assert type(loaded) is ExtremeClassifier
    assert np.array_equal(loaded.predict(X), before)


def test_samples_that_need_a_check_get_it(folder):
    for X, problem in ((np.full((1, 50), np.nan), "NaN"), (sparse.csr_array((1, 49)), "49 features")):
        loaded = LoadedClassifier(load_saved(folder))
        with pytest.raises(ValueError, match=problem):
            loaded.predict(X)
    with pytest.raises(ValueError, match="k"):
        LoadedClassifier(load_saved(folder)).top_k(sparse.csr_array((1, 50)), 21)


def test_copies_answer_the_same(folder, topics):
    loaded = LoadedClassifier(load_saved(folder))
    copied = pickle.loads(pickle.dumps(loaded))
    assert type(copied) is ExtremeClassifier
    assert np.array_equal(copied.predict(rows_of(topics)), loaded.predict(rows_of(topics)))
