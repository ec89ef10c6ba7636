import gzip
import json

import numpy as np
import pytest

from codekin.assignments import assign
from codekin.code import Codebook
from codekin.codebooks import trellis_codebook
from codekin.storage import load_assignment, save_assignment

LABELS = ["cat", "dog", "cow"]
DISTANCES = [[0, 1, 2], [1, 0, 1], [2, 1, 0]]
CODEBOOKS = [
    Codebook([[1, 1, 0], [1, -1, 1], [-1, -1, 1], [0, 0, 1]]),
    trellis_codebook(3),
    Codebook([[0.1, 1 / 3], [1.5, -1e-30], [-2, 0]], is_real=True),
]


@pytest.mark.parametrize("codebook", CODEBOOKS, ids=["ternary", "trellis", "real"])
@pytest.mark.parametrize("name", ["assignment.json", "assignment.json.gz"])
def test_what_was_saved_comes_back(tmp_path, codebook, name):
    result = assign(codebook, DISTANCES, rng=0)
    save_assignment(tmp_path / name, result, LABELS, codebook)
    saved = load_assignment(tmp_path / name)
    assert saved.labels == tuple(LABELS)
    np.testing.assert_array_equal(saved.assignment.codeword_of_class, result.codeword_of_class)
    np.testing.assert_array_equal(saved.codebook.matrix, codebook.matrix)
    assert saved.codebook.is_real == codebook.is_real
    assert saved.facts["score"] == pytest.approx(result.score)
    turned = saved.for_labels(reversed(LABELS))
    np.testing.assert_array_equal(turned.codeword_of_class, result.codeword_of_class[::-1])


def saved_description(tmp_path):
    path = tmp_path / "assignment.json"
    save_assignment(path, assign(CODEBOOKS[0], DISTANCES, rng=0), LABELS, CODEBOOKS[0])
    return path, json.loads(path.read_text())


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"format": "another"}, "'format' must be 'codekin-assignment'"),
        ({"format_version": 99}, "version 99; version 1 can be read"),
        ({"codeword_of_class": {"cat": 0, "dog": 1, "cow": 77}}, "Codeword 77 is not among the 4"),
        ({"codeword_of_class": {"cat": 0, "dog": 0}}, "does not hold an assignment"),
        ({"codebook": {}}, "missing or misplaced"),
        ({"codebook": 3}, "does not hold an assignment"),
    ],
)
def test_what_is_wrong_with_a_file_is_said(tmp_path, change, reason):
    path, description = saved_description(tmp_path)
    path.write_text(json.dumps(description | change))
    with pytest.raises(ValueError, match=reason):
        load_assignment(path)


BROKEN = {
    "nothing": b"",
    "half": b"{",
    "not text": b"\xff\xfe",
    "half of a zipped file": gzip.compress(b"{}", mtime=0)[:-4],
    "zipped prose": gzip.compress(b"no JSON", mtime=0),
}


@pytest.mark.parametrize("content", BROKEN.values(), ids=BROKEN.keys())
def test_a_file_that_is_not_json_is_refused(tmp_path, content):
    path = tmp_path / "assignment.json"
    path.write_bytes(content)
    with pytest.raises(ValueError, match="is not JSON"):
        load_assignment(path)


def test_classes_that_the_assignment_does_not_know_are_named(tmp_path):
    saved = load_assignment(saved_description(tmp_path)[0])
    with pytest.raises(ValueError, match="'horse' among them"):
        saved.for_labels(["cat", "dog", "horse"])
    with pytest.raises(ValueError, match="for 3 classes. Got 2"):
        saved.for_labels(["cat", "dog"])


def test_labels_that_are_the_same_as_text_are_refused(tmp_path):
    with pytest.raises(ValueError, match="as many different labels. Got 2"):
        save_assignment(tmp_path / "a.json", assign(CODEBOOKS[0], DISTANCES, rng=0), ["7", 7, 8], CODEBOOKS[0])
    assert not list(tmp_path.iterdir())
