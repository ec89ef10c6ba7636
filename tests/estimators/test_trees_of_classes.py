"""ExtremeClassifier with the leaves of a tree as codewords."""

import numpy as np
import pytest
from scipy import sparse

from codekin import ExtremeClassifier
from codekin._system.files import bytes_in
from codekin.classes import ClassTree
from codekin.learners import AROW, LinearSVM, Softmax
from codekin.storage import load_model, save_model, stored_bytes

N_CLASSES, N_FEATURES = 90, 220


def drawn(n_per_class, seed):
    """Classes that have two features of their own, one shared with their neighbours, and noise."""
    rng = np.random.default_rng(seed)
    classes = np.repeat(np.arange(N_CLASSES), n_per_class)
    n = len(classes)
    X = (rng.random((n, N_FEATURES)) < 0.02).astype(np.float32)
    X[np.arange(n), 2 * classes + rng.integers(2, size=n)] = 1.5
    X[np.arange(n), 180 + classes // 5] = 1
    return sparse.csr_matrix(X), np.array([f"c{k:03}" for k in range(N_CLASSES)])[classes]


@pytest.fixture(scope="module")
def data():
    return drawn(10, 0), drawn(4, 1), drawn(4, 2)


@pytest.fixture(scope="module")
def fitted(data):
    return ExtremeClassifier(4, code="tree", random_state=0).fit(*data[0], validation=data[1])


def test_it_is_right(fitted, data):
    assert fitted.score(*data[2]) > 0.75
    assert fitted.codebook_.tree.width == 4
    assert fitted.recipe_.code == "tree"
    assert "tree of width 4" in str(fitted.recipe_)


def test_probabilities_sum_to_one_and_agree_with_each_other(fitted, data):
    X, y = data[2][0][:40], data[2][1][:40]
    every = fitted.predict_proba(X)
    np.testing.assert_allclose(every.sum(axis=1), 1, atol=1e-6)
    labels, best = fitted.top_k_proba(X, 3)
    np.testing.assert_allclose(best[:, 0], every.max(axis=1), rtol=1e-3)
    of_labels = np.take_along_axis(every, np.searchsorted(fitted.classes_, labels), axis=1)
    np.testing.assert_allclose(best, of_labels, rtol=1e-3)
    own = fitted.log_proba(X, y)
    np.testing.assert_allclose(np.exp(own), every[np.arange(40), np.searchsorted(fitted.classes_, y)], rtol=1e-3)
    assert fitted.log_proba(X[:1], ["unheard of"])[0] == -np.inf


def test_a_search_that_is_wide_enough_finds_what_going_through_all_classes_does(fitted, data):
    X = data[2][0]
    labels, losses = fitted.top_k(X, N_CLASSES)
    every = -fitted.decision_function(X)
    np.testing.assert_allclose(losses, np.sort(every, axis=1), rtol=1e-4, atol=1e-4)
    assert (np.sort(labels, axis=1) == fitted.classes_).all()
    assert (fitted.predict(X) == labels[:, 0]).mean() > 0.98


@pytest.mark.parametrize("options", [{}, {"rerank": "learned"}, {"n_codes": 2}, {"n_codes": 2, "rerank": "centroid"}])
def test_a_saved_model_predicts_the_same_and_takes_what_was_said(data, tmp_path, options):
    classifier = ExtremeClassifier(4, code="tree", random_state=0, **options).fit(*data[0], validation=data[1])
    X = data[2][0]
    again = load_model(save_model(classifier, tmp_path / "model"))
    assert bytes_in(tmp_path / "model") == stored_bytes(classifier)
    assert np.array_equal(again.predict(X), classifier.predict(X))
    for one, other in zip(again.top_k_proba(X, 7), classifier.top_k_proba(X, 7), strict=True):
        assert np.array_equal(one, other)
    assert (
        save_model(again, tmp_path / "again").joinpath("arrays.safetensors").read_bytes()
        == (tmp_path / "model" / "arrays.safetensors").read_bytes()
    )
    assert classifier.score(*data[2]) > 0.75


@pytest.mark.parametrize("options", [{"rerank": "learned"}, {"n_codes": 2}])
def test_ranked_probabilities_sum_to_one(data, options):
    classifier = ExtremeClassifier(4, code="tree", random_state=0, **options).fit(*data[0])
    X = data[2][0][:30]
    np.testing.assert_allclose(classifier.predict_proba(X).sum(axis=1), 1, atol=1e-6)
    labels, losses = classifier.top_k(X, 30)
    assert (np.diff(losses, axis=1) >= 0).all()
    assert all(len(set(row)) == 30 for row in labels)
    every = -classifier.decision_function(X)
    assert np.array_equal(classifier.classes_[every.argmin(axis=1)], classifier.predict(X))


@pytest.mark.parametrize("n_jobs", [None, 2])
def test_the_same_seed_gives_the_same_model(data, fitted, n_jobs):
    again = ExtremeClassifier(4, code="tree", random_state=0, n_jobs=n_jobs).fit(*data[0], validation=data[1])
    assert np.array_equal(again.model_.bits.weights, fitted.model_.bits.weights)
    assert np.array_equal(again.assignment_.codeword_of_class, fitted.assignment_.codeword_of_class)


@pytest.mark.parametrize("assignment", ["halving", "learnability", "preserving", "breaking", "random", "identity"])
def test_every_way_to_give_leaves_to_classes_is_a_bijection(data, assignment):
    classifier = ExtremeClassifier(4, code="tree", assignment=assignment, random_state=0).fit(*data[0])
    assert np.array_equal(np.sort(classifier.assignment_.codeword_of_class), np.arange(N_CLASSES))
    assert classifier.assignment_.method == assignment
    assert classifier.score(*data[2]) > 0.6


def test_similar_classes_share_nodes_where_they_should(data):
    """Five neighbours share a feature: halving puts them near each other, breaking far apart."""
    spread = {}
    for assignment in ("halving", "learnability", "random", "breaking"):
        classifier = ExtremeClassifier(4, code="tree", assignment=assignment, random_state=0).fit(*data[0])
        leaves = classifier.assignment_.codeword_of_class.reshape(-1, 5)
        spread[assignment] = np.ptp(leaves, axis=1).mean()
    assert max(spread["halving"], spread["learnability"]) < spread["random"]


def test_the_taxonomy_is_taken_where_it_is_asked_for(data):
    tree = ClassTree.from_nested([[f"c{k:03}" for k in range(five, five + 5)] for five in range(0, N_CLASSES, 5)])
    taxonomy = {"taxonomy": tree, "random_state": 0}
    for assignment in ("preserving", "auto"):
        classifier = ExtremeClassifier(4, code="tree", assignment=assignment, **taxonomy).fit(*data[0])
        assert np.array_equal(classifier.assignment_.codeword_of_class, np.arange(N_CLASSES))
    halved = ExtremeClassifier(4, code="tree", assignment="halving", **taxonomy).fit(*data[0])
    assert not np.array_equal(halved.assignment_.codeword_of_class, np.arange(N_CLASSES))


def test_members_have_trees_of_their_own(data):
    classifier = ExtremeClassifier(4, code="tree", n_codes=2, random_state=0).fit(*data[0])
    first, second = (member.code.assignment.codeword_of_class for member in classifier.model_.codes)
    assert not np.array_equal(first, second)


def test_it_learns_batch_by_batch(data, tmp_path):
    X, y = data[0]
    classifier = ExtremeClassifier(4, code="tree", random_state=0)
    for _ in range(3):
        for rows in np.array_split(np.random.default_rng(0).permutation(X.shape[0]), 2):
            classifier.partial_fit(X[rows], y[rows], classes=np.unique(y))
    assert classifier.score(*data[2]) > 0.6
    again = load_model(save_model(classifier, tmp_path / "model"))
    assert again.partial_fit(X, y).score(*data[2]) > 0.6


def test_a_budget_is_kept(data):
    limit = stored_bytes(ExtremeClassifier(4, code="tree", random_state=0).fit(*data[0])) * 7 // 8
    classifier = ExtremeClassifier(code="tree", width=4, max_model_bytes=limit, random_state=0)
    classifier.fit(*data[0], validation=data[1])
    assert stored_bytes(classifier) <= limit
    assert classifier.recipe_.code == "tree"
    assert classifier.score(*data[2]) > 0.75


def test_a_report_measures_the_error(fitted, data):
    report = fitted.report(*data[2])
    assert report.error == pytest.approx(1 - fitted.score(*data[2]))
    assert "error" in str(report)


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"max_bits": 100}, "max_bits=100 needs a trellis. Got code='tree'"),
        ({"n_reserved": 3}, "n_reserved=3 needs a trellis"),
        ({"loss": "hinge"}, "loss='hinge' needs a trellis"),
        ({"estimator": AROW()}, "nodes of a tree are learned by softmax"),
        ({"assignment": "tabu"}, "assignment='tabu' needs a trellis. Got code='tree'"),
    ],
)
def test_what_only_a_trellis_has_is_refused(data, options, reason):
    with pytest.raises(ValueError, match=reason):
        ExtremeClassifier(code="tree", **options).fit(*data[0])


def test_halving_chooses_a_tree_for_any_number_of_classes_and_is_refused_on_a_trellis(data):
    halved = ExtremeClassifier(assignment="halving", rerank=None, random_state=0).fit(*data[0])
    assert (halved.recipe_.code, halved.assignment_.method) == ("tree", "halving")
    with pytest.raises(ValueError, match="assignment='halving' needs a tree. Got code='trellis'"):
        ExtremeClassifier(assignment="halving", code="trellis").fit(*data[0])


def test_few_classes_of_sparse_samples_get_a_flat_tree_and_others_a_trellis(data):
    X, y = data[0]
    flat = ExtremeClassifier(random_state=0).fit(X, y)
    assert (flat.codebook_.kind, flat.codebook_.width) == ("tree", len(flat.classes_))
    assert flat.model_.ranking is None
    assert isinstance(flat.learner_, LinearSVM)
    assert flat.temperature_ < 1  # margins are distances, not logarithms of odds
    assert ExtremeClassifier(random_state=0).fit(X.toarray() + 5, y).codebook_.kind == "trellis"
    limited = ExtremeClassifier(estimator=Softmax(max_memory=10**8), random_state=0).fit(X, y)
    assert limited.codebook_.kind == "trellis"


@pytest.mark.parametrize(
    ("options", "code"),
    [({}, "tree"), ({"width": 2}, "trellis"), ({"estimator": AROW()}, "trellis"), ({"estimator": Softmax()}, "tree")],
)
def test_many_classes_get_a_tree_unless_something_else_is_asked_for(data, monkeypatch, options, code):
    monkeypatch.setattr("codekin.fitting.defaults.MANY_CLASSES", 50)
    classifier = ExtremeClassifier(random_state=0, rerank=None, **options).fit(*data[0])
    assert classifier.recipe_.code == code


def test_the_command_line_trains_trees(data, tmp_path, capsys):
    from codekin.cli.main import main

    X, y = data[0]
    rows = (" ".join(f"{j}:{v:g}" for j, v in zip(row.indices, row.data, strict=True)) for row in X)
    lines = (f"{int(label[1:])} {row}\n" for label, row in zip(y, rows, strict=True))
    (tmp_path / "train.svm").write_text("".join(lines))
    assert main(["train", str(tmp_path / "train.svm"), str(tmp_path / "model"), "--code", "tree", "--width", "4"]) == 0
    capsys.readouterr()
    assert main(["inspect", str(tmp_path / "model")]) == 0
    assert "label_tree" in capsys.readouterr().out
    assert load_model(tmp_path / "model").codebook_.tree.width == 4
