"""Classifiers for very many classes, codekin and its peers, and what is measured of each.

    python benchmarks/contenders.py NAME FOLDER SEED

runs one of them on the samples that ``Samples.write`` left in a folder, in a separate process bound to one processor,
and writes ``result.json`` next to them; ``extreme_peers.py`` and ``frontier.py`` do this for all. Every contender gets
the same training samples and keeps its documented defaults, except where a comment says otherwise. PECOS needs older
packages and hence a separate environment without codekin, so codekin is imported only where it is used.
"""

import argparse
import importlib.metadata
import importlib.util
import itertools
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from functools import partial
from pathlib import Path

import numpy as np
from scipy import sparse

SECONDS_OF_ROUNDS = 2.0
N_LATENCIES = 300
N_EPOCHS = 5
OVERSAMPLE = 8
"""By validation: 1, 8 and 32 give 82.2, 82.9 and 82.9 % on icd10cm_category, 41.2, 41.5 and 41.2 % on wordnet."""
ONE_THREAD = dict.fromkeys(
    ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS", "RAYON_NUM_THREADS"), "1"
)
SMALL = ("clinc150", "icd10cm_category")
MEDIUM = (*SMALL, "wordnet_hypernym")
ALL = (*MEDIUM, "debian_dirs100k")


class Contender:
    """A classifier. ``fit`` and ``predict`` are timed; ``__init__``, ``load`` and ``form`` are not."""

    package = module = "codekin"
    sets = ALL
    is_seeded = True
    """Whether the seed changes anything."""

    def __init__(self, data, folder, seed):
        self.data, self.folder, self.seed = data, folder, seed
        self.model_path = folder / "model"

    def fit(self):
        """Learn from the training samples and write the model to ``model_path``."""
        raise NotImplementedError

    def load(self):
        """Read the model."""

    def form(self, X):
        """Samples in the form that ``predict`` needs."""
        return X

    def predict(self, rows):
        """The classes of samples."""
        raise NotImplementedError

    def top(self, rows, k):
        """The k best classes of samples, (n_samples, k), best first and -1 where there are fewer; None if unknown."""

    def n_predictors(self):
        return self.data.n_classes


class Trellis(Contender):
    """codekin with any settings of ``ExtremeClassifier``."""

    def __init__(self, data, folder, seed, *, has_tree=True, **settings):
        super().__init__(data, folder, seed)
        self.settings, self.has_tree = settings, has_tree
        # The kernels are compiled once per installation; those of the search only from 200 classes on.
        few = np.flatnonzero(data.y < 300)
        few = few[:: max(len(few) // 3000, 1)]
        present, y = np.unique(data.y[few], return_inverse=True)
        tree = data.tree().restricted_to(present) if has_tree else None
        classifier = self.classifier(tree).fit(data.X[few], y, validation=(data.X[few], y))
        classifier.predict(sparse.vstack([data.X_test] * 3, format="csr"))

    def classifier(self, tree=None):
        from codekin import ExtremeClassifier

        return ExtremeClassifier(taxonomy=tree, random_state=self.seed, **self.settings)

    def fit(self):
        from codekin.storage import save_model

        data = self.data
        classifier = self.classifier(data.tree() if self.has_tree else None)
        save_model(classifier.fit(data.X, data.y, validation=(data.X_validation, data.y_validation)), self.model_path)

    def load(self):
        from codekin.storage import load_model

        self.model = load_model(self.model_path)

    def predict(self, rows):
        return self.model.predict(rows)

    def top(self, rows, k):
        return self.model.top_k(rows, k)[0]

    def n_predictors(self):
        return self.model.codebook_.n_bits


class OneVsRest(Contender):
    """One predictor per class, the largest margin wins: the paper's baseline, and its joint form, flat softmax.

    The baseline is AROW with as many bits as classes; each sample is shown more often to its own class.
    """

    sets = MEDIUM

    def __init__(self, data, folder, seed, *, is_joint=False):
        super().__init__(data, folder, seed)
        self.is_joint = is_joint
        self.model_path = folder / "weights.npy"
        few = slice(0, 200)
        self.bits(data.X[few], data.y[few], 3).margins(sparse.vstack([data.X_test] * 3, format="csr"))

    def bits(self, X, class_index, n_epochs, validation=None):
        from codekin.code import Assignment, Code
        from codekin.codebooks import one_vs_rest
        from codekin.learners import AROW, Softmax
        from codekin.samples import Samples

        codebook = one_vs_rest(class_index.max() + 1)
        code = Code(codebook, Assignment.identity(codebook.n_codewords))
        learner = Softmax() if self.is_joint else AROW(n_epochs=n_epochs, oversample=OVERSAMPLE)
        return learner.fit(Samples(X, class_index), code, validation=validation, rng=self.seed)

    def fit(self):
        from codekin.learners import Validation

        data = self.data
        validation = Validation(data.X_validation, lambda margins: (margins.argmax(axis=1) == data.y_validation).mean())
        np.save(self.model_path, self.bits(data.X, data.y, N_EPOCHS, validation).weights)

    def load(self):
        from codekin.learners.linear import LinearBits

        weights = np.load(self.model_path)
        self.linear = LinearBits(weights, np.zeros(weights.shape[1]))

    def predict(self, rows):
        return in_blocks(lambda X: self.linear.margins(X).argmax(axis=1), rows)

    def top(self, rows, k):
        return in_blocks(lambda X: best_columns(self.linear.margins(X), k), rows)


class NearestCentroid(Contender):
    """The class whose mean has the largest cosine with the sample."""

    package = module = "scipy"
    is_seeded = False

    def __init__(self, data, folder, seed):
        super().__init__(data, folder, seed)
        self.model_path = folder / "centroids.npz"

    def fit(self):
        data = self.data
        members = sparse.csr_matrix((np.ones(len(data.y), dtype=np.float32), (data.y, np.arange(len(data.y)))))
        sums = members @ data.X
        norms = np.sqrt(sums.multiply(sums).sum(axis=1))
        centroids = sparse.diags(1 / np.maximum(np.asarray(norms).ravel(), 1e-12)).astype(np.float32) @ sums
        sparse.save_npz(self.model_path, centroids.T.tocsr(), compressed=False)

    def load(self):
        self.centroids = sparse.load_npz(self.model_path)

    def predict(self, rows):
        return in_blocks(lambda X: (X @ self.centroids).toarray().argmax(axis=1), rows)

    def top(self, rows, k):
        return in_blocks(lambda X: best_columns((X @ self.centroids).toarray(), k), rows)


class Napkin(Contender):
    """napkinXC: a probabilistic label tree (PLT), hierarchical softmax (HSM) or one-vs-rest (OVR)."""

    package = module = "napkinxc"

    def __init__(self, data, folder, seed, *, kind):
        super().__init__(data, folder, seed)
        self.kind = kind

    def fit(self):
        import napkinxc.models

        self.model = getattr(napkinxc.models, self.kind)(str(self.model_path), seed=self.seed, threads=1)
        self.model.fit(self.data.X, self.data.y.tolist())

    def load(self):
        self.model.load()

    def predict(self, rows):
        return self.top(rows, 1)[:, 0]

    def top(self, rows, k):
        best = self.model.predict(rows, top_k=k)
        return np.array([[*classes, *[-1] * (k - len(classes))] for classes in best])

    def n_predictors(self):
        if self.kind == "OVR":
            return self.data.n_classes
        parents = [parent for parent, _, _ in self.model.get_tree_structure() if parent >= 0]
        children = np.unique(parents, return_counts=True)[1]
        if self.kind == "HSM":  # two children need one predictor, more need one each
            return int(np.where(children == 2, 1, children).sum())
        return int(children.sum() + 1)  # one per node, including the root: does the sample have any label at all?


class Omikuji(Contender):
    package = module = "omikuji"
    min_branch_size = 100

    def __init__(self, data, folder, seed, *, n_trees=3):
        super().__init__(data, folder, seed)
        self.n_trees = n_trees
        self.file = folder / "train.txt"
        # Its reader rejects rows without features; there is nothing to learn from them anyway.
        filled = np.diff(data.X.indptr) > 0
        header = f"{filled.sum()} {data.X.shape[1]} {data.n_classes}\n"
        self.file.write_text(header + "".join(lines(data.X[filled], data.y[filled], "{label} {features}\n")))

    def fit(self):
        import omikuji

        settings = omikuji.Model.default_hyper_param()
        settings.n_trees = self.n_trees
        omikuji.Model.train_on_data(str(self.file), settings, n_threads=1).save(str(self.model_path))

    def load(self):
        import omikuji

        self.model = omikuji.Model.load(str(self.model_path))
        self.model.init_prediction_thread_pool(1)

    def form(self, X):
        return [list(zip(*row, strict=True)) for row in rows_of(X)]

    def predict(self, rows):
        # A row without words gets an answer as well: the class with the largest bias.
        return np.array([self.model.predict(row, top_k=1)[0][0] for row in rows])

    def top(self, rows, k):
        best = [[label for label, _ in self.model.predict(row, top_k=k)] for row in rows]
        return np.array([[*classes, *[-1] * (k - len(classes))] for classes in best])

    def n_predictors(self):
        # Balanced splits in two until a branch has fewer labels than the limit; one predictor per branch and label.
        n_leaves = 1
        while self.data.n_classes / n_leaves >= self.min_branch_size:
            n_leaves *= 2
        return self.n_trees * (self.data.n_classes + 2 * n_leaves - 2)


class Vowpal(Contender):
    package = module = "vowpalwabbit"

    def __init__(self, data, folder, seed, *, reduction, n_hash_bits):
        super().__init__(data, folder, seed)
        self.reduction, self.n_hash_bits = reduction, n_hash_bits
        self.file = folder / "train.vw"
        order = np.random.default_rng(seed).permutation(len(data.y))
        self.file.write_text("".join(lines(data.X[order], data.y[order] + 1, "{label} | {features}\n")))

    def fit(self):
        import vowpalwabbit

        # As many passes as codekin makes; its documentation calls the logistic loss the natural one.
        options = f"--{self.reduction} {self.data.n_classes} --loss_function logistic -b {self.n_hash_bits}"
        passes = f"--passes {N_EPOCHS} --holdout_off --cache_file {self.folder / 'cache'} -k"
        vowpalwabbit.Workspace(f"{options} {passes} -d {self.file} -f {self.model_path} --quiet").finish()

    def load(self):
        import vowpalwabbit

        self.model = vowpalwabbit.Workspace(f"-t -i {self.model_path} --quiet")

    def form(self, X):
        ones = np.ones(X.shape[0], dtype=int)
        return [self.model.parse(line) for line in lines(X, ones, "| {features}")]

    def predict(self, rows):
        return np.array([self.model.predict(example) for example in rows]) - 1

    def n_predictors(self):
        return self.data.n_classes - (self.reduction == "ect")


class Liblinear(Contender):
    package, module = "liblinear-official", "liblinear"
    sets = SMALL  # hours, and 4.6 GB of weights, on wordnet_hypernym
    is_seeded = False

    def fit(self):
        from liblinear.liblinearutil import save_model, train

        save_model(str(self.model_path), train(self.data.y, self.data.X, "-q"))

    def load(self):
        from liblinear.liblinearutil import load_model

        self.model = load_model(str(self.model_path))

    def predict(self, rows):
        from liblinear.liblinearutil import predict

        return np.array(predict([], rows, self.model, "-q")[0], dtype=int)

    def top(self, rows, k):
        from liblinear.liblinearutil import predict

        labels = np.array(self.model.get_labels())
        return labels[best_columns(np.array(predict([], rows, self.model, "-q")[2]), k)]


class Pecos(Contender):
    package, module = "libpecos", "pecos"

    def __init__(self, data, folder, seed, *, threshold=None):
        super().__init__(data, folder, seed)
        self.options = {} if threshold is None else {"threshold": threshold}

    def fit(self):
        from pecos.xmc import Indexer, LabelEmbeddingFactory
        from pecos.xmc.xlinear.model import XLinearModel

        data = self.data
        labels = sparse.csr_matrix((np.ones(len(data.y), dtype=np.float32), (np.arange(len(data.y)), data.y)))
        embedding = LabelEmbeddingFactory.create(labels, data.X, method="pifa", threads=1)
        clusters = Indexer.gen(embedding, seed=self.seed, threads=1)
        self.n_nodes = sum(layer.shape[0] for layer in clusters)
        XLinearModel.train(data.X, labels, C=clusters, threads=1, **self.options).save(str(self.model_path))

    def load(self):
        from pecos.xmc.xlinear.model import XLinearModel

        self.model = XLinearModel.load(str(self.model_path), is_predict_only=True)

    def predict(self, rows):
        return self.top(rows, 1)[:, 0]

    def top(self, rows, k):
        found = self.model.predict(rows, only_topk=k, beam_size=10, threads=1)
        classes = np.full((found.shape[0], k), -1)  # a row without words may have no answer
        for i, (start, stop) in enumerate(itertools.pairwise(found.indptr)):
            best = np.argsort(-found.data[start:stop], kind="stable")
            classes[i, : len(best)] = found.indices[start:stop][best]
        return classes

    def n_predictors(self):
        return self.n_nodes


def paper(width):
    """The paper's recipe: AROW, exponential decoding, paths in the depth-first order of the given taxonomy."""
    return partial(Trellis, width=width, estimator="arow", assignment="preserving", rerank=None)


PAPER = {f"paper, width {width}": paper(width) for width in (2, 5, 10)}
RECIPE = {"rerank": "learned", "precision": "int8"}
"""What codekin does beyond the paper; it chooses the order of the classes and the learner itself."""
OURS = {
    "ours, default": Trellis,
    "ours, default, no taxonomy": partial(Trellis, has_tree=False),
    "ours, width 2": partial(Trellis, width=2, **RECIPE),
    "ours, width 2, not re-ranked": partial(Trellis, width=2, **RECIPE | {"rerank": None}),
    "ours, width 2, no taxonomy": partial(Trellis, width=2, has_tree=False, **RECIPE),
    "ours, width 5": partial(Trellis, width=5, **RECIPE),
    "ours, width 5, pruned": partial(Trellis, width=5, prune=0.001, **RECIPE),
    "ours, width 10": partial(Trellis, width=10, **RECIPE),
    "ours, width 10, pruned": partial(Trellis, width=10, prune=0.001, **RECIPE),
    "ours, width 10, pruned, not re-ranked": partial(Trellis, width=10, prune=0.001, **RECIPE | {"rerank": None}),
    "ours, width 20, pruned": partial(Trellis, width=20, prune=0.001, **RECIPE),
    "ours, 2 x width 5": partial(Trellis, width=5, n_codes=2, **RECIPE),
    "ours, tree": partial(Trellis, code="tree", n_codes=1, rerank=None),
    "ours, tree, re-ranked": partial(Trellis, code="tree", n_codes=1, **RECIPE),
    "ours, 2 trees": partial(Trellis, code="tree", n_codes=2, rerank=None),
    "ours, 2 trees, re-ranked": partial(Trellis, code="tree", n_codes=2, **RECIPE),
}
PEERS = {
    "nearest centroid": NearestCentroid,
    "one-vs-rest AROW": OneVsRest,
    "flat softmax": partial(OneVsRest, is_joint=True),
    "napkinXC PLT": partial(Napkin, kind="PLT"),
    "napkinXC HSM": partial(Napkin, kind="HSM"),
    "napkinXC OVR": partial(Napkin, kind="OVR"),
    "omikuji, 3 trees": Omikuji,
    "omikuji, 1 tree": partial(Omikuji, n_trees=1),
    "PECOS XR-Linear": Pecos,
    "PECOS XR-Linear, weights from 0.3": partial(Pecos, threshold=0.3),
    # A sample updates only the predictors on its way through the tournament, so most of the table stays empty.
    "Vowpal Wabbit ect": partial(Vowpal, reduction="ect", n_hash_bits=27),
    # A separate weight for every feature and class of icd10cm_category; 16 bytes each in training.
    "Vowpal Wabbit oaa": partial(Vowpal, reduction="oaa", n_hash_bits=25),
    "LIBLINEAR": Liblinear,
}
CONTENDERS = PAPER | OURS | PEERS


def class_of(name):
    contender = CONTENDERS[name]
    return contender.func if isinstance(contender, partial) else contender


def in_blocks(classify, X, n_rows=500):
    """Predict block by block, so that no array of all samples and classes is needed."""
    return np.concatenate([classify(X[start : start + n_rows]) for start in range(0, X.shape[0], n_rows)])


def best_columns(scores, k):
    best = np.argpartition(-scores, k - 1, axis=1)[:, :k]
    return np.take_along_axis(best, np.argsort(-np.take_along_axis(scores, best, axis=1), axis=1), axis=1)


def rows_of(X):
    """Features and values of each row."""
    indices, values, starts = X.indices.tolist(), X.data.tolist(), X.indptr.tolist()
    for start, stop in itertools.pairwise(starts):
        yield indices[start:stop], values[start:stop]


def lines(X, labels, template):
    """Each row as text."""
    for (indices, values), label in zip(rows_of(X), labels.tolist(), strict=True):
        features = " ".join(f"{index}:{value:.7g}" for index, value in zip(indices, values, strict=True))
        yield template.format(label=label, features=features)


# ----- one contender, in a separate process -------------------------------------------------------------------------


class Samples:
    """The data for every contender: float32 rows and classes from 0, in files that can be read without codekin."""

    def __init__(self, folder):
        self.folder = folder
        self.X, self.y = self._split("train")
        self.X_validation, self.y_validation = self._split("validation")
        self.X_test, self.y_test = self._split("test")
        self.n_classes = int(self.y.max()) + 1

    def _split(self, name):
        return sparse.load_npz(self.folder / f"{name}.npz"), np.load(self.folder / f"{name}_y.npy")

    @staticmethod
    def write(data, folder):
        for name, split in data.splits.items():
            X = sparse.csr_matrix((split.X.data, split.X.indices, split.X.indptr), shape=split.X.shape)
            X.sort_indices()
            sparse.save_npz(folder / f"{name}.npz", X)
            np.save(folder / f"{name}_y.npy", split.y)
        tree = data.class_tree
        np.savez(folder / "tree.npz", parent=tree.parent, node_of_class=tree.node_of_class, length=tree.edge_length)

    def tree(self):
        from codekin.classes import ClassTree

        arrays = np.load(self.folder / "tree.npz")
        return ClassTree(arrays["parent"], arrays["node_of_class"], arrays["length"])


def measure(contender, data):
    """All measurements of one contender."""
    fit_seconds = processor_seconds(contender.fit)
    peak = peak_bytes()
    contender.load()
    rows = contender.form(data.X_test)
    predicted = contender.predict(rows)
    rounds = [processor_seconds(lambda: contender.predict(rows))]
    while sum(rounds) < SECONDS_OF_ROUNDS or len(rounds) < 3:
        rounds.append(processor_seconds(lambda: contender.predict(rows)))
    singles = [contender.form(data.X_test[i : i + 1]) for i in range(N_LATENCIES)]
    latencies = [processor_seconds(lambda row=row: contender.predict(row)) for row in singles]
    top = contender.top(rows, 5)
    path = contender.model_path
    files = [file for file in path.rglob("*") if file.is_file()] if path.is_dir() else [path]
    return {
        "accuracy": 100 * float((predicted == data.y_test).mean()),
        "precision_at_5": None if top is None else 20 * float((top == data.y_test[:, None]).any(axis=1).mean()),
        "bytes": sum(file.stat().st_size for file in files),
        "training": fit_seconds,
        "prediction": 1e6 * min(rounds) / len(data.y_test),
        "latency": 1e6 * float(np.median(latencies)),
        "peak_bytes": peak,
        "predictors": contender.n_predictors(),
    }


def peak_bytes():
    """The peak memory of this process; that of getrusage includes the process it was forked from."""
    status = Path("/proc/self/status")
    if not status.exists():
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
    return next(1024 * int(line.split()[1]) for line in status.read_text().splitlines() if line.startswith("VmHWM"))


def processor_seconds(action):
    begin = time.process_time()
    action()
    return time.process_time() - begin


def version(package):
    if package == "codekin":  # which may run from its sources
        import codekin

        return codekin.__version__
    return importlib.metadata.version(package)


def run_one(name, data_folder, seed):
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, [max(os.sched_getaffinity(0))])
    with tempfile.TemporaryDirectory() as folder:
        data = Samples(data_folder)
        contender = CONTENDERS[name](data, Path(folder), seed)
        result = measure(contender, data)
    result["version"] = f"{contender.package} {version(contender.package)}"
    (data_folder / "result.json").write_text(json.dumps(result))


def has_module(python, module):
    """Whether this interpreter, or that of another environment, has a module."""
    if python == sys.executable:
        return importlib.util.find_spec(module) is not None
    look = f"import importlib.util; raise SystemExit(importlib.util.find_spec({module!r}) is None)"
    return shutil.which(python) is not None and subprocess.run([python, "-c", look], check=False).returncode == 0


def python_for(contender, peers_python=None):
    """The interpreter that has what a contender needs: this one, or that of the peers' environment; None if neither."""
    pythons = filter(None, (sys.executable, peers_python))
    return next((python for python in pythons if has_module(python, contender.module)), None)


def result_of(name, data_folder, *, seed=0, pecos_python=None, time_limit=1800):
    """The measurements of a contender, or one sentence on why there are none."""
    contender = class_of(name)
    python = python_for(contender, pecos_python)
    if python is None:
        return f"left out: pip install {contender.package}"
    command = [python, __file__, name, str(data_folder), str(seed)]
    try:
        run = subprocess.run(command, env=os.environ | ONE_THREAD, capture_output=True, timeout=time_limit, check=False)
    except subprocess.TimeoutExpired:
        return f"left out: more than {time_limit:g} seconds"
    if run.returncode != 0:
        return f"failed: {run.stderr.decode(errors='replace').strip()[-2000:]}"
    return json.loads((data_folder / "result.json").read_text())


def three_digits(value):
    return "" if value is None else f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name", choices=CONTENDERS, metavar="NAME")
    parser.add_argument("folder", type=Path, metavar="FOLDER")
    parser.add_argument("seed", type=int, metavar="SEED")
    given = parser.parse_args()
    run_one(given.name, given.folder, given.seed)
