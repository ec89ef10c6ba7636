"""The kernels of one row on trees against the twins of their parts, in room that is used again and again."""

import numpy as np
import pytest
from scipy import sparse
from tests.kernels.test_label_tree import random_bits
from tests.reference import label_tree as reference

from codekin._system.rows import Row
from codekin.code import Assignment, Code
from codekin.code.tree import label_tree
from codekin.kernels.label_tree import FAR
from codekin.model import FittedCode, Model
from codekin.model.class_vectors import ClassVectors
from codekin.model.reranking import Reranking

N_CLASSES, N_FEATURES, WEIGHT, REACH = 90, 12, 0.8, 1.5


def expected_best(members, x, vectors, n_candidates, k):
    """The k best classes of one sample and their final losses, from margins of all bits."""
    lists, every = [], []
    for member in members:
        margins, tree = np.asarray(member.bits.margins(sparse.csr_array(x[None])))[0], member.code.codebook.tree
        class_of_leaf = member.code.assignment.class_of_codeword(N_CLASSES)
        n, reach = max(k, n_candidates), REACH if k == 1 else np.inf
        leaves, logs = reference.searched(margins, tree, member.decoder.beam_for(n), n, reach, FAR)
        is_near = (np.arange(len(logs)) < n_candidates) & (logs >= logs[0] - REACH)
        rest = n - len(leaves)
        classes = np.append(class_of_leaf[leaves], np.full(rest, -1))
        lists.append((classes, np.append(-logs, np.full(rest, np.inf)), np.append(is_near, np.full(rest, False))))
        of_leaves = reference.leaf_log_probabilities(margins[None], tree)[0]
        every.append(-of_leaves[member.code.assignment.codeword_of_class])
    listed, losses, is_near = (np.concatenate(parts)[None] for parts in zip(*lists, strict=True))
    (merged,) = reference.merged_lists(listed, losses, is_near, listed.shape[1] // len(members))
    classes = np.array(list(merged))
    is_candidate = np.array([candidate for _, candidate in merged.values()])
    scores = vectors.to_csr().toarray()[classes] @ x
    return reference.ranked_list(classes, sum(every)[classes], is_candidate, WEIGHT, scores, k)


@pytest.mark.parametrize(("n_trees", "way"), [(1, "best"), (2, "best_of_several")])
def test_a_row_is_ranked_by_its_losses_and_dot_products_whatever_the_room_was_used_for(n_trees, way):
    rng = np.random.default_rng(n_trees)
    members = []
    for _ in range(n_trees):
        codebook = label_tree(N_CLASSES, 3)
        code = Code(codebook, Assignment(rng.permutation(N_CLASSES)))
        members.append(FittedCode.of(code, random_bits(codebook.tree, N_FEATURES, rng)[0], "logistic"))
    vectors = ClassVectors.of(rng.normal(size=(N_CLASSES, N_FEATURES)) * (rng.random((N_CLASSES, N_FEATURES)) < 0.5))
    model = Model(tuple(members), Reranking(8, vectors, WEIGHT, max_loss_gap=REACH))
    single = model.single()
    assert single.__name__ == way
    for x in (rng.normal(size=(40, N_FEATURES)) * (rng.random((40, N_FEATURES)) < 0.6)).astype(np.float32):
        own = sparse.csr_array(x[None])
        row = Row(own.indptr.astype(np.int64), own.indices.astype(np.int32), own.data, N_FEATURES)
        for k in (1, 6, 20):
            classes, losses = single(row, k, has_losses=True)
            expected = expected_best(members, x, vectors, 8, k)
            assert classes[: len(expected)].tolist() == [c for c, _ in expected]
            np.testing.assert_allclose(losses[: len(expected)], [loss for _, loss in expected], atol=2e-4)
