"""Groups of classes as answers: sums of probabilities, the smallest sure group, and sets of few nodes that cover."""

import json
import pickle

import numpy as np
import pytest

from codekin import ECOCClassifier, ExtremeClassifier, Predictor, load_model, save_model
from codekin.classes import ClassTree
from codekin.data import make_sparse_topics
from codekin.model.answer_tree import MOST_NODES, AnswerTree, ClassGroup

DATA = make_sparse_topics(40, 3_000, n_features=200, rng=0)
X, Y = DATA.train.X, DATA.train.y
HELD, OF_HELD, NEW, OF_NEW = X[600:1800], Y[600:1800], X[1800:], Y[1800:]
EDGES = [("all", f"ten {k // 10}") for k in range(0, 40, 10)] + [(f"ten {k // 10}", str(k)) for k in range(40)]


def holds(answer, label):
    return label in answer.labels if isinstance(answer, ClassGroup) else answer == label


@pytest.fixture(scope="module")
def classifier():
    classifier = ExtremeClassifier(code="tree", width=3, rerank=None, random_state=0).fit(X[:600], Y[:600])
    return classifier.calibrate_sets(HELD, OF_HELD, min_precision=0.9, taxonomy=EDGES)


def test_an_answer_is_the_smallest_sure_group(classifier):
    probabilities = classifier.predict_proba(NEW[:200])
    column = {label: k for k, label in enumerate(classifier.classes_.tolist())}
    for least in (0.4, 0.7, 0.95):
        for answer, own in zip(classifier.predict(NEW[:200], min_probability=least), probabilities, strict=True):
            sums = [own[[column[k] for k in range(at, at + 10)]].sum() for at in range(0, 40, 10)]
            if own.max() >= least:
                assert answer == classifier.classes_[own.argmax()]
            elif max(sums) >= least:
                assert answer == f"ten {int(np.argmax(sums))}"
                assert sorted(answer.labels.tolist()) == list(range(10 * int(answer[-1]), 10 * int(answer[-1]) + 10))
            else:
                assert answer is None


def test_a_parent_is_never_less_likely_than_its_child(classifier):
    tree = ClassTree.from_linkage([[k if k < 1 else 39 + k, k + 1, 1.0 + k, k + 2] for k in range(39)])
    groups = AnswerTree.of(tree, classifier.classes_)
    least = np.linspace(0, 1, 200)
    answers, probabilities = groups.sure(classifier.model_, NEW[:100], least)
    sizes = np.array([41 if one is None else len(getattr(one, "labels", [0])) for one in groups.names])[answers]
    # A surer answer is never a smaller group.
    assert (np.diff(sizes, axis=1) >= 0).all()
    assert (probabilities[answers >= 0] >= np.broadcast_to(least, answers.shape)[answers >= 0]).all()


@pytest.mark.parametrize("taxonomy", [EDGES, "model", "prefixes"])
def test_sets_of_few_nodes_cover_as_often_as_asked(classifier, taxonomy):
    fresh = ExtremeClassifier(code="tree", width=3, rerank=None, random_state=0).fit(X[:600], Y[:600])
    plain = fresh.calibrate_sets(HELD, OF_HELD)
    largest = plain.set_calibration_.largest_score(0.9)
    grouped = fresh.calibrate_sets(HELD, OF_HELD, taxonomy=taxonomy)
    assert grouped.set_calibration_.largest_score(0.9) <= largest
    sets = grouped.predict_sets(NEW, 0.9)
    covered = np.mean([any(holds(one, label) for one in own) for own, label in zip(sets, OF_NEW, strict=True)])
    assert 0.9 - 3 * np.sqrt(0.09 * 2 / 1200) <= covered
    assert max(len(own) for own in sets) <= MOST_NODES
    # They hold all classes that are probable enough.
    scores = -grouped.predict_log_proba(NEW[:100])
    for own, of_classes in zip(sets, scores, strict=False):
        listed = grouped.classes_[of_classes.astype(np.float32) <= grouped.set_calibration_.largest_score(0.9)]
        assert all(any(holds(one, label) for one in own) for label in listed.tolist())


def test_the_score_of_a_true_class_is_where_its_set_first_holds_it(classifier):
    groups, model = classifier.set_calibration_.groups, classifier.model_
    true = classifier._class_index(OF_NEW[:60])
    scores = (-groups.scores(model, NEW[:60], true)).astype(np.float32)
    for row in range(60):
        for largest, is_held in ((scores[row], True), (np.nextafter(scores[row], np.float32(-1)), False)):
            (answers,) = groups.sets(model, NEW[[row]], largest)
            best = -model.log_proba(NEW[[row]]).max()
            assert groups.holds(answers[None], true[[row]]).any() == (is_held or best > largest)


def test_groups_are_saved_and_the_same_everywhere(classifier, tmp_path):
    folder = save_model(classifier, tmp_path / "model")
    answers = classifier.predict(NEW[:60]).tolist()
    kinds = {type(answer) for answer in answers}
    assert {ClassGroup, int} <= kinds
    assert load_model(folder).predict(NEW[:60]).tolist() == answers
    predictor = Predictor.load(folder)
    assert [predictor.predict(NEW[[i]]) for i in range(60)] == answers
    sets = [own.tolist() for own in classifier.predict_sets(NEW[:20])]
    assert [own.tolist() for own in load_model(folder).predict_sets(NEW[:20])] == sets
    group = next(answer for answer in answers if isinstance(answer, ClassGroup))
    again = pickle.loads(pickle.dumps(group))
    assert (str(again), again.labels.tolist()) == (str(group), group.labels.tolist())


def test_groups_have_names_that_people_can_read():
    labels = np.array(["E10", "E11", "E110", "F20", "F2x", "G"])
    groups = AnswerTree.of_prefixes(labels)
    assert {str(name): sorted(name.labels) for name in groups.names[6:-1] if 1 < len(name.labels) < 6} == {
        "E...": ["E10", "E11", "E110"],
        "E1...": ["E10", "E11", "E110"],
        "E11...": ["E11", "E110"],
        "F...": ["F20", "F2x"],
        "F2...": ["F20", "F2x"],
    }
    tree = ClassTree.from_edges([("dog", "poodle"), ("pet", "dog"), ("pet", "cat")], classes=["dog", "poodle", "cat"])
    named = AnswerTree.of(tree, np.array(["dog", "poodle", "cat"])).names[3:-1]
    assert {str(name) for name in named if len(name.labels) == 2} == {"dog and below"}
    unnamed = AnswerTree.of(ClassTree([-1, 0, 0, 1, 1, 1, 1, 1], [3, 4, 5, 6, 7, 2]), np.array(list("abcdef")))
    assert "a, b, c and 2 more" in [str(name) for name in unnamed.names]


def test_a_code_without_an_order_has_no_groups_of_its_own():
    classifier = ECOCClassifier(random_state=0).fit(X[:600], Y[:600])
    with pytest.raises(ValueError, match="The taxonomy 'model' needs a code on a tree or a trellis"):
        classifier.calibrate_sets(HELD, OF_HELD, taxonomy="model")
    classifier.calibrate_sets(HELD, OF_HELD, taxonomy=EDGES)
    assert max(len(own) for own in classifier.predict_sets(NEW[:50], 0.95)) <= MOST_NODES
    assert json.dumps([str(one) for own in classifier.predict_sets(NEW[:5]) for one in own])
