"""codekin explain: words and features with contributions that add up to the score."""

import json

import pytest


def terms(line):
    named = ("other_features", "bias", "all_classes", "not_reranked", "rounding")
    return sum(one["contribution"] for one in line["features"]) + sum(line.get(name, 0.0) for name in named)


@pytest.mark.parametrize(
    "of_texts", [("--features=words",), ("--features=words+trigrams",), ("--hashing", "--features=words")]
)
def test_words_of_a_text_add_up_to_the_score(succeed, tmp_path, of_texts):
    texts = ["a cat purrs", "the dog barks", "a cow moos", "the cat sleeps", "a dog runs", "the cow eats"]
    labels = ["cat", "dog", "cow"] * 2
    lines = "".join(f"{label}\t{text}\n" for label, text in zip(labels, texts, strict=True))
    (tmp_path / "pets.tsv").write_text(lines)
    options = [*of_texts, "--rerank=none", "--width=2", "--quiet", "--json"]
    succeed("train", tmp_path / "pets.tsv", tmp_path / "model", *options)
    stdin = b"The cat barks\nunheard of\n"
    shown = succeed("explain", tmp_path / "model", "--json", "--top-k=2", "--n-features=1", "--quiet", stdin=stdin)
    found = [json.loads(line) for line in shown.splitlines()]
    assert [(one["sample"], one["rank"]) for one in found] == [(1, 1), (1, 2), (2, 1), (2, 2)]
    for one in found:
        assert terms(one) == pytest.approx(one["score"], abs=1e-9)
    words = " ".join(one["name"] for one in found[0]["features"] + found[1]["features"])
    assert set(words.split()) & {"cat", "barks"}
    text = succeed("explain", tmp_path / "model", "--label=cow", "--quiet", stdin=stdin)
    assert text.startswith("sample 1: cow, score ")
    score = float(text.splitlines()[0].rpartition(" ")[2])
    shown = [float(line[:12]) for line in text.split("sample 2")[0].splitlines()[1:]]
    assert sum(shown) == pytest.approx(score, abs=1e-3)


def test_features_have_the_numbers_of_the_file(succeed, run, topics, topics_model):
    line = json.loads(succeed("explain", topics_model, topics / "test.svm", "--json", "--quiet").splitlines()[0])
    assert terms(line) == pytest.approx(line["score"], abs=1e-9)
    (first,) = (topics / "test.svm").read_text().splitlines()[:1]
    numbers = {f"feature {field.partition(':')[0]}" for field in first.split()[1:]}
    assert {one["name"] for one in line["features"]} <= numbers
    wrong = run("explain", topics_model, topics / "test.svm", "--label=nothing")
    assert (wrong.code, wrong.out) == (2, "")
    assert "The label 'nothing' is not among the 32 classes of the model." in wrong.err
    wrong = run("explain", topics_model, topics / "test.svm", "--label=3", "--top-k=2")
    assert wrong.code == 2
    assert "--label explains one label of each sample. Got --top-k 2 as well." in wrong.err
