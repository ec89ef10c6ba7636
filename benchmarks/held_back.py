"""The default for many classes beside label trees of others, on data that nothing here was tuned on.

    apt-cache dumpavail > available.txt    # on any Debian system
    python benchmarks/held_back.py available.txt [--label Maintainer] [--seeds 3] [--pecos-python PATH]

Which maintainer does a Debian package have, or which source package does it come from (``--label Source``)? The text is
the name of the package and its short description. Classes have at least four packages; of each, a tenth is for testing
and a tenth for validation, at least one package each. Every contender runs in a separate process bound to one
processor, as in ``frontier.py``, whose columns these are.
"""

import argparse
import re
import tempfile
from collections import Counter
from pathlib import Path

import numpy as np
from contenders import result_of, three_digits
from scipy import sparse
from sklearn.feature_extraction.text import TfidfVectorizer

LEAST_PACKAGES = 4
NAMES = ("ours, default, no taxonomy", "PECOS XR-Linear", "PECOS XR-Linear, weights from 0.3", "omikuji, 1 tree")


def packages(path, label):
    """Texts and labels."""
    texts, labels = [], []
    for record in path.read_text(encoding="utf-8", errors="replace").split("\n\n"):
        field = dict(re.findall(r"^(Package|Source|Maintainer|Description(?:-en)?): (.*)$", record, re.MULTILINE))
        description = field.get("Description", field.get("Description-en"))
        if description is None or (label != "Source" and label not in field):
            continue
        texts.append(f"{field['Package'].replace('-', ' ')} {description}")
        labels.append(field.get(label, field["Package"]).split(" (")[0])
    return texts, labels


def splits(labels, rng):
    """Rows of the training, validation and test samples: a tenth of each class, at least one."""
    parts = {"train": [], "validation": [], "test": []}
    for c in range(labels.max() + 1):
        rows = rng.permutation(np.flatnonzero(labels == c))
        n = max(1, len(rows) // 10)
        for name, own in zip(("test", "validation", "train"), np.split(rows, [n, 2 * n]), strict=True):
            parts[name].append(own)
    return {name: np.sort(np.concatenate(rows)) for name, rows in parts.items()}


def write(texts, labels, folder):
    counts = Counter(labels)
    kept = [i for i, label in enumerate(labels) if counts[label] >= LEAST_PACKAGES]
    _, y = np.unique([labels[i] for i in kept], return_inverse=True)
    rows = splits(y, np.random.default_rng(0))
    own = {name: [texts[kept[i]] for i in which] for name, which in rows.items()}
    vectorizer = TfidfVectorizer(ngram_range=(1, 2), min_df=2, sublinear_tf=True, dtype=np.float32)
    vectorizer.fit(own["train"])
    for name, which in rows.items():
        X = sparse.csr_matrix(vectorizer.transform(own[name]))
        X.sort_indices()
        sparse.save_npz(folder / f"{name}.npz", X)
        np.save(folder / f"{name}_y.npy", y[which])
    return f"{y.max() + 1:,} classes, {len(rows['train']):,} training samples, {X.shape[1]:,} features"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path, help="what apt-cache dumpavail prints")
    parser.add_argument("--label", choices=["Maintainer", "Source"], default="Maintainer")
    parser.add_argument("--contenders", nargs="+", choices=NAMES, default=NAMES)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--pecos-python", help="the interpreter of an environment that has libpecos")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        print(write(*packages(arguments.file, arguments.label), folder))
        print("\n| | accuracy | p@5 | MB | training, s | batch, µs | peak, MB |\n|---|---:|---:|---:|---:|---:|---:|")
        for contender in arguments.contenders:
            found = [
                result_of(contender, folder, seed=seed, pecos_python=arguments.pecos_python)
                for seed in range(arguments.seeds)
            ]
            if isinstance(found[0], str):
                print(f"| {contender} | {found[0]} |")
                continue
            mean = {
                key: np.mean([one[key] for one in found]) for key in found[0] if isinstance(found[0][key], float | int)
            }
            error = np.std([one["accuracy"] for one in found], ddof=1) / len(found) ** 0.5 if len(found) > 1 else 0.0
            cells = [
                f"{mean['accuracy']:.1f} ± {error:.2f}",
                f"{mean['precision_at_5']:.1f}",
                three_digits(mean["bytes"] / 1e6),
                three_digits(mean["training"]),
                three_digits(mean["prediction"]),
                f"{mean['peak_bytes'] / 1e6:,.0f}",
            ]
            print(f"| {contender} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
