"""Distances between vectors of classes or of their names."""

import gzip

import numpy as np
import pytest
from scipy import sparse
from scipy.spatial.distance import cdist

from codekin.classes.distances import embedding_distances, read_word_vectors
from codekin.classes.interface import PartialDistances
from codekin.classes.vectors import name_vectors

WORDS = {"cat": [1.0, 0.0], "fish": [0.0, 2.0], "aquarium": [2.0, 2.0], "ice_cream": [5.0, 5.0], "T-shirt": [7.0, 7.0]}


def lines(words, header=False, separator=" ", end=""):
    text = f"{len(words)} 2\n" if header else ""
    return text + "".join(f"{w}{separator}{separator.join(map(str, v))}{end}\n" for w, v in words.items())


def test_given_vectors_give_their_euclidean_distances():
    vectors = np.random.default_rng(0).normal(size=(5, 3))
    np.testing.assert_allclose(embedding_distances(vectors).matrix(), cdist(vectors, vectors), atol=1e-12)
    np.testing.assert_allclose(
        embedding_distances(sparse.csr_array(vectors)).matrix(), cdist(vectors, vectors), atol=1e-12
    )


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
def test_normalized_squared_distances_are_twice_the_cosine_distances(form):
    vectors = np.random.default_rng(0).normal(size=(5, 3))
    distances = embedding_distances(form(vectors), normalize=True, squared=True).matrix()
    np.testing.assert_allclose(distances, 2 * cdist(vectors, vectors, "cosine"), atol=1e-12)


def test_a_vector_of_zeros_stays_when_lengths_are_made_one():
    assert embedding_distances([[0.0, 0.0], [3.0, 4.0]], normalize=True).matrix()[0, 1] == 1


@pytest.mark.parametrize(
    ("name", "vector"),
    [
        ("cat", [1, 0]),
        ("CAT", [1, 0]),
        ("aquarium_fish", [1, 2]),
        ("Aquarium fish", [1, 2]),
        ("aquarium-fish", [1, 2]),
        ("ice cream", [5, 5]),  # the phrase itself, where there is one
        ("ice-cream", [5, 5]),
        ("T-shirt", [7, 7]),
        ("the cat", [1, 0]),  # a word without a vector is left out
    ],
)
def test_names_are_found_whole_or_in_words(name, vector):
    rows, missing = name_vectors([name], WORDS)
    assert not missing
    np.testing.assert_array_equal(rows[0], vector)


@pytest.mark.parametrize(
    "text",
    [
        lines(WORDS),  # GloVe
        lines(WORDS, header=True),  # word2vec
        lines(WORDS, header=True, end=" "),  # fastText ends lines with a space
        lines(WORDS, separator="\t"),
        lines(WORDS) + "\n",
        lines(WORDS).replace("\n", "\r\n"),
        "the 0 0\ncat fish 9 9\n. . . 8 8\n" + lines(WORDS) + "cat 3 3\n",  # phrases with spaces; the first cat counts
    ],
)
@pytest.mark.parametrize("suffix", ["txt", "vec", "vec.gz"])
def test_files_of_every_dialect_are_read(tmp_path, text, suffix):
    path = tmp_path / f"vectors.{suffix}"
    if suffix.endswith("gz"):
        with gzip.open(path, "wt", newline="") as file:
            file.write(text)
    else:
        path.write_bytes(text.encode())
    found = read_word_vectors(path, ["cat", "ice_cream", "yeti"])
    assert {word: vector.tolist() for word, vector in found.items()} == {"cat": [1, 0], "ice_cream": [5, 5]}
    distances = embedding_distances(str(path), names=["cat", "aquarium fish"])
    assert distances.matrix()[0, 1] == 2


def test_words_in_any_alphabet_are_found(tmp_path):
    path = tmp_path / "vectors.txt"
    path.write_text("кошка 1 0\n猫 0 1\n", encoding="utf-8")
    assert set(read_word_vectors(path, ["кошка", "猫"])) == {"кошка", "猫"}


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"cat 1 2\nfish 1\n", "line 2: the vector of 'fish' has 1 numbers; 2 expected"),
        (b"cat 1 2\nfish 1 x\n", "line 2: something in the vector of 'fish' is not a number"),
        (b"3 2\n\x00\x01\x02", None),
        (b"\x00\x01 \x02\n", "line 1: a word and its numbers were expected"),
        (b"cat\n", "line 1: a word and its numbers were expected"),
    ],
)
def test_broken_files_are_reported_with_their_line(tmp_path, content, sentence):
    path = tmp_path / "broken.vec"
    path.write_bytes(content)
    if sentence is None:
        assert read_word_vectors(path, ["fish"]) == {}
        return
    with pytest.raises(ValueError, match=sentence):
        read_word_vectors(path, ["fish"])


def test_missing_names_are_reported_or_put_at_the_mean_distance():
    names = ["cat", "yeti", "fish", "ice cream"]
    with pytest.raises(ValueError, match="1 of 4 names have no vector: 'yeti'"):
        embedding_distances(WORDS, names=names)
    with pytest.warns(UserWarning, match="put at the mean distance: 'yeti'"):
        distances = embedding_distances(WORDS, names=names, missing="mean")
    assert isinstance(distances, PartialDistances)
    known = distances.matrix()[np.ix_([0, 2, 3], [0, 2, 3])]
    np.testing.assert_allclose(distances.matrix()[1, [0, 2, 3]], known.sum() / 6)
    with pytest.raises(ValueError, match="1 of 1 names"):
        embedding_distances(WORDS, names=["yeti"], missing="mean")


def test_any_function_from_names_to_vectors_will_do():
    distances = embedding_distances(lambda names: [[len(name)] for name in names], names=["a", "bbb"])
    assert distances.matrix()[0, 1] == 2


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: embedding_distances(WORDS), "Give them as 'names'"),
        (lambda: embedding_distances([[1.0]], names=["a", "b"]), "one vector per name, 2"),
        (lambda: embedding_distances(WORDS, names=["cat"], missing="skip"), "Got 'skip'"),
    ],
)
def test_arguments_are_checked(make, sentence):
    with pytest.raises(ValueError, match=sentence):
        make()


def test_names_of_cifar100_bring_superclasses_together(shared_data):
    folder = shared_data("cifar100")
    names = np.load(folder / "cifar100_class_names.npz")
    superclass = np.load(folder / "cifar100_features.npz")["superclass_of_class"]
    matrix = embedding_distances(names["glove_100d"], names=names["names"].tolist()).matrix()
    same = (superclass[:, None] == superclass) & ~np.eye(100, dtype=bool)
    assert matrix[same].mean() < matrix[~same & ~np.eye(100, dtype=bool)].mean()
