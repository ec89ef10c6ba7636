import pytest

from codekin.codebooks import one_vs_one, one_vs_rest


@pytest.mark.parametrize("n_codewords", [3, 4, 10, 33])
def test_one_vs_rest_has_minimum_distance_two_and_no_better_assignment(n_codewords):
    codebook = one_vs_rest(n_codewords)
    assert codebook.min_distance == 2
    assert codebook.is_symmetric


@pytest.mark.parametrize("n_codewords", [3, 4, 10])
def test_one_vs_one_trains_each_bit_on_two_classes_and_is_equidistant(n_codewords):
    codebook = one_vs_one(n_codewords)
    assert codebook.n_bits == n_codewords * (n_codewords - 1) / 2
    assert ((codebook.matrix != 0).sum(axis=0) == 2).all()
    assert codebook.min_distance == n_codewords - 1
    assert codebook.is_equidistant


@pytest.mark.parametrize("n_codewords", [3, 4, 10])
def test_one_vs_one_has_the_distance_of_allwein(n_codewords):
    # Table 1 of Allwein et al. (2000): one pair of opposite signs, and 1/2 for every other column.
    distances = one_vs_one(n_codewords).row_distances(zero_pair=0.5)
    assert distances[0, 1] == (n_codewords * (n_codewords - 1) / 2 - 1) / 2 + 1


def test_one_vs_one_refuses_what_would_not_fit():
    with pytest.raises(ValueError, match="at most 1000 codewords. Got 1001"):
        one_vs_one(1001)
