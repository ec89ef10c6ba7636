"""Lists of entries by feature agree with their readable twins."""

import numpy as np
import pytest
from scipy import sparse
from tests.reference import reranking as reference

from codekin.kernels.class_vectors import list_by_feature, turns_by_feature


@pytest.mark.parametrize("seed", range(5))
def test_entries_and_turns_are_those_of_the_twin(seed):
    rng = np.random.default_rng(seed)
    vectors = sparse.random_array((7, 20), density=0.4, rng=rng, format="csr")
    steps = rng.integers(-127, 128, vectors.nnz).astype(np.int8)
    indptr, features = vectors.indptr.astype(np.int64), vectors.indices.astype(np.uint16)
    feature_indptr = np.empty(21, np.int64)
    classes, places = np.empty(vectors.nnz, np.int32), np.empty(vectors.nnz, np.int32)
    list_by_feature(indptr, features, feature_indptr, classes, places)
    listed, turns = np.empty(vectors.nnz, np.int8), np.empty(vectors.nnz, np.int8)
    turns_by_feature(indptr, classes, places, steps, listed, turns)
    found = list(zip(classes.tolist(), places.tolist(), listed.tolist(), turns.tolist(), strict=True))
    for feature in range(20):
        own = found[feature_indptr[feature] : feature_indptr[feature + 1]]
        assert own == reference.entries_on(feature, indptr, features, steps)
    assert feature_indptr[-1] == vectors.nnz
