"""Cached samples equal those of the file, and a change of the file or the cache is noticed."""

import gzip
import json
import os

import numpy as np
import pytest

from codekin.data import DataError, ReadOptions, cached_data, read_data
from codekin.data.caching import CacheError, open_cache

TEXT = b"cat 1:0.5 3:1\ndog 2:2\n\ncat 3:-1e-3 7:2\n3 1:1\n"


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "train.svm"
    path.write_bytes(TEXT)
    return path


def told(*arguments, **options):
    """What a call says, without the folder."""
    sentences = []
    data = cached_data(*arguments, note=sentences.append, **options)
    return data, sentences


@pytest.mark.parametrize(
    ("text", "options"),
    [
        (TEXT, {}),
        (b"".join(b"%d 0:1 %d:0.25\n" % (k % 7, k + 1) for k in range(300)), {}),
        (b"5 1:1\n-3 2:1\n5 4:1\nfive 1:1\n", {}),  # integers that turn out to be texts
        (b"1,2 1:1\n3 2:1\n4,5 3:1\n", {"options": ReadOptions(multilabel="drop")}),
        (b"1 1:1\n2 2:1\n", {"n_features": 50, "options": ReadOptions(index_base=0)}),
        (b"1 2.5 |x a:2 b\n0 |x b c\n", {"format": "vw"}),
    ],
    ids=["labels", "numbers", "late-text", "multilabel", "given-shape", "weights"],
)
@pytest.mark.parametrize("is_zipped", [False, True])
def test_a_cache_holds_what_reading_gives(text, options, is_zipped, tmp_path):
    path = tmp_path / ("train.svm.gz" if is_zipped else "train.svm")
    path.write_bytes(gzip.compress(text) if is_zipped else text)
    data, cached = read_data(path, **options), cached_data(path, **options)
    np.testing.assert_array_equal(cached.X.in_memory().toarray(), data.X.toarray())
    np.testing.assert_array_equal(cached.labels, data.labels)
    np.testing.assert_array_equal(cached.classes, data.classes)
    assert cached.X.shape == data.X.shape
    assert cached.encoding == data.encoding
    assert (cached.sample_weight is None) == (data.sample_weight is None)
    if data.sample_weight is not None:
        np.testing.assert_array_equal(cached.sample_weight, data.sample_weight)


def test_a_cache_is_used_again_while_the_file_is_the_same(file):
    assert told(file)[1] == [f"converting it into {file}.cache"]
    assert told(file)[1] == [f"using {file}.cache"]
    os.utime(file, ns=(1, 1))  # touched, but the same
    assert told(file)[1] == [f"using {file}.cache"]


def test_a_stale_or_damaged_cache_is_made_again_and_says_why(file):
    folder = file.with_name("train.svm.cache")
    cached_data(file)
    file.write_bytes(TEXT + b"dog 1:1\n")
    data, sentences = told(file)
    assert sentences == [f"converting it again: {file} has changed since."]
    assert data.n_samples == 5
    file.write_bytes(file.read_bytes().replace(b"2:2", b"2:3"))
    assert "has changed since" in told(file)[1][0]
    assert "made with other options" in told(file, n_features=9)[1][0]
    values = folder / "values.npy"
    content = bytearray(values.read_bytes())
    content[-1] ^= 1
    values.write_bytes(content)
    with pytest.raises(CacheError, match=r"values.npy is missing or was changed after it was written"):
        open_cache(folder)
    data, sentences = told(file, n_features=9)
    assert sentences[0].startswith(f"converting it again: {values} is missing or was changed")
    np.testing.assert_array_equal(data.X.in_memory().toarray(), read_data(file, n_features=9).X.toarray())
    assert sorted(path.name for path in file.parent.iterdir()) == ["train.svm", "train.svm.cache"]


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda facts: facts.update(format="other"), "its 'format' must be 'codekin-cache'"),
        (lambda facts: facts.update(format_version=9), "has format version 9"),
        (lambda facts: facts.pop("files"), "a part of the description is missing"),
    ],
    ids=["format", "version", "files"],
)
def test_a_description_that_is_none_is_an_error_with_a_reason(change, reason, file):
    cached_data(file)
    description = file.with_name("train.svm.cache") / "cache.json"
    facts = json.loads(description.read_text())
    change(facts)
    description.write_text(json.dumps(facts))
    with pytest.raises(CacheError, match=reason):
        open_cache(description.parent)


@pytest.mark.parametrize(
    "text", [b"", b"\n\n", b"cat 1:x\n", b"cat\tpurrs\n"], ids=["empty", "blank", "wrong", "texts"]
)
def test_a_file_that_cannot_be_converted_leaves_nothing_behind(text, tmp_path):
    path = tmp_path / "train.txt"
    path.write_bytes(text)
    with pytest.raises(DataError, match=r"train.txt"):
        cached_data(path)
    assert list(tmp_path.iterdir()) == [path]


def test_a_folder_that_is_no_cache_is_left_alone(file, tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "letter.txt").write_text("dear")
    with pytest.raises(FileExistsError, match=r"mine is there already and is not a cache"):
        cached_data(file, tmp_path / "mine")
    with pytest.raises(CacheError, match=r"it has no cache.json"):
        open_cache(tmp_path / "mine")
