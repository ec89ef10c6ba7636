import pytest

from codekin.codebooks import exhaustive


@pytest.mark.parametrize("n_codewords", range(3, 11))
def test_any_two_codewords_differ_in_half_of_all_possible_columns(n_codewords):
    codebook = exhaustive(n_codewords)
    assert codebook.n_bits == 2 ** (n_codewords - 1) - 1
    assert codebook.min_distance == 2 ** (n_codewords - 2)
    assert codebook.is_equidistant


def test_every_assignment_is_the_same():
    assert exhaustive(6).is_symmetric


def test_columns_are_in_the_order_of_dietterich_and_bakiri():
    # Table 6 of Dietterich and Bakiri (1995), five classes.
    assert ["".join("01"[int(bit > 0)] for bit in row) for row in exhaustive(5).matrix] == [
        "111111111111111",
        "000000001111111",
        "000011110000111",
        "001100110011001",
        "010101010101010",
    ]
