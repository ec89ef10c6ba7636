"""A study that takes a second: five classes, 120 assignments."""

import numpy as np
import pytest
from tests.blobs import make_blobs_with_tree

from codekin.data import DATASETS
from codekin.data.registry import DatasetEntry

STUDY = """
kind = "exhaustive"
title = "Every assignment of five classes"
seed = 0
splits_per_task = 8

[[data]]
name = "tiny"
n_test = 60
learner = { name = "linear_svm", C = 1.0 }
confusion = "train"

[[data]]
name = "trees"
learner = { name = "decision_tree", min_samples_split = 3 }
confusion = "inverse_folds"

[[data]]
name = "absent"
learner = { name = "linear_svm", C = 1.0 }
confusion = "train"

[[codebooks]]
name = "dense-6"
codebook = "dense_random"
options = { n_bits = 6 }
seed = 1

[[codebooks]]
name = "hadamard-7"
codebook = "hadamard"
"""


@pytest.fixture
def study_file(tmp_path, monkeypatch):
    """The file of the study, whose data sets are known while the test runs."""
    data = make_blobs_with_tree(5, 200, n_features=3, noise=1.5, rng=np.random.default_rng(0))
    monkeypatch.setitem(DATASETS, "tiny", DatasetEntry(lambda _: data, 5, "made up"))
    monkeypatch.setitem(DATASETS, "trees", DatasetEntry(lambda _: data, 5, "made up"))
    monkeypatch.setitem(DATASETS, "absent", DatasetEntry(lambda _: data, 5, "not there", "no-such-folder"))
    path = tmp_path / "small.toml"
    path.write_text(STUDY)
    return path
