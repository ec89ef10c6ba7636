"""Which search finds the best of very many class vectors: ours, or an index that one could install.

    python benchmarks/vector_search.py ours FILE.npz [--classes 100000]
    OTHER/python benchmarks/vector_search.py peers FILE.npz

The first command learns the vectors of the made-up set of ``dense_vectors.py`` by ``VectorSoftmax``, stores them, and
measures our own candidates; the second needs faiss-cpu, hnswlib and usearch, and not codekin. All look for the largest
product with the 2,000 test samples plus the bias of the class; for a peer the bias is one more dimension. Recall is how
often the best of all classes is found, accuracy how often the class of the sample is. One thread; the CPU microseconds
of a prediction in one batch are the least of five rounds. Bytes are those of the index with its vectors, and building
is what it takes to make it of vectors that are learned.
"""

import argparse
import sys
import time
from importlib.util import find_spec
from pathlib import Path

import numpy as np

STEP = 0.15
"""What the trial of ExtremeClassifier() chooses on this set."""
ROUNDS = 5


def show(name, found, file, seconds, n_bytes, built):
    found = np.asarray(found).reshape(len(file["best"]), -1)[:, 0]
    recall, right = (100 * np.mean(found == file[key]) for key in ("best", "y_test"))
    cells = (
        name,
        f"{recall:.1f}",
        f"{right:.1f}",
        f"{1e6 * seconds / len(found):.1f}",
        f"{n_bytes / 1e6:.1f}",
        f"{built:.1f}",
    )
    print(f"| {' | '.join(cells)} |", flush=True)


def timed(function):
    """What a function returns, and the least CPU seconds of some rounds."""
    times = []
    for _ in range(ROUNDS):
        started = time.process_time()
        found = function()
        times.append(time.process_time() - started)
    return found, min(times)


def ours(path, n_classes):
    from dense_vectors import made_up

    from codekin.code import Assignment, Code
    from codekin.code.tree import label_tree
    from codekin.learners import VectorSoftmax
    from codekin.learners.vector_bits import VectorBits
    from codekin.samples import Samples

    parts = made_up(n_classes)
    n = int(parts.y.max()) + 1
    code = Code(label_tree(n, n), Assignment.identity(n))
    bits = VectorSoftmax(step=STEP, n_threads=1).fit(Samples(parts.X, parts.y), code, rng=0)
    rows = bits.linear_rows()
    vectors, bias = np.ascontiguousarray(rows.weights.T), rows.bias.astype(np.float32)
    file = {"vectors": vectors, "bias": bias, "X_test": parts.X_test, "y_test": parts.y_test}
    file["best"] = product(file)
    np.savez(path, **file)
    started = time.process_time()
    some = (parts.X[::15] - bits.centre) * bits.factor
    whole = bits.weights.astype(np.float32) * bits.scales[:, None]
    VectorBits.of(whole, bits.bias, bits.centre, bits.factor, some).with_cells(np.random.default_rng(0))
    seconds = time.process_time() - started
    show("`VectorSoftmax`", *one_of(bits, file), bits.nbytes, seconds)
    found, micros = timed(lambda: product(file))
    show("one product in NumPy", found, file, micros, vectors.nbytes + bias.nbytes, 0.0)


def product(file):
    """The best class of each test sample by products of 256 of them with all vectors."""
    rows = file["X_test"]
    return np.concatenate(
        [
            (rows[start : start + 256] @ file["vectors"].T + file["bias"]).argmax(axis=1)
            for start in range(0, len(rows), 256)
        ]
    )


def one_of(bits, file):
    found, seconds = timed(lambda: bits.best(file["X_test"], 1)[0])
    return found, file, seconds


def peers(path, _):
    import faiss
    import hnswlib
    from usearch.index import Index

    with np.load(path) as stored:
        file = dict(stored)
    vectors = np.hstack([file["vectors"], file["bias"][:, None]]).astype(np.float32)
    queries = np.hstack([file["X_test"], np.ones((len(file["X_test"]), 1), np.float32)])
    n, width = vectors.shape
    faiss.omp_set_num_threads(1)
    for name, make, settings in (
        ("faiss, one product", lambda: faiss.IndexFlatIP(width), [{}]),
        ("faiss, IVF1024", lambda: faiss.index_factory(width, "IVF1024,Flat", faiss.METRIC_INNER_PRODUCT), PROBES),
        (
            "faiss, IVF1024 of bytes",
            lambda: faiss.index_factory(width, "IVF1024,SQ8", faiss.METRIC_INNER_PRODUCT),
            PROBES,
        ),
    ):
        started, index = time.process_time(), make()
        index.train(vectors)
        index.add(vectors)
        built = time.process_time() - started
        for setting in settings:
            for key, value in setting.items():
                setattr(index, key, value)
            found, seconds = timed(lambda index=index: index.search(queries, 1)[1])
            show(
                ", ".join([name, *(f"{k}={v}" for k, v in setting.items())]),
                found,
                file,
                seconds,
                len(faiss.serialize_index(index)),
                built,
            )
    started, index = time.process_time(), hnswlib.Index(space="ip", dim=width)
    index.init_index(max_elements=n, ef_construction=200, M=16, random_seed=0)
    index.add_items(vectors, num_threads=1)
    built = time.process_time() - started
    for setting in EFFORTS:
        index.set_ef(setting["efSearch"])
        found, seconds = timed(lambda index=index: index.knn_query(queries, k=1, num_threads=1)[0])
        show(f"hnswlib, ef={setting['efSearch']}", found, file, seconds, index.index_file_size(), built)
    started, index = time.process_time(), Index(ndim=width, metric="ip", dtype="f16")
    index.add(np.arange(n), vectors, threads=1)
    built = time.process_time() - started
    for setting in EFFORTS:
        index.expansion_search = setting["efSearch"]
        found, seconds = timed(lambda index=index: index.search(queries, 1, threads=1).keys)
        name = f"usearch, half precision, expansion={setting['efSearch']}"
        show(name, found, file, seconds, index.serialized_length, built)


PROBES = [{"nprobe": n} for n in (4, 16, 64)]
EFFORTS = [{"efSearch": n} for n in (50, 200, 800)]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("side", choices=["ours", "peers"])
    parser.add_argument("file", type=Path)
    parser.add_argument("--classes", type=int, default=100_000, help="of the made-up set, for ours")
    arguments = parser.parse_args()
    lacking = [name for name in ("faiss", "hnswlib", "usearch") if find_spec(name) is None]
    if arguments.side == "peers" and lacking:
        parser.error(f"the peers need {', '.join(lacking)}, which {sys.executable} does not have.")
    if arguments.side == "peers" and not arguments.file.exists():
        parser.error(f"there is no file {arguments.file}; make it by the side ours.")
    print("| | recall | accuracy | us | MB | building, s |\n|---|---:|---:|---:|---:|---:|")
    {"ours": ours, "peers": peers}[arguments.side](arguments.file, arguments.classes)
