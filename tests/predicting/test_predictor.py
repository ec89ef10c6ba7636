"""One prediction at a time: the answers of the classifier, from any kind of model and any kind of row."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

from codekin import ECOCClassifier, Predictor, TrellisClassifier, save_model
from codekin.datasets import TextVectorizer, load_dataset, make_sparse_topics
from codekin.datasets.one_text import features_of_one_text
from codekin.learners import AROW
from codekin.learners.compact import CompactSparseLinearBits
from codekin.model.single import SingleRow, SingleRowOfCode
from codekin.model.single_leaves import SingleRowOfRankedTree, SingleRowOfRankedTrees, SingleRowOfTree
from codekin.model.single_paths import SingleRowInOneCall, SingleRowOfRanking, SingleRowOfTrellis
from codekin.storage import ModelInput

N_ROWS = 25

CLASSIFIERS = {
    "a trellis": (TrellisClassifier(width=2, rerank=None), SingleRowOfTrellis),
    "half precision": (TrellisClassifier(width=2, rerank=None, precision="float16"), SingleRowOfTrellis),
    "free paths": (TrellisClassifier(width=2, n_spare=9), SingleRowOfCode),
    "re-ranked": (
        TrellisClassifier(width=2, rerank="centroid", precision="float32", candidates="code"),
        SingleRowOfRanking,
    ),
    "an index": (
        TrellisClassifier(width=2, rerank="centroid", candidates="index", precision="float32"),
        SingleRowOfRanking,
    ),
    "one byte and an index": (
        TrellisClassifier(width=5, rerank="centroid", precision="int8", candidates="both"),
        SingleRowInOneCall,
    ),
    "a tree and an index": (
        TrellisClassifier(code="tree", width=3, rerank="centroid", candidates="both"),
        SingleRow,
    ),
    "one byte a weight": (TrellisClassifier(width=5, rerank="centroid", precision="int8"), SingleRowInOneCall),
    "re-ranked pair": (
        TrellisClassifier(width=2, rerank="centroid", n_members=2, candidates="index"),
        SingleRowOfRanking,
    ),
    "a pair without an index": (
        TrellisClassifier(width=2, rerank="centroid", n_members=2, candidates="code"),
        SingleRowOfRanking,
    ),
    "a pair": (TrellisClassifier(width=2, rerank=None, n_members=2), SingleRowOfRanking),
    "a tree": (TrellisClassifier(code="tree", width=3, rerank=None), SingleRowOfTree),
    "a re-ranked tree": (TrellisClassifier(code="tree", width=3, rerank="centroid"), SingleRowOfRankedTree),
    "two re-ranked trees": (
        TrellisClassifier(code="tree", width=3, rerank="centroid", n_members=2, assignment="random"),
        SingleRowOfRankedTrees,
    ),
    "two trees": (
        TrellisClassifier(code="tree", width=2, rerank=None, n_members=2, assignment="random"),
        SingleRowOfRankedTrees,
    ),
    "a matrix": (ECOCClassifier(AROW(), n_bits=20, assignment="random", decoding="loss"), SingleRowOfCode),
    "a learned decoder": (ECOCClassifier(LogisticRegression(), n_bits=12, decoding="learned"), SingleRowOfCode),
    "calibrated": (ECOCClassifier(LogisticRegression(), n_bits=12, decoding="loss", calibrate="cv"), SingleRowOfCode),
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
    assert type(predictor._single) is kind
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
    classifier = TrellisClassifier(width=5, rerank="centroid", precision="int8", prune=0.05, random_state=0)
    classifier.fit(topics.X, topics.y, validation=(topics.test.X, topics.test.y))
    predictor = Predictor(classifier)
    assert type(classifier.model_.bits) is CompactSparseLinearBits
    assert type(predictor._single) is SingleRowInOneCall
    for row in rows_of(topics.test.X):
        labels, losses = classifier.top_k(row, 4)
        assert predictor.top_k(row, 4) == (labels[0].tolist(), losses[0].tolist())


def test_learners_of_other_libraries_and_wide_trellises_work_on_dense_rows():
    X, y = load_digits(return_X_y=True)
    for classifier in (
        ECOCClassifier(DecisionTreeClassifier(max_depth=4), n_bits=8, random_state=0),
        TrellisClassifier(width=3, random_state=0),
    ):
        predictor = Predictor(classifier.fit(X[:900], y[:900]))
        predicted = [predictor.predict(x) for x in X[900:960]]
        assert predicted == [classifier.predict(x[None])[0] for x in X[900:960]]
        assert predictor.labels == list(range(10))


def test_a_loaded_predictor_answers_texts_like_the_command_line(tmp_path):
    data = load_dataset("icd10cm")
    vectorizer = TextVectorizer(ngram_range=(1, 2)).fit(data.train.texts)
    X = vectorizer.transform(data.train.texts)
    classifier = TrellisClassifier(rerank="centroid", random_state=0).fit(X[::5], data.train.y[::5])
    folder = save_model(classifier, tmp_path / "model", model_input=ModelInput(vectorizer))
    predictor, texts = Predictor.load(folder), data.test.texts[::15]
    rows = vectorizer.transform(texts)
    assert [predictor.predict(text) for text in texts] == classifier.predict(rows).tolist()
    assert predictor.predict("") == classifier.predict(vectorizer.transform([""]))[0]
    best = predictor.top_k_proba(texts[0], 3)
    labels, probabilities = classifier.top_k_proba(rows[:1], 3)
    assert best == (labels[0].tolist(), probabilities[0].tolist())


@pytest.mark.parametrize("analyzer", ["word", "char_wb"])
@pytest.mark.parametrize("method", ["tfidf", "hashing"])
def test_the_features_of_one_text_are_those_of_many_to_the_last_bit(method, analyzer):
    texts = ["A cat purrs; a cat sleeps.", "dogs bark, CATS purr", "", "the the the the cat " * 90, "İstanbul'da kedi"]
    fitted = TextVectorizer(method, analyzer=analyzer, ngram_range=(1, 2), n_features=64).fit(texts[:3])
    features, many = features_of_one_text(fitted), fitted.transform(texts)
    for i, text in enumerate(texts):
        indices, values = features(text)
        np.testing.assert_array_equal(indices, many[i : i + 1].indices)
        np.testing.assert_array_equal(values, many[i : i + 1].data)


def test_threads_do_not_disturb_each_other(topics):
    classifier = TrellisClassifier(width=2, rerank="centroid", n_members=2, random_state=0).fit(topics.X, topics.y)
    predictor, rows = Predictor(classifier), rows_of(topics.test.X) * 20
    alone = [predictor.top_k(row, 3) for row in rows]
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(lambda row: predictor.top_k(row, 3), rows)) == alone


def test_only_the_entries_of_the_row_count_in_longer_arrays(topics):
    classifier = TrellisClassifier(width=2, rerank="centroid", random_state=0).fit(topics.X, topics.y)
    predictor, row = Predictor(classifier), topics.test.X[:1]
    longer = sparse.csr_array(row.shape, dtype=np.float32)
    longer.indptr = np.array([1, 1 + row.nnz])
    longer.indices = np.concatenate([[7], row.indices, [9, 11]]).astype(np.int32)
    longer.data = np.concatenate([[9.0], row.data, [5.0, 5.0]]).astype(np.float32)
    assert predictor.top_k(longer, 3) == predictor.top_k(row, 3)


@pytest.mark.parametrize(
    "classifier",
    [TrellisClassifier(width=2, rerank=None), ECOCClassifier("arow", codebook="one_vs_rest", decoding="loss")],
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
    classifier = TrellisClassifier(width=2, rerank=None, random_state=0).fit(topics.X, topics.y)
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
    with pytest.raises(TypeError, match="needs an ECOCClassifier or a TrellisClassifier. Got an object of type Logist"):
        Predictor(LogisticRegression())
    classifier = TrellisClassifier(width=2, rerank=None, random_state=0).fit(topics.X, topics.y)
    with pytest.raises(ValueError, match="300 features needs a vectorizer with as many. Got one with 2."):
        Predictor(classifier, vectorizer=TextVectorizer(ngram_range=(1, 1)).fit(["some words"]))
    with pytest.raises(ValueError, match="is not fitted yet"):
        Predictor(TrellisClassifier())
