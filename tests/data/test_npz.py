import io
import pickle
import zipfile

import numpy as np
import pytest
from scipy import sparse

from codekin.data import DataError, ReadOptions, read_data, write_data

LABELS = np.array(["b", "a", "b"])
X = sparse.csr_array(np.array([[0, 1.5, 0], [2, 0, 3], [0, 0, 0]], dtype=np.float32))


def members(**changes):
    parts = {
        "indices": X.indices,
        "indptr": X.indptr,
        "format": np.array(b"csr"),
        "shape": np.array([3, 3]),
        "data": X.data,
        "labels": LABELS,
    }
    return {name: value for name, value in (parts | changes).items() if value is not None}


def archive(**changes):
    stream = io.BytesIO()
    np.savez(stream, **members(**changes))
    return stream.getvalue()


def test_what_scipy_saves_is_read_and_the_other_way_round(tmp_path):
    path = tmp_path / "data.npz"
    sparse.save_npz(path, X)
    unlabelled = read_data(path, options=ReadOptions(labels="none"))
    assert (unlabelled.X != X).nnz == 0
    write_data(path, read_data(io.BytesIO(archive())))
    assert (sparse.load_npz(path) != X).nnz == 0
    assert read_data(path).labels.tolist() == LABELS.tolist()


def test_labels_of_both_kinds_and_weights_are_kept(tmp_path):
    data = read_data(io.BytesIO(archive(labels=np.array([5, -1, 5]), sample_weight=np.array([1, 0.5, 2]))))
    write_data(tmp_path / "data.npz", data)
    again = read_data(tmp_path / "data.npz")
    assert again.labels.tolist() == [5, -1, 5]
    assert again.sample_weight.tolist() == [1, 0.5, 2]


def test_unsigned_labels_beyond_the_integers_are_strings_as_in_text():
    labels = np.array([2**63, 5, 2**64 - 1], dtype=np.uint64)
    data = read_data(io.BytesIO(archive(labels=labels)))
    assert data.labels.tolist() == [str(label) for label in labels.tolist()]
    assert data.index_among(labels).tolist() == [0, 1, 2]
    assert read_data(io.BytesIO(archive(labels=labels // 2))).labels.tolist() == (labels // 2).tolist()
    with pytest.raises(DataError, match=r"the label 18446744073709551615 is too large; .* below 2\*\*63"):
        read_data(io.BytesIO(archive(labels=labels)), options=ReadOptions(labels="int"))


def test_features_beyond_the_known_ones_are_refused_or_dropped():
    with pytest.raises(DataError, match="row 1: feature index 2, but there are 2 features"):
        read_data(io.BytesIO(archive()), n_features=2)
    options = ReadOptions(unknown_features="drop", index_base=0)
    assert read_data(io.BytesIO(archive()), n_features=2, options=options).X.toarray().tolist() == [
        [0, 1.5],
        [2, 0],
        [0, 0],
    ]


class Hostile:
    def __reduce__(self):
        return (exec, ("raise SystemExit('code was run')",))


@pytest.mark.parametrize("slot", ["indices", "indptr", "format", "shape", "data", "labels"])
def test_pickles_are_never_run(slot):
    hostile = np.array([Hostile()], dtype=object)
    with pytest.raises(DataError, match=f"'{slot}' holds Python objects, which are not read"):
        read_data(io.BytesIO(archive(**{slot: hostile})))


def test_a_pickle_instead_of_an_archive_is_never_run():
    with pytest.raises(DataError):
        read_data(io.BytesIO(pickle.dumps(Hostile())), "npz")


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"labels": None}, "the array 'labels' is missing. The archive has data, format, indices, indptr, shape"),
        ({"data": None}, "the array 'data' is missing"),
        ({"labels": np.array(["a"])}, "'labels' must be 3 integers or strings, one per row"),
        ({"labels": np.array([0.5, 1, 2])}, "'labels' must be 3 integers or strings"),
        ({"format": np.array(b"csc")}, "must be in csr format. Got 'csc'"),
        ({"shape": np.array([3])}, "'shape' must be two numbers"),
        ({"shape": np.array([3, 2**40])}, "there may be up to 2147483647 features"),
        ({"shape": np.array([4, 3])}, "'indptr' must be 5 integers"),
        ({"shape": np.array([3, 0])}, "the matrix has no columns"),
        ({"shape": np.array([3, 2])}, "row 1: the index 2 must be from 0 to 1"),
        ({"indptr": np.array([0, 3, 1, 3])}, "'indptr' must begin with 0 and must not decrease"),
        ({"indptr": np.array([1, 1, 3, 3])}, "'indptr' must begin with 0"),
        ({"indptr": np.array([0, 1, 3, 9])}, "'indices' must be 9 numbers"),
        ({"indices": np.array([1, 0, -2])}, "row 1: the index -2 must be from 0 to 2"),
        ({"indices": np.array([1, 2, 0])}, "row 1: feature index 0 after 2; indices must increase"),
        ({"indices": np.array([1, 2, 2])}, "row 1: feature index 2 after 2"),
        ({"data": np.array([1, np.nan, 3])}, "row 1: the value nan must be finite in float32"),
        ({"data": np.array([1, 1e300, 3])}, "row 1: the value 1e+300 must be finite in float32"),
        ({"data": np.array(["x", "y", "z"])}, "'data' must be 3 numbers"),
        ({"sample_weight": np.array([1, -1, 1])}, "'sample_weight' must be 3 finite numbers"),
        ({"sample_weight": np.array([1, 1e300, 1])}, "'sample_weight' must be 3 finite numbers"),
    ],
)
def test_what_does_not_fit_together_is_named(changes, reason):
    with pytest.raises(DataError) as caught, np.errstate(over="ignore"):
        read_data(io.BytesIO(archive(**changes)))
    assert reason in str(caught.value)


def test_a_header_that_promises_too_much_is_noticed_before_memory_is_set_aside():
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as target:
        for name, value in members().items():
            content = io.BytesIO()
            if name == "indptr":
                np.lib.format.write_array_header_1_0(
                    content, {"descr": "<i8", "fortran_order": False, "shape": (10**15,)}
                )
            else:
                np.save(content, value)
            target.writestr(f"{name}.npy", content.getvalue())
    with pytest.raises(DataError, match="'indptr' is cut off: its header promises 1000000000000000 items"):
        read_data(stream.seek(0) or stream)


@pytest.mark.parametrize("where", [0.1, 0.3, 0.5, 0.7, 0.9])
def test_a_damaged_archive_is_called_damaged(where):
    content = bytearray(archive())
    with pytest.raises(DataError):
        read_data(io.BytesIO(bytes(content[: int(where * len(content))])), "npz")
