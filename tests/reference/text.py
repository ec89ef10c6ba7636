"""Features of texts, one term at a time: the readable twin of ``codekin.kernels.text``."""

import re
from collections import Counter

import numpy as np
from sklearn.utils import murmurhash3_32

PATTERNS = {1: r"\b\w\w+\b", 2: r"\b\w+\b", 3: r"\w+(?:\.\d\w*)*(?:[+#]+(?![\w+#]))?"}
MARKS = {"words": "{}", "characters": "[{}]", "prefixes": "{}*"}


def terms_of(text, kind, ngrams, version):
    """The terms of one kind in a text, as often as they occur."""
    text, (least, most) = text.lower(), ngrams
    if kind == "characters":
        found = []
        for word in text.split():
            padded = f" {word} "
            n_grams = [padded[i : i + n] for n in range(least, most + 1) for i in range(len(padded) - n + 1)]
            found += n_grams if len(padded) >= least else [padded]
        return found
    words = re.findall(PATTERNS[version], text)
    if kind == "prefixes":
        return [word[:n] for word in words for n in range(least, most + 1) if len(word) > n]
    return [" ".join(words[i : i + n]) for n in range(least, most + 1) for i in range(len(words) - n + 1)]


def names_of(text, blocks, version):
    """The terms of all blocks as they are shown."""
    marks = dict.fromkeys(MARKS, "{}") if len(blocks) == 1 else MARKS
    return [marks[b.kind].format(term) for b in blocks for term in terms_of(text, b.kind, b.ngrams, version)]


def column_of(name, n_columns):
    """The column of a hashed term."""
    number = murmurhash3_32(name)
    return (2**31 - n_columns) % n_columns if number == -(2**31) else abs(number) % n_columns


def row_of(text, fitted):
    """The dense row of a text."""
    names = names_of(text, fitted.blocks, fitted.version)
    if fitted.n_columns:
        counts = Counter(column_of(name, fitted.n_columns) for name in names)
        idf = np.ones(fitted.n_columns)
    else:
        columns = {name: column for column, name in enumerate(fitted.vocabulary)}
        counts = Counter(columns[name] for name in names if name in columns)
        idf = fitted.idf
    row = np.zeros(fitted.n_features)
    for column, count in counts.items():
        row[column] = (1 + np.log(np.float64(count))) * idf[column]
    length = np.sqrt(np.sum(row * row))
    return row / length if length > 0 else row


def document_frequencies(texts, blocks):
    """In how many texts each term occurs, by block."""
    return [Counter(term for text in texts for term in set(terms_of(text, b.kind, b.ngrams, 3))) for b in blocks]
