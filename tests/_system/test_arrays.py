"""Arrays in files are those of the safetensors package, byte for byte."""

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from codekin._system.arrays import read_arrays, write_arrays

ARRAYS = {
    "weights": np.arange(12, dtype=np.float32).reshape(3, 4),
    "ä": np.array([1, 2], dtype=np.int8),
    "turned": np.arange(6, dtype=np.int64).reshape(2, 3).T,
    "swapped": np.array([1, 2, 3], dtype=">u2"),
    "nothing": np.zeros((0, 5), dtype=np.float16),
    "truth": np.array([True, False]),
    "scalar": np.array(2.5),
}


def test_the_safetensors_package_writes_the_same_bytes(tmp_path):
    write_arrays(tmp_path / "ours", ARRAYS)
    plain = {name: np.ascontiguousarray(array, array.dtype.newbyteorder("<")) for name, array in ARRAYS.items()}
    save_file({**plain, "scalar": ARRAYS["scalar"]}, tmp_path / "theirs")
    assert (tmp_path / "ours").read_bytes() == (tmp_path / "theirs").read_bytes()


def test_what_was_written_comes_back_here_and_there(tmp_path):
    write_arrays(tmp_path / "file", ARRAYS)
    for arrays in (read_arrays(tmp_path / "file"), load_file(tmp_path / "file")):
        assert set(arrays) == set(ARRAYS)
        for name, array in ARRAYS.items():
            np.testing.assert_array_equal(arrays[name], array)


@pytest.mark.parametrize("content", [b"", b"\xff" * 8, b"\xff" * 7 + b"\x7f", b"\x02" + b"\0" * 7 + b"[]"])
def test_other_bytes_are_refused_before_memory_is_taken_for_them(content, tmp_path):
    (tmp_path / "file").write_bytes(content)
    with pytest.raises(ValueError, match="is not a readable safetensors file"):
        read_arrays(tmp_path / "file")
