import gzip
import io

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from codekin.data import read_taxonomy

ANIMALS = b"# what there is\nthing\tanimal\nthing\tship\n\nanimal\tdog\nanimal\tcat\r\n"


def read(content, **options):
    return read_taxonomy(io.BytesIO(content), **options)


def test_leaves_are_the_classes_in_sorted_order_and_children_keep_theirs():
    tree = read(ANIMALS)
    assert tree.class_labels == ("cat", "dog", "ship")
    assert [tree.class_labels[k] for k in tree.class_order()] == ["dog", "cat", "ship"]


def test_zipped_files_and_byte_order_marks_make_no_difference():
    assert read(gzip.compress(ANIMALS)).labels == read(b"\xef\xbb\xbf" + ANIMALS).labels == read(ANIMALS).labels


def test_names_hold_blanks_where_tabs_separate_them():
    assert read(b"a thing\tsmall dog\na thing\tbig dog\n").class_labels == ("big dog", "small dog")


def test_classes_are_found_by_their_labels_and_other_branches_are_cut():
    tree = read(b"0 1\n0 2\n1 30\n1 4\n2 5\n", classes=np.array([4, 30]))
    assert tree.class_labels == ("4", "30")
    assert tree.path_length(0, 1) == 2
    assert "5" not in tree.labels


def test_several_trees_are_joined_under_a_root_without_a_name():
    tree = read(b"a b\nc d\n")
    assert tree.labels[tree.root] is None
    assert tree.path_length(0, 1) == 4


def test_lines_may_be_paths_from_the_top_to_a_leaf():
    tree = read(b"1 2 3\n1 2 4\n5 6\n7\n", layout="paths")
    assert tree.class_labels == ("3", "4", "6", "7")
    assert tree.path_length([0, 0, 2], [1, 2, 3]).tolist() == [2, 5, 3]


@settings(max_examples=50, deadline=None)
@given(st.integers(2, 40), st.randoms(use_true_random=False))
def test_the_order_of_the_lines_does_not_change_distances(n_nodes, random):
    edges = [(random.randrange(child), child) for child in range(1, n_nodes)]
    text = [f"{parent} {child}\n" for parent, child in edges]
    first = read("".join(text).encode())
    random.shuffle(text)
    second = read("".join(text).encode())
    classes = np.arange(first.n_classes)
    assert first.class_labels == second.class_labels
    assert np.array_equal(
        first.path_length(classes[:, None], classes[None]), second.path_length(classes[:, None], classes[None])
    )


@pytest.mark.parametrize(("name", "n_classes", "n_nodes"), [("clinc150", 150, 161), ("wordnet_hypernym", 12582, 25610)])
def test_real_taxonomies_are_read(shared_data, name, n_classes, n_nodes):
    tree = read_taxonomy(shared_data(name) / "taxonomy.txt.gz", classes=np.arange(n_classes))
    assert (tree.n_classes, tree.n_nodes) == (n_classes, n_nodes)


def test_an_unknown_layout_is_refused():
    with pytest.raises(ValueError, match="'layout' must be 'edges' or 'paths'. Got 'nested' instead."):
        read(ANIMALS, layout="nested")
