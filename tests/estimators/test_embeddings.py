"""TextClassifier with vectors of the texts: beside them and alone."""

import json
from functools import partial

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from codekin import ExtremeClassifier, Predictor, TextClassifier
from codekin._system.files import json_checksum
from codekin.data import ReadOptions, read_data
from codekin.deploy.export import export_onnx, export_page
from codekin.storage import ModelFolderError, load_model

WORDS = {"cat": "purrs meows litter", "dog": "barks leash bone", "fish": "tank swims scales", "cow": "milk barn grass"}
N_DIMS = 6


def samples(n=160, seed=0, dtype=np.float32):
    """Titles, each with a word of its kind half of the time, vectors that say about as much, and the kinds."""
    rng = np.random.default_rng(seed)
    kinds = rng.choice(list(WORDS), n)
    titles = [" ".join([rng.choice(WORDS[kind].split()) if rng.random() < 0.6 else "thing", "nice"]) for kind in kinds]
    means = np.random.default_rng(9).normal(size=(len(WORDS), N_DIMS))
    E = means[[list(WORDS).index(kind) for kind in kinds]] + rng.normal(size=(n, N_DIMS))
    return titles, (E / np.linalg.norm(E, axis=1, keepdims=True)).astype(dtype), kinds


def table(*given):
    titles, E, kinds = samples(*given)
    return pd.DataFrame({"title": titles, "vector": list(E), "kind": kinds})


BOTH = {"text": "title", "embeddings": "vector"}


@pytest.fixture(scope="module")
def fitted():
    train = table()
    return TextClassifier(**BOTH, random_state=0).fit(train, train["kind"])


@pytest.fixture(scope="module")
def alone():
    _, E, kinds = samples()
    return TextClassifier(embeddings="vector", random_state=0).fit(E, kinds)


def arrays_of(classifier, folder):
    """The file of all arrays of a saved classifier."""
    return (classifier.save(folder) / "arrays.safetensors").read_bytes()


def test_text_and_vectors_together_are_better_than_either():
    train, test = table(400), table(400, 1)
    right = {}
    for name, columns in {"text": {"text": "title"}, "vector": {"embeddings": "vector"}, "both": BOTH}.items():
        classifier = TextClassifier(**columns, random_state=0).fit(train, train["kind"])
        right[name] = classifier.evaluate(test, test["kind"]).accuracy
    assert right["both"] > max(right["text"], right["vector"]) + 0.01


def test_features_are_the_text_and_the_vector_each_of_length_one(fitted):
    titles, E, _ = samples(20, 3)
    X = fitted.vectorizer_.transform(list(zip(titles, 5 * E, strict=True)))
    of_text = fitted.vectorizer_.texts[0].transform(titles).toarray()
    assert np.allclose(X.toarray(), np.hstack([of_text, E]) / np.sqrt(2), atol=1e-6)
    weighted = TextClassifier(text="title", embeddings={"vector": 3}, random_state=0).fit(table(), table()["kind"])
    X = weighted.vectorizer_.transform(list(zip(titles, E, strict=True)))
    assert np.allclose(X.toarray(), np.hstack([of_text, 3 * E]) / np.sqrt(10), atol=1e-6)


@pytest.mark.parametrize("columns", [BOTH, {"embeddings": "vector"}])
def test_tables_files_and_arrays_give_the_same_model(tmp_path, columns):
    titles, E, kinds = samples(dtype=np.float16)
    rows = pd.DataFrame({"title": titles, "vector": list(E), "kind": kinds})
    rows.assign(vector=[vector.astype(np.float32) for vector in E]).to_parquet(tmp_path / "t.parquet")
    rows.drop(columns="vector").to_csv(tmp_path / "t.csv", index=False)
    np.save(tmp_path / "v.npy", E)
    text = columns.get("text", "none")
    read = partial(ReadOptions, label="kind", text=text)
    new = partial(TextClassifier, random_state=0)
    parquet = read_data(tmp_path / "t.parquet", options=read(embeddings="vector"))
    csv = read_data(tmp_path / "t.csv", options=read(embeddings=str(tmp_path / "v.npy")))
    wanted = arrays_of(new(**columns).fit(rows, kinds), tmp_path / "a")
    assert arrays_of(new().fit(parquet, parquet.encoded_labels), tmp_path / "b") == wanted
    assert arrays_of(new().fit(csv, csv.encoded_labels), tmp_path / "c") == wanted
    assert arrays_of(new(**columns).fit({"title": titles, "vector": E}, kinds), tmp_path / "d") == wanted
    assert arrays_of(new(**columns).fit(rows.to_dict("records"), kinds), tmp_path / "e") == wanted


def test_vectors_alone_give_the_model_of_the_matrix(alone, tmp_path):
    _, E, kinds = samples()
    direct = ExtremeClassifier(random_state=0).fit(E, kinds)
    assert np.array_equal(direct.predict_proba(E), alone.predict_proba(E))
    np.savez(tmp_path / "v.npz", X=E, y=kinds)
    data = read_data(tmp_path / "v.npz")
    read = TextClassifier(random_state=0).fit(data, data.encoded_labels)
    assert arrays_of(read, tmp_path / "a") == arrays_of(alone, tmp_path / "b")


def test_only_the_reranking_learns_from_vectors_beside_texts():
    rng = np.random.default_rng(0)
    kinds = np.repeat([f"k{i}" for i in range(40)], 20)
    means = rng.normal(size=(40, N_DIMS))
    rows = {"title": [f"{kind} w{rng.integers(9)}" for kind in kinds], "vector": np.repeat(means, 20, axis=0)}
    fitted = TextClassifier(**BOTH, code="tree", rerank="learned", random_state=0).fit(rows, kinds)
    from_vectors = np.arange(fitted.vectorizer_.n_features) >= fitted.vectorizer_.n_features - N_DIMS
    assert np.array_equal(fitted.vectorizer_.rerank_only, from_vectors)
    vectors = fitted.model_.ranking.vectors.to_csr()
    assert vectors[:, from_vectors].nnz > 0
    # Without a re-ranking they are for the code.
    without = TextClassifier(**BOTH, code="tree", rerank=None, random_state=0).fit(rows, kinds)
    assert without.vectorizer_.rerank_only is None


@pytest.mark.parametrize("kind", ["both", "alone"])
def test_models_are_saved_with_the_names_and_lengths_of_vectors(fitted, alone, tmp_path, kind):
    classifier = {"both": fitted, "alone": alone}[kind]
    titles, E, _ = samples(30, 1)
    rows = {"title": titles, "vector": E}
    loaded = TextClassifier.load(classifier.save(tmp_path / "m"))
    assert np.array_equal(loaded.predict_proba(rows), classifier.predict_proba(rows))
    assert loaded.get_params()["embeddings"] == {"vector": 1.0}
    assert loaded.vectorizer_.n_dims == (N_DIMS,)
    again = clone(loaded).fit({"title": samples()[0], "vector": samples()[1]}, samples()[2])
    assert np.array_equal(again.predict(rows), classifier.predict(rows))
    predictor = Predictor.load(tmp_path / "m")
    for i in range(5):
        row = {"title": titles[i], "vector": E[i].tolist()}
        assert predictor.predict(row) == classifier.predict([row])[0]
        labels, probabilities = predictor.top_k_proba(row, 2)
        best, of_best = classifier.top_k_proba([row], 2)
        assert labels == best[0].tolist()
        assert np.allclose(probabilities, of_best[0])
    with pytest.raises(ValueError, match=r"Vectors of 'vector' must have 6 numbers, as in training. Got 2\."):
        predictor.predict({"title": "", "vector": [1, 2]})
    with pytest.raises(ValueError, match=r"A sample must have 'vector'\."):
        predictor.predict({"title": "purrs"})


def test_wrong_vectors_are_named(fitted, alone):
    titles, E, kinds = samples(4)
    with pytest.raises(ValueError, match=r"Vectors of 'vector' must have 6 numbers, as in training. Got 12\."):
        fitted.predict({"title": titles, "vector": np.hstack([E, E])})
    with pytest.raises(ValueError, match=r"Vectors of 'vector' must have 6 numbers, as in training. Got 3\."):
        alone.predict(E[:, :3])
    with pytest.raises(ValueError, match="Column 'vector', row 2: it has nan at place 1"):
        fitted.predict({"title": titles, "vector": np.where(np.arange(4)[:, None] == 2, np.nan, E)})
    with pytest.raises(ValueError, match=r"All columns must have as many values. Got 4, 3\."):
        TextClassifier(**BOTH).fit({"title": titles, "vector": E[:3]}, kinds)
    with pytest.raises(ValueError, match="There is no column 'vector'"):
        fitted.predict(pd.DataFrame({"title": titles}))
    with pytest.raises(ValueError, match="The weight of column 'vector' must be from 1e-6 to 1e6. Got 0 instead"):
        TextClassifier(text="title", embeddings={"vector": 0}).fit({"title": titles, "vector": E}, kinds)


@pytest.mark.parametrize(
    "change", [{"n_dims": [5]}, {"n_dims": []}, {"n_dims": ["6"]}, {"vector_weights": [-1]}, {"vector_weights": []}]
)
def test_damaged_folders_are_refused(fitted, tmp_path, change):
    path = fitted.save(tmp_path / "m") / "model.json"
    description = json.loads(path.read_text())
    description["input"]["vectorizer"].update(change)
    description["sha256"] = json_checksum(description)
    path.write_text(json.dumps(description))
    with pytest.raises(ModelFolderError):
        load_model(tmp_path / "m")


def test_an_explanation_names_places_of_the_vector(fitted):
    row = table(3, 1).iloc[:1]
    named = set(fitted.explain(row).feature_names.values())
    assert {f"vector[{k}]" for k in range(N_DIMS)} <= named


def test_pages_refuse_vectors_and_onnx_takes_them(alone, fitted, tmp_path):
    for classifier in (alone, fitted):
        with pytest.raises(ValueError, match="A page cannot make vectors of what is typed"):
            export_page(classifier, tmp_path / "page")
    runtime = pytest.importorskip("onnxruntime")
    session = runtime.InferenceSession(export_onnx(alone, tmp_path / "m.onnx", k=1))
    _, E, _ = samples(20, 1)
    labels = session.run(None, {session.get_inputs()[0].name: E})[0]
    assert labels.ravel().tolist() == alone.predict(E).tolist()


def test_features_of_texts_are_those_that_texts_alone_would_get():
    rows = table(2_100)
    text = TextClassifier(text="title", random_state=0).fit(rows, rows["kind"]).vectorizer_
    (beside,) = TextClassifier(**BOTH, random_state=0).fit(rows, rows["kind"]).vectorizer_.texts
    assert len(text.tried) > 1
    assert (beside.tried, beside.terms) == (text.tried, text.terms)
