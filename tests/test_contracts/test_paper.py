"""The table of the paper is true: what it names exists, and what can be checked without data is checked."""

import re
from importlib import import_module
from itertools import permutations, product

import numpy as np
import pytest

from codekin.classes.distances import confusion_distances
from codekin.code import Codebook
from codekin.code.geometry import codeword_moments
from codekin.codebooks import dense_random, nested_dichotomies, trellis_codebook
from codekin.decoding import LOSSES, MinimumLossDecoder
from codekin_studies import paper_studies
from codekin_studies.configuration import paper_numbers
from tests.conftest import ROOT

TABLE = (ROOT / "docs" / "reference" / "paper.md").read_text(encoding="utf-8")
NAMED = sorted(set(re.findall(r"`([^`\n]+)`", TABLE)))
ROWS = [[cell.strip() for cell in line[1:-1].split("|")] for line in TABLE.splitlines() if line.startswith("| ")]


def is_object(path):
    """Whether a dotted path leads to a module or to something in one."""
    parts = path.split(".")
    for n_parts in range(len(parts), 0, -1):
        try:
            found = import_module(".".join(parts[:n_parts]))
        except ModuleNotFoundError:
            continue
        for name in parts[n_parts:]:
            if not hasattr(found, name):
                return False
            found = getattr(found, name)
        return True
    return False


def test_code_that_the_table_names_exists():
    paths = [name for name in NAMED if name.startswith(("codekin.", "codekin_studies."))]
    assert len(paths) > 40
    assert not [path for path in paths if not is_object(path)]


def test_a_name_that_does_not_exist_is_noticed():
    assert not is_object("codekin.codebooks.no_such_codebook")
    assert not is_object("codekin.no_such_module.something")


def test_files_and_tests_that_the_table_names_exist():
    paths = [name for name in NAMED if re.match(r"(src|tests|benchmarks|papers|docs|examples)/", name)]
    assert len(paths) > 25
    missing = []
    for path in paths:
        file, _, test = path.partition("::")
        if not (ROOT / file).is_file() or (test and f"def {test}(" not in (ROOT / file).read_text(encoding="utf-8")):
            missing.append(path)
    assert not missing


def test_entries_that_the_table_names_are_in_their_tables():
    found = re.findall(r"`(codekin\.[\w.]+)\.([A-Z_]+)`: ((?:`\w+`(?:, )?)+)", TABLE)
    assert len(found) > 5
    for module, table, names in found:
        assert set(re.findall(r"\w+", names)) <= set(getattr(import_module(module), table))


def test_studies_that_the_table_names_are_the_papers():
    lists = re.findall(r"stud(?:y|ies) ((?:`[\w-]+`(?:, )?)+)", TABLE)
    named = {name for text in lists for name in re.findall(r"[\w-]+", text)}
    assert {"synthetic", "exhaustive", "intermediate", "extreme", "bound"} <= named <= set(paper_studies())


def test_every_row_says_where_what_and_what_comes_out():
    rows = [row for row in ROWS if row[0] != "place"]
    assert len(rows) > 90
    for row in rows:
        assert len(row) == 4, row
        assert row[0], row
        assert row[1], row
        assert row[3], row


def test_every_equation_figure_table_and_appendix_has_a_row():
    places = " ".join(row[0] for row in ROWS)
    for number in range(1, 8):
        assert f"Eq. {number}" in places or f", {number}" in places, number
    for wanted in ("Fig. 1", "Fig. 2a", "Fig. 2b", "Fig. 3", "Table 1", "Table 2", "Algorithm"):
        assert wanted in places
    for appendix in "ABCDEF":
        assert f"App. {appendix}" in places


# ----- what the paper prints, by its own numbers ---------------------------------------------------------------------


def printed(quantity):
    """The numbers of one quantity of the extreme tables, by data and bits."""
    return {key[1:3]: value for key, value in paper_numbers().items() if key[0] == "extreme" and key[3] == quantity}


def test_preserving_assignments_are_more_accurate_in_all_18_printed_cases():
    random, preserving = printed("random"), printed("preserving")
    assert len(random) == 18
    assert all(preserving[case] > random[case] for case in random)


def test_the_printed_spreads_are_smaller_in_15_of_18_cases():
    random, preserving = printed("random:two_deviations"), printed("preserving:two_deviations")
    assert sum(preserving[case] < random[case] for case in random) == 15  # the paper says 16


def test_the_printed_bars_do_not_overlap_in_17_of_18_cases():
    means, spreads = (
        [printed(f"{order}{what}") for order in ("random", "preserving")] for what in ("", ":two_deviations")
    )
    overlapping = [case for case in means[0] if means[1][case] - spreads[1][case] <= means[0][case] + spreads[0][case]]
    assert overlapping == [("aloi.bin", "89")]


def test_the_printed_factors_are_14_and_31():
    one_vs_rest, preserving = printed("one_vs_rest"), printed("preserving")
    factors = {}
    for data, n_classes in one_vs_rest:
        better = [
            int(bits)
            for own, bits in preserving
            if own == data and preserving[own, bits] > one_vs_rest[data, n_classes]
        ]
        factors[data] = int(n_classes) / min(better) if better else None
    assert factors["aloi.bin"] is None
    assert factors["LSHTC1"] == pytest.approx(14.0, abs=0.05)
    assert factors["LSHTC2"] == pytest.approx(30.8, abs=0.05)  # the text says 32


def test_the_scores_of_lshtc1_are_squares():
    n_classes, random_score = 12_294, 0.061
    codebook = trellis_codebook(n_classes, 2)
    assert codebook.n_bits == 56
    moments = codeword_moments(codebook.matrix)
    # The mean of squared scores over all assignments is 2 - 2 cos; by Cauchy and Schwarz no class distance has a larger
    # cosine with these codeword distances, on average, than the constant one.
    cosine = moments.total / np.sqrt(n_classes * (n_classes - 1) * moments.sum_of_squares)
    least = 2 - 2 * cosine
    assert np.sqrt(least) == pytest.approx(0.207, abs=0.001)
    assert least < random_score < np.sqrt(least)


# ----- what the paper says about any code ----------------------------------------------------------------------------


def codebooks_of_the_worked_example():
    """All codebooks of six codewords of three bits whose first bit parts 1, 2, 6 from 3, 4, 5, with row 4 as given."""
    ends = list(product((-1, 1), repeat=2))
    for right in permutations([end for end in ends if end != (-1, 1)], 2):
        for left in permutations(ends, 3):
            first, second, sixth = ((-1, *end) for end in left)
            third, fifth = ((1, *end) for end in right)
            yield np.array([first, second, third, (1, -1, 1), fifth, sixth])


@pytest.mark.parametrize("loss", LOSSES)
def test_the_worked_example_is_class_4(loss):
    codebooks = list(codebooks_of_the_worked_example())
    assert len(codebooks) == 6 * 24
    for codebook in codebooks:
        (found,) = MinimumLossDecoder(codebook, loss).decode(np.array([[0.1, -3, 2.4]]))
        assert found + 1 == 4


def test_eight_classes_are_the_paths_of_a_graph():
    codebook = trellis_codebook(8, 2)
    assert codebook.n_codewords == 8
    n_edges = (codebook.matrix > 0).sum(axis=1)
    # All paths from source to sink but those that end early have the same number of edges.
    assert len(np.unique(codebook.matrix, axis=0)) == 8
    assert 2 <= n_edges.min() <= n_edges.max() < codebook.n_bits


def test_one_minus_confusion_is_nearly_of_rank_one_and_its_logarithm_is_not():
    rng = np.random.default_rng(0)
    counts = rng.gamma(0.5, size=(10, 10)) + np.diag(np.full(10, 30.0))
    shares = counts / counts.sum()
    plain = 1 - (shares + shares.T) / 2
    second = [
        np.sort(np.abs(np.linalg.eigvalsh(matrix)))[-2] / np.abs(np.linalg.eigvalsh(matrix)).max()
        for matrix in (plain, confusion_distances(counts).matrix())
    ]
    assert second[0] < 0.02
    assert second[1] > 0.1


def test_hard_decoding_corrects_half_the_minimum_distance():
    codebook = dense_random(10, 15, min_distance=5, rng=1)
    n_wrong = (int(codebook.min_distance) - 1) // 2
    assert n_wrong == 2
    rng = np.random.default_rng(0)
    for k, codeword in enumerate(codebook.matrix):
        for _ in range(20):
            received = codeword.astype(float)
            received[rng.choice(15, n_wrong, replace=False)] *= -1
            assert MinimumLossDecoder(codebook.matrix, "hamming").decode(received[None])[0] == k


def test_one_nested_dichotomy_corrects_no_error():
    codebook = nested_dichotomies(8, rng=0)
    # Two classes that part at their own node differ in one bit; where one is 0 there is nothing to compare.
    differing = [int((a * b < 0).sum()) for k, a in enumerate(codebook.matrix) for b in codebook.matrix[k + 1 :]]
    assert max(differing) == min(differing) == 1


def test_products_of_codewords_are_their_length_less_twice_their_distances():
    codebook = Codebook(dense_random(10, 8, min_distance=3, rng=0, n_draws=10_000).matrix)
    matrix = codebook.matrix.astype(int)
    np.testing.assert_array_equal(matrix @ matrix.T, 8 - 2 * codebook.row_distances())
