"""The memory of a tree in training."""

from threading import Barrier, Lock

import numpy as np
import pytest
from scipy import sparse

from codekin._system.parallel import on_threads
from codekin.code import Assignment, Code
from codekin.code.tree import label_tree
from codekin.learners import Checkpoints, Softmax
from codekin.learners.softmax import SoftmaxSteps
from codekin.learners.tree_nodes import NodeMemory, Workspace
from codekin.learners.tree_samples import TreeSamples
from codekin.samples import Samples

N_CLASSES, N_FEATURES = 40, 100


@pytest.fixture(scope="module")
def code():
    return Code(label_tree(N_CLASSES, 4), Assignment(np.arange(N_CLASSES)))


@pytest.fixture(scope="module")
def samples():
    rng = np.random.default_rng(0)
    classes = np.repeat(np.arange(N_CLASSES), 5)
    X = (rng.random((len(classes), N_FEATURES)) < 0.1).astype(np.float32)
    return Samples(sparse.csr_array(X), classes)


@pytest.fixture(scope="module")
def own(samples, code):
    return TreeSamples.of(Softmax(), samples, code)[0]


def test_no_node_takes_more_than_its_bytes_in_training(own):
    for node in range(own.tree.n_nodes):
        memory = NodeMemory(None)
        with memory.workspace_for(own, node) as workspace:
            start, stop = own.span(node)
            copied = workspace.rows(stop - start, own.n_entries(start, stop))
            features, _ = own.copy_rows(start, stop, copied, workspace.number_of_feature, merges=True)
            workspace.zeros("state", len(features), 2, own.n_children(node))
            positions = 8 * (stop - start + 1)  # a number for each sample, which is not counted
            assert workspace.nbytes - positions <= own.bytes_in_training(node)


def test_the_features_of_a_node_are_counted_only_if_it_matters(own):
    for node in range(own.tree.n_nodes):
        start, stop = own.span(node)
        n_entries, n_children = own.n_entries(start, stop), own.n_children(node)
        workspace = Workspace(own.n_features)
        copied = workspace.rows(stop - start, own.n_entries(start, stop))
        features, _ = own.copy_rows(start, stop, copied, workspace.number_of_feature, merges=True)
        n_features = len(np.unique(features))
        exactly = n_features * (8 * n_children + 24) + 8 * n_entries
        at_most = min(n_entries, N_FEATURES) * (8 * n_children + 24) + 8 * n_entries
        assert own.bytes_in_training(node) == own.bytes_in_training(node, at_most - 1) == exactly
        assert own.bytes_in_training(node, at_most) == at_most


@pytest.mark.parametrize("n_at_once", [1, 2])
def test_threads_wait_until_there_is_room(own, n_at_once):
    memory = NodeMemory(n_at_once * own.bytes_in_training(0))
    lock, busy, most = Lock(), [], []
    met = Barrier(n_at_once, timeout=30)

    def learn(number):
        with memory.workspace_for(own, 0):
            with lock:
                busy.append(number)
                most.append(len(busy))
            met.wait()  # so many are in it at the same time
            with lock:
                busy.remove(number)

    on_threads(learn, range(8), n_threads=4)
    assert max(most) == n_at_once


def test_a_workspace_that_is_larger_than_necessary_is_given_back_if_memory_is_short(own):
    small = min(range(own.tree.n_nodes), key=own.bytes_in_training)
    memory = NodeMemory(own.bytes_in_training(0))
    with memory.workspace_for(own, 0) as workspace:
        start, stop = own.span(0)
        workspace.rows(stop - start, own.n_entries(start, stop))
        workspace.zeros("state", N_FEATURES, 2, 4)
        assert workspace.nbytes > own.bytes_in_training(small)
    memory.keep(own.bytes_in_training(0) - own.bytes_in_training(small))
    with memory.workspace_for(own, small) as again:
        assert again is workspace
        assert again.nbytes == 0


def test_what_nodes_keep_is_counted_while_others_are_learned(own):
    needed = own.bytes_in_training(0)
    memory = NodeMemory(needed + 10)
    memory.keep(10)
    with memory.workspace_for(own, 0):
        pass
    memory.keep(1)
    sentence = r"^The nodes of the tree learned so far need 11 B [^\n]+, but [^\n]+ allowed by max_memory\. [^\n]+\.$"
    with pytest.raises(MemoryError, match=sentence), memory.workspace_for(own, 0):
        pass
    with pytest.raises(MemoryError, match="learned so far need"):
        memory.keep(needed)


def test_a_tree_that_keeps_too_much_is_not_learned_to_the_end(samples, code, monkeypatch, tmp_path):
    limit = 2 * TreeSamples.of(Softmax(), samples, code)[0].bytes_in_training(0)
    within = Softmax(max_memory=limit).fit(samples, code, rng=0)
    assert np.array_equal(within.weights, Softmax().fit(samples, code, rng=0).weights)
    monkeypatch.setattr(SoftmaxSteps, "least_weight", 0.0)  # all weights are kept
    with pytest.raises(MemoryError, match="learned so far need .* are allowed by max_memory"):
        Softmax(max_memory=limit).fit(samples, code, rng=0)
    checkpoints = Checkpoints(tmp_path / "checkpoint")
    with pytest.raises(MemoryError, match="learned so far need"):
        Softmax(max_memory=limit).fit(samples, code, rng=0, checkpoints=checkpoints)
    going_on = Checkpoints(tmp_path / "checkpoint", resume=True)
    resumed = Softmax().fit(samples, code, rng=0, checkpoints=going_on)
    assert np.array_equal(resumed.weights, Softmax().fit(samples, code, rng=0).weights)
