"""The readable twins of the parsers: one line at a time, in plain Python."""

import re

import numpy as np
from sklearn.utils import murmurhash3_32


def number(text):
    """What scikit-learn's reader makes of a number, in float32."""
    with np.errstate(over="ignore"):
        return np.float32(float(text))


def integer_label(text):
    """The integer that is spelled so, or None where there is none of up to 18 digits."""
    is_spelled_so = re.fullmatch("-?[0-9]{1,18}", text) and str(int(text)) == text
    return int(text) if is_spelled_so else None


def svmlight(text):
    """Rows of (label, {index: value})."""
    rows = []
    for line in text.splitlines():
        fields = line.split("#")[0].split()
        if fields:
            pairs = (field.split(":") for field in fields[1:])
            rows.append((fields[0], {int(index): number(value) for index, value in pairs}))
    return rows


def placed_name(name, namespace, n_bits):
    """The column of a feature, as Vowpal Wabbit places it."""

    def hashed(text, seed):
        if re.fullmatch("[0-9]+", text):
            return (int(text) + seed) % 2**32
        return murmurhash3_32(text.encode(), seed=seed, positive=True)

    seed = hashed(namespace, 0) if namespace else 0
    return hashed(name, seed) % 2**n_bits


def vowpal(text, n_bits):
    """Rows of (label, weight, {column: value}); names are hashed unless ``n_bits`` is 0."""
    rows = []
    for line in filter(str.strip, text.splitlines()):
        before, *sections = line.split("|")
        fields = [field for field in before.split() if not field.startswith("'")]
        row = {}
        for section in sections:
            words = section.split()
            namespace, scale = "", 1.0
            if section[:1].strip():
                namespace, _, given = words.pop(0).partition(":")
                scale = float(given or 1)
            for word in words:
                name, _, value = word.partition(":")
                column = placed_name(name, namespace, n_bits) if n_bits else int(name)
                row[column] = row.get(column, 0.0) + scale * float(value or 1)
        rows.append((fields[0], float(fields[1]) if len(fields) > 1 else 1.0, row))
    return rows
