"""The size of a model folder, known before it is written."""

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.linear_model import RidgeClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

from codekin._system.files import bytes_in
from codekin.data import TextVectorizer, make_sparse_topics
from codekin.estimators import ECOCClassifier, ExtremeClassifier
from codekin.states import input_bytes
from codekin.storage import ModelInput, load_model, save_model, stored_bytes

TREE = [("top", "left"), ("top", "right"), *(("left" if k < 5 else "right", k) for k in range(10))]
WORDS = ["grün", "日本", "a\nb", "\ud800", 'qu"ote', "d", "e", "f", "g", "h"]
CLASSIFIERS = {
    "ecoc": ECOCClassifier(RidgeClassifier(), n_bits=6, random_state=0),
    "ecoc, decoded by its loss": ECOCClassifier(RidgeClassifier(), n_bits=6, decoding="loss", random_state=0),
    "ecoc, learned decoder": ECOCClassifier(LinearSVC(), codebook="one_vs_rest", decoding="learned", random_state=0),
    "ecoc, learned decoder with products": ECOCClassifier(
        RidgeClassifier(), n_bits=4, decoding="learned", random_state=0
    ),
    "ecoc, learned decoder of trees": ECOCClassifier(
        DecisionTreeClassifier(max_depth=3), n_bits=6, decoding="learned", random_state=0
    ),
    "ecoc, trees": ECOCClassifier(DecisionTreeClassifier(max_depth=3), n_bits=6, random_state=0),
    "ecoc, pipeline": ECOCClassifier(make_pipeline(StandardScaler(), LinearSVC()), n_bits=6, random_state=0),
    "ecoc, calibrated": ECOCClassifier(RidgeClassifier(), n_bits=6, calibrate="holdout", random_state=0),
    "ecoc, softmax": ECOCClassifier("softmax", n_bits=6, random_state=0),
    "float32": ExtremeClassifier(3, random_state=0),
    "float32, pruned": ExtremeClassifier(3, prune=0.3, random_state=0),
    "float16": ExtremeClassifier(3, precision="float16", random_state=0),
    "int8": ExtremeClassifier(3, precision="int8", random_state=0),
    "int8, pruned": ExtremeClassifier(3, precision="int8", prune=0.3, random_state=0),
    "re-ranked": ExtremeClassifier(2, rerank="learned", random_state=0),
    "two codes": ExtremeClassifier(2, rerank="centroid", n_codes=2, random_state=0),
    "taxonomy": ExtremeClassifier(2, taxonomy=TREE, assignment="preserving", random_state=0),
    "budget": ExtremeClassifier(2, max_model_bytes=20_000, time_limit=1e-3, random_state=0),
}


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    return X[:500] / 16, y[:500]


@pytest.mark.filterwarnings("ignore:Learners of type Pipeline are stored by skops")
@pytest.mark.parametrize("kind", CLASSIFIERS)
def test_the_size_is_that_of_the_folder_to_the_byte(kind, digits, tmp_path):
    X, y = digits
    classifier = CLASSIFIERS[kind]
    given = {"validation": (X[150:250], y[150:250])} if isinstance(classifier, ExtremeClassifier) else {}
    n_samples = 500 if "products" in kind else 150
    decoder = classifier.fit(X[:n_samples], y[:n_samples], **given).model_.first.decoder
    assert decoder.is_learned or "learned decoder" not in kind
    assert "products" not in kind or decoder.products is not None
    assert stored_bytes(classifier) == bytes_in(save_model(classifier, tmp_path / "whole"))
    assert stored_bytes(classifier.model_) == bytes_in(save_model(classifier.model_, tmp_path / "model"))


def test_labels_and_input_are_part_of_the_size(digits, tmp_path):
    X, y = digits
    classifier = ExtremeClassifier(3, random_state=0).fit(X, np.array(WORDS, dtype=object)[y])
    for vectorizer in (TextVectorizer().fit(["ein Käse", "ein Käsebrot"]), TextVectorizer(hashing=True).fit(())):
        model_input = ModelInput(vectorizer)
        folder = save_model(classifier, tmp_path / "model", model_input=model_input)
        assert stored_bytes(classifier, model_input) == bytes_in(folder)
        assert 0 <= input_bytes(model_input) - (stored_bytes(classifier, model_input) - stored_bytes(classifier)) < 50
    assert load_model(save_model(classifier, tmp_path / "model")).classes_.tolist() == sorted(WORDS)


def test_a_large_vocabulary_takes_a_third_of_what_its_words_and_weights_take(tmp_path):
    rng = np.random.default_rng(0)
    words = ["".join(rng.choice(list("aeioubcdfglmnprst"), 6)) for _ in range(300)]
    texts = [" ".join(rng.choice(words, 12)) for _ in range(400)]
    vectorizer = TextVectorizer().fit(texts)
    plain = sum(len(word) + 16 for word in vectorizer.vocabulary)
    assert input_bytes(ModelInput(vectorizer)) < plain / 3


def test_labels_are_written_as_they_are(tmp_path):
    topics = make_sparse_topics(12, 200, n_features=40, rng=0)
    labels = np.array([f"Straße {k}" for k in range(12)])[topics.train.y]
    folder = save_model(ExtremeClassifier(2, random_state=0).fit(topics.train.X, labels), tmp_path / "model")
    assert '"Straße 3"' in (folder / "model.json").read_text(encoding="utf-8")


def test_class_vectors_on_many_features_take_three_bytes_an_entry_and_come_back(tmp_path):
    topics = make_sparse_topics(12, 200, n_features=40, rng=0)
    X = topics.train.X.copy()
    X.resize((X.shape[0], 300_000))
    X.indices = (X.indices.astype(np.int64) * 7_000 + 5).astype(np.int32)
    classifier = ExtremeClassifier(2, rerank="learned", precision="int8", random_state=0).fit(X, topics.train.y)
    folder = save_model(classifier, tmp_path / "model")
    assert stored_bytes(classifier) == bytes_in(folder)
    vectors, again = classifier.model_.ranking.vectors, load_model(folder).model_.ranking.vectors
    for name in ("indptr", "features", "steps", "scales"):
        assert getattr(again, name).tolist() == getattr(vectors, name).tolist()
    assert again.features.dtype == vectors.features.dtype == np.int32
    assert vectors.to_arrays()["gaps"].itemsize == 2
