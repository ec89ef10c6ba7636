"""Commands report all their stages, in order."""

import pytest

from codekin.data import make_sparse_topics
from codekin.data.writing import export_dataset

RERANKING = ["listing the classes that are confused", "learning class vectors"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Samples of 120 classes, which is enough for a search and a re-ranking."""
    folder = tmp_path_factory.mktemp("many")
    export_dataset(make_sparse_topics(120, 600, n_features=200, rng=0), folder)
    return folder


def stages(shown):
    """The lines on stderr at which stages begin; those that say how far a stage is are left out."""
    assert shown.code == 0, shown.err
    begun = []
    for line in shown.err.splitlines():
        is_sign = any(line.startswith(f"{stage}, ") for stage in begun)
        if not is_sign and not line.startswith(("compiling kernels", "validation ", "starting")):
            begun.append(line)
    return begun


def test_training_by_default(folder, run, tmp_path):
    found = stages(run("train", folder / "train.svm", tmp_path / "model"))
    first = ["learning the nodes of the tree", "fitting the temperature", "measuring the probabilities"]
    assert found == [
        f"reading {folder / 'train.svm'}",
        "training on 600 samples x 200 features, 120 classes",
        *(f"on nine tenths of the samples: {stage}" for stage in first),
        "learning the nodes of the tree",
        "measuring the bits on 600 training samples",
        f"saving {tmp_path / 'model'}",
        "timing predictions",
    ]


def test_training_a_tree(folder, run, tmp_path):
    found = stages(run("train", folder / "train.svm", tmp_path / "model", "--code", "tree"))
    first = ["learning the nodes of the tree", "choosing how much class sizes count", "listing candidates to choose by"]
    first += [*RERANKING, "choosing the loss gap of the candidates"]
    first += ["fitting the temperature of the re-ranking", "fitting the temperature"]
    first += ["measuring the probabilities"]
    assert found == [
        f"reading {folder / 'train.svm'}",
        "training on 600 samples x 200 features, 120 classes",
        *(f"on some of the classes: {stage}" for stage in first),
        "learning the nodes of the tree",
        *RERANKING,
        "measuring the bits on 600 training samples",
        f"saving {tmp_path / 'model'}",
        "timing predictions",
    ]


def test_training_within_a_budget(folder, run, tmp_path):
    options = ("--max-model-bytes", "20kB", "--time-limit", "0.000001", "--validation", folder / "test.svm")
    found = stages(run("train", folder / "train.svm", tmp_path / "model", *options))
    assert found[0] == f"reading {folder / 'train.svm'}"
    assert found[-2:] == [f"saving {tmp_path / 'model'}", "timing predictions"]
    kinds = dict.fromkeys(line.rsplit(": ", 1)[-1] for line in found if line.startswith("trial 1"))
    assert {
        "learning the nodes of the tree",
        "pruning weights",
        "measuring accuracy, size and speed",
    } <= set(kinds)
    assert "fitting the temperature" in found  # of the best model alone


def test_training_with_texts(run, tmp_path):
    (tmp_path / "texts.tsv").write_text("cat\ta cat purrs\ndog\ta dog barks\n" * 4)
    found = stages(run("train", tmp_path / "texts.tsv", tmp_path / "model"))
    assert found[1].startswith(f"{tmp_path / 'texts.tsv'}: 8 samples; a label, a tab and a text in every line")
    made = [line for line in found if line in ("learning the vocabulary", "making features of texts")]
    assert made == ["learning the vocabulary", "making features of texts"]


def test_evaluating(topics, topics_model, run):
    found = stages(run("evaluate", topics_model, topics / "test.svm"))
    assert found == [f"predicting {topics / 'test.svm'}", "timing predictions"]


def test_assigning(folder, run):
    found = stages(run("assign", "--data", folder / "train.svm", "--method", "learnability"))
    assert found == [
        f"reading {folder / 'train.svm'}",
        "measuring learnability",
        "searching for an assignment",
        "comparing classes and codewords",
    ]


def test_growing(topics, topics_model, run, tmp_path):
    found = stages(run("grow", topics_model, topics / "test.svm", "--output", tmp_path / "grown"))
    assert found == [
        f"looking for new classes in {topics / 'test.svm'}",
        f"epoch 1 of 1 on {topics / 'test.svm'}",
        "measuring the bits",
        f"saving {tmp_path / 'grown'}",
    ]
