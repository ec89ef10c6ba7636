"""What a model answers to requests, right and wrong ones, without a server around it."""

import asyncio
import json
import logging
import re

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_digits
from sklearn.ensemble import HistGradientBoostingClassifier
from tests.deploy.serve.conftest import TEXTS, WORDS, ask, asked, predict

from codekin import ECOCClassifier, load_model
from codekin.deploy.predictor import BatchPredictor, Predictor
from codekin.deploy.serve import Limits, application
from codekin.deploy.serve.application import Application

TEXT = "text/plain"


def test_texts_get_the_labels_of_the_classifier(texts, text_folder):
    classifier = load_model(text_folder)
    rows = sparse.vstack([texts.predictor.row(text).matrix() for text in TEXTS])
    answer = predict(texts, {"samples": TEXTS})
    assert [one["label"] for one in answer.predictions] == classifier.predict(rows).tolist()
    known = [one["known_words"] for one in answer.predictions]
    assert [n > 0 for n in known] == (np.diff(rows.indptr) > 0).tolist()
    (nothing,) = predict(texts, {"samples": ["zzyzx"], "top_k": 1}).predictions
    most_frequent = classifier.classes_[classifier.model_.prior.order[0]].item()
    assert nothing == {"label": most_frequent, "top": [{"label": most_frequent}], "known_words": 0}


def test_best_labels_come_with_their_probabilities(texts, text_folder):
    classifier = load_model(text_folder)
    labels, probabilities = classifier.top_k_proba(texts.predictor.row(TEXTS[3]).matrix(), 3)
    (best,) = predict(texts, {"samples": [TEXTS[3]], "top_k": 3, "probabilities": True}).predictions
    assert [one["label"] for one in best["top"]] == labels[0].tolist()
    assert [one["probability"] for one in best["top"]] == probabilities[0].tolist()
    assert best["label"], best["probability"] == best["top"][0]
    (best,) = predict(texts, {"samples": [TEXTS[3]], "top_k": 100}).predictions
    assert sorted(one["label"] for one in best["top"]) == sorted(WORDS)
    assert "probability" not in best


def test_lines_of_text_are_samples(texts):
    expected = predict(texts, {"samples": ["apple", "", "river and engine"], "top_k": 2, "probabilities": True})
    for body in (b"apple\n\nriver and engine", b"apple\r\n\r\nriver and engine\r\n"):
        for content_type in (TEXT, 'text/plain; charset="UTF-8"'):
            answer = predict(texts, body, content_type=content_type, query="top_k=2&probabilities=true")
            assert answer.json == expected.json


def test_dense_and_sparse_rows_get_the_labels_of_the_classifier(digits, digits_folder):
    X = load_digits().data[300:330] / 16
    expected = [{"label": label} for label in load_model(digits_folder).predict(X).tolist()]
    assert predict(digits, {"samples": X.tolist()}).predictions == expected
    sparse_rows = [{"indices": np.flatnonzero(x)[::-1].tolist(), "values": x[x != 0][::-1].tolist()} for x in X]
    assert predict(digits, {"samples": sparse_rows}).predictions == expected
    mixed = [dense if i % 2 else row for i, (dense, row) in enumerate(zip(X.tolist(), sparse_rows, strict=True))]
    assert predict(digits, {"samples": mixed}).predictions == expected


def test_sparse_rows_are_fine_for_learners_that_need_dense_ones():
    X, y = load_digits(return_X_y=True)
    learner = HistGradientBoostingClassifier(max_iter=2, max_leaf_nodes=4)
    classifier = ECOCClassifier(learner, n_bits=5, decoding="loss", random_state=0).fit(X[:200], y[:200])
    app = Application(BatchPredictor(Predictor(classifier), classifier), Limits(), "ECOCClassifier")
    rows = [{"indices": np.flatnonzero(x).tolist(), "values": x[x != 0].tolist()} for x in X[200:203]]
    expected = [{"label": label} for label in classifier.predict(X[200:203]).tolist()]
    assert predict(app, {"samples": rows}).predictions == expected
    assert [predict(app, {"samples": [row]}).predictions[0] for row in rows] == expected


def test_no_samples_have_no_predictions(texts):
    assert predict(texts, {"samples": []}).predictions == []


DEEP = b'{"samples": ' + b"[" * 100_000 + b"]" * 100_000 + b"}"
ROW = '{"samples": [{"indices": %s, "values": %s}]}'

WRONG = {
    "no JSON": (b"{", "The body is not JSON: expecting property name enclosed in double quotes (line 1, column 2)."),
    "nothing": (b"", "The body is not JSON: expecting value (line 1, column 1)."),
    "a list": (b"[1]", "The body must be an object with 'samples'. Got a list."),
    "other bytes": (b'{"samples": ["\xff"]}', "The body must be encoded as UTF-8. Byte 14 is not."),
    "NaN": (b'{"samples": [[NaN]]}', "JSON has no NaN; numbers must be finite."),
    "infinity": (b'{"samples": [[-Infinity]]}', "JSON has no -Infinity; numbers must be finite."),
    "nesting": (DEEP, "The body is nested too deeply."),
    "digits": (b'{"samples": [], "top_k": ' + b"9" * 5_000 + b"}", "The body has a number with too many digits."),
    "no samples": (b"{}", "'samples' must be a list. It is missing."),
    "one sample": (b'{"samples": "apple"}', "'samples' must be a list. Got \"apple\"."),
    "another field": (
        b'{"samples": [], "k": 3}',
        "The body may have 'samples', 'top_k', 'probabilities' and 'min_probability'. Got \"k\".",
    ),
    "k is true": (b'{"samples": [], "top_k": true}', "'top_k' must be a whole number. Got true."),
    "k is 0": (b'{"samples": [], "top_k": 0}', "'top_k' must be between 1 and 100. Got 0."),
    "k is large": (b'{"samples": [], "top_k": 101}', "'top_k' must be between 1 and 100. Got 101."),
    "k is huge": (b'{"samples": [], "top_k": %s}' % (b"9" * 4_000), "'top_k' must be between 1 and 100. Got 9999"),
    "maybe": (b'{"samples": [], "probabilities": 1}', "'probabilities' must be true or false. Got 1."),
    "a number": (b'{"samples": [3]}', "samples[0]: a sample must be a text, a list of numbers, or an object with 'ind"),
    "null": (
        b'{"samples": [null]}',
        "samples[0]: a sample must be a text, a list of numbers, or an object with 'indic",
    ),
    "few numbers": (b'{"samples": [[1, 2]]}', "samples[0]: 64 numbers are needed, one for each feature. Got 2."),
    "texts": (
        b'{"samples": ["apple"]}',
        "samples[0]: This predictor has no vectorizer, so it needs features. Got a text",
    ),
    "half a pair": (rb'{"samples": ["a\ud800"]}', "samples[0]: half of a surrogate pair at character 1."),
    "a text in a row": (b'{"samples": [[%s"1"]]}' % (b"0," * 63), 'samples[0]: values must be numbers. Got "1".'),
    "a list in a row": (b'{"samples": [[%s[1]]]}' % (b"0," * 63), "samples[0]: values must be numbers. Got a list."),
    "too large": (b'{"samples": [[%s1e999]]}' % (b"0," * 63), "samples[0]: a number is too large."),
    "integers": (b'{"samples": [[%s%s]]}' % (b"0," * 63, b"9" * 400), "samples[0]: a number is too large."),
    "a field missing": (b'{"samples": [{"indices": []}]}', "samples[0]: an object must have two lists, 'indices' and"),
    "a field more": (b'{"samples": [{"indices": [], "values": [], "x": 1}]}', "samples[0]: an object must have two l"),
    "uneven": ((ROW % ("[1, 2]", "[1]")).encode(), "samples[0]: there must be as many values as indices. Got 1 and 2."),
    "beyond": ((ROW % ("[64]", "[1]")).encode(), "samples[0]: indices must be whole numbers from 0 to 63. Got 64."),
    "below": ((ROW % ("[-1]", "[1]")).encode(), "samples[0]: indices must be whole numbers from 0 to 63. Got -1."),
    "half an index": ((ROW % ("[0.5]", "[1]")).encode(), "samples[0]: indices must be whole numbers from 0 to 63. Got"),
    "twice": ((ROW % ("[7, 7]", "[1, 1]")).encode(), "samples[0]: an index occurs twice."),
    "null values": ((ROW % ("[7]", "[null]")).encode(), "samples[0]: values must be numbers. Got null."),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_body_is_refused_with_a_sentence(digits, name):
    body, sentence = WRONG[name]
    answer = predict(digits, body)
    assert answer.status == 400
    assert answer.error.startswith(sentence)
    assert len(answer.error) < 250


@pytest.mark.parametrize(
    ("query", "sentence"),
    [
        ("k=3", "The options of the URL are 'top_k', 'probabilities' and 'min_probability'. Got \"k\"."),
        ("top_k=three", "'top_k' must be a whole number. Got \"three\"."),
        ("top_k=101", "'top_k' must be between 1 and 100. Got 101."),
        ("top_k=²", "'top_k' must be a whole number."),
        ("top_k=1&top_k=2", "An option of the URL is given twice."),
        ("probabilities=yes", "'probabilities' must be true or false. Got \"yes\"."),
    ],
)
def test_wrong_options_of_the_url_are_refused(texts, query, sentence):
    answer = predict(texts, b"apple", content_type=TEXT, query=query)
    assert (answer.status, answer.error[: len(sentence)]) == (400, sentence)
    answer = predict(texts, {"samples": [], "top_k": 1, "probabilities": False}, query=query)
    assert (answer.status, answer.error[: len(sentence)]) == (400, sentence)


def test_labels_that_are_not_probable_enough_are_left_out(texts):
    asked = {"samples": ["apple", "river", "engine"], "probabilities": True}
    every = predict(texts, asked).predictions
    least = sorted(one["probability"] for one in every)[1]
    expected = [one if one["probability"] >= least else {**one, "label": None, "probability": None} for one in every]
    assert sum(one["label"] is None for one in expected) == 1
    assert predict(texts, {**asked, "min_probability": least}).predictions == expected
    alone = [predict(texts, {**asked, "samples": [one]}, query=f"min_probability={least}") for one in asked["samples"]]
    assert [one.predictions[0] for one in alone] == expected
    answer = predict(texts, {**asked, "min_probability": 2})
    assert (answer.status, answer.error) == (400, "'min_probability' must be a number from 0 to 1. Got 2.")


def test_fields_of_a_body_count_before_options_of_the_url(texts):
    asked = {"samples": ["apple", "river"]}
    expected = predict(texts, {**asked, "top_k": 2, "probabilities": True}).json
    assert predict(texts, asked, query="top_k=2&probabilities=true").json == expected
    assert predict(texts, {**asked, "top_k": 2.0}, query="top_k=7&probabilities=true").json == expected
    assert (
        predict(texts, {**asked, "top_k": None, "probabilities": False}, query="top_k=2").json
        == predict(texts, asked).json
    )


@pytest.mark.parametrize(
    ("method", "path", "content_type", "status", "sentence"),
    [
        ("GET", "/v1/predict", None, 405, '/v1/predict needs the method POST. Got "GET".'),
        ("POST", "/health", None, 405, '/health needs the method GET. Got "POST".'),
        ("GET", "/v2/predict", None, 404, 'There is no "/v2/predict" here. There are POST /v1/predict, GET /v1/model'),
        ("GET", "/" + "x" * 9_000, None, 404, 'There is no "/xxx'),
        ("POST", "/v1/predict", None, 415, 'The content type must be application/json or text/plain. Got "".'),
        ("POST", "/v1/predict", "image/png", 415, "The content type must be application/json or text/plain. Got"),
        ("POST", "/v1/predict", "text/plain; charset=latin-1", 415, "The body must be encoded as UTF-8. Got"),
    ],
)
def test_wrong_requests_get_the_right_status(texts, method, path, content_type, status, sentence):
    answer = ask(texts, method, path, content_type=content_type)
    assert answer.status == status
    assert answer.error.startswith(sentence)


def test_bodies_and_lists_have_limits(impatient, text_folder):
    answer = predict(impatient, {"samples": ["apple " * 1_000]})
    assert (answer.status, answer.error) == (413, "The body of a request may have at most 2,000 bytes.")
    answer = predict(application(text_folder, limits=Limits(max_samples=2)), {"samples": ["a", "b", "c"]})
    assert (answer.status, answer.error) == (413, "A request may have at most 2 samples. Got 3.")
    with pytest.raises(ValueError, match="'max_batch' parameter of Limits must be greater than 0. Got 0 instead."):
        Limits(max_batch=0)


def test_a_wrong_sample_concerns_only_its_own_request(texts):
    async def both():
        right = asked(texts, "POST", "/v1/predict", b'{"samples": ["apple", "river"]}', "application/json")
        wrong = asked(texts, "POST", "/v1/predict", b'{"samples": ["apple", [1]]}', "application/json")
        last = asked(texts, "POST", "/v1/predict", b'{"samples": ["engine"]}', "application/json")
        return await asyncio.gather(right, wrong, last)

    right, wrong, last = asyncio.run(both())
    assert [best["label"] for best in right.predictions + last.predictions] == ["apple", "river", "engine"]
    assert wrong.error.startswith("samples[1]: ")


def test_a_failure_inside_is_reported_without_its_details(texts, monkeypatch, caplog):
    # Other tests may have configured logging.
    for name in ("codekin", "codekin.deploy.serve", "codekin.deploy.serve.application"):
        monkeypatch.setattr(logging.getLogger(name), "disabled", False)
        monkeypatch.setattr(logging.getLogger(name), "propagate", True)
    logging.disable(logging.NOTSET)

    def fail(*_, **__):
        raise RuntimeError("secret\nTraceback")

    monkeypatch.setattr(texts.predictor, "best", fail)
    answer = predict(texts, {"samples": ["apple"]})
    assert (answer.status, answer.error) == (500, "The server failed to answer; its log says why.")
    assert caplog.messages == ["RuntimeError: secret Traceback"]
    assert ask(texts, "GET", "/health").json == {"status": "ok"}


def test_metrics_count_what_was_answered(texts):
    predict(texts, {"samples": ["apple", "river"]})
    predict(texts, b"[")
    ask(texts, "GET", "/nowhere")
    answer = ask(texts, "GET", "/metrics")
    lines = answer.body.decode().splitlines()
    for line in (
        'codekin_requests_total{path="/v1/predict",status="200"} 1',
        'codekin_requests_total{path="/v1/predict",status="400"} 1',
        'codekin_requests_total{path="other",status="404"} 1',
        "codekin_samples_total 2",
        "codekin_requests_in_progress 1",
        "codekin_samples_waiting 0",
        'codekin_predict_seconds_bucket{le="+Inf"} 2',
        'codekin_batch_samples_bucket{le="1"} 0',
        'codekin_batch_samples_bucket{le="2"} 1',
        "codekin_batch_samples_sum 2",
    ):
        assert line in lines
    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    assert all(re.fullmatch(r"# (HELP|TYPE) .*|[a-z_]+({[^}]*})? [0-9.e+-]+", line) for line in lines)


def test_the_model_says_what_it_takes(texts, digits):
    facts = ask(texts, "GET", "/v1/model").json
    assert (facts["schema"], facts["n_classes"], facts["takes_texts"]) == (1, 8, True)
    assert facts["limits"]["max_body_bytes"] == 1_000_000
    facts = ask(digits, "GET", "/v1/model").json
    assert (facts["n_classes"], facts["n_features"], facts["takes_texts"]) == (10, 64, False)


def test_the_description_has_every_endpoint_and_every_status(texts):
    described = ask(texts, "GET", "/v1/openapi.json").json
    assert {path: [method.upper() for method in methods] for path, methods in described["paths"].items()} == {
        path: [method] for path, (method, _) in texts.endpoints.items()
    }
    schemas = described["components"]["schemas"]
    assert set(schemas["Model"]["properties"]) == set(ask(texts, "GET", "/v1/model").json)
    (best,) = predict(texts, {"samples": ["apple"], "top_k": 1, "probabilities": True}).predictions
    of_sets = {"labels", "probabilities", "node", "n_classes"}  # of several labels per sample, or with a taxonomy
    assert set(best) | of_sets == set(schemas["Prediction"]["properties"])
    assert set(schemas["Question"]["properties"]) == {"samples", "top_k", "probabilities", "min_probability"}
    known = set(described["paths"]["/v1/predict"]["post"]["responses"])
    assert known == {"200", "400", "408", "413", "415", "421", "500", "503"}
    for name in re.findall(r'"#/components/schemas/(\w+)"', json.dumps(described)):
        assert name in schemas
