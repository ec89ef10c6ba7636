"""Samples that are objects with the columns of a table."""

import numpy as np
import pytest
from tests.deploy.serve.conftest import TEXTS, ask, predict
from tests.estimators.test_embeddings import samples

from codekin import TextClassifier
from codekin.deploy.serve import application

SAMPLES = [{"title": text, "text": "more", "size": 3, "kind": None} for text in TEXTS[:20]]


def test_objects_are_answered_as_the_classifier_does(rows, rows_folder):
    classifier = TextClassifier.load(rows_folder)
    answer = predict(rows, {"samples": SAMPLES, "top_k": 3, "probabilities": True})
    assert answer.status == 200
    labels, probabilities = classifier.top_k_proba(SAMPLES, 3)
    found = [[one["label"] for one in each["top"]] for each in answer.predictions]
    assert found == labels.tolist()
    assert np.allclose([[one["probability"] for one in each["top"]] for each in answer.predictions], probabilities)
    assert {each["known_words"] for each in answer.predictions} == {4, 5}
    alone = predict(rows, {"samples": SAMPLES[:1]})
    assert alone.predictions[0]["label"] == labels[0, 0]


def test_numbers_and_categories_may_be_left_out_and_more_may_be_sent(rows):
    least = {"title": TEXTS[0], "text": None}
    given = [least, {**least, "size": None, "kind": "never seen"}, {**least, "id": 7}]
    answers = predict(rows, {"samples": given, "probabilities": True}).predictions
    assert answers[0] == answers[1] == answers[2]
    assert predict(rows, {"samples": [{"indices": [0], "values": [1.0]}]}).status == 200


@pytest.mark.parametrize(
    ("sample", "sentence"),
    [
        ("a text", "samples[0]: This predictor needs an object with title, text, size, kind. Got a text."),
        ({"text": "x"}, "samples[0]: A sample must have 'title'. Got 'text'."),
        ({"title": 3, "text": ""}, "samples[0]: 'title', text 0 must be a str. Got 3 of type int."),
        (
            {"title": "", "text": "", "size": "4"},
            "samples[0]: Column 'size', row 0: a finite number is needed",
        ),
        (
            {"title": "", "text": "", "kind": ["a"]},
            "samples[0]: Column 'kind', row 0: a category is a text",
        ),
        ({"title": "\ud800", "text": ""}, "samples[0]: half of a surrogate pair at character 0."),
        ({}, "samples[0]: A sample must have 'title'. Got nothing."),
        ([1.0], "samples[0]: "),
    ],
    ids=["text", "missing", "number", "word", "list", "surrogate", "empty", "short"],
)
def test_what_is_no_row_is_refused_with_a_sentence(rows, sample, sentence):
    answer = predict(rows, {"samples": [sample]})
    assert answer.status == 400
    assert answer.error.startswith(sentence)


def test_lines_of_text_are_no_rows_and_the_description_says_so(rows, texts):
    assert predict(rows, b"apple\n", content_type="text/plain").status == 400
    described = ask(rows, "GET", "/v1/openapi.json").json
    assert "text/plain" not in described["paths"]["/v1/predict"]["post"]["requestBody"]["content"]
    assert "row of a table" in described["components"]["schemas"]["Sample"]["oneOf"][0]["description"]
    assert predict(texts, {"samples": [{"title": "apple"}]}).status == 400


@pytest.mark.parametrize("columns", [{"text": "title", "embeddings": "vector"}, {"embeddings": "vector"}])
def test_vectors_are_lists_of_numbers(tmp_path, columns):
    titles, E, kinds = samples(80)
    classifier = TextClassifier(**columns, random_state=0).fit({"title": titles, "vector": E}, kinds)
    app = application(classifier.save(tmp_path / "m"))
    rows = [{"title": title, "vector": vector} for title, vector in zip(titles[:9], E[:9].tolist(), strict=True)]
    labels, probabilities = classifier.top_k_proba(rows, 2)
    for given in [rows] if "text" in columns else [rows, E[:9].tolist()]:
        answers = predict(app, {"samples": given, "top_k": 2, "probabilities": True}).predictions
        assert [[one["label"] for one in each["top"]] for each in answers] == labels.tolist()
        assert np.allclose([[one["probability"] for one in each["top"]] for each in answers], probabilities, atol=1e-6)
        assert [each["label"] for each in predict(app, {"samples": given}).predictions] == labels[:, 0].tolist()
    for wrong, sentence in (
        ([1, 2], "samples[0]: Vectors of 'vector' must have 6 numbers, as in training. Got 2."),
        ("word", "samples[0]: Column 'vector', row 0: it has 'word' where a vector, a list of numbers, is needed."),
        ([None] * 6, "samples[0]: Column 'vector', row 0: it has '[None, None"),
        ([1e300] * 6, "samples[0]: Column 'vector', row 0: it has inf at place 1 of its vector"),
    ):
        answer = predict(app, {"samples": [{"title": "", "vector": wrong}]})
        assert answer.status == 400
        assert answer.error.startswith(sentence)
    assert predict(app, {"samples": [{"title": ""}]}).error.startswith("samples[0]: A sample must have 'vector'.")
