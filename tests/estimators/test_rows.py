"""TextClassifier on rows: several columns of texts, numbers and categories beside them."""

import json

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.base import clone

from codekin import Predictor, TextClassifier
from codekin._system.files import json_checksum
from codekin.data import ReadOptions, read_data
from codekin.deploy.export import export_onnx, export_page, padded_rows
from codekin.storage import ModelFolderError

WORDS = {"cat": "purrs meows litter", "dog": "barks leash bone", "fish": "tank swims scales"}
KG = {"cat": 4.0, "dog": 20.0, "fish": 0.5}


def pets(n=120, seed=0):
    """A data frame whose columns say a little each about the pet."""
    rng = np.random.default_rng(seed)
    kinds = rng.choice(list(WORDS), n)
    return pd.DataFrame(
        {
            "title": [" ".join(rng.choice([*WORDS[kind].split(), "pet", "my", "the"], 2)) for kind in kinds],
            "text": [" ".join(rng.choice([*WORDS[kind].split(), "nice", "good", "day"], 3)) for kind in kinds],
            "kg": [KG[kind] * rng.uniform(0.8, 1.2) if rng.random() < 0.9 else np.nan for kind in kinds],
            "home": [{"fish": "water"}.get(kind, "land") if rng.random() < 0.9 else None for kind in kinds],
            "pet": kinds,
        }
    )


COLUMNS = {"text": {"title": 2, "text": 1}, "numbers": ["kg"], "categories": "home"}


@pytest.fixture(scope="module")
def fitted():
    train = pets()
    return TextClassifier(**COLUMNS, random_state=0).fit(train, train["pet"])


@pytest.fixture(scope="module")
def new_pets():
    return pets(60, seed=1)


def test_what_features_are_is_as_written_down():
    table = pd.DataFrame({"a": ["x", "x y", "z"], "b": ["u", "v", "u"], "n": [1.0, 3.0, np.nan], "c": ["p", None, "q"]})
    classifier = TextClassifier(text={"a": 3, "b": 1}, numbers="n", categories="c", random_state=0)
    fitted = classifier.fit(table, ["k", "l", "k"]).vectorizer_
    a, b = (each.transform(table[name].tolist()).toarray() for each, name in zip(fitted.texts, "ab", strict=True))
    # The median of 1 and 3 is 2 and their interquartile range 1; the length of a row is at most one.
    numbers = np.array([[-0.5], [0.5], [0]])
    categories = np.array([[1, 0], [0, 0], [0, 1]])
    wanted = np.hstack([3 * a, b, numbers, categories]) / np.sqrt(9 + 1 + 1 + 1)
    rows = list(zip(table["a"], table["b"], table["n"], ["p", "", "q"], strict=True))
    X = fitted.transform(rows)
    assert X.dtype == np.float32
    assert X.indices.dtype == np.int32
    assert X.has_sorted_indices
    assert np.allclose(X.toarray(), wanted, atol=1e-7)
    assert np.sqrt((wanted**2).sum(axis=1)).max() <= 1


def test_numbers_are_cut_off_and_what_is_unknown_counts_as_nothing(fitted):
    def features(**cells):
        row = {"title": "", "text": "", "kg": None, "home": None, **cells}
        indices, values = fitted.vectorizer_.row(row)
        return dict(zip(indices.tolist(), values.tolist(), strict=True))

    assert features() == features(home="in the air") == {}
    assert features(kg=1e6) == features(kg=1e300) != features(kg=1.0)
    assert len(features(home="water")) == 1
    assert features(home=" water ") == features(home="water")
    # Columns of numbers and categories may be left out of an object, texts may not.
    assert len(fitted.predict([{"title": "purrs", "text": ""}])) == 1
    with pytest.raises(ValueError, match="A sample must have 'title'. Got 'titel', 'text'. Did you mean 'titel'?"):
        fitted.predict([{"titel": "purrs", "text": ""}])


@pytest.mark.parametrize(
    "container",
    [
        lambda table: table,
        pl.from_pandas,
        lambda table: pa.Table.from_pandas(table, preserve_index=False),
        lambda table: table.to_dict("list"),
        lambda table: table.to_dict("records"),
        lambda table: table[["pet", "home", "kg", "text", "title"]].set_index("pet"),
    ],
)
def test_rows_come_in_any_container(fitted, new_pets, container):
    train = pets()
    own = TextClassifier(**COLUMNS, random_state=0).fit(container(train), train["pet"].tolist())
    given = container(new_pets)
    assert np.array_equal(own.predict_proba(given), fitted.predict_proba(new_pets))


def test_every_column_helps():
    train, test = pets(300), pets(300, seed=1)
    scores = [
        TextClassifier(**columns, random_state=0).fit(train, train["pet"]).score(test, test["pet"])
        for columns in ({"text": "title"}, {"text": ["title", "text"]}, COLUMNS)
    ]
    assert scores[0] < scores[1] <= scores[2]
    assert scores[2] > 0.95


def test_a_saved_model_answers_the_same_and_knows_its_columns(fitted, new_pets, tmp_path):
    fitted.save(tmp_path / "model")
    assert sorted(path.name for path in (tmp_path / "model").iterdir()) == ["arrays.safetensors", "model.json"]
    loaded = TextClassifier.load(tmp_path / "model")
    assert np.array_equal(loaded.predict_proba(new_pets), fitted.predict_proba(new_pets))
    assert loaded.get_params()["text"] == {"title": 2.0, "text": 1.0}
    again = clone(loaded).fit(pets(), pets()["pet"])
    assert np.array_equal(again.predict_proba(new_pets), fitted.predict_proba(new_pets))
    predictor = Predictor.load(tmp_path / "model")
    rows = new_pets.drop(columns="pet").to_dict("records")
    assert [predictor.predict(row) for row in rows] == fitted.predict(new_pets).tolist()
    with pytest.raises(ValueError, match="This predictor needs an object with title, text, kg, home. Got a text."):
        predictor.predict("purrs")


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda columns: columns["text"].pop(), "do not fit their columns"),
        (lambda columns: columns["numbers"].append("age"), "do not fit their columns"),
        (lambda columns: columns["categories"].append("colour"), "not the state of features of rows"),
        (lambda columns: columns["numbers"].__setitem__(0, "title"), "do not fit their columns"),
        (lambda columns: columns.pop("label"), "columns of a table have a label"),
        (lambda columns: columns["text"].__setitem__(0, 3), "columns of a table have a label"),
    ],
)
def test_forged_columns_in_a_folder_are_refused(fitted, tmp_path, change, sentence):
    folder = fitted.save(tmp_path / "model")
    description = json.loads((folder / "model.json").read_text())
    change(description["input"]["columns"])
    description["sha256"] = json_checksum(description)
    (folder / "model.json").write_text(json.dumps(description))
    with pytest.raises(ModelFolderError, match=sentence):
        TextClassifier.load(folder)


def test_explanations_name_the_columns(fitted):
    explained = fitted.explain([{"title": "purrs", "text": "nice litter", "kg": 3.5, "home": "land"}])
    text = explained.text()
    assert "title: purrs" in text
    assert "text: litter" in text
    assert {"kg = 3.5", "home = land"} <= set(explained.feature_names.values())


def test_a_budget_holds_with_several_columns():
    train, test = pets(400), pets(100, seed=1)
    train["title"] += [f" number {i}" for i in range(400)]
    budget = 14_000
    classifier = TextClassifier(**COLUMNS, max_model_bytes=budget, random_state=0)
    classifier.fit(train, train["pet"], validation=(test, test["pet"]))
    assert classifier.report().n_bytes <= budget
    whole = TextClassifier(**COLUMNS, random_state=0).fit(train, train["pet"]).vectorizer_
    assert classifier.vectorizer_.texts[0].n_features < whole.texts[0].n_features


def test_an_exported_model_answers_the_same_from_features(fitted, new_pets, tmp_path):
    runtime = pytest.importorskip("onnxruntime")
    session = runtime.InferenceSession(str(export_onnx(fitted, tmp_path / "pets.onnx", k=3)))
    rows = list(zip(*(new_pets[name].tolist() for name in ("title", "text")), strict=True))
    samples = fitted.vectorizer_.samples(new_pets)
    assert [sample[:2] for sample in samples] == rows
    features, values = padded_rows(fitted.vectorizer_.transform(samples))
    labels, probabilities = session.run(["labels", "probabilities"], {"features": features, "values": values})
    assert labels[:, 0].tolist() == fitted.predict(new_pets).tolist()
    assert np.allclose(probabilities, fitted.top_k_proba(new_pets, 3)[1], atol=1e-5)


def test_a_page_of_one_column_has_no_script_for_several(fitted, tmp_path):
    several = export_page(fitted, tmp_path / "several").read_text(encoding="utf-8")
    title = TextClassifier(text="title", random_state=0).fit(pets(), pets()["pet"])
    one = export_page(title, tmp_path / "one").read_text(encoding="utf-8")
    assert '<div id="row"' in several
    assert "function rowFields" in several
    assert '<textarea id="text"' in one
    assert "function rowFields" not in one


@pytest.mark.parametrize(
    ("settings", "change", "sentence"),
    [
        ({"numbers": "kg"}, {}, "'numbers' and 'categories' of TextClassifier need 'text', too"),
        ({"text": []}, {}, "The 'text' of TextClassifier must be names of columns. Got"),
        ({"text": [3]}, {}, "The 'text' of TextClassifier must be names of columns"),
        ({"text": {"title": 0}}, {}, "The weight of column 'title' must be from 1e-6 to 1e6. Got 0"),
        ({"text": "titel"}, {}, "There is no column 'titel'. There are .*. Did you mean 'title'?"),
        ({"text": "title", "numbers": "title"}, {}, "Every column has one use"),
        ({"text": ["title", "kg"]}, {}, "'kg', text 0 must be a str. Got"),
        ({"text": "title", "numbers": "kg"}, {"kg": ["heavy"] * 120}, "Column 'kg', row 0: a finite number is needed"),
        ({"text": "title", "numbers": "kg"}, {"kg": [np.inf] * 120}, "Column 'kg', row 0: a finite number is needed"),
        ({"text": "title", "categories": "home"}, {"home": [["a"]] * 120}, "a category is a text or a number"),
        ({"text": ["title", "text"]}, {"text": [""] * 120}, "Column 'text': No features can be made"),
    ],
)
def test_columns_that_cannot_be_used_are_one_sentence(settings, change, sentence):
    table = pets().assign(**change)
    with pytest.raises(ValueError, match=sentence):
        TextClassifier(**settings).fit(table, table["pet"])


def test_rows_need_columns(fitted):
    for given in (["purrs"], "purrs", np.zeros((2, 4))):
        with pytest.raises(ValueError, match="Samples have several columns .*: a data frame or a list of objects"):
            fitted.predict(given)


def test_a_file_that_was_read_is_a_table(fitted, new_pets, tmp_path):
    pets().to_csv(tmp_path / "pets.csv", index=False)
    options = ReadOptions(label="pet", text=("title", "text"), numbers="kg", categories="home")
    data = read_data(tmp_path / "pets.csv", options=options)
    own = TextClassifier(**COLUMNS, random_state=0).fit(data, data.labels)
    assert np.array_equal(own.predict_proba(new_pets), fitted.predict_proba(new_pets))
    with pytest.raises(ValueError, match="those of numbers are kg. Got a file that was read with none"):
        fitted.predict(read_data(tmp_path / "pets.csv", options=ReadOptions(label="pet", text=("title", "text"))))


def test_categories_of_numbers_are_spelled_like_those_of_a_file(tmp_path):
    table = pd.DataFrame({"text": ["a b", "b c", "a c"] * 4, "code": [1.0, 2.0, np.nan] * 4, "y": ["k", "l", "m"] * 4})
    classifier = TextClassifier(text="text", categories="code", random_state=0).fit(table, table["y"])
    assert classifier.vectorizer_.categories == (("1", "2"),)


def test_a_batch_of_rows_goes_on_where_the_last_one_ended():
    train = pets()
    classifier = TextClassifier(**COLUMNS, estimator="arow", random_state=0)
    for part in (train[:60], train[60:]):
        classifier.partial_fit(part, part["pet"], classes=list(WORDS))
    assert classifier.score(train, train["pet"]) > 0.8
