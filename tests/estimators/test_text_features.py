"""What is counted in texts is chosen by a trial, and trigrams may be for the re-ranking alone."""

import json

import numpy as np
import pytest

from codekin import TextClassifier
from codekin.cli.main import main
from codekin.data import TextVectorizer

N_CLASSES, N_EACH = 20, 120


def _texts(ending, rng):
    """Classes that a word names; it comes in many forms, so that only its beginning is the same."""
    stems = ["".join(rng.choice(list("bdfgklmnprst"), 3)) + f"{k:02d}" for k in range(N_CLASSES)]
    noise = [f"noise{k}" for k in range(40)]
    labels = np.repeat(np.arange(N_CLASSES), N_EACH)
    texts = [f"{' '.join(rng.choice(noise, 2))} {stems[k]}{ending(rng)} {rng.choice(noise)}" for k in labels]
    order = rng.permutation(len(texts))
    return [texts[i] for i in order], labels[order]


@pytest.fixture(scope="module")
def forms():
    return _texts(lambda rng: str(rng.integers(10**6)), np.random.default_rng(0))


@pytest.fixture(scope="module")
def chosen(forms):
    return TextClassifier(random_state=0).fit(*forms)


def test_letters_are_counted_where_words_do_not_repeat(chosen, forms):
    tried = chosen.vectorizer_.tried
    assert chosen.vectorizer_.features != "words"
    assert tried["words"] < 0.5 < 0.9 < tried[chosen.vectorizer_.features]
    assert "characters" in tried  # since most words of held-out texts are new
    assert np.mean(chosen.predict(forms[0]) == forms[1]) > 0.9


def test_words_are_enough_where_letters_add_nothing():
    texts, labels = _texts(lambda rng: "", np.random.default_rng(1))
    fitted = TextClassifier(random_state=0).fit(texts, labels)
    assert fitted.vectorizer_.features == "words"
    assert list(fitted.vectorizer_.tried) == ["words", "words+prefixes", "words+trigrams"]


def test_classes_that_are_ranked_again_try_trigrams_for_that_alone(forms):
    tried = TextClassifier(rerank="learned", random_state=0).fit(*forms).vectorizer_.tried
    assert list(tried)[:4] == ["words", "words+prefixes", "words+prefixes+trigrams", "words+trigrams"]


def test_many_classes_do_not_try_trigrams_for_everything(forms, monkeypatch):
    monkeypatch.setattr("codekin.estimators.text_fit.MANY_CLASSES", N_CLASSES - 1)
    tried = TextClassifier(random_state=0).fit(*forms).vectorizer_.tried
    assert list(tried) == ["words", "words+prefixes", "words+prefixes+trigrams", "characters"]


def test_the_trial_is_the_same_for_all_seeds_and_its_result_is_that_of_the_name(chosen, forms):
    again = TextClassifier(random_state=1).fit(*forms)
    assert again.vectorizer_.tried == chosen.vectorizer_.tried
    named = TextClassifier(chosen.vectorizer_.features, random_state=0).fit(*forms)
    assert np.array_equal(named.predict_proba(forms[0][:50]), chosen.predict_proba(forms[0][:50]))


def test_few_texts_get_no_trial(forms):
    fitted = TextClassifier(random_state=0).fit(forms[0][:500], forms[1][:500])
    assert (fitted.vectorizer_.features, fitted.vectorizer_.tried) == ("words+trigrams", {})


def test_a_budget_tries_only_what_is_cheap(forms):
    texts, labels = forms
    held_out = texts[:200], labels[:200]
    fitted = TextClassifier(max_model_bytes=100_000, random_state=0).fit(texts[200:], labels[200:], validation=held_out)
    assert list(fitted.vectorizer_.tried) == ["words", "words+prefixes"]
    assert fitted.vectorizer_.features == "words+prefixes"


def test_the_trial_is_saved_and_shown(chosen, forms, tmp_path, capsys):
    chosen.save(tmp_path / "model")
    loaded = TextClassifier.load(tmp_path / "model")
    assert loaded.vectorizer_.tried == chosen.vectorizer_.tried
    assert np.array_equal(loaded.predict_proba(forms[0][:20]), chosen.predict_proba(forms[0][:20]))
    assert main(["inspect", str(tmp_path / "model"), "--json"]) == 0
    assert "chosen by a trial: words" in json.loads(capsys.readouterr().out)["input"]


def test_a_first_batch_gets_no_trial(forms):
    fitted = TextClassifier(code="trellis", rerank=None).partial_fit(forms[0], forms[1], classes=np.arange(N_CLASSES))
    assert (fitted.vectorizer_.features, fitted.vectorizer_.tried) == ("words+prefixes", {})


def test_only_the_re_ranking_learns_from_what_is_for_it_alone(forms):
    fitted = TextClassifier("words+prefixes+trigrams", random_state=0).fit(*forms)
    is_later = fitted.vectorizer_.rerank_only
    weights, vectors = fitted.model_.codes[0].bits.to_csr(), fitted.model_.ranking.vectors
    assert 0 < is_later.sum() < len(is_later)
    assert not np.diff(weights.indptr)[is_later].any()
    assert np.diff(weights.indptr)[~is_later].any()
    assert is_later[vectors.features].any()


def test_without_a_re_ranking_the_code_learns_from_everything(forms):
    fitted = TextClassifier("words+prefixes+trigrams", code="tree", rerank=None, random_state=0).fit(*forms)
    weights = fitted.model_.codes[0].bits.to_csr()
    assert np.diff(weights.indptr)[fitted.vectorizer_.rerank_only].any()


def test_columns_of_a_table_share_the_choice(forms):
    texts, labels = forms
    rows = [{"title": text, "note": text[:8]} for text in texts]
    fitted = TextClassifier(text=["title", "note"], random_state=0).fit(rows, labels)
    assert fitted.vectorizer_.texts[0].features == fitted.vectorizer_.texts[1].features != "words"
    named = TextClassifier("words+prefixes+trigrams", text=["title", "note"], random_state=0).fit(rows, labels)
    first, second = named.vectorizer_.texts
    both = np.concatenate([first.rerank_only, second.rerank_only])
    assert np.array_equal(named.vectorizer_.rerank_only, both)


def test_a_vectorizer_does_not_choose():
    with pytest.raises(ValueError, match="The features 'auto' are chosen by a TextClassifier"):
        TextVectorizer("auto").fit(["a text"])
