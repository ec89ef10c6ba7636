"""Side by side with what one would pick instead: accuracy, bytes, seconds, microseconds, number of predictors.

    pip install napkinxc omikuji vowpalwabbit liblinear-official
    python benchmarks/extreme_peers.py [--data-home FOLDER] [--sets ...] [--contenders ...]

Each contender runs in a process of its own, bound to one processor. All see the same training samples and keep their
documented defaults, except where a comment says otherwise. codekin is the paper's recipe: a trellis, AROW, exponential
decoding, paths in the depth-first order of the given taxonomy, the best of five passes by validation.

    accuracy     of the test samples, in percent
    MB           what the model takes on disk, in its own format
    training     processor seconds from samples to saved model; those that read files only read them within this time
    prediction   processor microseconds per test sample, all samples in one call or loop; the best round of two seconds
    predictors   binary predictors (or class vectors) in the model

A peer that is not installed is left out. PECOS wants older packages and hence an environment of its own, which the
option ``--pecos-python PATH`` names.
"""

import argparse
import importlib.metadata
import importlib.util
import itertools
import json
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
from scipy import sparse

# codekin is imported where it is used: the environment of PECOS does not have it.

SETS = ("icd10cm_category", "wordnet_hypernym")
SECONDS_OF_ROUNDS = 2.0
N_EPOCHS = 5
OVERSAMPLE = 8
"""By validation: 1, 8 and 32 give 82.2, 82.9 and 82.9 % on icd10cm_category, 41.2, 41.5 and 41.2 % on the other set."""
ONE_THREAD = dict.fromkeys(
    ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS", "RAYON_NUM_THREADS"), "1"
)


# ----- the contenders -----------------------------------------------------------------------------------------------


class Contender:
    """One way to classify. ``fit`` and ``predict`` are timed; what ``__init__`` and ``load`` do is not."""

    package = "codekin"
    module = "codekin"
    sets = SETS

    def __init__(self, data, folder):
        self.data = data
        self.folder = folder
        self.model_path = folder / "model"

    def fit(self):
        """Learn from the training samples and leave the model in ``model_path``."""
        raise NotImplementedError

    def load(self):
        """Bring model and test samples into the form that ``predict`` wants."""

    def predict(self):
        """The classes of the test samples."""
        raise NotImplementedError

    def n_predictors(self):
        return self.data.n_classes


class Trellis(Contender):
    width = 2

    def __init__(self, data, folder):
        super().__init__(data, folder)
        # The kernels are compiled once in the life of an installation.
        few = slice(0, 200)
        self.classifier().fit(data.X[few], data.y[few], validation=(data.X[few], data.y[few])).predict(
            sparse.vstack([data.X_test] * 3, format="csr")
        )

    def classifier(self, tree=None):
        from codekin import TrellisClassifier
        from codekin.learners import AROW

        return TrellisClassifier(self.width, taxonomy=tree, learner=AROW(n_epochs=N_EPOCHS), random_state=0)

    def fitted(self):
        data = self.data
        return self.classifier(data.tree()).fit(data.X, data.y, validation=(data.X_validation, data.y_validation))

    def fit(self):
        from codekin.storage import save_model

        save_model(self.fitted(), self.model_path)

    def load(self):
        from codekin.storage import load_model

        self.model = load_model(self.model_path)

    def predict(self):
        return self.model.predict(self.data.X_test)

    def n_predictors(self):
        return self.model.codebook_.n_bits


class Trellis5(Trellis):
    width = 5


class Trellis10(Trellis):
    width = 10


class Trellis10Pruned(Trellis10):
    """Without the smallest weights: as many as cost half a point of validation accuracy at most."""

    def fit(self):
        from codekin.learners import Validation
        from codekin.storage import save_model

        data = self.data
        model = self.fitted().model_
        validation = Validation(
            data.X_validation, lambda margins: (model.decoder.decode(margins) == data.y_validation).mean()
        )
        save_model(replace(model, bits=model.bits.pruned(validation, max_loss=0.005)), self.model_path)

    def n_predictors(self):
        return self.model.codebook.n_bits


class OneVsRest(Contender):
    """The paper's baseline: AROW with as many bits as classes, each sample shown more often to its own class."""

    def __init__(self, data, folder):
        super().__init__(data, folder)
        self.model_path = folder / "weights.npy"
        few = slice(0, 200)
        self.bits(data.X[few], data.y[few], 3).margins(sparse.vstack([data.X_test] * 3, format="csr"))

    def bits(self, X, class_index, n_epochs, validation=None):
        from codekin.codebooks import one_vs_rest
        from codekin.learners import AROW

        learner = AROW(n_epochs=n_epochs, oversample=OVERSAMPLE)
        matrix = one_vs_rest(class_index.max() + 1).matrix
        return learner.fit_bits(X, class_index, matrix, validation=validation, rng=0)

    def fit(self):
        from codekin.learners import Validation

        data = self.data
        validation = Validation(data.X_validation, lambda margins: (margins.argmax(axis=1) == data.y_validation).mean())
        np.save(self.model_path, self.bits(data.X, data.y, N_EPOCHS, validation).weights)

    def load(self):
        from codekin.learners import LinearBits

        weights = np.load(self.model_path)
        self.linear = LinearBits(weights, np.zeros(weights.shape[1]))

    def predict(self):
        return in_blocks(lambda X: self.linear.margins(X).argmax(axis=1), self.data.X_test)


class NearestCentroid(Contender):
    """The class whose mean has the largest cosine with the sample."""

    package = module = "scipy"

    def __init__(self, data, folder):
        super().__init__(data, folder)
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

    def predict(self):
        return in_blocks(lambda X: (X @ self.centroids).toarray().argmax(axis=1), self.data.X_test)


class NapkinPLT(Contender):
    package = module = "napkinxc"
    kind = "PLT"

    def fit(self):
        import napkinxc.models

        self.model = getattr(napkinxc.models, self.kind)(str(self.model_path), seed=0, threads=1)
        self.model.fit(self.data.X, self.data.y.tolist())

    def load(self):
        self.model.load()

    def predict(self):
        return np.array([classes[0] for classes in self.model.predict(self.data.X_test, top_k=1)])

    def children(self):
        """How many children each inner node of the label tree has."""
        parents = [parent for parent, _, _ in self.model.get_tree_structure() if parent >= 0]
        return np.unique(parents, return_counts=True)[1]

    def n_predictors(self):
        # One for each node, the root included: does the sample have any label at all?
        return int(self.children().sum() + 1)


class NapkinHSM(NapkinPLT):
    kind = "HSM"

    def n_predictors(self):
        # Two children need one predictor, more need one each.
        children = self.children()
        return int(np.where(children == 2, 1, children).sum())


class Omikuji(Contender):
    package = module = "omikuji"
    n_trees = 3
    min_branch_size = 100

    def __init__(self, data, folder):
        super().__init__(data, folder)
        self.file = folder / "train.txt"
        # Its reader does not take rows without features; there is nothing to learn from them either.
        filled = np.diff(data.X.indptr) > 0
        header = f"{filled.sum()} {data.X.shape[1]} {data.n_classes}\n"
        self.file.write_text(header + "".join(lines(data.X[filled], data.y[filled], "{label} {features}\n")))

    def fit(self):
        import omikuji

        omikuji.Model.train_on_data(str(self.file), n_threads=1).save(str(self.model_path))

    def load(self):
        import omikuji

        self.model = omikuji.Model.load(str(self.model_path))
        self.model.init_prediction_thread_pool(1)
        self.rows = [list(zip(*row, strict=True)) for row in rows(self.data.X_test)]

    def predict(self):
        # A row without words has an answer too: the class that the biases favour.
        return np.array([self.model.predict(row, top_k=1)[0][0] for row in self.rows])

    def n_predictors(self):
        # Balanced splits in two until a branch has fewer labels than the limit; one predictor per branch and label.
        n_leaves = 1
        while self.data.n_classes / n_leaves >= self.min_branch_size:
            n_leaves *= 2
        return self.n_trees * (self.data.n_classes + 2 * n_leaves - 2)


class VowpalOneAgainstAll(Contender):
    package = module = "vowpalwabbit"
    sets = ("icd10cm_category",)  # a table of 45,656 features x 12,582 classes does not fit
    reduction = "--oaa"
    # Enough for a weight of its own for every feature and class of icd10cm_category; 16 bytes each while training.
    n_hash_bits = 25

    def __init__(self, data, folder):
        super().__init__(data, folder)
        self.file = folder / "train.vw"
        order = np.random.default_rng(0).permutation(len(data.y))
        self.file.write_text("".join(lines(data.X[order], data.y[order] + 1, "{label} | {features}\n")))

    def fit(self):
        import vowpalwabbit

        # As many passes as codekin makes; its documentation calls the logistic loss the natural one.
        options = f"{self.reduction} {self.data.n_classes} --loss_function logistic -b {self.n_hash_bits}"
        passes = f"--passes {N_EPOCHS} --holdout_off --cache_file {self.folder / 'cache'} -k"
        vowpalwabbit.Workspace(f"{options} {passes} -d {self.file} -f {self.model_path} --quiet").finish()

    def load(self):
        import vowpalwabbit

        self.model = vowpalwabbit.Workspace(f"-t -i {self.model_path} --quiet")
        y = np.ones(self.data.X_test.shape[0], dtype=int)
        self.examples = [self.model.parse(line) for line in lines(self.data.X_test, y, "| {features}")]

    def predict(self):
        return np.array([self.model.predict(example) for example in self.examples]) - 1


class VowpalTournament(VowpalOneAgainstAll):
    sets = SETS
    reduction = "--ect"
    # A sample touches only the predictors on its way through the tournament, so that most of the table stays empty.
    n_hash_bits = 27

    def n_predictors(self):
        return self.data.n_classes - 1


class Liblinear(Contender):
    package = "liblinear-official"
    module = "liblinear"
    sets = ("icd10cm_category",)  # hours, and 4.6 GB of weights, on wordnet_hypernym

    def fit(self):
        from liblinear.liblinearutil import save_model, train

        save_model(str(self.model_path), train(self.data.y, self.data.X, "-q"))

    def load(self):
        from liblinear.liblinearutil import load_model

        self.model = load_model(str(self.model_path))

    def predict(self):
        from liblinear.liblinearutil import predict

        return np.array(predict([], self.data.X_test, self.model, "-q")[0], dtype=int)


class Pecos(Contender):
    package = "libpecos"
    module = "pecos"

    def fit(self):
        from pecos.xmc import Indexer, LabelEmbeddingFactory
        from pecos.xmc.xlinear.model import XLinearModel

        data = self.data
        labels = sparse.csr_matrix((np.ones(len(data.y), dtype=np.float32), (np.arange(len(data.y)), data.y)))
        embedding = LabelEmbeddingFactory.create(labels, data.X, method="pifa", threads=1)
        clusters = Indexer.gen(embedding, threads=1)
        self.n_nodes = sum(layer.shape[0] for layer in clusters)
        XLinearModel.train(data.X, labels, C=clusters, threads=1).save(str(self.model_path))

    def load(self):
        from pecos.xmc.xlinear.model import XLinearModel

        self.model = XLinearModel.load(str(self.model_path), is_predict_only=True)

    def predict(self):
        best = self.model.predict(self.data.X_test, only_topk=1, threads=1)
        # A row without words may have no answer.
        classes = np.full(best.shape[0], -1)
        classes[np.diff(best.indptr) > 0] = best.indices
        return classes

    def n_predictors(self):
        return self.n_nodes


CONTENDERS = {
    "codekin, width 2": Trellis,
    "codekin, width 5": Trellis5,
    "codekin, width 10": Trellis10,
    "width 10, pruned": Trellis10Pruned,
    "one-vs-rest AROW": OneVsRest,
    "nearest centroid": NearestCentroid,
    "napkinXC PLT": NapkinPLT,
    "napkinXC HSM": NapkinHSM,
    "omikuji": Omikuji,
    "PECOS XR-Linear": Pecos,
    "Vowpal Wabbit ect": VowpalTournament,
    "Vowpal Wabbit oaa": VowpalOneAgainstAll,
    "LIBLINEAR": Liblinear,
}


def in_blocks(classify, X, n_rows=500):
    """Classes of some rows after the others, so that no array of all samples and classes is needed."""
    return np.concatenate([classify(X[start : start + n_rows]) for start in range(0, X.shape[0], n_rows)])


def rows(X):
    """Features and values of each row."""
    indices, values, starts = X.indices.tolist(), X.data.tolist(), X.indptr.tolist()
    for start, stop in itertools.pairwise(starts):
        yield indices[start:stop], values[start:stop]


def lines(X, labels, template):
    """Each row as text."""
    for (indices, values), label in zip(rows(X), labels.tolist(), strict=True):
        features = " ".join(f"{index}:{value:.7g}" for index, value in zip(indices, values, strict=True))
        yield template.format(label=label, features=features)


# ----- one contender, in a process of its own -----------------------------------------------------------------------


class Samples:
    """The data as every contender gets it: float32 rows and classes from 0, from files that need no codekin."""

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
        from codekin.class_trees import ClassTree

        arrays = np.load(self.folder / "tree.npz")
        return ClassTree(arrays["parent"], arrays["node_of_class"], arrays["length"])


def measure(contender, data):
    """What there is to say about one contender."""
    fit_seconds = processor_seconds(contender.fit)
    contender.load()
    predicted = contender.predict()
    rounds = [processor_seconds(contender.predict)]
    while sum(rounds) < SECONDS_OF_ROUNDS or len(rounds) < 3:
        rounds.append(processor_seconds(contender.predict))
    path = contender.model_path
    files = [file for file in path.rglob("*") if file.is_file()] if path.is_dir() else [path]
    return {
        "accuracy": 100 * float((predicted == data.y_test).mean()),
        "bytes": sum(file.stat().st_size for file in files),
        "training": fit_seconds,
        "prediction": 1e6 * min(rounds) / len(data.y_test),
        "predictors": contender.n_predictors(),
    }


def processor_seconds(action):
    begin = time.process_time()
    action()
    return time.process_time() - begin


def version(package):
    if package == "codekin":  # which may run from its sources
        import codekin

        return codekin.__version__
    return importlib.metadata.version(package)


def run_one(name, data_folder):
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, [max(os.sched_getaffinity(0))])
    with tempfile.TemporaryDirectory() as folder:
        data = Samples(data_folder)
        contender = CONTENDERS[name](data, Path(folder))
        result = measure(contender, data)
    result["version"] = f"{contender.package} {version(contender.package)}"
    (data_folder / "result.json").write_text(json.dumps(result))


# ----- all of them --------------------------------------------------------------------------------------------------


def as_line(cells):
    sizes = (18, 9, 9, 9, 11, 10)
    padded = [f"{cell!s:<{sizes[0]}}" if i == 0 else f"{cell!s:>{sizes[i]}}" for i, cell in enumerate(cells)]
    return "| " + " | ".join(padded) + " |"


def three_digits(value):
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def compare(names, data_folder, pecos_python, time_limit):
    """Print one line for each contender; return the versions and the names of those that failed."""
    versions, failed = set(), []
    for name in names:
        contender = CONTENDERS[name]
        python = pecos_python if contender is Pecos and pecos_python else sys.executable
        if python == sys.executable and importlib.util.find_spec(contender.module) is None:
            print(f"{name} left out: pip install {contender.package}", flush=True)
            continue
        command = [python, __file__, "--run", name, "--data", str(data_folder)]
        try:
            run = subprocess.run(
                command, env=os.environ | ONE_THREAD, capture_output=True, timeout=time_limit, check=False
            )
        except subprocess.TimeoutExpired:
            print(f"{name} left out: more than {time_limit} seconds", flush=True)
            continue
        if run.returncode != 0:
            failed.append(name)
            print(f"{name} failed: {run.stderr.decode(errors='replace').strip()[-2000:]}", flush=True)
            continue
        result = json.loads((data_folder / "result.json").read_text())
        versions.add(result["version"])
        cells = [name, f"{result['accuracy']:.1f}", three_digits(result["bytes"] / 1e6)]
        cells += [three_digits(result["training"]), three_digits(result["prediction"]), f"{result['predictors']:,}"]
        print(as_line(cells), flush=True)
    return versions, failed


def parsed():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data-home", help="the folder with one folder per data set; otherwise CODEKIN_DATA")
    parser.add_argument("--sets", nargs="+", choices=SETS, default=list(SETS))
    parser.add_argument("--contenders", nargs="+", choices=list(CONTENDERS), default=list(CONTENDERS))
    parser.add_argument("--pecos-python", help="the interpreter of an environment that has libpecos")
    parser.add_argument("--time-limit", type=float, default=1800, help="seconds for each contender and data set")
    parser.add_argument("--run", help=argparse.SUPPRESS)
    parser.add_argument("--data", type=Path, help=argparse.SUPPRESS)
    return parser.parse_args()


def main():
    arguments = parsed()
    if arguments.run:
        run_one(arguments.run, arguments.data)
        return 0
    from codekin.datasets import load_dataset

    all_versions, all_failed = set(), []
    for name in arguments.sets:
        try:
            data = load_dataset(name, arguments.data_home)
        except FileNotFoundError as error:
            print(f"{name} left out: {error}")
            continue
        n_samples, n_features = data.X.shape
        print(f"\n{name}: {data.n_classes:,} classes, {n_samples:,} training samples, {n_features:,} features")
        print(f"({data.X.nnz / n_samples:.0f} of them non-zero), {len(data.test):,} test samples\n")
        print(as_line(["", "accuracy", "MB", "training", "prediction", "predictors"]))
        print("|---" + "|---:" * 5 + "|", flush=True)
        with tempfile.TemporaryDirectory() as folder:
            Samples.write(data, Path(folder))
            names = [key for key in arguments.contenders if name in CONTENDERS[key].sets]
            versions, failed = compare(names, Path(folder), arguments.pecos_python, arguments.time_limit)
        all_versions |= versions
        all_failed += failed
    print("\n" + ", ".join(sorted(all_versions)))
    return 1 if all_failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
