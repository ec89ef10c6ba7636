"""Vectors on the command line: files and columns of them, beside texts and alone, from training to explanations."""

import json

import numpy as np
import pandas as pd
import pytest

from codekin import TextClassifier
from codekin.cli.main import main
from tests.estimators.test_embeddings import N_DIMS, samples


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Tables, their vectors in files, and both in Parquet."""
    folder = tmp_path_factory.mktemp("vectors")
    for name, n, seed in (("train", 160, 0), ("test", 60, 1)):
        titles, E, kinds = samples(n, seed, np.float16)
        rows = pd.DataFrame({"title": titles, "kind": kinds})
        rows.to_csv(folder / f"{name}.csv", index=False)
        rows.assign(vector=list(E.astype(np.float32))).to_parquet(folder / f"{name}.parquet")
        np.save(folder / f"{name}.npy", E)
        np.savez(folder / f"{name}.npz", X=E, y=kinds)
        (folder / f"{name}.txt").write_text("\n".join(titles) + "\n")
    return folder


@pytest.fixture(scope="module")
def models(files):
    """Models of texts and vectors, from a file of vectors, and of vectors alone."""
    file = ("--embeddings", f"{files / 'train.npy'}")
    columns = ("--label=kind", *file)
    assert main(["train", f"{files / 'train.csv'}", f"{files / 'both'}", *columns, "--quiet"]) == 0
    assert main(["train", f"{files / 'train.npz'}", f"{files / 'alone'}", "--quiet"]) == 0
    return {"both": files / "both", "alone": files / "alone"}


def given(files, name="test"):
    return ("--embeddings", files / f"{name}.npy")


def test_the_command_and_a_program_make_the_same_model(files, models):
    titles, E, kinds = samples(160, 0, np.float16)
    own = TextClassifier(text="title", embeddings="embedding", random_state=0)
    own.fit({"title": titles, "embedding": E}, kinds)
    titles, E, _ = samples(60, 1, np.float16)
    rows = {"title": titles, "embedding": E}
    loaded = TextClassifier.load(models["both"])
    assert np.array_equal(loaded.predict_proba(rows), own.predict_proba(rows))


@pytest.mark.parametrize("kind", ["both", "alone"])
def test_all_sources_of_vectors_give_the_same_predictions(files, models, succeed, kind):
    titles, E, _ = samples(60, 1, np.float16)
    model = models[kind]
    wanted = TextClassifier.load(model).predict({"title": titles, "embedding": E}).tolist()
    sources = [(files / "test.csv", *given(files)), (files / "test.parquet", "--embeddings=vector")]
    texts = [(files / "test.txt", *given(files))]
    sources += [(files / "test.npy",), (files / "test.npz",)] if kind == "alone" else texts
    for source in sources:
        assert succeed("predict", model, *source, "--quiet").splitlines() == wanted
    piped = succeed("predict", model, "-", *given(files), "--quiet", stdin=(files / "test.csv").read_bytes())
    assert piped.splitlines() == wanted


def test_models_are_measured_calibrated_explained_and_inspected(files, models, succeed, tmp_path):
    for kind, model in models.items():
        source = (files / "test.csv", *given(files), "--label=kind")
        measured = json.loads(succeed("evaluate", model, *source, "--json", "--quiet"))
        assert (measured["n_samples"], measured["n_unknown_labels"]) == (60, 0)
        assert measured["accuracy"] > 0.6
        calibrated = tmp_path / kind
        succeed("calibrate", model, *source, "--output", calibrated, "--quiet")
        sets = succeed("predict", calibrated, *source[:-1], "--coverage=0.9", "--quiet")
        assert len(sets.splitlines()) == 60
        shown = json.loads(succeed("inspect", model, "--json"))
        weighted = ", times 1" if kind == "both" else ""
        assert shown["input"].endswith(f"vectors of embedding, {N_DIMS} numbers{weighted})")
        assert shown["input"].startswith("texts (" if kind == "both" else "vectors (")
        named = succeed("explain", model, *source[:-1], "--json", "--n-features=300", "--quiet").splitlines()[0]
        assert "embedding[2]" in {feature["name"] for feature in json.loads(named)["features"]}


def test_columns_of_vectors_are_found_again(files, run, tmp_path):
    shown = run("train", files / "train.parquet", tmp_path / "m", "--label=kind", "--embeddings=vector")
    assert shown.code == 0
    assert f"  embeddings: vector ({N_DIMS} numbers)" in shown.err.splitlines()
    assert "page" not in shown.out
    shown = run("predict", tmp_path / "m", files / "test.parquet")
    assert f"{files / 'test.parquet'}: Parquet; not used: kind; texts from title, vector" in shown.err
    assert len(shown.out.splitlines()) == 60


def test_labels_alone_and_texts_left_out_give_vectors_alone(files, succeed, tmp_path):
    (tmp_path / "labels.csv").write_text("kind\n" + "\n".join(samples(160, 0)[2]) + "\n")
    sources = [(tmp_path / "labels.csv",), (files / "train.csv", "--text=none")]
    for k, source in enumerate(sources):
        told = succeed(
            "train", *source[:1], tmp_path / str(k), *source[1:], "--label=kind", *given(files, "train"), "-q", "--json"
        )
        assert json.loads(told)["n_features"] == N_DIMS
        whole = [(folder / "arrays.safetensors").read_bytes() for folder in (tmp_path / str(k), files / "alone")]
        assert whole[0] == whole[1]


def test_no_text_is_a_text_with_vectors(files, models, succeed):
    """Known words are counted in texts, and those of vectors alone are none."""
    line = succeed("predict", models["both"], files / "test.csv", *given(files), "--json", "-q").splitlines()[0]
    assert json.loads(line)["known_words"] >= 1
    line = succeed("predict", models["alone"], files / "test.npy", "--json", "-q").splitlines()[0]
    assert set(json.loads(line)) == {"label"}


@pytest.mark.parametrize(
    ("command", "sentence"),
    [
        ("predict both test.csv", "there is no column 'embedding' that the model was trained on. Its columns are"),
        ("predict both test.txt", "--embeddings takes a file of vectors"),
        ("predict both test.csv --embeddings train.npy", "there are 160 vectors, but 60 samples."),
        ("predict both train.csv --embeddings test.npy", "there are 60 vectors, and more samples than that."),
        ("predict both test.csv --embeddings wide.npy", "Vectors of 'embedding' must have 6 numbers, as in training."),
        ("predict both test.csv --embeddings nan.npy", "nan.npy: row 5 has nan at place 1 of its vector"),
        ("predict both test.csv --embeddings none.npy", "none.npy"),
        ("predict alone wide.npy", "Vectors of 'embedding' must have 6 numbers, as in training. Got 12."),
        ("predict alone test.npy --min-known 1", "--min-known 1 needs a model of texts."),
        ("train train.npy new", "vectors alone have no labels."),
        ("train train.csv new --label kind --embeddings train.npy --validation test.csv", "--validation 10%"),
        ("train train.csv new --label kind --text none", "samples need texts, or vectors (--embeddings)."),
        ("train train.csv new --label kind --embeddings train", "there is no column 'train'"),
        ("train train.npz new --features words", "--features words needs texts."),
        ("train train.npz new --embeddings train.npy", "The 'embeddings' option of a reader is for tsv, csv"),
        ("export alone page", "A page cannot make vectors of what is typed."),
    ],
)
def test_mistakes_are_one_sentence(files, models, run, monkeypatch, command, sentence):
    monkeypatch.chdir(files)
    E = np.load("test.npy")
    np.save("wide.npy", np.hstack([E, E]))
    np.save("nan.npy", np.where(np.arange(60)[:, None] == 4, np.nan, E))
    shown = run(*command.split(), "-q")
    assert shown.code in (1, 2)
    errors = [line for line in shown.err.splitlines() if line.startswith("codekin: ")]
    assert len(errors) == 1
    assert sentence in errors[0]


def test_validation_samples_may_have_vectors_of_their_own(files, succeed, tmp_path):
    for kind, options in (("parquet", ("--label=kind", "--embeddings=vector")), ("npz", ())):
        source, held_out = files / f"train.{kind}", files / f"test.{kind}"
        told = succeed("train", source, tmp_path / kind, *options, "--validation", held_out, "-q", "--json")
        measured = succeed("evaluate", tmp_path / kind, held_out, *options[:1], "--json", "-q")
        assert json.loads(told)["validation_accuracy"] == json.loads(measured)["accuracy"]
