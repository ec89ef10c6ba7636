"""Several labels per sample: codekin and its peers on the same features, whole processes in one run.

    pip install libpecos omikuji napkinxc scikit-learn    (in an environment of their own, they need older packages)
    python benchmarks/multi_label.py --peers-python PATH [--data-home FOLDER] [--sets ...] [--contenders ...]

Every contender learns from the same sparse matrix and the same indicator of labels, in a separate process bound to one
processor, with its documented defaults. Each measurement is written to a journal at once, so an interrupted run
continues where it stopped; ``--only-report`` prints the tables again.

    P@1, P@3, P@5   precision of the first labels of the test samples, in percent
    PSP@1, PSP@5    the same with rare labels counting more (propensities with A = 0.55, B = 1.5)
    macro F1        of the sets of labels above a threshold for each label, in percent, and of its own below
    ECE             the expected calibration error of the scores of the first five labels as probabilities
    MB              all files of the model
    training        CPU seconds from the matrix to the saved model
    a sample        CPU microseconds to its five best labels, all samples in one call; the best round of two seconds

Thresholds are those of the largest F1 of each label on the validation samples, chosen in the same way from everybody's
scores (``codekin.measures.label_thresholds``); bibtex has no validation samples, so there a second model, of four
fifths of the training samples, gives the scores of the last fifth. The features of texts are TF-IDF of words and pairs
of words, with the vocabulary of the training texts; the rows of bibtex have length one.
"""

import argparse
import gzip
import json
import os
import re
import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path

import numpy as np
from contenders import (
    ONE_THREAD,
    Contender,
    best_columns,
    has_module,
    in_blocks,
    processor_seconds,
    rows_of,
    three_digits,
    version,
)
from scipy import sparse

SETS = ("bibtex", "reuters21578", "debian_tags", "debian_depends")
SPLITS = ("train", "validation", "test")
SECONDS_OF_ROUNDS = 2.0
N_BEST, N_LISTED = 5, 20
"""How many labels are timed and measured; how many are looked at for thresholds."""
MOST_WEIGHTS = 2e8
"""The most weights, labels times features, that scikit-learn is asked to learn."""
DEFAULT, PECOS = "codekin", "PECOS XR-Linear"
SINGLE_TREES = (PECOS, "omikuji, 1 tree", "napkinXC PLT")


# ----- data sets ----------------------------------------------------------------------------------------------------


def indicator(label_lists, names):
    place = {name: k for k, name in enumerate(names)}
    known = [[place[label] for label in labels if label in place] for labels in label_lists]
    indptr = np.cumsum([0, *map(len, known)])
    Y = sparse.csr_matrix((np.ones(indptr[-1], np.float32), np.concatenate(known), indptr), (len(known), len(names)))
    Y.sort_indices()
    return Y


def xmc_split(path):
    header, *lines = gzip.decompress(path.read_bytes()).decode().splitlines()
    n_features = int(header.split()[1])
    labels = [line.split(" ", 1)[0].split(",") if line[:1].strip() else [] for line in lines]
    rows = [[pair.split(":") for pair in re.findall(r"\d+:\S+", line)] for line in lines]
    indptr = np.cumsum([0, *map(len, rows)])
    flat = [pair for row in rows for pair in row]
    values, indices = np.array([float(v) for _, v in flat], np.float32), np.array([int(i) for i, _ in flat])
    X = sparse.csr_matrix((values, indices, indptr), (len(rows), n_features))
    lengths = np.sqrt(X.multiply(X).sum(axis=1)).A1
    return sparse.csr_matrix(sparse.diags(1 / np.maximum(lengths, 1e-12)) @ X, dtype=np.float32), labels


def text_split(path):
    rows = [line.split("\t", 1) for line in gzip.decompress(path.read_bytes()).decode().removesuffix("\n").split("\n")]
    return [text for _, text in rows], [labels.split(",") for labels, _ in rows]


def write_set(name, data_home, folder):
    """The matrices and indicators of a data set, for processes without codekin."""
    home = Path(data_home or os.environ["CODEKIN_DATA"]) / name
    if (home / "train.txt.gz").exists():
        parts = {split: xmc_split(home / f"{split}.txt.gz") for split in ("train", "test")}
    else:
        from sklearn.feature_extraction.text import TfidfVectorizer

        files = {"train": "train", "validation": "val", "test": "test"}
        texts = {split: text_split(home / f"{stem}.tsv.gz") for split, stem in files.items()}
        words = TfidfVectorizer(token_pattern=r"\w+", ngram_range=(1, 2), dtype=np.float32).fit(texts["train"][0])
        parts = {split: (words.transform(own), labels) for split, (own, labels) in texts.items()}
    names = sorted({label for labels in parts["train"][1] for label in labels})
    for split, (X, labels) in parts.items():
        X.sort_indices()
        sparse.save_npz(folder / f"{split}.npz", sparse.csr_matrix((X.data, X.indices, X.indptr), shape=X.shape))
        # Labels that no training sample has are in columns of their own, behind the others, and count as missed.
        further = sorted({label for own in labels for label in own} - set(names)) if split == "test" else []
        sparse.save_npz(folder / f"{split}_y.npz", indicator(labels, [*names, *further]))


class Indicators:
    """The data for every contender: rows of float32 and indicators of the labels."""

    def __init__(self, folder):
        self.folder = folder
        self.X, self.Y = self._split("train")
        self.X_test = sparse.load_npz(folder / "test.npz")
        if (folder / "validation.npz").exists():
            self.X_validation, self.Y_validation = self._split("validation")
        self.n_classes = self.Y.shape[1]

    def _split(self, name):
        return sparse.load_npz(self.folder / f"{name}.npz"), sparse.load_npz(self.folder / f"{name}_y.npz")


class Part:
    """Four fifths of the training samples, with the others for validation."""

    def __init__(self, data, folder):
        is_held = np.random.default_rng(0).permutation(data.X.shape[0]) % 5 == 0
        self.X, self.Y = data.X[~is_held], data.Y[~is_held]
        self.X_validation, self.Y_validation = data.X[is_held], data.Y[is_held]
        self.n_classes, self.folder = data.n_classes, folder


# ----- contenders ---------------------------------------------------------------------------------------------------


class Codekin(Contender):
    """``ExtremeClassifier`` with its defaults."""

    def __init__(self, data, folder, seed):
        super().__init__(data, folder, seed)
        few = slice(0, 2000)  # the kernels are compiled once per installation
        Y = data.Y[few]
        Y = Y[:, np.unique(Y.indices)]
        model = self.classifier().fit(data.X[few], sparse.csr_array(Y))
        model.top_k_proba(data.X[:100], min(N_LISTED, Y.shape[1]))

    def classifier(self):
        from codekin import ExtremeClassifier

        return ExtremeClassifier(random_state=self.seed)

    def fit(self):
        from codekin.storage import save_model

        save_model(self.classifier().fit(self.data.X, sparse.csr_array(self.data.Y)), self.model_path)

    def load(self):
        from codekin.storage import load_model

        self.model = load_model(self.model_path)

    def top(self, rows, k):
        labels, probabilities = self.model.top_k_proba(rows, min(k, self.data.n_classes))
        return np.searchsorted(self.model.classes_, labels), probabilities


class Pecos(Contender):
    package, module = "libpecos", "pecos"

    def fit(self):
        from pecos.xmc import Indexer, LabelEmbeddingFactory
        from pecos.xmc.xlinear.model import XLinearModel

        data = self.data
        embedding = LabelEmbeddingFactory.create(data.Y, data.X, method="pifa", threads=1)
        clusters = Indexer.gen(embedding, seed=self.seed, threads=1)
        XLinearModel.train(data.X, data.Y, C=clusters, threads=1).save(str(self.model_path))

    def load(self):
        from pecos.xmc.xlinear.model import XLinearModel

        self.model = XLinearModel.load(str(self.model_path), is_predict_only=True)

    def top(self, rows, k):
        found = self.model.predict(rows, only_topk=k, beam_size=10, threads=1)
        pairs = [(found.indices[a:b], found.data[a:b]) for a, b in zip(found.indptr, found.indptr[1:], strict=False)]
        ranked = [(labels[order], scores[order]) for labels, scores in pairs for order in [np.argsort(-scores)]]
        return filled([list(zip(*own, strict=True)) for own in ranked], k)


class Omikuji(Contender):
    package = module = "omikuji"

    def __init__(self, data, folder, seed, *, n_trees):
        super().__init__(data, folder, seed)
        self.n_trees, self.file = n_trees, folder / "train.txt"
        # Its reader rejects rows without features; there is nothing to learn from them anyway.
        rows = np.flatnonzero(np.diff(data.X.indptr))
        lines = (
            f"{','.join(map(str, labels))} {' '.join(f'{i}:{v:.7g}' for i, v in zip(*row, strict=True))}\n"
            for (labels, _), row in zip(rows_of(data.Y[rows]), rows_of(data.X[rows]), strict=True)
        )
        self.file.write_text(f"{len(rows)} {data.X.shape[1]} {data.n_classes}\n" + "".join(lines))

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

    def top(self, rows, k):
        return filled([self.model.predict(row, top_k=k) for row in rows], k)


class Napkin(Contender):
    package = module = "napkinxc"

    def fit(self):
        from napkinxc.models import PLT

        self.model = PLT(str(self.model_path), seed=self.seed, threads=1)
        self.model.fit(self.data.X, [labels for labels, _ in rows_of(self.data.Y)])

    def load(self):
        self.model.load()

    def top(self, rows, k):
        return filled(self.model.predict_proba(rows, top_k=k), k)


class OneVsRest(Contender):
    """scikit-learn's, with logistic regressions or linear SVMs, and the margins as scores of the latter."""

    package, module = "scikit-learn", "sklearn"

    def __init__(self, data, folder, seed, *, learner):
        super().__init__(data, folder, seed)
        self.learner = learner
        self.model_path = folder / "model.npz"
        if data.n_classes * data.X.shape[1] > MOST_WEIGHTS:
            raise ValueError(f"{data.n_classes:,} labels x {data.X.shape[1]:,} features are too many weights")

    def fit(self):
        from sklearn.linear_model import LogisticRegression
        from sklearn.multiclass import OneVsRestClassifier
        from sklearn.svm import LinearSVC

        learner = LinearSVC() if self.learner == "svm" else LogisticRegression(solver="liblinear")
        fitted = OneVsRestClassifier(learner).fit(self.data.X, self.data.Y.astype(int)).estimators_
        n_features = self.data.X.shape[1]
        # A label that every sample has gets no learner.
        weights = [own.coef_.ravel() if hasattr(own, "coef_") else np.zeros(n_features) for own in fitted]
        biases = [own.intercept_[0] if hasattr(own, "coef_") else 1e3 for own in fitted]
        np.savez(self.model_path, weights=np.array(weights, np.float32).T, bias=np.array(biases, np.float32))

    def load(self):
        arrays = np.load(self.model_path)
        self.weights, self.bias = arrays["weights"], arrays["bias"]

    def top(self, rows, k):
        best = in_blocks(lambda X: best_columns(X @ self.weights + self.bias, k), rows)
        scores = in_blocks(lambda X: -np.sort(-(X @ self.weights + self.bias), axis=1)[:, :k], rows)
        return best, scores if self.learner == "svm" else 1 / (1 + np.exp(-scores))


def filled(ranked, k):
    """Lists of pairs of a label and a score, as two arrays; -1 where there are fewer."""
    best, scores = np.full((len(ranked), k), -1), np.zeros((len(ranked), k))
    for i, pairs in enumerate(ranked):
        n = min(len(pairs), k)
        best[i, :n], scores[i, :n] = [label for label, _ in pairs[:k]], [score for _, score in pairs[:k]]
    return best, scores


CONTENDERS = {
    DEFAULT: Codekin,
    PECOS: Pecos,
    "omikuji, 1 tree": partial(Omikuji, n_trees=1),
    "omikuji, 3 trees": partial(Omikuji, n_trees=3),
    "napkinXC PLT": Napkin,
    "one-vs-rest, logistic": partial(OneVsRest, learner="logistic"),
    "one-vs-rest, SVM": partial(OneVsRest, learner="svm"),
}


def class_of(name):
    return getattr(CONTENDERS[name], "func", CONTENDERS[name])


# ----- one contender, in a separate process -------------------------------------------------------------------------


def run_one(name, folder, seed):
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, [max(os.sched_getaffinity(0))])
    data = Indicators(folder)
    with tempfile.TemporaryDirectory() as working:
        try:
            contender = CONTENDERS[name](data, Path(working), seed)
        except ValueError as error:
            (folder / "result.json").write_text(json.dumps({"left out": str(error)}))
            return
        training = processor_seconds(contender.fit)
        contender.load()
        rows, k = contender.form(data.X_test), min(N_LISTED, data.n_classes)
        contender.top(rows, N_BEST)
        rounds = [processor_seconds(lambda: contender.top(rows, N_BEST))]
        while sum(rounds) < SECONDS_OF_ROUNDS or len(rounds) < 3:
            rounds.append(processor_seconds(lambda: contender.top(rows, N_BEST)))
        path = contender.model_path
        files = [path] if path.is_file() else [file for file in path.rglob("*") if file.is_file()]
        result = {
            "bytes": sum(file.stat().st_size for file in files),
            "training": training,
            "prediction": 1e6 * min(rounds) / data.X_test.shape[0],
            "version": f"{contender.package} {version(contender.package)}",
        }
        found = {"test": contender.top(rows, k)}
        judge = contender
        if not hasattr(data, "X_validation"):
            data = Part(data, folder)
            (Path(working) / "part").mkdir()
            judge = CONTENDERS[name](data, Path(working) / "part", seed)
            judge.fit()
            judge.load()
        found["validation"] = judge.top(judge.form(data.X_validation), k)
        sparse.save_npz(folder / "judged_y.npz", data.Y_validation)
    arrays = {f"{split}_{what}": each for split, own in found.items() for what, each in zip("ls", own, strict=True)}
    np.savez(folder / "found.npz", **arrays)
    (folder / "result.json").write_text(json.dumps(result))


def measured(folder):
    """What the labels and scores that a contender found are worth."""
    from codekin.measures import label_evaluation, label_thresholds
    from codekin.measures.label_sets import f1_scores

    found, n_training = np.load(folder / "found.npz"), sparse.load_npz(folder / "train_y.npz").shape[0]
    counts = np.bincount(sparse.load_npz(folder / "train_y.npz").indices)
    truth, judged = (sparse.csr_array(sparse.load_npz(folder / f"{name}_y.npz")) for name in ("test", "judged"))
    best, scores = found["test_l"], found["test_s"]
    # Thresholds are halves of a smallest score, so that scores have to be positive: any increasing function will do.
    positive = [1 / (1 + np.exp(-own)) if scores.min() < 0 else own for own in (scores, found["validation_s"])]
    options = {"n_classes": len(counts), "label_counts": counts, "n_training": n_training}
    result = {"bytes": None}
    for aim in ("micro_f1", "macro_f1"):
        for per_label in (False, True):
            chosen = label_thresholds(found["validation_l"], positive[1], judged, aim, per_label=per_label)
            above = (best >= 0) & (positive[0] >= np.broadcast_to(chosen, len(counts))[best])
            row = np.broadcast_to(np.arange(len(best))[:, None], best.shape)[above]
            predicted = sparse.csr_array((np.ones(len(row)), (row, best[above])), (len(best), len(counts)))
            micro, macro = f1_scores(predicted, truth)
            result[f"{aim}{'_per_label' if per_label else ''}"] = 100 * (micro if aim == "micro_f1" else macro)
    shares = np.minimum(scores, 1) if scores.min() >= 0 and scores.max() <= 1 + 1e-6 else None
    evaluation = label_evaluation(best, truth, probabilities=shares, **options)
    for name in ("precision_at", "propensity_precision_at", "ndcg_at"):
        result |= {f"{name}_{k}": 100 * value for k, value in getattr(evaluation, name).items()}
    return result | {"ece": evaluation.calibration_error, "tail": evaluation.tail_coverage}


def result_of(name, folder, arguments):
    python = arguments.peers_python if arguments.peers_python and name != DEFAULT else sys.executable
    if not has_module(python, class_of(name).module):
        return f"left out: {python} has no {class_of(name).package}"
    command = [python, __file__, "--one", name, "--folder", str(folder), "--seed", str(arguments.seed)]
    try:
        run = subprocess.run(
            command, env=os.environ | ONE_THREAD, capture_output=True, timeout=arguments.time_limit, check=False
        )
    except subprocess.TimeoutExpired:
        return f"left out: more than {arguments.time_limit:g} seconds"
    if run.returncode != 0:
        return f"failed: {run.stderr.decode(errors='replace').strip()[-2000:]}"
    result = json.loads((folder / "result.json").read_text())
    return f"left out: {result['left out']}" if "left out" in result else measured(folder) | result


# ----- the report ---------------------------------------------------------------------------------------------------


def read_journal(path):
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def run(arguments):
    arguments.journal.parent.mkdir(parents=True, exist_ok=True)
    for data_name in arguments.sets:
        done = {entry["contender"] for entry in read_journal(arguments.journal) if entry["data"] == data_name}
        wanted = [name for name in arguments.contenders if name not in done]
        if not wanted:
            continue
        with tempfile.TemporaryDirectory() as working:
            folder = Path(working)
            try:
                write_set(data_name, arguments.data_home, folder)
            except FileNotFoundError as error:
                print(f"{data_name} left out: {error}")
                continue
            for name in wanted:
                result = result_of(name, folder, arguments)
                if isinstance(result, str):
                    print(f"{data_name}, {name} {result}", flush=True)
                    continue
                with arguments.journal.open("a") as stream:
                    stream.write(json.dumps({"data": data_name, "contender": name, **result}) + "\n")
                print(f"{data_name}, {name}: {result['precision_at_1']:.1f} %", flush=True)


COLUMNS = {
    "P@1": "precision_at_1",
    "P@3": "precision_at_3",
    "P@5": "precision_at_5",
    "PSP@1": "propensity_precision_at_1",
    "PSP@5": "propensity_precision_at_5",
    "macro F1": "macro_f1_per_label",
    "micro F1": "micro_f1",
}


def print_table(tables):
    costs = ("ECE", "MB", "training, s", "a sample, µs")
    print(f"\n| | {' | '.join([*COLUMNS, *costs])} |")
    print("|---" + "|---:" * (len(COLUMNS) + len(costs)) + "|")
    for data_name, points in tables.items():
        for name, of in points.items():
            cells = [f"{of[column]:.1f}" for column in COLUMNS.values()]
            cells += ["" if of["ece"] is None else f"{of['ece']:.3f}", three_digits(of["bytes"] / 1e6)]
            cells += [three_digits(of["training"]), three_digits(of["prediction"])]
            print(f"| {data_name}, {name} | {' | '.join(cells)} |")


def check_claims(tables):
    """The bars, each with what was found."""
    ours = {data: points[DEFAULT] for data, points in tables.items() if DEFAULT in points}
    if not ours:
        return True
    results = []

    def claim(text, is_met):
        print(f"{text}: {'met' if is_met else 'NOT met'}")
        results.append(is_met)

    print()
    behind = {}
    for data, own in ours.items():
        for k in (1, 3, 5):
            others = [of[f"precision_at_{k}"] for name, of in tables[data].items() if name in SINGLE_TREES]
            if others:
                behind[f"{data}, P@{k}"] = max(others) - own[f"precision_at_{k}"]
    if behind:
        worst = max(behind, key=behind.get)
        n_ahead = sum(gap < 0 for gap in behind.values())
        claim(
            f"at most 0.3 points behind the best single tree; most at {worst}: {behind[worst]:.2f}",
            behind[worst] <= 0.3,
        )
        claim(f"ahead of the best single tree in at least half: {n_ahead} of {len(behind)}", 2 * n_ahead >= len(behind))
    pairs = {data: (own, tables[data][PECOS]) for data, own in ours.items() if PECOS in tables[data]}
    for cost in ("bytes", "prediction", "training") if pairs else ():
        ratios = {data: own[cost] / of[cost] for data, (own, of) in pairs.items()}
        shown = ", ".join(f"{ratio:.2f} on {data}" for data, ratio in ratios.items())
        n_met = sum(ratio <= 1 for ratio in ratios.values())
        claim(f"{cost} at most those of PECOS on at least three of four: {shown}", n_met >= min(3, len(ratios)))
    of_napkin = {
        data: own["macro_f1_per_label"] - tables[data]["napkinXC PLT"]["macro_f1_per_label"]
        for data, own in ours.items()
        if "napkinXC PLT" in tables[data]
    }
    if of_napkin:
        shown = ", ".join(f"{gap:+.1f} on {data}" for data, gap in of_napkin.items())
        n_met = sum(gap >= 0 for gap in of_napkin.values())
        claim(f"macro F1 at least napkinXC's on two sets: {shown}", n_met >= 2)
    errors = ", ".join(f"{own['ece']:.3f} on {data}" for data, own in ours.items())
    n_met = sum(own["ece"] <= 0.02 for own in ours.values())
    claim(f"calibration error at most 0.02 on three of four: {errors}", n_met >= min(3, len(ours)))
    return all(results)


def parsed():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data-home", help="the folder with one folder per data set; otherwise CODEKIN_DATA")
    parser.add_argument("--sets", nargs="+", choices=SETS, default=list(SETS))
    parser.add_argument("--contenders", nargs="+", choices=CONTENDERS, default=list(CONTENDERS))
    parser.add_argument("--peers-python", help="the interpreter of an environment with the peers")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--time-limit", type=float, default=1800, help="seconds for each contender and set")
    parser.add_argument("--journal", type=Path, default=Path("out/multi_label.jsonl"))
    parser.add_argument("--only-report", action="store_true")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    parser.add_argument("--folder", help=argparse.SUPPRESS)
    return parser.parse_args()


def main():
    arguments = parsed()
    if arguments.one:
        run_one(arguments.one, Path(arguments.folder), arguments.seed)
        return 0
    if not arguments.only_report:
        run(arguments)
    entries = read_journal(arguments.journal)
    tables = {
        data: {
            name: entry
            for name in CONTENDERS
            for entry in entries
            if (entry["data"], entry["contender"]) == (data, name)
        }
        for data in arguments.sets
    }
    print_table(tables)
    print("\n" + ", ".join(sorted({entry["version"] for entry in entries})))
    return 0 if check_claims(tables) else 1


if __name__ == "__main__":
    raise SystemExit(main())
