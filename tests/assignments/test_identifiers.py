import csv
import json

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.datasets import load_digits

from codekin.assignments import item_identifiers
from codekin.cli.main import main


@pytest.mark.parametrize(("n_items", "n_symbols"), [(2, 2), (3, 2), (257, 256), (1000, 10), (1001, 10), (999, 7)])
def test_identifiers_are_all_different_and_as_short_as_can_be(n_items, n_symbols):
    vectors = np.random.default_rng(0).normal(size=(n_items, 5))
    symbols = item_identifiers(vectors, n_symbols, rng=0).symbols
    assert len(np.unique(symbols, axis=0)) == n_items
    assert 0 <= symbols.min() <= symbols.max() < n_symbols
    assert n_symbols ** (symbols.shape[1] - 1) < n_items <= n_symbols ** symbols.shape[1]
    assert np.bincount(symbols[:, 0]).max() <= n_symbols ** (symbols.shape[1] - 1)


def test_parts_that_would_be_too_large_give_items_to_others():
    rng = np.random.default_rng(0)
    vectors = np.concatenate([rng.normal([9, 0, 0], 0.1, (200, 3)), rng.normal([0, 9, 9], 5.0, (56, 3))])
    symbols = item_identifiers(vectors, 4, rng=0).symbols  # 4 ** 4 identifiers for 256 items: every part is full
    assert len(np.unique(symbols, axis=0)) == 256
    for column in range(4):
        assert set(np.unique(symbols[:, : column + 1], axis=0, return_counts=True)[1]) == {4 ** (3 - column)}


def test_items_that_share_symbols_are_more_alike_and_the_table_says_how_much():
    vectors = load_digits().data
    found = item_identifiers(vectors, 8, rng=0)
    cosines = vectors @ vectors.T / np.outer(*[np.linalg.norm(vectors, axis=1)] * 2)
    np.fill_diagonal(cosines, np.nan)
    for length in range(4):
        shared = (found.symbols[:, None, :length] == found.symbols[None, :, :length]).all(axis=2)
        np.fill_diagonal(shared, False)
        means = [cosines[row, shared[row]].mean() for row in range(len(vectors)) if shared[row].any()]
        assert found.similarity[length] == pytest.approx(np.mean(means))
        assert found.n_shared[length] == pytest.approx(shared.sum(axis=1).mean())
    assert (np.diff(found.similarity) > 0.03).all()


def test_dense_and_sparse_vectors_and_their_multiples_get_the_same_identifiers():
    vectors = load_digits().data[:300]
    own = item_identifiers(vectors, 16, rng=3).symbols
    np.testing.assert_array_equal(own, item_identifiers(csr_array(vectors), 16, rng=3).symbols)
    np.testing.assert_array_equal(own, item_identifiers(4 * vectors, 16, rng=3).symbols)


@pytest.mark.parametrize(
    ("vectors", "settings", "sentence"),
    [
        (np.ones((3, 2)), {"n_symbols": 1}, "'n_symbols' parameter must be from 2 to 4,096. Got 1"),
        (np.ones((1, 2)), {}, "at least 2 items"),
        (np.full((3, 2), np.inf), {}, "must be finite"),
        (np.ones((3, 2)), {"names": ("a",)}, "There are 3 items. Got 1 names"),
    ],
)
def test_what_gets_no_identifiers_is_refused_in_a_sentence(vectors, settings, sentence):
    with pytest.raises(ValueError, match=sentence):
        item_identifiers(vectors, **settings)


def test_the_command_writes_what_the_library_finds(tmp_path, capsys):
    vectors = load_digits().data[:100].astype(np.float32)
    np.save(tmp_path / "v.npy", vectors)
    rows = "\n".join([f"item {i}," + ",".join(map(str, row)) for i, row in enumerate(vectors.tolist())])
    (tmp_path / "v.csv").write_text("," + ",".join(f"d{j}" for j in range(64)) + "\n" + rows, encoding="utf-8")
    found = item_identifiers(vectors, 8, rng=5)
    command = ["assign", "--n-symbols", "8", "--random-state", "5", "--quiet"]
    assert main([*command, "--items", str(tmp_path / "v.npy"), "-o", str(tmp_path / "ids.csv")]) == 0
    assert capsys.readouterr().out == f"{found}\nwritten to {tmp_path / 'ids.csv'}\n"
    with (tmp_path / "ids.csv").open(newline="", encoding="utf-8") as stream:
        listed = list(csv.reader(stream))
    assert listed[0] == ["item", "symbol_1", "symbol_2", "symbol_3"]
    assert [list(map(int, row)) for row in listed[1:]] == [
        [i + 1, *own] for i, own in enumerate(found.symbols.tolist())
    ]
    assert main([*command, "--items", str(tmp_path / "v.csv"), "-o", str(tmp_path / "ids.jsonl"), "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown["similarity"] == found.similarity.tolist()
    lines = (tmp_path / "ids.jsonl").read_text(encoding="utf-8").splitlines()
    assert json.loads(lines[7]) == {"item": "item 7", "identifier": found.symbols[7].tolist()}


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--items", "v.npy", "--method", "greedy"], "--items takes --n-symbols"),
        (["--taxonomy", "t.txt", "--n-symbols", "200"], "--n-symbols of a codebook must be at most"),
        (["--items", "nothing.npy"], "nothing.npy"),
    ],
)
def test_options_that_do_not_belong_together_are_refused(options, sentence, capsys):
    assert main(["assign", *options]) == 2
    assert sentence in capsys.readouterr().err
