"""Codes that are learned at the same time: the same bytes as one after the other, within the memory that is allowed."""

import os
import signal
import threading
import time
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from scipy import sparse

from codekin._system.parallel import available_threads, limited_threads, with_workers
from codekin._system.rows import StoredRows
from codekin.code.tree import label_tree
from codekin.codebooks import trellis_codebook
from codekin.data import make_sparse_topics
from codekin.estimators import ExtremeClassifier
from codekin.fitting import codes
from codekin.fitting.codes import in_parallel, n_parallel_codes, with_shared_threads
from codekin.fitting.plan import Plan
from codekin.learners import AROW, IndependentBits, Softmax
from codekin.progress import report, subscribe

N_FEATURES = 50
PLAN = Plan(20, trellis_codebook(20, 3), "clustering", "ordered", Softmax(n_threads=4), "logistic", (0,), n_codes=3)
X = sparse.csr_array((10, N_FEATURES), dtype=np.float32)


@pytest.fixture(scope="module")
def topics():
    return make_sparse_topics(60, 1500, words_per_sample=7, rng=0)


@pytest.fixture
def groups(monkeypatch):
    """How many codes were learned together, each time."""
    found = []

    def noted(tasks):
        found.append(len(tasks))
        return in_parallel(tasks)

    monkeypatch.setattr(codes, "in_parallel", noted)
    return found


def fitted(data, learner, has_validation, **options):
    settings = {"width": 3, "n_codes": 3, "assignment": "random", "rerank": None, "random_state": 0, **options}
    validation = (data.test.X[:200], data.test.y[:200]) if has_validation else None
    return ExtremeClassifier(estimator=learner, **settings).fit(data.X, data.y, validation=validation)


def weights_of(classifier):
    return [member.bits.weights.tobytes() for member in classifier.model_.codes]


@pytest.mark.parametrize("has_validation", [True, False])
@pytest.mark.parametrize("learner", [Softmax(n_epochs=3), AROW(n_epochs=3, average=True)], ids=["softmax", "AROW"])
def test_the_number_of_threads_changes_no_byte(topics, groups, learner, has_validation):
    found, n_together = [], []
    for n_threads in (1, 2, 3):
        groups.clear()
        found.append(weights_of(fitted(topics, replace(learner, n_threads=n_threads), has_validation)))
        n_together.append(max(groups))
    assert n_together == [1, 2, 3]
    assert found[0] == found[1] == found[2]
    assert len(set(found[0])) == 3


def test_trials_within_a_budget_do_not_depend_on_the_number_of_threads(topics, groups):
    validation = topics.test.X[:200], topics.test.y[:200]
    settings = {"width": 3, "n_codes": 2, "max_model_bytes": 60_000, "assignment": "random", "random_state": 0}
    found = []
    for n_threads in (1, 2):
        classifier = ExtremeClassifier(estimator=Softmax(n_epochs=2, n_threads=n_threads), **settings)
        classifier.fit(topics.X, topics.y, validation=validation)
        found.append(([(t.recipe, t.accuracy, t.n_bytes) for t in classifier.trials_], weights_of(classifier)))
    assert found[0] == found[1]
    assert max(groups) == 2


def test_as_many_codes_learn_at_once_as_there_are_threads_and_codes(monkeypatch):
    monkeypatch.setattr(codes, "available_memory", lambda: None)
    for n_threads, expected in ((1, 1), (2, 2), (3, 3), (9, 3)):
        plan = replace(PLAN, learner=Softmax(n_threads=n_threads))
        assert n_parallel_codes(plan, plan.codebook, X) == expected
    with limited_threads(1):
        assert n_parallel_codes(replace(PLAN, learner=Softmax()), PLAN.codebook, X) == 1


def test_codes_that_do_not_fit_into_memory_together_are_learned_in_turn(monkeypatch):
    state = 8 * (N_FEATURES + 1) * PLAN.codebook.n_bits
    for n_codes in (2, 3):
        needed = n_codes * state + (3 - n_codes) * state // 2  # finished weights take four bytes
        for limit, expected in ((needed, n_codes), (needed - 1, n_codes - 1)):
            plan = replace(PLAN, learner=Softmax(n_threads=4, max_memory=limit))
            assert n_parallel_codes(plan, plan.codebook, X) == expected
            with monkeypatch.context() as patch:
                patch.setattr(codes, "available_memory", lambda limit=limit: limit)
                assert n_parallel_codes(PLAN, PLAN.codebook, X) == expected
    dense = X[:2].toarray()
    monkeypatch.setattr(codes, "available_memory", lambda: 3 * state)
    assert n_parallel_codes(PLAN, PLAN.codebook, X) == 3
    assert n_parallel_codes(PLAN, PLAN.codebook, dense) < 3  # each code has its own compressed copy
    with_bias = replace(PLAN, learner=replace(PLAN.learner, fit_intercept=True))
    full = sparse.csr_array(np.ones(X.shape, dtype=np.float32))
    assert [n_parallel_codes(plan, PLAN.codebook, full) for plan in (PLAN, with_bias)] == [3, 1]  # likewise


def test_codes_in_parallel_share_the_threads_of_their_learner():
    assert with_shared_threads(PLAN, 1) is PLAN
    plan = replace(PLAN, learner=Softmax(n_threads=4))
    assert [with_shared_threads(plan, n).learner.n_threads for n in (1, 2, 3, 8)] == [4, 2, 1, 1]
    plan = replace(PLAN, learner=Softmax())
    assert with_shared_threads(plan, 2).learner.n_threads is None


def test_trees_samples_on_disk_workers_and_unknown_learners_are_learned_in_turn():
    tree = replace(PLAN, codebook=label_tree(20, 4))
    assert n_parallel_codes(tree, tree.codebook, X) == 1
    assert n_parallel_codes(PLAN, PLAN.codebook, StoredRows.__new__(StoredRows)) == 1
    assert n_parallel_codes(replace(PLAN, learner=IndependentBits(None)), PLAN.codebook, X) == 1
    with with_workers(2):
        assert n_parallel_codes(PLAN, PLAN.codebook, X) == 1
    assert n_parallel_codes(PLAN, PLAN.codebook, X) == 3


def test_threads_are_divided_among_the_tasks():
    assert in_parallel({0: available_threads, 1: available_threads}) == dict.fromkeys((0, 1), 1)
    assert in_parallel({5: available_threads}) == {5: available_threads()}


def never_ending():
    while True:
        report("counting")
        time.sleep(1e-3)


def test_an_error_ends_the_other_tasks_and_is_raised():
    def failing():
        raise MemoryError("no room")

    for tasks in ({0: never_ending, 1: failing}, {0: failing, 1: never_ending}):
        with pytest.raises(MemoryError, match="no room"):
            in_parallel(tasks)


@pytest.mark.skipif(os.name == "nt", reason="threads cannot send signals to each other on Windows")
def test_an_interruption_of_the_calling_thread_ends_all_tasks():
    def interrupting():
        signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)
        never_ending()

    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # programs in the background ignore it
    try:
        with pytest.raises(KeyboardInterrupt):
            in_parallel({0: never_ending, 1: interrupting})
    finally:
        signal.signal(signal.SIGINT, before)


def test_progress_is_that_of_all_codes_together(topics):
    heard = []
    with subscribe(heard.append):
        fitted(topics, Softmax(n_epochs=3, n_threads=2), has_validation=True)
    stages = [progress.stage for progress in heard if "learning bits" in progress.stage]
    assert list(dict.fromkeys(stages)) == ["codes 1 to 2 of 3: learning bits", "code 3 of 3: learning bits"]
    together = [progress for progress in heard if progress.stage.startswith("codes 1 to 2") and progress.total]
    assert {progress.total for progress in together} == {2 * 3 * topics.X.shape[0]}
    assert together[-1].done == together[-1].total
    assert all(first.done <= second.done for first, second in pairwise(together))


def test_reports_of_passes_do_not_overlap(topics):
    n_inside, most, reports = 0, 0, []

    def on_epoch(report):
        nonlocal n_inside, most
        n_inside += 1
        most = max(most, n_inside)
        time.sleep(0.01)
        reports.append(report.epoch)
        n_inside -= 1

    classifier = ExtremeClassifier(
        3, n_codes=2, rerank=None, estimator=Softmax(n_epochs=3, n_threads=2), random_state=0
    )
    validation = topics.test.X[:200], topics.test.y[:200]
    classifier.fit(topics.X, topics.y, validation=validation, on_epoch=on_epoch)
    assert most == 1
    assert sorted(reports) == [1, 1, 2, 2, 3, 3]
