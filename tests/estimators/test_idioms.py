"""Input, labels, learners and idioms that work with one-vs-rest work here as well: the base learner decides."""

import pickle
from collections import Counter

import numpy as np
import pandas as pd
import pytest
import skops.io
from scipy import sparse
from scipy.spatial.distance import cdist
from sklearn import config_context
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.datasets import load_digits, load_iris
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.exceptions import UnsetMetadataPassedError
from sklearn.feature_extraction import DictVectorizer
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.naive_bayes import GaussianNB, MultinomialNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC, LinearSVC
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils import get_tags
from sklearn.utils.metadata_routing import get_routing_for_object
from threadpoolctl import threadpool_limits

from codekin import ECOCClassifier, load_model, save_model
from codekin.fitting.classes import as_numbers

COLOURS = np.array(["red", "green", "blue", "grey"])


@pytest.fixture(autouse=True)
def one_thread():
    with threadpool_limits(1):
        yield


@pytest.fixture(scope="module")
def iris():
    X, y = load_iris(return_X_y=True)
    order = np.random.default_rng(0).permutation(150)
    return X[order], y[order]


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(n_class=5, return_X_y=True)
    return X[:200] / 16, y[:200]


@pytest.fixture(scope="module")
def with_gaps(iris):
    X = iris[0].copy()
    X[np.random.default_rng(0).random(X.shape) < 0.1] = np.nan
    return X


@pytest.fixture(scope="module")
def table():
    """Two columns of numbers, one of them with gaps, one of words; four classes, of which the words tell much."""
    rng = np.random.default_rng(0)
    y = rng.integers(4, size=200)
    size = y + rng.normal(scale=0.3, size=200)
    count = np.where(rng.random(200) < 0.1, np.nan, np.round(10 * rng.random(200)))
    colour = COLOURS[np.where(rng.random(200) < 0.9, y, 0)]
    return pd.DataFrame({"size": size, "count": count, "colour": colour}), y


def hist(**options):
    return HistGradientBoostingClassifier(max_iter=5, min_samples_leaf=5, **options)


def encoded(learner):
    words = make_column_selector(dtype_exclude="number")
    numbers = make_column_selector(dtype_include="number")
    return make_pipeline(
        make_column_transformer((OneHotEncoder(handle_unknown="ignore"), words), (SimpleImputer(), numbers)), learner
    )


def fitted(learner, X, y, **options):
    return ECOCClassifier(learner, random_state=0, **options).fit(X, y)


# What X may be


@pytest.mark.parametrize(
    "learner",
    [hist(), DecisionTreeClassifier(), make_pipeline(SimpleImputer(), LogisticRegression(max_iter=1000))],
    ids=["hist", "tree", "imputer"],
)
@pytest.mark.parametrize("codebook", ["dense_random", "one_vs_one", "one_vs_rest"])
def test_missing_values_are_for_the_learner_to_take(learner, codebook, with_gaps, iris):
    classifier = fitted(learner, with_gaps, iris[1], codebook=codebook)
    assert classifier.score(with_gaps, iris[1]) > 0.9
    assert np.isfinite(classifier.predict_proba(with_gaps)).all()


@pytest.mark.parametrize("learner", [LogisticRegression(), GaussianNB(), SVC()])
def test_missing_values_are_for_the_learner_to_refuse(learner, with_gaps, iris):
    with pytest.raises(ValueError, match="contains NaN"):
        fitted(learner, with_gaps, iris[1])
    classifier = fitted(learner, *iris)
    with pytest.raises(ValueError, match="contains NaN"):
        classifier.predict(with_gaps)


@pytest.mark.parametrize(
    "container",
    [
        kind
        for name in ("csr", "csc", "coo", "lil", "dok", "bsr", "dia")
        for kind in (getattr(sparse, f"{name}_matrix"), getattr(sparse, f"{name}_array"))
    ],
)
@pytest.mark.parametrize(
    "learner", [LinearSVC(), make_pipeline(StandardScaler(with_mean=False), DecisionTreeClassifier(random_state=0))]
)
def test_every_sparse_format_gives_what_dense_input_gives(container, learner, iris):
    X, y = iris
    dense = fitted(learner, X, y, codebook="one_vs_one")
    thin = fitted(learner, container(X), y, codebook="one_vs_one")
    assert (thin.predict(container(X)) == dense.predict(X)).mean() > 0.98


def as_objects(frame):
    return frame.astype(object)


def as_arrow(frame):
    pytest.importorskip("pyarrow")
    return frame.convert_dtypes(dtype_backend="pyarrow")


def as_polars(frame):
    polars = pytest.importorskip("polars")
    return polars.DataFrame({name: frame[name].to_list() for name in frame.columns})


def as_categories(frame):
    return frame.astype({"colour": "category"})


@pytest.mark.parametrize("form", [lambda frame: frame, pd.DataFrame.convert_dtypes, as_arrow, as_categories])
@pytest.mark.parametrize("codebook", ["dense_random", "one_vs_one"])
def test_frames_of_every_dtype_reach_a_pipeline(form, codebook, table):
    frame, y = form(table[0]), table[1]
    classifier = fitted(encoded(LogisticRegression(max_iter=1000)), frame, y, codebook=codebook)
    assert classifier.score(frame, y) > 0.85
    assert classifier.feature_names_in_.tolist() == ["size", "count", "colour"]


def test_object_columns_reach_a_pipeline(table):
    frame, y = as_objects(table[0]), table[1]
    parts = make_column_transformer((OneHotEncoder(), ["colour"]), (SimpleImputer(), ["size", "count"]))
    assert fitted(make_pipeline(parts, LinearSVC()), frame, y).score(frame, y) > 0.85
    array = frame.to_numpy()
    parts = make_column_transformer((OneHotEncoder(), [2]), (SimpleImputer(), [0, 1]))
    assert fitted(make_pipeline(parts, LinearSVC()), array, y).score(array, y) > 0.85


def test_a_polars_frame_reaches_learners_and_pipelines(table):
    frame, y = as_polars(table[0]), table[1]
    parts = make_column_transformer((OneHotEncoder(sparse_output=False), ["colour"]), (SimpleImputer(), ["size"]))
    assert fitted(make_pipeline(parts, LinearSVC()), frame, y).score(frame, y) > 0.85
    numbers = frame.select("size", "count")
    classifier = fitted(hist(), numbers, y, codebook="one_vs_one")
    assert classifier.score(numbers, y) > 0.7
    assert classifier.feature_names_in_.tolist() == ["size", "count"]


def test_pipelines_that_make_frames_of_nullable_columns(table):
    frame, y = table[0].drop(columns="colour").convert_dtypes(), table[1]
    steps = make_pipeline(SimpleImputer(), StandardScaler(), LogisticRegression()).set_output(transform="pandas")
    assert fitted(steps, frame, y).score(frame, y) > 0.6


def test_gradient_boosting_takes_categories(table):
    frame, y = as_categories(table[0]), table[1]
    classifier = fitted(hist(categorical_features="from_dtype"), frame, y)
    assert classifier.score(frame, y) > 0.85
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(classifier)).predict(frame), classifier.predict(frame))


@pytest.mark.parametrize("calibrate", [None, "cv", "holdout"])
@pytest.mark.parametrize("codebook", ["dense_random", "one_vs_one"])
def test_a_precomputed_kernel_predicts_what_the_kernel_itself_predicts(calibrate, codebook, iris):
    X, y = iris
    options = {"calibrate": calibrate, "codebook": codebook, "assignment": "identity"}
    plain = fitted(SVC(kernel="linear"), X[:100], y[:100], **options)
    kernel = fitted(SVC(kernel="precomputed"), X[:100] @ X[:100].T, y[:100], **options)
    assert get_tags(kernel).input_tags.pairwise
    np.testing.assert_allclose(kernel.bit_margins(X[100:] @ X[:100].T), plain.bit_margins(X[100:]), atol=1e-4)


@pytest.mark.parametrize("codebook", ["dense_random", "one_vs_one"])
def test_precomputed_distances_are_saved_with_the_samples_of_each_bit(codebook, iris, tmp_path):
    X, y = iris
    plain = fitted(KNeighborsClassifier(5), X[:100], y[:100], codebook=codebook)
    distances = fitted(
        KNeighborsClassifier(5, metric="precomputed"), cdist(X[:100], X[:100]), y[:100], codebook=codebook
    )
    with pytest.warns(UserWarning, match="stored by skops"):
        again = load_model(save_model(distances, tmp_path / "model"), trusted=True)
    for classifier in (distances, again):
        np.testing.assert_array_equal(classifier.predict(cdist(X, X[:100])), plain.predict(X))


def test_text_and_dictionaries_reach_a_pipeline():
    texts = ["red apple", "green apple", "blue sky", "grey sky", "fast car", "slow car"] * 5
    y = ["fruit", "fruit", "weather", "weather", "traffic", "traffic"] * 5
    words = make_pipeline(TfidfVectorizer(), LinearSVC())
    for X in (texts, np.array(texts), np.array(texts, dtype=object), pd.Series(texts)):
        assert fitted(words, X, y).score(X, y) == 1
    counts = [dict.fromkeys(text.split(), 1) for text in texts]
    assert fitted(make_pipeline(DictVectorizer(sparse=False), LinearSVC()), counts, y).score(counts, y) == 1
    assert fitted(GridSearchCV(words, {"linearsvc__C": [1, 10]}, cv=2), texts, y).score(texts, y) == 1


class FirstWord(ClassifierMixin, BaseEstimator):
    """Learns from text as it is: the most frequent label of each first word."""

    def __init__(self, takes_many=True):
        self.takes_many = takes_many

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = self.takes_many
        return tags

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        heard = pd.DataFrame({"word": [text.split()[0] for text in X], "label": y})
        self.label_of_word_ = heard.groupby("word").label.agg(lambda labels: labels.mode()[0]).to_dict()
        return self

    def predict(self, X):
        return np.array([self.label_of_word_.get(text.split()[0], self.classes_[0]) for text in X])

    def predict_proba(self, X):
        return np.eye(len(self.classes_))[np.searchsorted(self.classes_, self.predict(X))]


TEXTS = ["apple pie", "pear pie", "sky blue", "sun blue", "car fast", "bus fast", "oak leaf", "sky pear"] * 6
TOPICS = ["fruit", "fruit", "weather", "weather", "traffic", "traffic", "plant", "fruit"] * 6


def test_a_learner_of_raw_text_makes_the_distances_itself():
    with pytest.warns(UserWarning, match="from the confusion of FirstWord itself, which is trained 3 times"):
        classifier = fitted(FirstWord(), TEXTS, TOPICS, n_bits=4)
    assert classifier.score(TEXTS, TOPICS) > 0.85
    distances = classifier.class_distances_.matrix()
    fruit, weather = np.searchsorted(classifier.classes_, ["fruit", "weather"])
    assert np.argmin(distances + 9 * np.eye(4)) in (4 * fruit + weather, 4 * weather + fruit)


def test_a_learner_of_two_classes_and_raw_text_gets_equal_distances():
    with pytest.warns(UserWarning, match="learns only two classes, so all classes count as equally far apart"):
        classifier = fitted(FirstWord(takes_many=False), TEXTS, TOPICS, n_bits=5)
    assert classifier.score(TEXTS, TOPICS) > 0.85


def test_a_function_of_the_samples_is_given_what_there_is(digits):
    def distances(X, class_index):
        given.append(X)
        return 1 - np.eye(class_index.max() + 1)

    given = []
    fitted(FirstWord(), TEXTS, TOPICS, n_bits=4, class_distances=distances)
    fitted(make_pipeline(StandardScaler(), LinearSVC()), *digits, n_bits=6, class_distances=distances)
    assert given[0] == TEXTS
    np.testing.assert_allclose(given[1], StandardScaler().fit_transform(digits[0]))


def test_what_needs_class_means_says_so_where_there_are_none():
    with (
        pytest.warns(UserWarning, match="confusion of FirstWord"),
        pytest.raises(ValueError, match="'clustering' need numeric features"),
    ):
        fitted(FirstWord(), TEXTS, TOPICS, codebook="decoc")


def test_a_learner_may_take_more_than_two_dimensions(iris):
    class Image(ClassifierMixin, BaseEstimator):
        def fit(self, X, y):
            assert X.ndim == 3
            self.inner_ = LogisticRegression(max_iter=1000).fit(X.reshape(len(X), -1), y)
            self.classes_ = self.inner_.classes_
            return self

        def predict_proba(self, X):
            return self.inner_.predict_proba(X.reshape(len(X), -1))

    X, y = iris
    assert fitted(Image(), X.reshape(-1, 2, 2), y).score(X.reshape(-1, 2, 2), y) > 0.9


def test_tags_say_what_the_first_step_takes():
    def tags(*steps):
        return get_tags(ECOCClassifier(make_pipeline(*steps))).input_tags

    assert tags(SimpleImputer(), LogisticRegression()).allow_nan
    assert tags(SimpleImputer(), LogisticRegression()).sparse
    assert not tags(SimpleImputer(), GaussianNB()).sparse
    assert not tags(StandardScaler(), MultinomialNB()).positive_only
    assert not tags(TfidfVectorizer(), LinearSVC()).two_d_array
    assert get_tags(ECOCClassifier(MultinomialNB())).input_tags.positive_only
    assert tags("passthrough", hist()).allow_nan


# What class distances see


def test_gaps_count_as_the_mean_of_their_feature():
    X = np.array([[1.0, np.nan], [3.0, 4.0], [np.inf, 8.0]])
    np.testing.assert_array_equal(as_numbers(X), [[1, 6], [3, 4], [2, 8]])
    np.testing.assert_array_equal(as_numbers(sparse.csr_array(X)).toarray(), [[1, 6], [3, 4], [2, 8]])
    np.testing.assert_array_equal(as_numbers(pd.DataFrame({"a": [1, None, 3]}, dtype="Int64")), [[1], [2], [3]])


@pytest.mark.parametrize("form", [as_objects, pd.DataFrame.convert_dtypes, as_arrow, as_polars, as_categories])
def test_a_table_gives_the_same_numbers_in_every_form(form, table):
    expected = as_numbers(table[0]).toarray()
    assert expected.shape == (200, 6)
    np.testing.assert_allclose(as_numbers(form(table[0])).toarray(), expected)


def test_rare_values_become_no_features():
    frame = pd.DataFrame({"name": [f"name {i}" for i in range(300)] + ["often"] * 2})
    assert as_numbers(frame).shape == (302, 100)
    assert as_numbers(frame).sum() == 101
    moments = pd.DataFrame({"when": pd.to_datetime(["2020-01-01", None, "2020-01-03"])})
    assert np.diff(as_numbers(moments), axis=0).ravel().tolist() == [
        *np.diff(as_numbers(moments), axis=0)[::-1].ravel()
    ]
    assert as_numbers(["a", "text"]) is None


def test_distances_come_from_the_features_of_the_last_step(digits):
    X, y = digits
    noisy = np.column_stack([X, 1e4 * np.random.default_rng(0).normal(size=200)])
    steps = make_pipeline(StandardScaler(), LinearSVC())
    direct = fitted(LinearSVC(), StandardScaler().fit_transform(noisy), y, n_bits=6)
    piped = fitted(steps, noisy, y, n_bits=6)
    np.testing.assert_allclose(piped.class_distances_.matrix(), direct.class_distances_.matrix())
    searched = fitted(GridSearchCV(steps, {"linearsvc__C": [1.0]}, cv=2), noisy, y, n_bits=6)
    np.testing.assert_allclose(searched.class_distances_.matrix(), direct.class_distances_.matrix())


@pytest.mark.parametrize(
    "options",
    [
        {"assignment": "random"},
        {"assignment": [2, 0, 1], "codebook": "one_vs_one"},
        {"assignment": "identity"},
        {"codebook": "one_vs_rest"},
        {"codebook": "one_vs_one"},
    ],
)
def test_distances_are_computed_only_where_they_decide_something(options, iris):
    def fail(X, class_index):
        raise AssertionError("nothing depends on these distances")

    classifier = fitted(LinearSVC(), *iris, class_distances=fail, **options)
    assert classifier.class_distances_ is None
    assert classifier.score(*iris) > 0.6


# Learners of others


def test_xgboost_learns_bits(with_gaps, iris):
    xgboost = pytest.importorskip("xgboost")
    classifier = fitted(xgboost.XGBClassifier(n_jobs=1, n_estimators=5), with_gaps, iris[1])
    assert classifier.score(with_gaps, iris[1]) > 0.9


@pytest.mark.parametrize("codebook", ["dense_random", "one_vs_one"])
def test_xgboost_learns_from_categories(codebook, table):
    xgboost = pytest.importorskip("xgboost")
    frame, y = as_categories(table[0]), table[1]
    learner = xgboost.XGBClassifier(n_jobs=1, n_estimators=5, enable_categorical=True)
    assert fitted(learner, frame, y, codebook=codebook).score(frame, y) > 0.85


@pytest.mark.parametrize("codebook", ["dense_random", "one_vs_one"])
def test_lightgbm_learns_from_categories(codebook, table):
    lightgbm = pytest.importorskip("lightgbm")
    frame, y = as_categories(table[0]), table[1]
    learner = lightgbm.LGBMClassifier(n_jobs=1, n_estimators=5, min_child_samples=5, verbose=-1)
    assert fitted(learner, frame, y, codebook=codebook).score(frame, y) > 0.85


@pytest.mark.parametrize("codebook", ["dense_random", "one_vs_one"])
def test_catboost_learns_from_categories(codebook, table):
    catboost = pytest.importorskip("catboost")
    frame, y = table
    learner = catboost.CatBoostClassifier(iterations=5, thread_count=1, verbose=False, allow_writing_files=False)
    # CatBoost makes a list of its own of a parameter cat_features, which scikit-learn's clone refuses.
    classifier = ECOCClassifier(learner, codebook=codebook, random_state=0).fit(frame, y, cat_features=["colour"])
    assert classifier.score(frame, y) > 0.85


# Labels, and models as files


def label_kinds():
    names = np.array(["ant", "bee", "cat"])
    return {
        "objects": (lambda y: names.astype(object)[y], object),
        "text of any length": (lambda y: names.astype(np.dtypes.StringDType())[y], np.dtype("<U3")),
        "truth": (lambda y: y > 0, np.dtype(bool)),
        "objects that are truth": (lambda y: (y > 0).astype(object), np.dtype(bool)),
        "objects that are integers": (lambda y: y.astype(object), np.dtype(int)),
        "nullable integers": (lambda y: pd.Series(y, dtype="Int64"), np.dtype(int)),
        "nullable truth": (lambda y: pd.Series(y > 0, dtype="boolean"), np.dtype(bool)),
        "categories": (lambda y: pd.Series(names[y]).astype("category"), object),
        "unsigned": (lambda y: y.astype(np.uint8), np.dtype(np.uint8)),
    }


@pytest.mark.parametrize("kind", label_kinds())
def test_labels_of_every_kind_are_learned_saved_and_predicted(kind, iris, tmp_path):
    make, dtype = label_kinds()[kind]
    labels = make(iris[1])
    classifier = fitted(LinearSVC(), iris[0], labels)
    assert classifier.classes_.dtype == dtype
    again = load_model(save_model(classifier, tmp_path / "model"))
    assert again.classes_.dtype == dtype
    predicted = again.predict(iris[0])
    np.testing.assert_array_equal(predicted, classifier.predict(iris[0]))
    assert (predicted == np.asarray(labels)).mean() > 0.6


@pytest.mark.parametrize("codebook", ["dense_random", "one_vs_one", "sparse_random"])
def test_skops_keeps_a_classifier(codebook, iris):
    X, y = iris
    classifier = fitted(LinearSVC(), X, y, codebook=codebook)
    classifier.predict(X)
    data = skops.io.dumps(classifier)
    again = skops.io.loads(data, trusted=skops.io.get_untrusted_types(data=data))
    np.testing.assert_array_equal(again.predict(X), classifier.predict(X))


def test_a_constant_target_is_named():
    with pytest.raises(ValueError, match="at least 2 classes. Got 1 class: \\[1\\]"):
        ECOCClassifier().fit(np.ones((10, 2)), np.ones(10, dtype=int))


def test_every_bit_of_a_ternary_code_has_an_estimator_that_predicts_its_side(iris):
    X, y = iris
    classifier = fitted(SVC(), X, y, codebook="one_vs_one")
    for bit, estimator in enumerate(classifier.estimators_):
        used = classifier.coding_matrix_[y, bit] != 0
        side = classifier.coding_matrix_[y[used], bit] > 0
        assert (estimator.predict(X[used]) == side).mean() > 0.9


def test_a_bit_without_a_choice_has_an_estimator_as_well(iris):
    X, y = iris
    codebook = np.array([[1, 1, 1], [1, -1, 1], [1, 1, -1]])
    with pytest.warns(UserWarning, match="1 of the 3 bits of this given codebook tell no classes apart"):
        classifier = ECOCClassifier(LogisticRegression(max_iter=500), codebook=codebook, random_state=0).fit(X, y)
    assert [set(estimator.predict(X)) <= {0, 1} for estimator in classifier.estimators_] == [True] * 3


# Metadata


@pytest.fixture
def routing():
    with config_context(enable_metadata_routing=True):
        yield


def test_weights_that_the_learner_asks_for_are_enough(routing, iris):
    X, y = iris
    weights = np.random.default_rng(0).random(150)
    learner = LogisticRegression(max_iter=500).set_fit_request(sample_weight=True)
    classifier = ECOCClassifier(learner, random_state=0).set_score_request(sample_weight=False)
    search = GridSearchCV(classifier, {"estimator__C": [1.0]}, cv=2).fit(X, y, sample_weight=weights)
    with config_context(enable_metadata_routing=False):
        plain = clone(search.best_estimator_).fit(X, y, sample_weight=weights)
    np.testing.assert_allclose(search.best_estimator_.bit_margins(X), plain.bit_margins(X))


def test_a_learner_that_declined_weights_gets_none(routing, iris):
    X, y = iris
    learner = LogisticRegression(max_iter=500).set_fit_request(sample_weight=False)
    with pytest.raises(TypeError, match="unexpected argument.*sample_weight.*not routed"):
        ECOCClassifier(learner).fit(X, y, sample_weight=np.ones(150))
    weights = np.random.default_rng(0).random(150)
    asking = ECOCClassifier(learner, assignment="identity", random_state=0).set_fit_request(sample_weight=True)
    declined = asking.fit(X, y, sample_weight=weights).bit_margins(X)
    np.testing.assert_array_equal(declined, clone(asking).fit(X, y).bit_margins(X))


def test_weights_that_nobody_spoke_of_are_an_error(routing, iris):
    with pytest.raises(UnsetMetadataPassedError, match="LogisticRegression"):
        ECOCClassifier(LogisticRegression()).fit(*iris, sample_weight=np.ones(150))


def test_the_learner_may_call_the_weights_something_else(routing, digits):
    X, y = digits
    weights = np.random.default_rng(0).random(200)
    learner = LogisticRegression(max_iter=500).set_fit_request(sample_weight="importance")
    named = ECOCClassifier(learner, n_bits=6, random_state=0).fit(X, y, importance=weights)
    assert get_routing_for_object(named).consumes("fit", ["importance", "sample_weight"]) == {"importance"}
    with config_context(enable_metadata_routing=False):
        plain = clone(named).fit(X, y, sample_weight=weights)
    np.testing.assert_array_equal(named.bit_margins(X), plain.bit_margins(X))
    np.testing.assert_allclose(named.class_distances_.matrix(), plain.class_distances_.matrix())


class WithMarks(GaussianNB):
    """Notes of each fit how many samples there are and whether weights and marks are those of the samples."""

    noted = []

    def fit(self, X, y, sample_weight=None, marks=None):
        """Learn from samples whose weights are their first features and whose marks are their second ones."""
        WithMarks.noted.append((len(X), np.array_equal(sample_weight, X[:, 0]) and np.array_equal(marks, X[:, 1])))
        return super().fit(X, y, sample_weight)


@pytest.mark.parametrize(("calibrate", "n_fits"), [("cv", {120: 15, 150: 3}), ("holdout", {120: 3})])
def test_arguments_with_an_entry_per_sample_follow_the_folds_of_a_calibration(calibrate, n_fits, iris):
    X, y = iris
    WithMarks.noted.clear()
    options = {"codebook": "one_vs_rest", "assignment": "identity", "class_distances": 1 - np.eye(3)}
    classifier = ECOCClassifier(WithMarks(), calibrate=calibrate, random_state=0, **options)
    classifier.fit(X, y, sample_weight=X[:, 0], marks=X[:, 1])
    assert Counter(n_samples for n_samples, _ in WithMarks.noted) == n_fits
    assert all(is_same for _, is_same in WithMarks.noted)


def test_cross_validation_slices_a_kernel_both_ways(iris):
    X, y = iris
    options = {"codebook": "one_vs_one", "random_state": 0}
    plain = cross_val_score(ECOCClassifier(SVC(kernel="linear"), **options), X, y, error_score="raise")
    kernel = ECOCClassifier(SVC(kernel="precomputed"), **options)
    np.testing.assert_allclose(cross_val_score(kernel, X @ X.T, y, error_score="raise"), plain)
