"""Exported ONNX models: the same five best labels as in Python, their sizes, and the time of a prediction.

    python benchmarks/onnx_export.py [--data DIR] [--rows 10000]

Five models on real data: icd10cm_category (1,532 classes of text) on a label tree and on a trellis, each re-ranked by
class means and not re-ranked, with sparse input, and the digits of MNIST with ten logistic regressions and a learned
decoder, with dense input. Rows are samples that were not trained on. Where labels differ, the losses in question are
compared; on a tree, codekin's search may have overlooked a class that the exported model finds. Times are of a block of
500 rows on one thread, in onnxruntime and in codekin, in the same run.

Claim: at most one row in a thousand differs, and only in the order of losses that are equal to seven digits. On a tree,
whose exponentials codekin computes in single precision, equal to five digits; rows for which the search overlooked a
class are counted apart, and at most one in a thousand has another best label.
"""

import argparse
import os
import tempfile
import time
from pathlib import Path

import numpy as np
import onnxruntime
from scipy import sparse
from sklearn.linear_model import LogisticRegression

from codekin import ECOCClassifier, ExtremeClassifier
from codekin._system.parallel import limited_threads
from codekin.data import read_data
from codekin.deploy.export import export_onnx, padded_rows

BLOCK, K, TIE, TREE_TIE, MOST_DIFFERENT = 500, 5, 1e-7, 1e-5, 0.001


def text_samples(folder):
    train, *others = (read_data(folder / f"{name}.svm.gz") for name in ("train", "test", "val"))
    n_features = max(each.X.shape[1] for each in (train, *others))
    X_train, X_test, X_val = (
        sparse.csr_array((each.X.data, each.X.indices, each.X.indptr), shape=(each.X.shape[0], n_features))
        for each in (train, *others)
    )
    return X_train, train.classes[train.class_index], sparse.csr_array(sparse.vstack([X_test, X_val]))


def inputs_of(X):
    if not sparse.issparse(X):
        return {"X": X}
    features, values = padded_rows(X)
    return {"features": features, "values": values}


def overlooks(classifier, X):
    """Whether the search for a sample's best classes, before any re-ranking, overlooks one of them."""
    model = classifier.model_
    n = K if model.ranking is None else min(model.ranking.n_candidates, model.n_classes)
    every = model.decoder.class_losses(model.lazy_margins(X)[0])
    listed, _ = model.decoder.top_k(model.lazy_margins(X)[0], n)
    exact = np.argsort(every, axis=1, kind="stable")[:, :n]
    return np.array([set(own) != set(best) for own, best in zip(listed.tolist(), exact.tolist(), strict=True)], bool)


def compare(name, classifier, X, home):
    path = export_onnx(classifier, Path(home) / "model.onnx", k=K, input="sparse" if sparse.issparse(X) else "dense")
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    tie = TIE if classifier.codebook_.tree is None else TREE_TIE
    n_different, n_overlooked, n_first, gap, spent = 0, 0, 0, 0.0, {"onnxruntime": np.inf, "codekin": np.inf}
    for start in range(0, X.shape[0], BLOCK):
        block = X[start : start + BLOCK]
        given = inputs_of(block)
        begin = time.perf_counter()
        labels, losses = session.run(["labels", "losses"], given)
        between = time.perf_counter()
        expected, of_expected = classifier.top_k(block, K)
        end = time.perf_counter()
        spent["onnxruntime"] = min(spent["onnxruntime"], (between - begin) / len(labels))
        spent["codekin"] = min(spent["codekin"], (end - between) / len(labels))
        rows = (labels != expected).any(axis=1)
        n_first += int((labels[:, 0] != expected[:, 0]).sum())
        apart = np.abs(losses - of_expected) / np.maximum(np.abs(of_expected), 1)
        if classifier.codebook_.tree is not None and rows.any():
            suspects = np.flatnonzero(rows & (apart > tie).any(axis=1))
            overlooked = suspects[overlooks(classifier, block[suspects])]
            n_overlooked += len(overlooked)
            rows[overlooked] = False
        n_different += int(rows.sum())
        gap = max(gap, float(apart[rows].max(initial=0.0)))
    is_met = max(n_different, n_first) <= MOST_DIFFERENT * X.shape[0] and gap <= tie
    times = " and ".join(f"{1e6 * seconds:.0f} us in {which}" for which, seconds in spent.items())
    print(f"{name}: {path.stat().st_size / 1e6:.1f} MB, {times} a row")
    print(f"  {n_different} of {X.shape[0]:,} rows differ, in losses that differ by {gap:.1g}", end="")
    overlooked = f", and {n_overlooked} because a search overlooked a class" if n_overlooked else ""
    print(f"{overlooked}; {n_first} best labels differ: ", end="")
    print("met" if is_met else "MISSED", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    home = os.environ.get("CODEKIN_DATA", os.environ.get("CODEKIN_SHARED_DATA", "data"))
    parser.add_argument("--data", type=Path, default=Path(home))
    parser.add_argument("--rows", type=int, default=10_000)
    arguments = parser.parse_args()
    if not (arguments.data / "icd10cm_category").exists():
        parser.exit(2, f"{arguments.data} has no icd10cm_category: name the folder that holds it with --data\n")
    with tempfile.TemporaryDirectory() as temporary, limited_threads(1):
        X, y, X_test = text_samples(arguments.data / "icd10cm_category")
        for code in ("tree", "trellis"):
            for rerank in ("centroid", None):
                classifier = ExtremeClassifier(code=code, rerank=rerank, random_state=0).fit(X, y)
                name = f"icd10cm_category, a {code}, {'re-ranked' if rerank else 'not re-ranked'}"
                compare(name, classifier, X_test[: arguments.rows], temporary)
        with np.load(arguments.data / "mnist" / "mnist.npz") as mnist:
            X, y, X_test = mnist["X_train"][:4000], mnist["y_train"][:4000], mnist["X_test"]
        X, X_test = (pixels.reshape(len(pixels), -1) / 255 for pixels in (X, X_test))
        learner = LogisticRegression(max_iter=200)
        classifier = ECOCClassifier(learner, codebook="one_vs_rest", decoding="learned", random_state=0).fit(X, y)
        compare("MNIST, a learned decoder", classifier, X_test[: arguments.rows], temporary)


if __name__ == "__main__":
    main()
