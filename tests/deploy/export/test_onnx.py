"""Exported ONNX models against the classifiers they come from, in onnxruntime."""

import sys
from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression, Ridge, SGDClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

from codekin import ECOCClassifier, ExtremeClassifier, save_model
from codekin.cli.main import main
from codekin.codebooks import REAL_CODEBOOKS
from codekin.data import TextVectorizer, load_dataset, make_sparse_topics
from codekin.decoding import LOSSES
from codekin.deploy.export import export_onnx, onnx_model, padded_rows

pytest.importorskip("onnx", reason="needs onnx")
runtime = pytest.importorskip("onnxruntime", reason="needs onnxruntime")

LINEAR_TEXT = {
    "a trellis": ExtremeClassifier(width=3, rerank=None),
    "exponential": ExtremeClassifier(width=2, rerank=None, estimator="arow"),
    "half precision": ExtremeClassifier(width=2, rerank=None, precision="float16"),
    "one byte a weight": ExtremeClassifier(width=5, rerank=None, precision="int8"),
    "free paths": ExtremeClassifier(width=2, n_reserved=9),
    "re-ranked": ExtremeClassifier(width=2, rerank="centroid", precision="int8", candidates="code"),
    "a tree": ExtremeClassifier(code="tree", width=3, rerank=None, precision="float32"),
    "a tree of one-byte weights": ExtremeClassifier(code="tree", width=2, rerank=None, precision="int8"),
    "a re-ranked tree": ExtremeClassifier(code="tree", width=2, rerank="centroid", precision="float16"),
    "a matrix": ECOCClassifier("arow", codebook="one_vs_rest", assignment="random", decoding="loss"),
    "a learned decoder": ECOCClassifier("arow", codebook="one_vs_rest", assignment="random", decoding="learned"),
}


def run(path, **inputs):
    session = runtime.InferenceSession(path, providers=["CPUExecutionProvider"])
    names = ("labels", "losses", "probabilities", "margins")
    return dict(zip(names, session.run(names, inputs), strict=True))


def assert_same(found, classifier, X, k):
    """The same labels, except that equal losses may come in another order: sums round differently."""
    labels, losses = classifier.top_k(X, k)
    is_same = (found["labels"] == labels).all(axis=1)
    assert is_same.mean() >= 0.995
    if classifier.codebook_.tree is not None:  # whose search may overlook a class that the exported model finds
        kept = is_same | (found["losses"] >= losses * (1 - 1e-5)).all(axis=1)
        found, X = {name: values[kept] for name, values in found.items()}, X[kept]
        labels, losses, is_same = labels[kept], losses[kept], is_same[kept]
    # Trees compute exponentials in single precision, and their search may overlook one of the last candidates, which
    # share the probability of all.
    of_losses, of_probabilities = (1e-7, 1e-3) if classifier.codebook_.tree is None else (1e-5, 1e-2)
    np.testing.assert_allclose(found["losses"][~is_same], losses[~is_same], rtol=of_losses)
    np.testing.assert_allclose(found["losses"], losses, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(found["margins"], classifier.bit_margins(X), rtol=1e-4, atol=1e-5)
    every = classifier.predict_proba(X)
    of_labels = np.take_along_axis(every, np.searchsorted(classifier.classes_, labels), axis=1)
    np.testing.assert_allclose(found["probabilities"][is_same], of_labels[is_same], rtol=of_probabilities, atol=1e-6)


@pytest.fixture(scope="module")
def topics():
    return make_sparse_topics(40, 800, n_features=300, rng=0)


@pytest.mark.parametrize("name", LINEAR_TEXT)
def test_sparse_models_answer_like_the_classifier_for_both_kinds_of_input(name, topics, tmp_path):
    classifier = LINEAR_TEXT[name].set_params(random_state=0).fit(topics.X, topics.y)
    X = topics.test.X[:200]
    features, values = padded_rows(X)
    path = export_onnx(classifier, tmp_path / "model.onnx", input="sparse")
    assert_same(run(path, features=features, values=values), classifier, X, 5)
    path = export_onnx(classifier, tmp_path / "dense.onnx", k=3)
    assert_same(run(path, X=X.toarray().astype(np.float32)), classifier, X, 3)


@pytest.mark.parametrize("decoding", ["loss", "learned"])
@pytest.mark.parametrize("codebook", REAL_CODEBOOKS)
def test_real_codewords_and_their_nearest_targets_answer_like_the_classifier(codebook, decoding, tmp_path):
    X, y = load_digits(return_X_y=True)
    classifier = ECOCClassifier(Ridge(), codebook=codebook, n_bits=5, decoding=decoding, random_state=0)
    classifier.fit(X[:300] / 16, y[:300])
    path = export_onnx(classifier, tmp_path / "model.onnx", k=4)
    assert_same(run(path, X=X[300:] / 16), classifier, X[300:] / 16, 4)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("codebook", ["one_vs_rest", "one_vs_one"])
def test_every_loss_and_codes_with_zeros_answer_like_the_classifier(loss, codebook, tmp_path):
    X, y = load_digits(return_X_y=True)
    for is_weighted in (False, True):
        classifier = ECOCClassifier(
            SGDClassifier(random_state=0, max_iter=5, tol=None, alpha=1.0),
            codebook=codebook,
            loss=loss,
            decoding="loss",
            assignment="random",
            weighted_decoding=is_weighted,
            random_state=0,
        )
        classifier.fit(X[:300] / 16, y[:300])
        path = export_onnx(classifier, tmp_path / "model.onnx")
        assert_same(run(path, X=X[500:900] / 16), classifier, X[500:900] / 16, 5)


@pytest.mark.parametrize(
    "settings",
    [{"decoding": "learned"}, {"decoding": "loss", "calibrate": "cv"}, {"codebook": "trellis", "n_bits": None}],
)
def test_learned_decoders_calibration_and_trellises_answer_like_the_classifier(settings, tmp_path):
    X, y = load_digits(return_X_y=True)
    names = np.array(["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"])[y]
    classifier = ECOCClassifier(LogisticRegression(max_iter=200), **{"n_bits": 8, **settings}, random_state=0)
    classifier.fit(X[:700] / 16, names[:700])
    path = export_onnx(classifier, tmp_path / "model.onnx")
    found = run(path, X=X[700:] / 16)
    assert_same(found, classifier, X[700:] / 16, 5)
    assert (found["labels"][:, 0] == classifier.predict(X[700:] / 16)).all()


@pytest.mark.parametrize("code", ["tree", "trellis"])
def test_a_text_model_answers_like_the_classifier_on_real_texts(code, tmp_path):
    data = load_dataset("icd10cm")
    vectorizer = TextVectorizer("words", word_ngrams=(1, 1)).fit(data.train.texts)
    classifier = ExtremeClassifier(code=code, rerank="centroid", candidates="code", random_state=0)
    classifier.fit(vectorizer.transform(data.train.texts[::4]), data.train.y[::4])
    X = vectorizer.transform(data.test.texts[::3])
    features, values = padded_rows(X)
    path = export_onnx(classifier, tmp_path / "model.onnx", input="sparse")
    assert_same(run(path, features=features, values=values), classifier, X, 5)
    nothing = vectorizer.transform(["zzyzx", ""])
    features, values = padded_rows(nothing)
    found = run(path, features=features, values=values)
    labels, probabilities = classifier.top_k_proba(nothing, 5)
    assert found["labels"].tolist() == labels.tolist()
    np.testing.assert_allclose(found["probabilities"], probabilities)
    np.testing.assert_allclose(found["losses"], -np.log(probabilities))


def test_labels_with_half_of_a_surrogate_pair_are_refused_with_a_sentence(tmp_path, capsys):
    X, y = load_digits(return_X_y=True)
    labels = np.array([f"digit {k}\ud800" if k == 3 else f"digit {k}" for k in y], dtype=object)
    classifier = ExtremeClassifier(width=2, rerank=None, random_state=0).fit(sparse.csr_array(X[:99] / 16), labels[:99])
    folder, file = save_model(classifier, tmp_path / "model"), tmp_path / "model.onnx"
    assert main(["export", str(folder), str(file)]) == 2
    said = capsys.readouterr().err
    assert "Labels of an ONNX model cannot have halves of surrogate pairs. Got 'digit 3\\ud800'." in said
    assert not file.exists()


@pytest.mark.parametrize(
    ("classifier", "sentence"),
    [
        (ExtremeClassifier(code="tree", width=3, n_codes=2), "Only a single code can be exported to ONNX. Got 2 of"),
        (ExtremeClassifier(width=2, n_codes=2), "Only a single code can be exported to ONNX. Got 2 of them."),
        (
            ECOCClassifier(DecisionTreeClassifier(max_depth=2), n_bits=8),
            "Only linear predictors .* Got DecisionTreeClassifier.",
        ),
        (ECOCClassifier(GaussianNB(), n_symbols=3), "Only codes of two symbols .* Got <Codebook .* of 3 symbols"),
        (ECOCClassifier(LinearSVC(), loss=lambda z: -z, decoding="loss", n_bits=8), "A loss given as a function"),
    ],
)
def test_what_cannot_be_exported_is_refused_with_a_sentence(classifier, sentence, topics, tmp_path):
    X = topics.X.toarray() if isinstance(classifier, ECOCClassifier) else topics.X
    classifier.set_params(random_state=0, assignment="random").fit(X, topics.y)
    with pytest.raises(ValueError, match=sentence):
        export_onnx(classifier, tmp_path / "model.onnx")
    assert not any(tmp_path.iterdir())


def test_a_tree_that_is_too_large_is_refused_with_its_size_and_a_remedy(topics, tmp_path, monkeypatch):
    tree = ExtremeClassifier(code="tree", width=3, rerank=None, assignment="random", random_state=0)
    tree.fit(topics.X, topics.y)
    monkeypatch.setattr(onnx_model, "MOST_OF_TREE", 2**12)
    n_bits = tree.codebook_.n_bits
    sentence = f"those of {n_bits} bits and 300 features would take .* KiB, and at most 4.0 KiB are exported. Use code"
    with pytest.raises(ValueError, match=sentence):
        export_onnx(tree, tmp_path / "model.onnx", input="sparse")
    assert not any(tmp_path.iterdir())


def test_classes_out_of_reach_come_behind_the_candidates(topics, tmp_path):
    classifier = ExtremeClassifier(code="tree", width=2, rerank="centroid", random_state=0).fit(topics.X, topics.y)
    model = classifier.model_
    short = replace(model, ranking=replace(model.ranking, max_loss_gap=1.0, weight=3.0, n_candidates=20))
    classifier.model_ = short
    X = topics.test.X[:200]
    features, values = padded_rows(X)
    path = export_onnx(classifier, tmp_path / "model.onnx", input="sparse")
    assert_same(run(path, features=features, values=values), classifier, X, 5)
    n_near = short.decoder.class_losses(short.bits.margins(X)) <= short.decoder.top_k(short.bits.margins(X), 1)[1] + 1
    assert (n_near.sum(axis=1) < 5).mean() > 0.1


def test_wrong_numbers_of_labels_and_inputs_are_refused(topics, tmp_path):
    ranked = ExtremeClassifier(width=2, rerank="centroid", candidates="code", random_state=0).fit(topics.X, topics.y)
    n = ranked.model_.ranking.n_candidates
    with pytest.raises(ValueError, match=f"This model ranks {n} candidates; at most as many labels can be exported"):
        export_onnx(ranked, tmp_path / "model.onnx", k=n + 1)
    with pytest.raises(ValueError, match="The 'input' parameter must be 'dense' or 'sparse'. Got 'texts' instead."):
        export_onnx(ranked, tmp_path / "model.onnx", input="texts")
    indexed = ExtremeClassifier(width=2, rerank="centroid", candidates="index", random_state=0)
    indexed.fit(topics.X, topics.y)
    with pytest.raises(ValueError, match="candidates of an index; train with candidates='code'"):
        export_onnx(indexed, tmp_path / "model.onnx")


def test_without_the_package_the_error_says_how_to_get_it(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(ImportError, match="Exporting to ONNX needs onnx. Install with: pip install onnx"):
        export_onnx(ExtremeClassifier(), tmp_path / "model.onnx")
