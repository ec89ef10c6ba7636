"""A further member whose order repeats the first one's: a search goes on without it, and so does a default."""

import numpy as np
import pytest
from scipy import sparse

from codekin import ExtremeClassifier
from codekin.fitting import defaults
from codekin.storage import stored_bytes

REPEATED = {"assignment": "identity", "code": "tree", "rerank": None, "random_state": 0}
"""The same order every time."""


@pytest.fixture(scope="module")
def data():
    """Samples of 100 classes with a feature of all and one of their own, which weighs more from class to class.

    The last classes are the farthest from all others, so that halving begins with the same two for almost every seed.
    """
    y = np.repeat(np.arange(100), 4)
    X = np.zeros((400, 101), dtype=np.float32)
    X[:, 0], X[np.arange(400), 1 + y] = 1, 0.5 + 0.01 * y
    return sparse.csr_array(X), y


def members_of(classifier):
    """The order of each member."""
    return [member.code.assignment.codeword_of_class for member in classifier.model_.codes]


@pytest.mark.parametrize("assignment", ["halving", "learnability"])
def test_two_trees_differ_where_halving_repeats_its_order(data, assignment):
    two_trees = {"code": "tree", "n_codes": 2, "rerank": None, "random_state": 0}
    first, second = members_of(ExtremeClassifier(assignment=assignment, **two_trees).fit(*data))
    assert not np.array_equal(first, second)
    assert sorted(second) == list(range(100))


@pytest.mark.parametrize("seed", range(5))
def test_a_search_keeps_a_model_where_halving_repeats_its_order(data, seed):
    classifier = ExtremeClassifier(max_model_bytes=100_000, random_state=seed).fit(*data, validation=data)
    assert stored_bytes(classifier) <= 100_000
    assert any(trial.recipe.n_codes == 2 for trial in classifier.trials_)


def test_a_search_goes_on_without_a_second_code_that_would_repeat_the_first(data):
    classifier = ExtremeClassifier(max_model_bytes=100_000, **REPEATED).fit(*data, validation=data)
    assert {trial.recipe.n_codes for trial in classifier.trials_} == {1}
    # On trellises, narrower ones come after two of the first width.
    trellis = {**REPEATED, "code": "trellis", "estimator": "arow"}
    classifier = ExtremeClassifier(max_model_bytes=10_000, **trellis).fit(*data, validation=data)
    assert {trial.recipe.n_codes for trial in classifier.trials_} == {1}


def test_the_second_tree_of_very_many_classes_is_left_out_if_it_would_repeat_the_first(data, monkeypatch):
    monkeypatch.setattr(defaults, "TOO_MANY_CLASSES", 50)
    assert len(members_of(ExtremeClassifier(**REPEATED).fit(*data))) == 1
    assert len(members_of(ExtremeClassifier(**{**REPEATED, "assignment": "halving"}).fit(*data))) == 2


@pytest.mark.parametrize("budget", [{}, {"max_model_bytes": 100_000}])
def test_members_that_were_asked_for_and_would_repeat_the_first_are_refused(data, budget):
    with pytest.raises(ValueError, match="'identity' finds the same order every time"):
        ExtremeClassifier(n_codes=2, **REPEATED, **budget).fit(*data, validation=data)
