import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array
from sklearn.feature_extraction.text import HashingVectorizer, TfidfVectorizer
from tests.reference.text import document_frequencies, names_of, row_of

from codekin.data import FittedVectorizer, TextVectorizer, vectorized
from codekin.data.embedded import load_icd10cm, load_yeast
from codekin.data.recipes import RECIPES, CodedWords, coded_weights

TEXTS = ["The cat purrs, the cat sleeps", "a dog barks", "käse 😀 cheese", "cat and dog", "A DOG"]
CHOICES = [
    *map(TextVectorizer, RECIPES),
    TextVectorizer("words", word_ngrams=(1, 1), min_df=2),
    TextVectorizer("words+trigrams", max_features=20),
    *(TextVectorizer(features, hashing=True, n_features=1000) for features in RECIPES),
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
    assert (again.blocks, again.vocabulary, repr(again)) == (fitted.blocks, fitted.vocabulary, repr(fitted))
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
    ours = TextVectorizer("words").fit(TEXTS)
    assert np.array_equal(ours.transform(TEXTS).toarray(), theirs.transform(TEXTS).toarray().astype(np.float32))
    assert list(ours.vocabulary) == theirs.get_feature_names_out().tolist()


OLD_PATTERNS = {1: r"\b\w\w+\b", 2: r"\b\w+\b"}
any_text = st.text(max_size=40) | st.text("ab c.9_+#\u0e01\u0e31\u4e2d\U0001f600\u0130\xdf\u2003\x1c\xb2", max_size=60)
texts_of_any_kind = st.lists(any_text, max_size=5)


def assert_same(first, second):
    for name in ("shape", "data", "indices", "indptr"):
        assert np.array_equal(getattr(first, name), getattr(second, name))
        assert getattr(getattr(first, name), "dtype", None) == getattr(getattr(second, name), "dtype", None)


@pytest.mark.parametrize("ngrams", [(1, 1), (1, 2), (2, 4), (5, 7)])
@pytest.mark.parametrize("analyzer", ["word", "char_wb"])
@pytest.mark.parametrize("version", OLD_PATTERNS)
@settings(max_examples=40, deadline=None)
@given(texts_of_any_kind, texts_of_any_kind)
def test_old_states_give_the_features_of_scikit_learn_to_the_last_bit(version, analyzer, ngrams, texts, new_texts):
    pattern = {"token_pattern": OLD_PATTERNS[version]} if analyzer == "word" else {}
    counting = {"analyzer": analyzer, "ngram_range": ngrams, "dtype": np.float64, **pattern}
    state = {"version": version, "analyzer": analyzer, "ngram_range": list(ngrams), "min_df": 1, "n_features": 64}
    every = [*texts, *new_texts]
    if not any("\ud800" <= letter < "\ue000" for text in every for letter in text):
        hashed = FittedVectorizer.from_state({**state, "method": "hashing"}, {})
        theirs = HashingVectorizer(**counting, n_features=64, alternate_sign=False, norm=None)
        if every:
            assert_same(hashed.transform(every), damped(csr_array(theirs.transform(every), dtype=np.float32)))
    theirs = TfidfVectorizer(**counting, sublinear_tf=True)
    try:
        theirs.fit(texts)
    except ValueError:  # no words
        return
    arrays = {**CodedWords(theirs.get_feature_names_out().tolist()).arrays(), **coded_weights(theirs.idf_)}
    old = FittedVectorizer.from_state({**state, "method": "tfidf", "max_features": None}, arrays)
    found = old.transform(every)
    assert_same(found, csr_array(theirs.transform(every), dtype=np.float32))
    assert_same(through_json(old).transform(every), found)


def damped(X):
    """What was made of hashed counts before version 3."""
    X.data = np.log(X.data) + 1
    norms = np.sqrt(X.multiply(X).sum(axis=1))
    X.data /= np.repeat(np.where(norms > 0, norms, 1), np.diff(X.indptr)).astype(np.float32)
    return X


@pytest.mark.parametrize("hashing", [False, True])
@pytest.mark.parametrize("features", RECIPES)
@settings(max_examples=40, deadline=None)
@given(texts_of_any_kind, texts_of_any_kind)
def test_features_and_vocabulary_are_those_of_the_readable_twin(features, hashing, texts, new_texts):
    every = [text.encode(errors="ignore").decode() for text in [*TEXTS, *texts, *new_texts]]
    learned = every[: len(TEXTS) + len(texts)]
    fitted = TextVectorizer(features, hashing=hashing, n_features=512).fit(learned)
    found = fitted.transform(every)
    np.testing.assert_allclose(found.toarray(), [row_of(text, fitted) for text in every], atol=1e-6)
    # No text depends on the others.
    for i, text in enumerate(every):
        columns, values = fitted.row(text)
        assert np.array_equal(columns, found[i : i + 1].indices)
        assert np.array_equal(values, found[i : i + 1].data)
        names = {name for names in fitted.terms_by_column(text).values() for name in names}
        assert names == {name for name in names_of(text, fitted.blocks, 3) if hashing or name in fitted.vocabulary}
    if not hashing:
        counts = document_frequencies(learned, fitted.blocks)
        kept = [sorted(t for t in own if own[t] >= b.min_df) for b, own in zip(fitted.blocks, counts, strict=True)]
        assert fitted.terms == tuple(term for own in kept for term in own)
        assert fitted.n_terms == tuple(map(len, kept))
        df = np.array([own[term] for own, terms in zip(counts, kept, strict=True) for term in terms])
        np.testing.assert_allclose(fitted.idf, np.log((len(learned) + 1) / (df + 1)) + 1)


@pytest.mark.parametrize("hashing", [False, True])
@pytest.mark.parametrize("features", RECIPES)
@pytest.mark.parametrize(
    "texts",
    [
        ["type 1 diabetes", "type 2 diabetes", "type diabetes"],
        ["written in C++", "written in C#", "written in C"],
        ["version 3.0", "version 3 0"],
    ],
)
def test_numbers_versions_and_signs_tell_texts_apart(features, hashing, texts):
    fitted = TextVectorizer(features, hashing=hashing).fit(texts * 3)
    assert len(np.unique(fitted.transform(texts).toarray(), axis=0)) == len(texts)


def test_codes_versions_and_languages_are_words():
    fitted = TextVectorizer("words", word_ngrams=(1, 1)).fit(["E11.9 is v2.1. C++, F# and c#x: the end.Next 1.2.3"])
    words = "1.2.3 and c c++ e11.9 end f# is next the v2.1 x"
    assert fitted.vocabulary == tuple(words.split())


@pytest.mark.parametrize(
    "texts",
    [
        ["\u6c7d\u8f66\u7ef4\u4fee", "\u7ef4\u4fee\u624b\u673a"],
        ["\u0e23\u0e16\u0e22\u0e19\u0e15\u0e4c", "\u0e23\u0e16\u0e22\u0e19\u0e15\u0e4c\u0e14\u0e35"],
    ],
)
def test_texts_without_spaces_share_the_features_of_a_shared_phrase(texts):
    first, second = TextVectorizer("characters").fit(texts * 2).transform(texts).toarray()
    assert first @ second > 0


def test_what_is_no_text_is_refused():
    fitted = TextVectorizer().fit(TEXTS)
    with pytest.raises(TypeError, match=r"Texts must be strings. Got 3.5 as text 1."):
        fitted.transform(["a", 3.5])
    with pytest.raises(ValueError, match=r"Got the string 'a cat'."):
        fitted.transform("a cat")


@pytest.mark.parametrize("version", [0, 4, "2", None, []])
def test_a_state_of_an_unknown_version_is_refused(version):
    settings, arrays = TextVectorizer().fit(TEXTS).to_state()
    with pytest.raises(ValueError, match="This is not the state of a text vectorizer"):
        FittedVectorizer.from_state({**settings, "version": version}, arrays)


def test_counts_are_damped_when_features_are_hashed_too():
    fitted = TextVectorizer("words", hashing=True, word_ngrams=(1, 1)).fit(())
    values = np.sort(fitted.transform(["cat cat cat dog"]).data)
    assert values[1] / values[0] == pytest.approx(1 + np.log(3), rel=1e-6)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"features": "bag"}, "The 'features' parameter of TextVectorizer must be one of 'words', 'words+prefixes'"),
        ({"features": "characters", "word_ngrams": (1, 1)}, "The features 'characters' have no"),
        ({"word_ngrams": (2, 1)}, "must be two integers, 1 <= from <= to <= 100. Got (2, 1)"),
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
        lambda settings, arrays: settings.update(n_columns=8),
        lambda settings, arrays: settings.update(unknown=1),
        lambda settings, arrays: settings.pop("blocks"),
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
    fitted = TextVectorizer("words", word_ngrams=(1, 1)).fit(texts)
    for n_bytes in (0, 10, 150, 600):
        smaller = fitted.within(n_bytes)
        size = sum(array.nbytes for array in smaller.to_state()[1].values())
        assert size <= n_bytes or smaller.n_features == 1
        assert smaller.idf.max() <= np.sort(fitted.idf)[smaller.n_features - 1]
        weight = dict(zip(fitted.vocabulary, fitted.idf, strict=True))
        assert [weight[word] for word in smaller.vocabulary] == smaller.idf.tolist()
    assert {f"word{k}" for k in range(7)} <= set(fitted.within(200).vocabulary)
    assert fitted.within(10**6) is fitted
    hashed = TextVectorizer(hashing=True).fit(())
    assert hashed.within(0) is hashed


def test_a_data_set_of_texts_becomes_one_of_features():
    dataset, fitted = vectorized(load_icd10cm(), TextVectorizer("words", word_ngrams=(1, 1)))
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
