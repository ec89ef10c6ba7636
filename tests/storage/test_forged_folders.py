"""Folders with valid checksums and invalid numbers are rejected in one sentence, before the numbers are used."""

import json
import struct

import numpy as np
import pytest
from scipy import sparse
from sklearn.linear_model import LogisticRegression

from codekin._system.arrays import read_arrays, write_arrays
from codekin._system.files import json_checksum, sha256
from codekin.cli.main import main
from codekin.data import TextVectorizer
from codekin.data.caching import CacheError, cached_data, open_cache
from codekin.estimators import ECOCClassifier, ExtremeClassifier
from codekin.storage import ModelFolderError, ModelInput, load_assignment, load_model, save_model

X = sparse.random(36, 12, density=0.4, rng=np.random.default_rng(0), format="csr", dtype=np.float32)
Y = np.arange(36) % 6


def made(name):
    options = {"rerank": None, "n_codes": 1, "random_state": 0}
    if name == "ranked":
        return ExtremeClassifier(2, **{**options, "rerank": "centroid", "candidates": "index"}).fit(X, Y)
    if name == "plain":
        return ExtremeClassifier(2, **options).fit(X, Y)
    if name == "learners":
        return ECOCClassifier(LogisticRegression(), calibrate="holdout", random_state=0).fit(X.toarray(), Y)
    if name == "tree":
        return ExtremeClassifier(2, code="tree", **options).fit(X, np.arange(36) % 18)
    precision = "float32" if name == "sparse" else "int8"
    return ExtremeClassifier(2, prune=0.9, precision=precision, **options).fit(X, Y, validation=(X, Y))


@pytest.fixture(scope="module")
def models():
    return {name: made(name) for name in ("ranked", "plain", "learners", "sparse", "gapped", "tree")}


@pytest.fixture
def folder_of(models, tmp_path):
    return lambda name: save_model(models[name], tmp_path / name)


def description_of(folder):
    return json.loads((folder / "model.json").read_text())


def sign(folder, description):
    for name, facts in description["files"].items():
        facts.update(bytes=(folder / name).stat().st_size, sha256=sha256(folder / name))
    description["sha256"] = json_checksum(description)
    (folder / "model.json").write_text(json.dumps(description))


def refused(folder):
    """The sentence with which a model is refused, by Python and by the command line."""
    with pytest.raises(ModelFolderError) as caught:
        load_model(folder)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def with_arrays(folder, change):
    path = folder / "arrays.safetensors"
    arrays = {name: np.array(array) for name, array in read_arrays(path).items()}
    change(arrays)
    write_arrays(path, arrays)
    sign(folder, description_of(folder))


def set_last(name, value):
    def change(arrays):
        arrays[name] = arrays[name].astype(np.int64)
        arrays[name][-1] = value

    return change


def add_twice(name, what):
    """Two of the numbers become larger by what adds up to nothing, where sums wrap around."""

    def change(arrays):
        arrays[name] = arrays[name].astype(np.uint64)
        arrays[name][:2] += np.uint64(what)

    return change


def wrapped_features(arrays):
    arrays["vector_features"] = arrays["vector_features"].astype(np.int64)
    arrays["vector_features"][0] += 2**16


@pytest.mark.parametrize(
    ("model", "change", "reason"),
    [
        ("sparse", set_last("weights_indptr", 0), "ends of sparse rows"),
        ("sparse", set_last("weights_indptr", -1), "ends of sparse rows"),
        ("sparse", set_last("weights_indices", 10**6), "columns of sparse rows"),
        ("sparse", set_last("weights_indices", -1), "columns of sparse rows"),
        ("sparse", add_twice("weights_indices", 2**63), "columns of sparse rows"),
        ("gapped", add_twice("weights_counts", 2**63), "numbers of weights"),
        ("ranked", add_twice("vector_lengths", 2**63), "lengths of class vectors"),
        ("ranked", wrapped_features, "features of class vectors"),
        ("plain", add_twice("codeword_of_class", 2**63), "Codewords are numbered from 0"),
        ("tree", add_twice("chunk_counts", 2**63), "numbers of chunks"),
        ("tree", set_last("chunk_nodes", 99), "nodes of chunks"),
        ("tree", set_last("chunk_nodes", 0), "nodes of a feature's chunks must increase"),
        ("tree", add_twice("chunk_lengths", 2**63), "lengths of chunks"),
        ("tree", set_last("chunk_children", 99), "children of weights"),
        ("tree", set_last("chunk_children", -1), "children of weights"),
        ("tree", set_last("chunk_children", 0), "children of a chunk's weights must increase"),
    ],
)
def test_arrays_that_point_beyond_others_are_refused_in_their_own_type(model, change, reason, folder_of):
    folder = folder_of(model)
    with_arrays(folder, change)
    assert reason in refused(folder)


@pytest.mark.parametrize(
    "trellis",
    [
        {"n_codewords": 10**16, "width": "auto", "n_bits": 10**6},
        {"n_codewords": 10**16, "width": 2},
        {"n_codewords": 2 * 10**9, "width": 2},
        {"n_codewords": 6.0, "width": 2},
    ],
)
def test_a_trellis_far_beyond_its_classes_is_refused_at_once(trellis, folder_of):
    folder = folder_of("plain")
    description = description_of(folder)
    description["codebook"]["trellis"] = trellis
    sign(folder, description)
    assert "may have 100,000 codewords" in refused(folder) or "must be an integer" in refused(folder)


def test_spare_codewords_beyond_what_can_be_loaded_are_refused_before_training():
    with pytest.raises(ValueError, match="may have 100,000 codewords. Got 10,000,006"):
        ExtremeClassifier(2, rerank=None, n_codes=1, n_reserved=10**7).fit(X, Y)


def test_an_assignment_of_a_trellis_far_beyond_its_classes_is_refused(tmp_path):
    path = tmp_path / "assignment.json"
    codebook = {"name": "trellis", "n_codewords": 10**16, "n_bits": 6, "is_designed": True, "width": 2}
    facts = {"method": "x", "sense": "preserving", "seed": 0, "score": 0, "z": 0, "codeword_of_class": {"a": 0, "b": 1}}
    path.write_text(json.dumps({"format": "codekin-assignment", "format_version": 1, "codebook": codebook, **facts}))
    with pytest.raises(ValueError, match="may have 100,000 codewords"):
        load_assignment(path)


@pytest.mark.parametrize(
    ("model", "place", "value", "reason"),
    [
        ("plain", "classifier.temperature", float("nan"), "'temperature' must be a finite number greater than 0"),
        ("ranked", "ranking.temperature", float("nan"), "'temperature' must be a finite number greater than 0"),
        ("ranked", "ranking.n_candidates", 2.5, "'n_candidates' must be an integer"),
        ("ranked", "ranking.index.n_candidates", -1, "'n_candidates' must be"),
        ("ranked", "ranking.index.n_entries", 0, "index needs class vectors and at least one entry of each"),
        ("ranked", "ranking.vectors.n_features", 10**12, "weights for 12, 1000000000000 features"),
        ("plain", "classifier.report.bit_losses", [1.0], "the report is not of 6 classes"),
        ("plain", "classifier.report.n_codes", "x", "'n_codes' of the report must be of type int"),
        ("plain", "classifier.report.min_distance", {}, "'min_distance' of the report must be of type float"),
        ("plain", "classifier.report.trials", [{"recipe": {}}], "missing or misplaced"),
        ("plain", "classifier.params.width", [2], "the parameter 'width' must be a name or a number"),
        ("plain", "n_classes", 7, "which is not what 'n_classes' and 'n_bits' say"),
        ("plain", "input", {"encoding": {"hash_bits": 10**6}}, "'hash_bits' option of a reader must be from 0 to 30"),
        ("plain", "input", {"encoding": {"labels": "none"}}, "The encoding of features"),
        ("tree", "codebook.tree.n_codewords", 10**30, "cannot have 18 classes"),
        ("tree", "codebook.tree.width", 1, "width of a tree must be at least 2"),
        ("tree", "codebook.tree.width", 10**9, "nodes of chunks"),
        ("tree", "bits.scale", [1.0], "'scale' must be a pair of numbers"),
        ("tree", "bits.scale", [2.0, 1.0], "'scale' must not fall"),
        ("tree", "bits.scale", None, "do not go with the scale None"),
        ("tree", "bits.kind", "linear", "cannot have bits of kind 'linear'"),
        ("plain", "bits.kind", "tree", "cannot have bits of kind 'tree'"),
        ("learners", "bits.bits.kind", "calibrated", "bits are calibrated once"),
        ("learners", "bits.bits.predictors", [{"constant": 10**9}] * 99, "'constant' must be -1 or 1"),
    ],
)
def test_forged_fields_of_a_description_are_refused(model, place, value, reason, folder_of, capsys):
    folder = folder_of(model)
    description = description_of(folder)
    *outer, last = place.split(".")
    inner = description
    for key in outer:
        inner = inner[key]
    inner[last] = value
    sign(folder, description)
    assert reason in refused(folder)
    assert main(["inspect", str(folder)]) == 2
    assert "defect" not in capsys.readouterr().err


@pytest.mark.parametrize("depth", [100, 990, 5_000])
def test_a_description_of_brackets_in_brackets_is_refused_or_read(depth, folder_of, capsys):
    folder = folder_of("plain")
    path = folder / "model.json"
    path.write_text(path.read_text().rstrip()[:-1] + ', "deep": ' + "[" * depth + "]" * depth + "}")
    refused(folder)
    assert main(["inspect", str(folder)]) == 2
    assert "defect" not in capsys.readouterr().err


def rewrite_header(folder, change):
    path = folder / "arrays.safetensors"
    content = path.read_bytes()
    start = 8 + struct.unpack("<Q", content[:8])[0]
    header = json.loads(content[8:start])
    change(header)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + content[start:])
    sign(folder, description_of(folder))


@pytest.mark.parametrize(
    "change",
    [
        lambda header: header.update(again=header["weights"]),
        lambda header: header["weights"].update(shape=[-1]),
        lambda header: header["weights"].update(shape=[10**9, 10**9]),
        lambda header: header.pop("bias"),
        lambda header: header["bias"].update(data_offsets=[1, 1 + header["bias"]["data_offsets"][1]]),
    ],
    ids=["overlapping", "negative", "larger than the file", "a hole", "not aligned"],
)
def test_arrays_lie_one_after_the_other_in_their_file(change, folder_of):
    folder = folder_of("plain")
    rewrite_header(folder, change)
    assert "is not a readable safetensors file" in refused(folder)


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({"n_columns": 10**12}, "does not fit together"),
        ({"n_terms": [10**12]}, "does not fit together"),
        ({"n_terms": [-1]}, "does not fit together"),
        ({"n_terms": ["x"]}, "is not the state of a text vectorizer"),
        ({"blocks": []}, "does not fit together"),
        ({"blocks": [{"kind": "words", "ngrams": [1, 10**9]}]}, "1 <= from <= to <= 100"),
        ({"blocks": [{"kind": "words", "ngrams": [1, 2], "min_df": "x"}]}, "needs a 'min_df' of at least 1"),
        ({"blocks": [{"kind": "lines", "ngrams": [1, 2]}]}, "is of words, characters or prefixes. Got 'lines'"),
        ({"version": 4}, "is not the state of a text vectorizer"),
        ({"unknown": 1}, "is not the state of a text vectorizer"),
    ],
)
def test_forged_settings_of_a_vectorizer_are_refused(settings, reason, tmp_path):
    texts = ["a cat purrs", "a dog barks", "the cat", "the dog"]
    vectorizer = TextVectorizer().fit(texts)
    model = ExtremeClassifier(2, rerank=None, random_state=0).fit(vectorizer.transform(texts), [0, 1, 0, 1])
    folder = save_model(model, tmp_path / "model", model_input=ModelInput(vectorizer))
    description = description_of(folder)
    description["input"]["vectorizer"].update(settings)
    sign(folder, description)
    assert reason in refused(folder)


def test_words_that_overlap_are_refused():
    fitted = TextVectorizer("words", word_ngrams=(1, 1)).fit(["cat dog cow"])
    settings, arrays = fitted.to_state()
    for numbers in ([9, 3, 9], [2**64 - 3, 6, 5], [3, 2, 2]):
        with pytest.raises(ValueError, match="the numbers of letters .* must (be from 0 to|add up to) 8"):
            type(fitted).from_state(settings, {**arrays, "n_letters": np.array(numbers, dtype=np.uint64)})
    before = {"vocabulary": np.frombuffer(b"catcowdog", np.uint8), "idf": np.ones(3)}
    for ends in ([9, 3, 9], [2**64 - 3, 6, 9], [3, 6, 8]):
        with pytest.raises(ValueError, match="the ends of words .* must increase from 0 to 9"):
            type(fitted).from_state(settings, {**before, "word_end": np.array(ends, dtype=np.uint64)})


def test_gaps_that_lead_beyond_the_features_are_refused(tmp_path):
    rows = sparse.csr_array((np.ones(40), (np.arange(40) % 8, np.arange(40) * 2_000)), shape=(8, 80_000))
    model = ExtremeClassifier(2, rerank="centroid", precision="int8", random_state=0).fit(rows, np.arange(8) % 4)
    folder = save_model(model, tmp_path / "model")

    def lead_beyond(arrays):
        arrays["vector_gaps"][-1] = 65_535

    with_arrays(folder, lead_beyond)
    assert "the features of class vectors must be from 0 to 79999" in refused(folder)


def test_a_vectorizer_of_another_number_of_features_is_refused(tmp_path):
    texts = ["a cat purrs", "a dog barks"]
    vectorizer = TextVectorizer(hashing=True, n_features=16).fit(texts)
    model = ExtremeClassifier(2, rerank=None, random_state=0).fit(vectorizer.transform(texts * 2), [0, 1, 0, 1])
    folder = save_model(model, tmp_path / "model", model_input=ModelInput(vectorizer))
    description = description_of(folder)
    description["input"]["vectorizer"]["n_columns"] = 2**30
    sign(folder, description)
    assert "texts have 1073741824 features, the model 16" in refused(folder)


def test_a_learner_that_cannot_predict_is_answered_by_a_sentence(models, tmp_path, capsys):
    model = ECOCClassifier(LogisticRegression(), calibrate=None, random_state=0).fit(X.toarray(), Y)
    for predictor in model.model_.bits.predictors:
        del predictor.intercept_
    with pytest.warns(UserWarning, match="stored by skops"):
        folder = save_model(model, tmp_path / "model")
    (tmp_path / "samples.svm").write_text("0 1:1\n")
    with pytest.raises(ModelFolderError, match=r"The learners of this model cannot predict \(AttributeError"):
        load_model(folder, trusted=True).predict(X.toarray())
    assert main(["predict", str(folder), str(tmp_path / "samples.svm"), "--trust"]) == 2
    assert "defect" not in capsys.readouterr().err


@pytest.fixture
def cache(tmp_path):
    (tmp_path / "a.svm").write_bytes(b"0 1:1 3:2\n1 2:1\n")
    cached_data(tmp_path / "a.svm", tmp_path / "cache")
    return tmp_path / "cache"


def sign_cache(cache):
    description = json.loads((cache / "cache.json").read_text())
    for name, facts in description["files"].items():
        facts.update(bytes=(cache / name).stat().st_size, sha256=sha256(cache / name))
    description["sha256"] = json_checksum(description)
    (cache / "cache.json").write_text(json.dumps(description))


@pytest.mark.parametrize(
    "row_ends",
    [
        np.array([0, 2**63 - 1, -(2**63) + 1]),
        np.array([0, 2**62, 3]),
        np.array([0, -(2**63), 3]),
        np.array([0, 2**64 - 1, 3], dtype=np.uint64),
        np.array([0, 2, 3], dtype=np.int8),
    ],
)
def test_rows_of_a_cache_that_wrap_around_are_refused(row_ends, cache):
    np.save(cache / "row_ends.npy", row_ends)
    sign_cache(cache)
    with pytest.raises(CacheError, match="cache is damaged"):
        open_cache(cache)


@pytest.mark.parametrize("name", ["row_ends", "features", "values", "class_index", "labels"])
def test_an_array_that_begins_like_an_archive_is_refused(name, cache):
    path = cache / f"{name}.npy"
    path.write_bytes(b"PK\x03\x04" + path.read_bytes())
    sign_cache(cache)
    with pytest.raises(CacheError, match=f"{cache.name}"):
        open_cache(cache)


def test_an_array_whose_header_promises_more_than_the_file_has_is_refused(cache):
    with (cache / "class_index.npy").open("wb") as file:
        np.lib.format.write_array_header_1_0(file, {"descr": "<i8", "fortran_order": False, "shape": (10**13,)})
    sign_cache(cache)
    with pytest.raises(CacheError, match="its bytes are not those of an array"):
        open_cache(cache)
