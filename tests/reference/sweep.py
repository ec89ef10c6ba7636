"""Every assignment, one at a time: what the compiled sweep must agree with."""

import numpy as np


def split_of(signs):
    """The number of the split that a column of signs makes."""
    mask = sum(1 << k for k, sign in enumerate(signs) if sign > 0)
    everyone = (1 << len(signs)) - 1
    return everyone ^ mask if mask >> (len(signs) - 1) else mask


def margins_of(coding_matrix, margins):
    """The margins of the bits of a coding matrix, (n_samples, n_bits), from those of the splits."""
    columns = []
    for signs in coding_matrix.T:
        row = margins[split_of(signs)]
        # A split has the last class on its negative side.
        columns.append(row if signs[-1] < 0 else -row)
    return np.column_stack(columns)


def n_correct(codewords, margins, y, codeword_of_class):
    """How many samples one assignment gets right by minimum hinge loss; the lowest class wins among equals."""
    coding_matrix = codewords[codeword_of_class]
    count = 0
    for sample, own in zip(margins_of(coding_matrix, margins), y, strict=True):
        losses = [sum(max(0.0, 1 - bit * f) for bit, f in zip(word, sample, strict=True)) for word in coding_matrix]
        count += int(np.argmin(losses)) == own
    return count
