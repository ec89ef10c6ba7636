"""Softmax in the nodes of a tree."""

import itertools

import numpy as np
import pytest
from scipy import sparse

from codekin._system.checkpoints import CheckpointError
from codekin._system.memory import in_units
from codekin._system.parallel import with_workers
from codekin.code import Assignment, Code
from codekin.code.tree import label_tree
from codekin.data import SparseData, cached_data, write_data
from codekin.learners import Checkpoints, Softmax, Validation, tree_bits, tree_nodes
from codekin.learners.softmax import LEAST_WEIGHT
from codekin.learners.tree_bits import TreeBits
from codekin.learners.tree_samples import TreeSamples
from codekin.model import FittedCode
from codekin.progress import subscribe
from codekin.samples import Samples

N_CLASSES, N_FEATURES = 60, 150


@pytest.fixture(scope="module")
def code():
    return Code(label_tree(N_CLASSES, 3), Assignment(np.random.default_rng(1).permutation(N_CLASSES)))


@pytest.fixture(scope="module")
def samples():
    """Classes that have two features of their own beside noise."""
    rng = np.random.default_rng(0)
    classes = np.repeat(np.arange(N_CLASSES), 8)
    X = (rng.random((len(classes), N_FEATURES)) < 0.03).astype(np.float32)
    X[np.arange(len(classes)), 2 * classes + rng.integers(2, size=len(classes))] = 2
    return Samples(sparse.csr_array(X), classes)


def arrays_of(bits):
    return [getattr(bits, name) for name in ("counts", "nodes", "lengths", "children", "weights", "bias")]


def is_same(a, b):
    return all(np.array_equal(one, other) for one, other in zip(arrays_of(a), arrays_of(b), strict=True))


def accuracy(bits, code, samples):
    return (FittedCode.of(code, bits, "logistic").decoder.decode(bits.margins(samples.X)) == samples.class_index).mean()


def test_it_learns_to_tell_classes_apart(samples, code):
    bits = Softmax().fit(samples, code, rng=0)
    assert isinstance(bits, TreeBits)
    assert accuracy(bits, code, samples) > 0.95


@pytest.mark.parametrize("n_threads", [1, 2, 5])
def test_the_number_of_threads_changes_no_byte(samples, code, n_threads):
    assert is_same(
        Softmax(n_threads=n_threads).fit(samples, code, rng=0), Softmax(n_threads=1).fit(samples, code, rng=0)
    )


def test_the_order_of_the_samples_between_classes_changes_nothing(samples, code):
    order = np.argsort(-samples.class_index, kind="stable")
    assert is_same(Softmax().fit(samples.at(order), code, rng=0), Softmax().fit(samples, code, rng=0))


def test_a_node_is_learned_from_its_own_samples_only(samples, code):
    """Other samples of the classes below one child of the root change nothing below the others."""
    tree, leaves = code.codebook.tree, code.assignment.codeword_of_class[samples.class_index]
    first_child = tree.spans[1]
    is_below = (leaves >= first_child[0]) & (leaves < first_child[1])
    fewer = samples.at(np.flatnonzero(~is_below | (np.arange(len(leaves)) % 2 == 0)))
    one, other = (Softmax(damping=0.3).fit(some, code, rng=0) for some in (samples, fewer))
    other_nodes = [
        node for node in range(1, tree.n_nodes) if not first_child[0] <= tree.spans[node, 0] < first_child[1]
    ]
    dense = [np.asarray(bits.to_csr().toarray()) for bits in (one, other)]
    scale = dense[0].max()
    for node in other_nodes:
        bits = slice(tree.first_bits[node], tree.first_bits[node + 1])
        # The first curvature follows from the mean norm of all samples, which differs a little.
        np.testing.assert_allclose(dense[0][:, bits], dense[1][:, bits], atol=0.2 * scale)
    own = slice(tree.first_bits[1], tree.first_bits[2])
    assert not np.allclose(dense[0][:, own], dense[1][:, own], atol=0.2 * scale)


def test_small_weights_are_dropped(samples, code):
    assert np.abs(Softmax().fit(samples, code, rng=0).weights).min() > LEAST_WEIGHT


def test_weights_of_zero_make_samples_disappear(samples, code):
    weights = np.ones(len(samples))
    weights[::3] = 0
    given = Softmax(shuffle=False, class_weight=None).fit(Samples(samples.X, samples.class_index, weights), code, rng=0)
    without = Softmax(shuffle=False).fit(samples.at(np.flatnonzero(weights)), code, rng=0)
    np.testing.assert_allclose(given.to_csr().toarray(), without.to_csr().toarray(), atol=1.1 * LEAST_WEIGHT)


def test_a_bias_is_learned_where_it_is_asked_for(samples, code):
    bits = Softmax(fit_intercept=True).fit(samples, code, rng=0)
    assert bits.n_features == N_FEATURES
    assert (bits.bias != 0).any()
    assert not Softmax().fit(samples, code, rng=0).bias.any()


def test_batches_teach_what_a_whole_does(samples, code):
    learner, rng = Softmax(), np.random.default_rng(0)
    bits = None
    for _ in range(3):
        for rows in np.array_split(rng.permutation(len(samples)), 2):
            bits = learner.partial_fit(bits, samples.at(rows), code, rng=rng)
    assert accuracy(bits, code, samples) > 0.95
    assert bits.curvatures.shape == bits.weights.shape


def test_a_batch_leaves_nodes_without_samples_alone(samples, code):
    learner = Softmax()
    begun = learner.partial_fit(None, samples, code, rng=0)
    nothing = learner.partial_fit(begun, samples.at(np.zeros(0, dtype=int)), code, rng=1)
    assert is_same(begun, nothing)


def test_what_was_learned_of_other_features_stays(samples, code):
    learner = Softmax()
    begun = learner.partial_fit(None, samples, code, rng=0)
    some = samples.at(np.flatnonzero(samples.class_index < 5))
    later = learner.partial_fit(begun, some, code, rng=1)
    unseen = np.setdiff1d(np.arange(N_FEATURES), some.X.indices)
    assert np.array_equal(begun.to_csr().toarray()[unseen], later.to_csr().toarray()[unseen])
    assert not is_same(begun, later)


def test_memory_is_asked_for_before_it_is_taken(samples, code):
    with pytest.raises(MemoryError, match=f"but {in_units(1000)} are allowed by max_memory"):
        Softmax(max_memory=1000).fit(samples, code, rng=0)


def test_fewer_nodes_are_learned_at_once_if_memory_is_short(samples, code):
    own, _ = TreeSamples.of(Softmax(), samples, code)
    n_entries = [own.n_entries(*own.span(node)) for node in (0, 1)]
    needed = [(8 * 3 + 24) * min(N_FEATURES, n) + 8 * n for n in n_entries]
    assert own.affordable_threads(needed[0], [0, 1, 2], 3) == 1
    assert own.affordable_threads(sum(needed), [0, 1, 2], 3) == 2
    assert own.affordable_threads(10 * sum(needed), [0, 1, 2], 5) == 5


def test_margins_as_an_array_are_those_that_a_search_sees(samples, code):
    bits = Softmax().fit(samples, code, rng=0)
    member = FittedCode.of(code, bits, "logistic")
    lazy = bits.margins(samples.X[:50])
    classes, losses = member.decoder.top_k(lazy, 3)
    expected, expected_losses = member.decoder.top_k(np.asarray(lazy), 3)
    np.testing.assert_allclose(losses[:, 0], expected_losses[:, 0], atol=1e-3)
    assert (classes[:, 0] == expected[:, 0]).mean() > 0.9


@pytest.mark.parametrize(("precision", "tolerance"), [("float32", 0), ("float16", 1e-3), ("int8", 0.03)])
def test_narrow_weights_are_near_the_others(samples, code, precision, tolerance):
    bits = Softmax().fit(samples, code, rng=0)
    narrow = bits.compacted(precision)
    assert narrow.precision == precision
    np.testing.assert_allclose(narrow.values, bits.values, rtol=tolerance)
    assert is_same(narrow.compacted(precision), narrow)
    assert narrow.decompressed().precision == "float32"


def test_an_unknown_precision_is_refused(samples, code):
    with pytest.raises(ValueError, match="'precision' parameter must be one of"):
        Softmax().fit(samples, code, rng=0).compacted("int4")


def test_pruning_drops_what_validation_can_spare(samples, code):
    bits = Softmax().fit(samples, code, rng=0)
    decoder = FittedCode.of(code, bits, "logistic").decoder
    validation = Validation(samples.X, lambda margins: float((decoder.decode(margins) == samples.class_index).mean()))
    pruned = bits.pruned(validation, max_loss=0.02)
    assert len(pruned.weights) < len(bits.weights)
    assert accuracy(pruned, code, samples) >= accuracy(bits, code, samples) - 0.02
    limit = pruned.nbytes // 2
    small = bits.pruned(validation, max_loss=0.02, is_small_enough=lambda bits: bits.nbytes <= limit)
    assert small.nbytes <= limit


@pytest.fixture
def stored(samples, tmp_path):
    """The same samples on disk; of the root and some others, only a part fits into memory."""
    write_data(tmp_path / "train.svm", SparseData(samples.X, samples.class_index, np.arange(N_CLASSES)))
    data = cached_data(tmp_path / "train.svm", max_memory=40_000)
    return Samples(data.X, data.encoded_labels.class_index)


@pytest.mark.parametrize("n_shares", [1, 3, 1000])
def test_shares_of_work_cover_all_nodes_in_order_and_are_equal_up_to_a_node(samples, code, n_shares):
    own, _ = TreeSamples.of(Softmax(), samples, code)
    _, *nodes = sorted(range(own.tree.n_nodes), key=lambda node: -own.work(node))  # the root is a share of its own
    groups = own.groups(nodes, n_shares)
    assert [node for group in groups for node in group] == nodes
    assert len(groups) == min(n_shares, len(nodes))
    work = [sum(map(own.work, group)) for group in groups]
    assert max(abs(one - sum(work) / n_shares) for one in work) <= own.work(nodes[0])


@pytest.mark.parametrize("settings", [{}, {"fit_intercept": True}, {"shuffle": False}])
def test_samples_on_disk_give_the_bytes_of_those_in_memory(samples, stored, code, settings):
    own, _ = TreeSamples.of(Softmax(), stored, code)
    is_large = [own.is_large(node) for node in range(own.tree.n_nodes)]
    assert any(is_large)
    assert not all(is_large)
    assert is_same(Softmax(**settings).fit(stored, code, rng=0), Softmax(**settings).fit(samples, code, rng=0))


def test_some_rows_on_disk_are_some_rows_in_memory(samples, stored, code):
    rows = np.flatnonzero(np.arange(len(samples)) % 3 > 0)
    assert is_same(Softmax().fit(stored.at(rows), code, rng=0), Softmax().fit(samples.at(rows), code, rng=0))


def test_neighbouring_nodes_are_read_together(stored, code):
    own, _ = TreeSamples.of(Softmax(), stored, code)
    nodes = list(range(own.tree.n_nodes))
    groups = own.groups(nodes)
    assert sorted(node for group in groups for node in group) == nodes
    assert len(groups) < len(nodes)
    for group in groups:
        spans = [own.span(node) for node in group]
        assert all(stop == start for (_, stop), (start, _) in itertools.pairwise(spans))
        loaded = own.loaded(group)
        assert loaded.is_on_disk == own.is_large(group[0])


@pytest.mark.parametrize("is_stored", [False, True])
def test_an_interrupted_training_ends_as_if_undisturbed(samples, stored, code, tmp_path, monkeypatch, is_stored):
    given = stored if is_stored else samples
    learner, checkpoints = Softmax(n_threads=1), Checkpoints(tmp_path / "checkpoint")
    heard = []

    def interrupt(progress):
        heard.append(progress)
        if len(heard) == 8:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), subscribe(interrupt):
        learner.fit(given, code, rng=0, checkpoints=checkpoints)
    assert checkpoints.exists
    learned = []
    own = tree_nodes._learned_node
    monkeypatch.setattr(tree_nodes, "_learned_node", lambda job, node: learned.append(node) or own(job, node))
    resumed = learner.fit(given, code, rng=0, checkpoints=Checkpoints(tmp_path / "checkpoint", resume=True))
    assert 0 < len(learned) < code.codebook.tree.n_nodes
    assert is_same(resumed, learner.fit(given, code, rng=0))


def test_a_checkpoint_of_another_training_is_refused(samples, code, tmp_path):
    Softmax().fit(samples, code, rng=0, checkpoints=Checkpoints(tmp_path))
    with pytest.raises(CheckpointError, match="seed"):
        Softmax().fit(samples, code, rng=1, checkpoints=Checkpoints(tmp_path, resume=True))


def test_workers_learn_the_same_nodes(samples, stored, code):
    with with_workers(2):
        assert is_same(Softmax().fit(samples, code, rng=0), Softmax(n_threads=1).fit(stored, code, rng=0))


def test_weights_are_rounded_in_blocks_to_the_same_steps(samples, code, monkeypatch):
    bits = Softmax().fit(samples, code, rng=0)
    whole = bits.compacted("int8")
    monkeypatch.setattr(tree_bits, "WEIGHTS_AT_ONCE", 7)
    some = bits.compacted("int8")
    assert is_same(whole, some)
    assert whole.scale == some.scale == (np.abs(bits.values).min(), max(np.abs(bits.values).max(), 1))
