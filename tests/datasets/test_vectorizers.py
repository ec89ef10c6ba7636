import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.feature_extraction.text import TfidfVectorizer

from codekin.datasets import FittedVectorizer, TextVectorizer, vectorized
from codekin.datasets.embedded import load_icd10cm, load_yeast
from codekin.datasets.one_text import features_of_one_text

TEXTS = ["The cat purrs, the cat sleeps", "a dog barks", "käse 😀 cheese", "cat and dog", "A DOG"]
CHOICES = [
    TextVectorizer(),
    TextVectorizer(ngram_range=(1, 1), min_df=2),
    TextVectorizer(analyzer="char_wb", ngram_range=(2, 4), max_features=20),
    TextVectorizer("hashing", n_features=64),
    TextVectorizer("hashing", analyzer="char_wb", ngram_range=(3, 3), n_features=1000),
]


def through_json(fitted):
    settings, arrays = fitted.to_state()
    copied = {name: np.frombuffer(array.tobytes(), array.dtype) for name, array in arrays.items()}
    return FittedVectorizer.from_state(json.loads(json.dumps(settings)), copied)


@pytest.mark.parametrize("choice", CHOICES, ids=repr)
@settings(max_examples=25, deadline=None)
@given(st.lists(st.text(max_size=30), max_size=4))
def test_the_state_brings_the_same_features_back_exactly(choice, new_texts):
    fitted = choice.fit(TEXTS)
    again = through_json(fitted)
    assert again.vectorizer == fitted.vectorizer
    first, second = fitted.transform([*TEXTS, *new_texts]), again.transform([*TEXTS, *new_texts])
    assert first.shape == second.shape == (len(TEXTS) + len(new_texts), fitted.n_features)
    for name in ("data", "indices", "indptr"):
        assert getattr(first, name).tobytes() == getattr(second, name).tobytes()


@pytest.mark.parametrize("choice", CHOICES, ids=repr)
def test_rows_have_length_one_or_zero_and_are_fit_for_the_learners(choice):
    X = choice.fit(TEXTS).transform([*TEXTS, "", "zzzzzz"])
    norms = np.sqrt(X.multiply(X).sum(axis=1))
    assert np.allclose(norms[norms > 0], 1, atol=1e-6)
    assert norms[5] == 0
    assert X.dtype == np.float32
    assert X.indices.dtype == np.int32
    assert X.has_sorted_indices


def test_features_are_those_of_scikit_learn():
    theirs = TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True, token_pattern=r"\w+").fit(TEXTS)
    ours = TextVectorizer().fit(TEXTS)
    assert np.array_equal(ours.transform(TEXTS).toarray(), theirs.transform(TEXTS).toarray().astype(np.float32))
    assert list(ours.vocabulary) == theirs.get_feature_names_out().tolist()


@pytest.mark.parametrize("method", ["tfidf", "hashing"])
def test_words_of_one_character_count_except_in_states_of_the_first_version(method):
    texts = ["type 1 diabetes", "type 2 diabetes", "type diabetes"]
    fitted = TextVectorizer(method).fit(texts)
    rows = fitted.transform(texts).toarray()
    assert len(np.unique(rows, axis=0)) == 3
    settings, arrays = fitted.to_state()
    assert settings.pop("version") == fitted.version == 2
    old = FittedVectorizer.from_state(settings, arrays)
    again = through_json(old)
    for one in (old, again, old.within(10**6)):
        assert one.version == 1
        rows = one.transform(texts).toarray()
        assert len(np.unique(rows, axis=0)) == 1
        row = np.zeros(one.n_features, np.float32)
        columns, values = features_of_one_text(one)(texts[0])
        row[columns] = values
        assert np.array_equal(row, rows[0])
    theirs = TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True, vocabulary=fitted.vocabulary or ["type"])
    assert method == "hashing" or set(old.analyzer()(texts[0])) == set(theirs.build_analyzer()(texts[0]))


@pytest.mark.parametrize("version", [0, 3, "2", None, []])
def test_a_state_of_an_unknown_version_is_refused(version):
    settings, arrays = TextVectorizer().fit(TEXTS).to_state()
    with pytest.raises(ValueError, match="This is not the state of a text vectorizer"):
        FittedVectorizer.from_state({**settings, "version": version}, arrays)


def test_counts_are_damped_when_features_are_hashed_too():
    fitted = TextVectorizer("hashing", ngram_range=(1, 1), n_features=2**18).fit(())
    values = np.sort(fitted.transform(["cat cat cat dog"]).data)
    assert values[1] / values[0] == pytest.approx(1 + np.log(3), rel=1e-6)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"method": "bag"}, "The 'method' parameter of TextVectorizer must be one of 'tfidf', 'hashing'. Got 'bag'"),
        ({"ngram_range": (2, 1)}, "must be two integers, 1 <= from <= to <= 100. Got (2, 1)"),
        ({"min_df": 0}, "The 'min_df' parameter of TextVectorizer must be an integer, at least 1. Got 0"),
        ({"n_features": 0}, "The 'n_features' parameter of TextVectorizer must be an integer, at least 1. Got 0"),
    ],
)
def test_wrong_choices_are_explained(arguments, sentence):
    with pytest.raises(ValueError) as caught:  # noqa: PT011
        TextVectorizer(**arguments)
    assert sentence in str(caught.value)


def test_texts_without_any_word_are_refused():
    with pytest.raises(ValueError, match=r"No features can be made from these 2 texts: there are no words in them\."):
        TextVectorizer().fit(["", "?"])
    for min_df in (2, 100):
        with pytest.raises(ValueError, match=f"from these 2 texts: nothing is in {min_df} of them"):
            TextVectorizer(min_df=min_df).fit(["red", "green"])


@pytest.mark.parametrize(
    "change",
    [
        lambda settings, arrays: arrays.pop("idf_values"),
        lambda settings, arrays: arrays.pop("letters"),
        lambda settings, arrays: settings.update(method="hashing"),
        lambda settings, arrays: settings.update(unknown=1),
        lambda settings, arrays: settings.pop("ngram_range"),
        lambda settings, arrays: arrays.update(idf_numbers=arrays["idf_numbers"][1:]),
        lambda settings, arrays: arrays.update(idf_values=arrays["idf_values"] * np.nan),
        lambda settings, arrays: arrays.update(n_letters=arrays["n_letters"][:-1]),
        lambda settings, arrays: arrays.update(n_letters=arrays["n_letters"] * 0),
        lambda settings, arrays: arrays.update(letters=arrays["letters"] | 0x80),
        lambda settings, arrays: arrays.clear(),
    ],
)
def test_a_state_that_does_not_fit_together_is_refused(change):
    state, arrays = TextVectorizer().fit(TEXTS).to_state()
    change(state, arrays)
    with pytest.raises(ValueError, match="state of (a|this) text vectorizer"):
        FittedVectorizer.from_state(state, arrays)


def test_a_vocabulary_within_some_bytes_keeps_the_most_frequent_words():
    texts = [f"word{k % 7} other{k % 40} rare{k}" for k in range(300)]
    fitted = TextVectorizer(ngram_range=(1, 1)).fit(texts)
    for n_bytes in (0, 10, 150, 600):
        smaller = fitted.within(n_bytes)
        size = sum(array.nbytes for array in smaller.to_state()[1].values())
        assert size <= n_bytes or smaller.n_features == 1
        assert smaller.idf.max() <= np.sort(fitted.idf)[smaller.n_features - 1]
        weight = dict(zip(fitted.vocabulary, fitted.idf, strict=True))
        assert [weight[word] for word in smaller.vocabulary] == smaller.idf.tolist()
    assert {f"word{k}" for k in range(7)} <= set(fitted.within(200).vocabulary)
    assert fitted.within(10**6) is fitted
    hashed = TextVectorizer("hashing").fit(())
    assert hashed.within(0) is hashed


def test_a_data_set_of_texts_becomes_one_of_features():
    dataset, fitted = vectorized(load_icd10cm(), TextVectorizer(ngram_range=(1, 1)))
    assert {name: split.X.shape for name, split in dataset.splits.items()} == {
        "train": (14709, fitted.n_features),
        "validation": (1961, fitted.n_features),
        "test": (2941, fitted.n_features),
    }
    assert dataset.feature_names == fitted.vocabulary
    assert dataset.texts is not None


def test_a_data_set_without_texts_is_refused():
    with pytest.raises(ValueError, match="'yeast' has splits without texts"):
        vectorized(load_yeast())
