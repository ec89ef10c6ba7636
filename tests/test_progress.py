import os
import sys
import types

import numpy as np
import pytest

from codekin._system.parallel import on_threads
from codekin.assignments import assign
from codekin.classes.vectors import EmbeddingDistances
from codekin.codebooks import trellis_codebook
from codekin.data import make_sparse_topics
from codekin.estimators import ExtremeClassifier
from codekin.progress import (
    JointProgress,
    NotebookBar,
    Progress,
    Stopped,
    has_subscriber,
    report,
    reported,
    reporter,
    stage,
    subscribe,
)


@pytest.fixture(scope="module")
def topics():
    """Samples of 120 classes, which is enough for a search and a re-ranking."""
    train = make_sparse_topics(120, 600, n_features=200, rng=0).splits["train"]
    return train.X, train.y


@pytest.fixture
def heard():
    """What is told within the test."""
    told = []
    with subscribe(told.append):
        yield told


def stages(told):
    """The names of the stages in the order in which they begin."""
    names = [progress.stage for progress in told if progress.stage]
    return [name for i, name in enumerate(names) if i == 0 or name != names[i - 1]]


def test_what_is_told_is_heard_within_the_block_only():
    told = []
    assert not has_subscriber()
    with subscribe(told.append):
        assert has_subscriber()
        report("counting", 1, 3, detail="sheep", unit="sheep")
        with subscribe(None):
            report("counting", 2, 3)
    report("counting", 3, 3)
    assert told == [Progress("counting", 1, 3, "sheep", None, "sheep"), Progress("counting", 2, 3)]


def test_an_inner_listener_hears_instead_of_the_outer_one(heard):
    inner = []
    with subscribe(inner.append):
        report("counting")
    assert heard == []
    assert stages(inner) == ["counting"]


def test_stages_say_what_they_are_part_of(heard):
    with stage("trial 2"), stage("code 1 of 3"):
        report("learning bits")
        report("", detail="compiling")
    assert [progress.stage for progress in heard] == ["trial 2: code 1 of 3: learning bits", ""]


def test_what_other_threads_tell_is_heard(heard):
    on_threads(lambda i: report("counting", i), range(20), n_threads=3)
    assert sorted(progress.done for progress in heard) == list(range(20))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_worker_has_nobody_to_tell(heard):
    pid = os.fork()
    if pid == 0:
        os._exit(has_subscriber())
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    assert has_subscriber()


def test_a_reader_tells_by_a_function_of_two_numbers(heard):
    told = reporter("reading")
    told(3, 10)
    assert heard == [Progress("reading"), Progress("reading", 3, 10)]


def test_items_are_counted_off_unchanged(heard):
    assert list(reported("abcdefg", "spelling", unit="letters", every=3)) == list("abcdefg")
    assert [(progress.done, progress.total) for progress in heard] == [(0, 7), (3, 7), (6, 7)]


@pytest.mark.parametrize("n_restarts", [1, 3])
def test_a_search_tells_its_share_of_the_proposals(heard, n_restarts):
    distances = EmbeddingDistances(np.random.default_rng(0).normal(size=(250, 3)), squared=True)
    assign(trellis_codebook(250, 2), distances, "vector_swaps", rng=0, n_restarts=n_restarts, n_proposals=50_000)
    assert stages(heard) == ["searching for an assignment"]
    shares = [progress.done / progress.total for progress in heard if progress.total]
    assert shares == sorted(shares)
    assert shares[-1] == pytest.approx(1, abs=0.01)


def test_a_fit_tells_every_stage_in_its_order(heard, topics):
    X, y = topics
    ExtremeClassifier(code="tree", random_state=0).fit(X, y)
    first = ["learning the nodes of the tree", "choosing how much class sizes count", "listing candidates to choose by"]
    first += [
        "listing the classes that are confused",
        "learning class vectors",
        "choosing the loss gap of the candidates",
    ]
    first += ["fitting the temperature of the re-ranking", "fitting the temperature", "measuring the probabilities"]
    again = ["learning the nodes of the tree", "listing the classes that are confused", "learning class vectors"]
    assert stages(heard) == [*(f"on some of the classes: {stage}" for stage in first), *again]


def test_a_fit_within_a_budget_tells_which_trial_it_makes(topics):
    X, y = topics
    told = []
    classifier = ExtremeClassifier(max_model_bytes=50_000, time_limit=1e-9, random_state=0)
    classifier.fit(X, y, validation=(X, y), progress=told.append)
    n_trials = len(classifier.trials_)
    trials = dict.fromkeys(name.split(":")[0].split(" (")[0] for name in stages(told) if name.startswith("trial"))
    assert list(trials) == [f"trial {number + 1}" for number in range(n_trials)]
    for trial in trials:
        of_trial = [name for name in stages(told) if name.startswith(trial)]
        assert trial != "trial 1" or any(name.endswith("nodes of the tree") for name in of_trial)
        assert of_trial[-1] == f"{trial}: measuring accuracy, size and speed"


def test_pieces_of_work_at_the_same_time_report_their_sum_once_all_have_begun():
    heard = []
    with subscribe(heard.append):
        joint = JointProgress(2)
    for listener, done in zip([joint.subscriber(), joint.subscriber()], (2, 5), strict=True):
        with subscribe(listener):
            report("counting", done, 10, count=100 * done, detail=f"sheep {done}")
    assert [(progress.done, progress.total, progress.count) for progress in heard] == [(2, None, 200), (7, 20, 700)]
    assert heard[1].detail == "sheep 2"  # of the one that is behind


def test_asides_of_a_piece_of_work_are_passed_on_and_stopped_work_ends_at_its_next_report():
    heard = []
    with subscribe(heard.append):
        joint = JointProgress(2)
    with subscribe(joint.subscriber()):
        report("", detail="compiling")
        joint.stop()
        with pytest.raises(Stopped):
            report("counting")
    assert heard == [Progress("", detail="compiling")]


def test_a_notebook_shows_one_bar_that_changes(monkeypatch):
    shown = []

    class Handle:
        def update(self, bar):
            shown.append(bar._repr_html_())

    def display(bar, *, display_id):
        assert display_id
        shown.append(bar._repr_html_())
        return Handle()

    monkeypatch.setitem(sys.modules, "IPython", types.ModuleType("IPython"))
    monkeypatch.setitem(sys.modules, "IPython.display", types.SimpleNamespace(display=display))
    with subscribe(NotebookBar()):
        report("reading <b>", 0, 4)
        for done in range(1, 100):
            report("reading <b>", done, 100)  # too soon after the first
        report("learning bits", 3, 4, detail="epoch 1")
    assert len(shown) == 2
    assert "<b>" not in shown[0]
    assert 'value="0.750"' in shown[1]
    assert "learning bits, epoch 1, 75%" in shown[1]
