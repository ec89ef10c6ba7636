import numpy as np

from codekin.classes import ClassTree
from codekin.data import Dataset, Split, load_dataset, make_sparse_topics, read_data, read_taxonomy
from codekin.data.writing import export_dataset


def test_what_is_exported_is_read_back(tmp_path):
    topics = make_sparse_topics(16, 200, rng=0)
    files = {path.stem: path for path in export_dataset(topics, tmp_path)}
    train = read_data(files["train"], n_features=topics.X.shape[1])
    assert (train.X != topics.X).nnz == 0
    names = np.array(topics.class_names)
    np.testing.assert_array_equal(train.labels.astype(str), names[topics.y])
    tree = read_taxonomy(files["taxonomy"], classes=topics.class_names)
    u, v = np.triu_indices(16, 1)
    np.testing.assert_array_equal(tree.path_length(u, v), topics.class_tree.path_length(u, v))


def test_dense_features_and_classes_without_training_samples_are_exported(tmp_path):
    files = export_dataset(load_dataset("yeast"), tmp_path / "yeast")
    assert [path.name for path in files] == ["train.svm"]
    dataset = Dataset(
        "texts", Split(np.array([0, 1]), texts=("a", "b")), ("x", "y"), test=Split(np.array([1, -1]), texts=("c", "d"))
    )
    export_dataset(dataset, tmp_path)
    assert (tmp_path / "test.tsv").read_text() == "y\tc\n?\td\n"


def test_inner_nodes_get_names_that_no_other_node_has(tmp_path):
    tree = ClassTree.from_nested([["p", "q"], {"x": ["r"]}, {"x": ["s"]}])
    y = np.arange(4)
    dataset = Dataset("d", Split(y, np.eye(4)), ("p", "q", "r", "s"), class_tree=tree)
    export_dataset(dataset, tmp_path)
    again = read_taxonomy(tmp_path / "taxonomy.txt", classes=dataset.class_names)
    u, v = np.triu_indices(4, 1)
    np.testing.assert_array_equal(again.path_length(u, v), tree.path_length(u, v))
