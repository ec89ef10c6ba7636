"""The search for the best of many codebooks, in obvious steps."""

import numpy as np


def min_distance(matrix, zero_pair=0.0):
    """The smallest distance between two rows, added up entry by entry."""
    smallest = np.inf
    for row in range(len(matrix)):
        for other in range(row):
            distance = 0.0
            for a, b in zip(matrix[row].tolist(), matrix[other].tolist(), strict=True):
                distance += zero_pair if a == b == 0 else abs(a - b) / 2
            smallest = min(smallest, distance)
    return smallest


def is_valid(matrix):
    """Distinct codewords, and columns that have both signs and are neither equal nor complementary."""
    rows = {tuple(row) for row in matrix.tolist()}
    columns = set()
    for column in matrix.T.tolist():
        if not (1 in column and -1 in column):
            return False
        columns |= {tuple(column), tuple(-entry for entry in column)}
    return len(rows) == len(matrix) and len(columns) == 2 * matrix.shape[1]


def mean_column_correlation(matrix):
    correlations = np.corrcoef(matrix, rowvar=False)
    return np.abs(correlations[np.triu_indices(matrix.shape[1], k=1)]).mean()


def best_codebook(codebooks):
    """The valid one with the largest minimum distance; of several, the one with the least correlated columns."""
    valid = [matrix for matrix in codebooks if is_valid(matrix)]
    return max(valid, key=lambda matrix: (min_distance(matrix), -mean_column_correlation(matrix)))


def packed_rows(stream, n_codebooks, n_codewords, n_bits):
    """The words of each codebook, one list for each place in a codeword, from a string of zeros and ones."""
    text = "".join(f"{byte:08b}" for byte in stream.tolist())
    rows = [text[first : first + n_bits] for first in range(0, n_codebooks * n_codewords * n_bits, n_bits)]
    words = [[int(row[at : at + 64].ljust(64, "0"), 2) for at in range(0, n_bits, 64)] for row in rows]
    books = [words[first : first + n_codewords] for first in range(0, len(words), n_codewords)]
    return [[list(place) for place in zip(*book, strict=True)] for book in books]
