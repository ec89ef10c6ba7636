"""Several labels per sample in the nodes of a tree agree with slow and obvious versions."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from codekin._system.parallel import with_workers
from codekin.code import Assignment, Code
from codekin.code.tree import TreeGraph, label_tree
from codekin.codebooks import one_vs_rest
from codekin.data import SparseData, cached_data, write_data
from codekin.learners import AROW, Checkpoints, LinearSVM, Softmax
from codekin.learners.label_sets import LabelSets, NodeSets
from codekin.progress import subscribe
from codekin.samples import EncodedLabelSets, Samples

N_CLASSES, N_FEATURES = 30, 80


def random_labels(rng, n_samples=200, n_classes=N_CLASSES):
    return sparse.csr_array((rng.random((n_samples, n_classes)) < 2.5 / n_classes).astype(np.int32))


@pytest.fixture(scope="module")
def samples():
    rng = np.random.default_rng(0)
    labels = random_labels(rng, 400)
    X = (rng.random((400, N_FEATURES)) < 0.05).astype(np.float32)
    X[:, :N_CLASSES] += labels.toarray()
    return Samples.of_sets(sparse.csr_array(X), labels)


@pytest.fixture(scope="module")
def code():
    return Code(label_tree(N_CLASSES, 2), Assignment(np.random.default_rng(1).permutation(N_CLASSES)))


def arrays_of(bits):
    return [getattr(bits, name) for name in ("counts", "nodes", "lengths", "children", "weights", "bias")]


def is_same(a, b):
    return all(np.array_equal(one, other) for one, other in zip(arrays_of(a), arrays_of(b), strict=True))


@given(n_leaves=st.integers(2, 40), width=st.integers(2, 5), seed=st.integers(0, 99))
@settings(max_examples=40, deadline=None)
def test_a_sample_is_once_in_every_node_above_its_labels_and_in_the_root(n_leaves, width, seed):
    labels, tree = random_labels(np.random.default_rng(seed), 12, n_leaves), TreeGraph(n_leaves, width)
    found = NodeSets.of(tree, labels.indptr.astype(np.intp), labels.indices.astype(np.intp))
    table = labels.toarray() > 0
    for node in range(tree.n_nodes):
        start, stop = found.first_places[node : node + 2]
        below = table[:, slice(*tree.spans[node])].any(axis=1)
        assert found.rows[start:stop].tolist() == np.flatnonzero(below | (node == 0)).tolist()
        bits = np.arange(tree.first_bits[node], tree.first_bits[node + 1])
        of_sample, sets = found.sets(start, stop, len(bits))
        ends = np.append(tree.bit_starts[bits][1:], tree.spans[node, 1])
        for place, row in enumerate(found.rows[start:stop]):
            expected = [table[row, a:b].any() for a, b in zip(tree.bit_starts[bits], ends, strict=True)]
            assert sets[of_sample[place]].tolist() == expected


def test_columns_of_one_vs_rest_are_the_sets_of_labels_in_any_order(samples):
    places = np.random.default_rng(0).permutation(N_CLASSES)
    found = LabelSets.of_code(samples, Code(one_vs_rest(N_CLASSES), Assignment(places)))
    table = samples.labels.toarray()
    np.testing.assert_array_equal(found.sets[found.of_sample][:, places], table)
    assert len(found.sets) == len(np.unique(np.vstack([table, np.zeros_like(table[:1])]), axis=0))


def test_other_codes_learn_a_sample_for_each_label(samples):
    dense = Code.of((np.random.default_rng(0).random((N_CLASSES, 15)) < 0.5) * 2 - 1)
    assert LabelSets.of_code(samples, dense) is None
    several = AROW().fit(samples, dense, rng=0)
    each = AROW().fit(samples.of_each_label(), dense, rng=0)
    np.testing.assert_array_equal(several.margins(samples.X), each.margins(samples.X))


def test_machines_of_one_label_each_are_those_of_sets_with_one_label(samples):
    classes = np.random.default_rng(0).integers(N_CLASSES, size=400)
    alone = Samples(samples.X, classes)
    sets = Samples.of_sets(samples.X, EncodedLabelSets.of(classes, is_several=True).of_classes(np.arange(N_CLASSES)))
    code = Code(one_vs_rest(N_CLASSES), Assignment.identity(N_CLASSES))
    one, other = (LinearSVM(C=1.0).fit(each, code, rng=0) for each in (alone, sets))
    np.testing.assert_array_equal(one.margins(samples.X), other.margins(samples.X))
    tree = Code(label_tree(N_CLASSES, N_CLASSES), Assignment.identity(N_CLASSES))
    one, other = (LinearSVM(C=1.0, n_epochs=200).fit(each, tree, rng=0) for each in (alone, sets))
    assert (one.link, other.link) == ("softmax", "logistic")
    np.testing.assert_allclose(np.asarray(one.margins(samples.X)) / 0.2, np.asarray(other.margins(samples.X)), atol=0.4)


@pytest.mark.parametrize("learner", [Softmax(n_epochs=40), LinearSVM()], ids=lambda own: type(own).__name__)
def test_nodes_learn_who_has_the_labels(learner, samples, code):
    logs = (
        learner.fit(samples, code, rng=0)
        .margins(samples.X)
        .log_probabilities(np.tile(code.assignment.codeword_of_class, (400, 1)))
    )
    table = samples.labels.toarray() > 0
    assert ((logs > np.log(0.5)) == table).mean() > 0.97


@pytest.mark.parametrize("learner", [Softmax(), LinearSVM(n_epochs=3)], ids=lambda own: type(own).__name__)
def test_threads_and_workers_change_no_byte(learner, samples, code):
    expected = learner.fit(samples, code, rng=0)
    from dataclasses import replace

    assert is_same(replace(learner, n_threads=4).fit(samples, code, rng=0), expected)
    with with_workers(2):
        assert is_same(learner.fit(samples, code, rng=0), expected)


@pytest.mark.parametrize("max_memory", [2**14, 2**16, 2**24])
def test_rows_on_disk_are_learned_as_rows_in_memory(max_memory, samples, code, tmp_path):
    data = SparseData(samples.X, np.maximum(samples.class_index, 0), np.arange(N_CLASSES))
    write_data(tmp_path / "data.svm", data)
    stored = cached_data(tmp_path / "data.svm", tmp_path / "cache", max_memory=max_memory).X
    on_disk = Samples.of_sets(stored, samples.labels)
    in_memory = Samples.of_sets(stored.in_memory(), samples.labels)
    expected, found = (Softmax().fit(each, code, rng=0) for each in (in_memory, on_disk))
    X = in_memory.X
    np.testing.assert_allclose(np.asarray(found.margins(X)), np.asarray(expected.margins(X)), atol=1e-3)
    each = on_disk.of_each_label()
    np.testing.assert_array_equal(each.X.in_memory().toarray(), samples.of_each_label().X.toarray().astype(np.float32))


class InterruptedHereError(Exception):
    pass


def test_a_resumed_training_gives_the_same_result_and_other_labels_are_not_resumed(samples, code, tmp_path):
    expected, n_reports = Softmax().fit(samples, code, rng=0), []

    def stop(progress):
        n_reports.append(progress)
        if len(n_reports) == 5:
            raise InterruptedHereError

    own = Checkpoints(tmp_path / "one")
    with pytest.raises(InterruptedHereError), subscribe(stop):
        Softmax().fit(samples, code, rng=0, checkpoints=own)
    own = Checkpoints(tmp_path / "one", resume=True)
    others = Samples.of_sets(samples.X, random_labels(np.random.default_rng(5), 400))
    with pytest.raises(ValueError, match="checkpoint"):
        Softmax().fit(others, code, rng=0, checkpoints=own)
    assert is_same(Softmax().fit(samples, code, rng=0, checkpoints=own), expected)
