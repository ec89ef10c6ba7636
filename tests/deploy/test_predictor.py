"""One prediction at a time: the answers of the classifier, from any kind of model and any kind of row."""

import inspect
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

from codekin import ECOCClassifier, ExtremeClassifier, Predictor, save_model
from codekin.data import TextVectorizer, load_dataset, make_sparse_topics
from codekin.data.recipes import RECIPES
from codekin.learners import AROW
from codekin.learners.compact import CompactSparseLinearBits
from codekin.storage import ModelInput

N_ROWS = 25
OF_MARGINS, IN_ONE_CALL = "Decoder.single.best", "RankedPaths.single.best_in_one_call"


def way_of(predictor):
    """The function that answers single rows, by its name."""
    return inspect.unwrap(predictor._single).__qualname__.replace(".<locals>", "")


CLASSIFIERS = {
    "a trellis": (ExtremeClassifier(width=2, rerank=None), "ShortestPathDecoder.single.best"),
    "half precision": (ExtremeClassifier(width=2, rerank=None, precision="float16"), "ShortestPathDecoder.single.best"),
    "free paths": (ExtremeClassifier(width=2, n_reserved=9), OF_MARGINS),
    "re-ranked": (
        ExtremeClassifier(width=2, rerank="centroid", precision="float32", candidates="code"),
        "RankedPaths.single.best",
    ),
    "an index": (
        ExtremeClassifier(width=2, rerank="centroid", candidates="index", precision="float32"),
        "RankedPaths.single.best",
    ),
    "one byte and an index": (
        ExtremeClassifier(width=5, rerank="centroid", precision="int8", candidates="both"),
        IN_ONE_CALL,
    ),
    "a tree and an index": (
        ExtremeClassifier(code="tree", width=3, rerank="centroid", candidates="both"),
        "Model.single.otherwise",
    ),
    "one byte a weight": (
        ExtremeClassifier(width=5, rerank="centroid", precision="int8"),
        IN_ONE_CALL,
    ),
    "re-ranked pair": (
        ExtremeClassifier(width=2, rerank="centroid", n_codes=2, candidates="index"),
        "RankedPaths.single.best",
    ),
    "a pair without an index": (
        ExtremeClassifier(width=2, rerank="centroid", n_codes=2, candidates="code"),
        "RankedPaths.single.best",
    ),
    "a pair": (ExtremeClassifier(width=2, rerank=None, n_codes=2), "RankedPaths.single.best"),
    "a tree": (ExtremeClassifier(code="tree", width=3, rerank=None), "BeamSearchDecoder.single.best"),
    "a re-ranked tree": (ExtremeClassifier(code="tree", width=3, rerank="centroid"), "RankedLeaves.single.best"),
    "two re-ranked trees": (
        ExtremeClassifier(code="tree", width=3, rerank="centroid", n_codes=2, assignment="random"),
        "RankedLeaves.single.best_of_several",
    ),
    "two trees": (
        ExtremeClassifier(code="tree", width=2, rerank=None, n_codes=2, assignment="random"),
        "RankedLeaves.single.best_of_several",
    ),
    "a matrix": (ECOCClassifier(AROW(), n_bits=20, assignment="random", decoding="loss"), OF_MARGINS),
    "a learned decoder": (ECOCClassifier(LogisticRegression(), n_bits=12, decoding="learned"), OF_MARGINS),
    "calibrated": (
        ECOCClassifier(LogisticRegression(), n_bits=12, decoding="loss", calibrate="cv"),
        OF_MARGINS,
    ),
}


@pytest.fixture(scope="module")
def topics():
    return make_sparse_topics(40, 800, n_features=300, rng=0)


@pytest.fixture(scope="module", params=CLASSIFIERS)
def fitted(request, topics):
    classifier, kind = CLASSIFIERS[request.param]
    return classifier.set_params(random_state=0).fit(topics.X, topics.y), kind


def rows_of(X):
    return [X[i : i + 1] for i in range(N_ROWS)]


def test_sparse_rows_get_the_classifiers_answers(fitted, topics):
    classifier, kind = fitted
    predictor = Predictor(classifier)
    assert way_of(predictor) == kind
    X = topics.test.X
    for row in rows_of(X):
        assert predictor.predict(row) == classifier.predict(row)[0]
        for k in (1, 5, 40):
            labels, losses = classifier.top_k(row, k)
            assert predictor.top_k(row, k) == (labels[0].tolist(), losses[0].tolist())
        labels, probabilities = classifier.top_k_proba(row, 5)
        assert predictor.top_k_proba(row, 5) == (labels[0].tolist(), probabilities[0].tolist())


def test_dense_rows_get_the_classifiers_answers(fitted, topics):
    classifier, _ = fitted
    predictor = Predictor(classifier)
    for row in topics.test.X[:N_ROWS].toarray():
        labels, losses = classifier.top_k(row[None], 3)
        assert predictor.top_k(row, 3) == (labels[0].tolist(), losses[0].tolist())
        assert predictor.predict(row.tolist()) == classifier.predict(row[None])[0]


def test_pruned_models_get_the_classifiers_answers(topics):
    classifier = ExtremeClassifier(width=5, rerank="centroid", precision="int8", prune=0.05, random_state=0)
    classifier.fit(topics.X, topics.y, validation=(topics.test.X, topics.test.y))
    predictor = Predictor(classifier)
    assert type(classifier.model_.bits) is CompactSparseLinearBits
    assert way_of(predictor) == IN_ONE_CALL
    for row in rows_of(topics.test.X):
        labels, losses = classifier.top_k(row, 4)
        assert predictor.top_k(row, 4) == (labels[0].tolist(), losses[0].tolist())


def test_learners_of_other_libraries_and_wide_trellises_work_on_dense_rows():
    X, y = load_digits(return_X_y=True)
    for classifier in (
        ECOCClassifier(DecisionTreeClassifier(max_depth=4), n_bits=8, random_state=0),
        ExtremeClassifier(width=3, random_state=0),
    ):
        predictor = Predictor(classifier.fit(X[:900], y[:900]))
        predicted = [predictor.predict(x) for x in X[900:960]]
        assert predicted == [classifier.predict(x[None])[0] for x in X[900:960]]
        assert predictor.labels == list(range(10))


def test_a_loaded_predictor_answers_texts_like_the_command_line(tmp_path):
    data = load_dataset("icd10cm")
    vectorizer = TextVectorizer("words").fit(data.train.texts)
    X = vectorizer.transform(data.train.texts)
    classifier = ExtremeClassifier(rerank="centroid", random_state=0).fit(X[::5], data.train.y[::5])
    folder = save_model(classifier, tmp_path / "model", model_input=ModelInput(vectorizer))
    predictor, texts = Predictor.load(folder), data.test.texts[::15]
    rows = vectorizer.transform(texts)
    assert [predictor.predict(text) for text in texts] == classifier.predict(rows).tolist()
    assert predictor.predict("") == classifier.predict(vectorizer.transform([""]))[0]
    best = predictor.top_k_proba(texts[0], 3)
    labels, probabilities = classifier.top_k_proba(rows[:1], 3)
    assert best == (labels[0].tolist(), probabilities[0].tolist())


@pytest.mark.parametrize("features", RECIPES)
@pytest.mark.parametrize("hashing", [False, True])
def test_the_features_of_one_text_are_those_of_many_to_the_last_bit(hashing, features):
    texts = ["A cat purrs; a cat sleeps.", "dogs bark, CATS purr", "", "the the the the cat " * 90, "İstanbul'da kedi"]
    fitted = TextVectorizer(features, hashing=hashing, n_features=64).fit(texts[:3])
    many = fitted.transform(texts)
    for i, text in enumerate(texts):
        indices, values = fitted.row(text)
        np.testing.assert_array_equal(indices, many[i : i + 1].indices)
        np.testing.assert_array_equal(values, many[i : i + 1].data)


def test_threads_do_not_disturb_each_other(topics):
    classifier = ExtremeClassifier(width=2, rerank="centroid", n_codes=2, random_state=0).fit(topics.X, topics.y)
    predictor, rows = Predictor(classifier), rows_of(topics.test.X) * 20
    alone = [predictor.top_k(row, 3) for row in rows]
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(lambda row: predictor.top_k(row, 3), rows)) == alone


def test_only_the_entries_of_the_row_count_in_longer_arrays(topics):
    classifier = ExtremeClassifier(width=2, rerank="centroid", random_state=0).fit(topics.X, topics.y)
    predictor, row = Predictor(classifier), topics.test.X[:1]
    longer = sparse.csr_array(row.shape, dtype=np.float32)
    longer.indptr = np.array([1, 1 + row.nnz])
    longer.indices = np.concatenate([[7], row.indices, [9, 11]]).astype(np.int32)
    longer.data = np.concatenate([[9.0], row.data, [5.0, 5.0]]).astype(np.float32)
    assert predictor.top_k(longer, 3) == predictor.top_k(row, 3)


@pytest.mark.parametrize(
    "classifier",
    [ExtremeClassifier(width=2, rerank=None), ECOCClassifier("arow", codebook="one_vs_rest", decoding="loss")],
)
def test_a_predictor_stays_as_it_is_when_its_classifier_learns_on(classifier, topics):
    classifier.set_params(random_state=0).partial_fit(topics.X, topics.y, classes=np.arange(40))
    predictor, rows = Predictor(classifier), rows_of(topics.test.X)
    before = [(predictor.top_k(row, 3), predictor.top_k_proba(row, 3)) for row in rows]
    classifier.partial_fit(topics.X, topics.y[::-1])
    assert [(predictor.top_k(row, 3), predictor.top_k_proba(row, 3)) for row in rows] == before
    assert [best for _, best in before] != [Predictor(classifier).top_k_proba(row, 3) for row in rows]


@pytest.mark.filterwarnings("ignore:overflow encountered in dot")
def test_wrong_rows_are_refused_with_a_sentence(topics):
    classifier = ExtremeClassifier(width=2, rerank=None, random_state=0).fit(topics.X, topics.y)
    predictor = Predictor(classifier)
    for wrong, sentence in (
        ("a text", "This predictor has no vectorizer, so it needs features. Got a text."),
        (topics.X[:2], r"A sparse sample must have the shape \(1, 300\). Got \(2, 300\)."),
        (np.zeros(299), r"A sample must be 300 numbers. Got an array of shape \(299,\) and type float64."),
        (np.full(300, np.nan), "The values of X must be finite. Got nan."),
        (sparse.csr_array(np.full((1, 300), 1e20)), "The values of X must be at most 1e[+]15"),
    ):
        with pytest.raises(ValueError, match=sentence):
            predictor.predict(wrong)
    with pytest.raises(ValueError, match="'k' parameter of top_k must be between 1 and the number of classes, 40"):
        predictor.top_k(topics.X[:1], 41)


def test_what_is_no_classifier_or_has_another_vectorizer_is_refused(topics):
    with pytest.raises(TypeError, match="needs an ECOCClassifier, .* or a TextClassifier. Got an object of type Log"):
        Predictor(LogisticRegression())
    classifier = ExtremeClassifier(width=2, rerank=None, random_state=0).fit(topics.X, topics.y)
    with pytest.raises(ValueError, match="300 features needs a vectorizer with as many. Got one with 2."):
        Predictor(classifier, vectorizer=TextVectorizer("words", word_ngrams=(1, 1)).fit(["some words"]))
    with pytest.raises(ValueError, match="is not fitted yet"):
        Predictor(ExtremeClassifier())


@pytest.mark.parametrize(
    "classifier",
    [
        ECOCClassifier(LogisticRegression(max_iter=50), random_state=0),
        ECOCClassifier(AROW(), loss="hinge", weighted_decoding=True, random_state=0),
        ECOCClassifier("softmax", random_state=0),
        ExtremeClassifier(random_state=0),
    ],
    ids=["logistic", "weighted", "softmax", "temperature"],
)
def test_a_loaded_predictor_has_the_probabilities_of_the_classifier(classifier, tmp_path):
    X, y = load_digits(return_X_y=True)
    classifier.fit(X[:600] / 16, y[:600])
    predictor, made = Predictor.load(save_model(classifier, tmp_path / "model")), Predictor(classifier)
    assert predictor.labels == made.labels
    for x in X[600:620] / 16:
        assert predictor.top_k_proba(x, 4) == made.top_k_proba(x, 4)
        assert predictor.top_k(x, 4) == made.top_k(x, 4)
