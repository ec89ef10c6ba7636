import numpy as np
import pytest
from tests.reference.codebook_search import min_distance, packed_rows

from codekin.codebooks.drawing import Draws
from codekin.kernels.hamming import min_distances, pack_rows

SHAPES = [(2, 1), (3, 5), (7, 63), (6, 64), (5, 65), (4, 130)]


def doubled_min_distances(codebooks, *, is_ternary, zero_pair=0, floor=0):
    doubled = np.empty(len(codebooks), dtype=np.intp)
    drawn = Draws.of(codebooks)
    # Compiled integers wrap around in silence; NumPy's, which stand in when compilation is off, warn.
    with np.errstate(over="ignore"):
        min_distances(drawn.signs, drawn.used, is_ternary, zero_pair, floor, codebooks.shape[2], doubled)
    return doubled


@pytest.mark.parametrize("shape", SHAPES)
def test_binary_distances_agree_with_adding_up_entries(shape):
    codebooks = np.random.default_rng(0).choice([-1, 1], size=(8, *shape))
    expected = [2 * min_distance(matrix) for matrix in codebooks]
    assert doubled_min_distances(codebooks, is_ternary=False).tolist() == expected


@pytest.mark.parametrize("zero_pair", [0, 1])
@pytest.mark.parametrize("shape", SHAPES)
def test_ternary_distances_agree_with_adding_up_entries(shape, zero_pair):
    codebooks = np.random.default_rng(0).choice([-1, 0, 0, 1], size=(8, *shape))
    expected = [2 * min_distance(matrix, zero_pair / 2) for matrix in codebooks]
    assert doubled_min_distances(codebooks, is_ternary=True, zero_pair=zero_pair).tolist() == expected


def test_what_is_below_the_floor_is_left_out_and_nothing_else():
    codebooks = np.random.default_rng(0).choice([-1, 1], size=(50, 6, 12))
    everything = doubled_min_distances(codebooks, is_ternary=False)
    floor = int(np.median(everything))
    expected = np.where(everything < floor, -1, everything)
    assert doubled_min_distances(codebooks, is_ternary=False, floor=floor).tolist() == expected.tolist()


@pytest.mark.parametrize("shape", [*SHAPES, (4, 128), (3, 200)])
def test_rows_of_a_stream_of_bits_agree_with_cutting_a_string(shape):
    n_codewords, n_bits = shape
    stream = np.random.default_rng(0).integers(256, size=3 * n_codewords * n_bits // 8 + 10, dtype=np.uint8)
    packed = np.empty((3, -(-n_bits // 64), n_codewords), dtype=np.uint64)
    pack_rows(stream, n_bits, packed)
    assert packed.tolist() == packed_rows(stream, 3, n_codewords, n_bits)
