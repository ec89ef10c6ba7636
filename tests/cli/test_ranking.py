"""Several codes and re-ranking from the command line."""

import json

import pytest

from codekin import load_model


@pytest.fixture
def ranked(topics, succeed, tmp_path):
    def train(*options):
        return succeed(
            "train",
            topics / "train.svm",
            tmp_path / "model",
            "--taxonomy",
            topics / "taxonomy.txt",
            "--width=2",
            *options,
        )

    return tmp_path / "model", train


@pytest.mark.parametrize("rerank", ["none", "centroid", "learned"])
@pytest.mark.parametrize("n_codes", [1, 2])
def test_every_command_knows_ranked_models(ranked, topics, succeed, rerank, n_codes):
    folder, train = ranked
    summary = json.loads(train("--rerank", rerank, "--n-codes", n_codes, "--json"))
    shown = json.loads(succeed("inspect", folder, "--json"))
    evaluated = json.loads(succeed("evaluate", folder, topics / "test.svm", "--json"))
    is_ranked = rerank != "none" or n_codes > 1
    assert summary["ranking"] == shown["ranking"]
    assert (shown["ranking"] is not None) == is_ranked
    assert shown["n_codes"] == n_codes
    assert shown["n_bits"] == 21 * n_codes
    if is_ranked:
        assert shown["ranking"]["n_codes"] == n_codes
        assert (shown["ranking"]["vector_bytes"] is not None) == (rerank != "none")
    assert (evaluated["certified_share"] is not None) == (n_codes > 1)
    assert len(succeed("predict", folder, topics / "test.svm", "--top-k", 3, "--probabilities").splitlines()) > 0
    assert load_model(folder).rerank == (None if rerank == "none" else rerank)


def test_text_for_people(ranked, topics, succeed):
    folder, train = ranked
    assert "class vectors" in train("--rerank", "centroid", "--n-codes", 2, "--details")
    shown = succeed("inspect", folder)
    assert "42 bits of 2 codes" in shown
    assert "candidates of each code" in shown
    assert "certified predictions" in succeed("evaluate", folder, topics / "test.svm")


@pytest.mark.parametrize(("source", "n_of_code"), [("index", 1), ("both", 20)])
def test_candidates_of_an_index_are_shown(ranked, topics, succeed, source, n_of_code):
    folder, train = ranked
    facts = json.loads(train("--rerank", "centroid", "--candidates", source, "--json"))["ranking"]
    assert (facts["n_candidates"], facts["n_indexed"]) == (min(n_of_code, 20), 20)
    shown = succeed("inspect", folder)
    assert "candidates of the index        20" in shown
    assert load_model(folder).candidates == source
    assert len(succeed("predict", folder, topics / "test.svm", "--top-k", 3).splitlines()) > 0


def test_an_index_without_vectors_is_refused_in_the_words_of_the_command(run, topics, tmp_path):
    shown = run("train", topics / "train.svm", tmp_path / "model", "--candidates", "index", "--rerank", "none")
    assert shown.code == 2
    assert "--candidates index needs a re-ranking with class vectors, of which it makes an index" in shown.err
    assert not (tmp_path / "model").exists()


def test_a_bad_name_is_refused(run, topics, tmp_path):
    shown = run("train", topics / "train.svm", tmp_path / "model", "--rerank", "best")
    assert shown.code == 2
    assert "centroid" in shown.err
