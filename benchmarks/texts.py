"""From raw texts to answers: codekin's default beside what people would use instead, whole processes in one run.

    pip install fasttext-wheel omikuji libpecos    (in an environment of their own, they need older packages)
    python benchmarks/texts.py [--peers-python PATH] [--licences WHEEL] [--sets ...] [--contenders ...] [--seeds 3]

Every contender reads ``train.tsv`` (and ``validation.tsv``, if it uses one), writes its model with all that texts
need, loads it, and classifies the texts of ``test.tsv``, in a separate process bound to one processor.

    accuracy    of the test texts, in percent
    MB          of all files that a prediction needs, vocabulary included
    training    CPU seconds from the file to the saved model
    a text      CPU microseconds from a raw text to its class, all texts in one call
    model       the part of it after the features of texts are made, where they can be told apart

The features of each contender are those that its documentation recommends; "our features" are those of codekin's
default, made by codekin and handed over as a matrix (the time of a text is then the model's alone). Sets: the texts of
icd10cm_category, tldr_commands and the glosses of wordnet_hypernym in the data home; ``licences``, licence notices to
licence, from the wheel of scancode-toolkit-mini (pip download --no-deps scancode-toolkit-mini); ``debian_sections``,
descriptions of packages to their section, from ``apt-cache dumpavail``. Splits of the last two follow a fixed seed.
fastText's rows are its tutorial's settings (25 epochs, rate 1, pairs of words), with character n-grams, and its
autotuning (``--autotune SECONDS``), which needs its time on one processor.
"""

import argparse
import collections
import csv
import gzip
import json
import os
import pickle
import re
import subprocess
import sys
import tempfile
import zipfile
from functools import partial
from pathlib import Path

import numpy as np
from contenders import ONE_THREAD, Contender, Omikuji, Pecos, has_module, processor_seconds, three_digits, version
from scipy import sparse

MOST_WEIGHTS = 3e8
"""The most weights, classes times features, that scikit-learn's linear models are asked to learn: 2.4 GB."""
SPLITS = ("train", "validation", "test")


# ----- data sets ----------------------------------------------------------------------------------------------------


def stored_set(name, arguments):
    from codekin.data import load_dataset

    data = load_dataset(name, arguments.data_home)
    return {
        split: [(str(k), text) for k, text in zip(part.y, part.texts, strict=True)]
        for split, part in data.splits.items()
    }


def glosses(name, arguments):
    """Without the lemmas before them, which often name the class."""
    splits = stored_set("wordnet_hypernym", arguments)
    return {split: [(label, text.split(" ", 1)[1]) for label, text in rows] for split, rows in splits.items()}


def tldr_commands(name, arguments):
    folder = Path(arguments.data_home or os.environ["CODEKIN_DATA"]) / name
    splits = {}
    for split, stem in (("train", "train"), ("validation", "val"), ("test", "test")):
        lines = gzip.decompress((folder / f"{stem}.tsv.gz").read_bytes()).decode().splitlines()
        splits[split] = [tuple(line.split("\t", 1)) for line in lines]
    return splits


def licences(name, arguments):
    """Notices of up to 2,000 characters, to the licences they name; from six notices on."""
    if arguments.licences is None:
        raise FileNotFoundError("--licences names no wheel of scancode-toolkit-mini.")
    rows = []
    with zipfile.ZipFile(arguments.licences) as wheel:
        for member in sorted(wheel.namelist()):
            if member.endswith(".RULE"):
                _, head, text = re.split(r"^---\s*$", wheel.read(member).decode(), maxsplit=2, flags=re.MULTILINE)
                label = re.search(r"^license_expression: *(.+)$", head, re.MULTILINE)
                if label and len(text) <= 2000:
                    rows.append((label[1].strip(), text))
    return shuffled_splits(rows)


def debian_sections(name, arguments):
    listed = subprocess.run(["apt-cache", "dumpavail"], capture_output=True, check=True).stdout.decode()
    rows = []
    for package in listed.split("\n\n"):
        fields = dict(re.findall(r"^(Section|Description): *(.+)$", package, re.MULTILINE))
        if len(fields) == 2:
            rows.append((fields["Section"], fields["Description"]))
    return shuffled_splits(rows)


def shuffled_splits(rows, fewest=6):
    """Different texts of classes with at least six, 15 % for testing, 10 % for validation, by a fixed seed."""
    rows = sorted({" ".join(text.split()): label for label, text in rows if text.strip()}.items())
    counts = collections.Counter(label for _, label in rows)
    rows = [(label, text) for text, label in rows if counts[label] >= fewest]
    order, n = np.random.default_rng(0).permutation(len(rows)), len(rows)
    parts = np.split(order, [int(0.75 * n), int(0.85 * n)])
    return {split: [rows[k] for k in part] for split, part in zip(SPLITS, parts, strict=True)}


SETS = {
    "icd10cm_category": stored_set,
    "tldr_commands": tldr_commands,
    "wordnet_glosses": glosses,
    "debian_sections": debian_sections,
    "licences": licences,
}


class Texts:
    """The files of a set: ``label<TAB>text``."""

    def __init__(self, folder):
        self.folder = folder
        parts = {split: self._read(split) for split in SPLITS}
        (self.labels, self.texts), (self.test_labels, self.test_texts) = parts["train"], parts["test"]
        self.classes, self.y = np.unique(self.labels, return_inverse=True)
        self.n_classes = len(self.classes)

    def _read(self, split):
        lines = (self.folder / f"{split}.tsv").read_bytes().decode().removesuffix("\n").split("\n")
        rows = [line.split("\t", 1) for line in lines]
        return [label for label, _ in rows], [text for _, text in rows]

    @staticmethod
    def write(splits, folder):
        for split, rows in splits.items():
            lines = (f"{label}\t{' '.join(text.split())}\n" for label, text in rows)
            (folder / f"{split}.tsv").write_text("".join(lines), encoding="utf-8", newline="\n")


# ----- contenders ---------------------------------------------------------------------------------------------------


class Codekin(Contender):
    """``codekin train`` of the command line."""

    def __init__(self, data, folder, seed, *options):
        super().__init__(data, folder, seed)
        self.options = options
        few = folder / "few.tsv"  # the kernels are compiled once per installation
        lines = [f"{label}\t{text}\n" for label, text in zip(data.labels[:3000], data.texts[:3000], strict=True)]
        few.write_text("".join(lines), encoding="utf-8")
        self._train(few, folder / "few", few)
        self._load(folder / "few").predict(data.test_texts[:100])

    def _train(self, data, model, validation):
        from codekin.cli.main import main

        command = ["train", data, model, "--validation", validation, "--random-state", self.seed, *self.options]
        assert main([*map(str, command), "--format", "tsv", "--quiet"]) == 0

    def fit(self):
        self._train(self.data.folder / "train.tsv", self.model_path, self.data.folder / "validation.tsv")

    def _load(self, path):
        from codekin import TextClassifier

        return TextClassifier.load(path)

    def load(self):
        self.model = self._load(self.model_path)

    def predict(self, texts):
        return self.model.predict(texts)

    def features(self, texts):
        return self.model.vectorizer_.transform(texts)

    def classify(self, X):
        return self.model.classifier_.predict(X)


class Linear(Contender):
    """TF-IDF and a linear model of scikit-learn, in a pipeline."""

    package, module = "scikit-learn", "sklearn"
    is_seeded = False

    def __init__(self, data, folder, seed, *, learner, has_characters=False):
        super().__init__(data, folder, seed)
        self.learner, self.has_characters = learner, has_characters
        self.model_path = folder / "model.pickle"
        n_features = self.vectorizer().fit_transform(data.texts).shape[1]
        if data.n_classes * n_features > MOST_WEIGHTS:
            raise ValueError(f"{data.n_classes:,} classes x {n_features:,} features are too many weights")

    def vectorizer(self):
        from sklearn.feature_extraction.text import TfidfVectorizer
        from sklearn.pipeline import make_union

        words = TfidfVectorizer(token_pattern=r"\b\w+\b", ngram_range=(1, 2), sublinear_tf=True)
        characters = TfidfVectorizer(analyzer="char_wb", ngram_range=(3, 3), min_df=3, sublinear_tf=True)
        return make_union(words, characters) if self.has_characters else TfidfVectorizer()

    def fit(self):
        from sklearn.linear_model import LogisticRegression
        from sklearn.pipeline import make_pipeline
        from sklearn.svm import LinearSVC

        learner = {"svc": LinearSVC, "logistic": LogisticRegression}[self.learner]()
        model = make_pipeline(self.vectorizer(), learner).fit(self.data.texts, self.data.labels)
        self.model_path.write_bytes(pickle.dumps(model))

    def load(self):
        self.model = pickle.loads(self.model_path.read_bytes())

    def predict(self, texts):
        return np.concatenate([self.model.predict(texts[start : start + 500]) for start in range(0, len(texts), 500)])


class FastText(Contender):
    package, module = "fasttext-wheel", "fasttext"

    def __init__(self, data, folder, seed, *, characters=False, autotune=0):
        super().__init__(data, folder, seed)
        self.autotune = autotune
        self.settings = {"epoch": 25, "lr": 1.0, "wordNgrams": 2, "thread": 1, "verbose": 0}
        if characters:
            self.settings |= {"minn": 3, "maxn": 3}
        if data.n_classes > 2000 and not autotune:
            self.settings["loss"] = "hs"  # its tutorial's advice for many classes; softmax takes hours
        self.model_path = folder / "model.bin"
        for split in ("train", "validation"):
            rows = zip(*data._read(split), strict=True)
            lines = (f"__label__{number(label, data)} {text.lower()}\n" for label, text in rows)
            (folder / f"{split}.txt").write_text("".join(lines), encoding="utf-8")

    def fit(self):
        import fasttext

        settings = {"input": str(self.folder / "train.txt"), **self.settings}
        if self.autotune:
            tuned = {"autotuneValidationFile": str(self.folder / "validation.txt"), "autotuneDuration": self.autotune}
            settings = {"input": settings["input"], "thread": 1, "verbose": 0, **tuned}
        fasttext.train_supervised(**settings).save_model(str(self.model_path))

    def load(self):
        import fasttext

        fasttext.FastText.eprint = lambda *_: None
        self.model = fasttext.load_model(str(self.model_path))

    def predict(self, texts):
        found, _ = self.model.predict([text.lower() for text in texts])
        return self.data.classes[[int(labels[0].removeprefix("__label__")) for labels in found]]


def number(label, data):
    place = int(np.searchsorted(data.classes, label))
    return place if place < data.n_classes and data.classes[place] == label else data.n_classes


class Matrix:
    """The samples of a set as ``contenders.py`` knows them, with features of any vectorizer."""

    def __init__(self, data, X):
        self.X, self.y, self.n_classes = sparse.csr_matrix(X), data.y, data.n_classes


class Handed:
    """A peer that takes a matrix: with the features of its own documentation, or with ours from files."""

    def __init__(self, data, folder, seed, *, has_ours=False):
        self.texts, self.folder, self.seed, self.has_ours = data, folder, seed, has_ours

    def fit(self):
        data = self.texts
        X = sparse.load_npz(data.folder / "ours_train.npz") if self.has_ours else self.learned_features(data.texts)
        super().__init__(Matrix(data, X), self.folder, self.seed)
        super().fit()

    def load(self):
        super().load()
        if not self.has_ours:
            (self.folder / "vectorizer.pickle").write_bytes(pickle.dumps(self.vectorizer))

    def features(self, texts):
        return sparse.load_npz(self.texts.folder / "ours_test.npz") if self.has_ours else self.made_features(texts)

    def classify(self, X):
        return self.texts.classes[super().predict(self.form(sparse.csr_matrix(X)))]

    def predict(self, texts):
        return self.classify(self.features(texts))


class OmikujiOfTexts(Handed, Omikuji):
    # Handed.__init__ is not Omikuji's, which Handed.fit calls with a matrix.
    def learned_features(self, texts):
        from sklearn.feature_extraction.text import TfidfVectorizer

        self.vectorizer = TfidfVectorizer(dtype=np.float32)  # as Annif, which wraps it, does
        return self.vectorizer.fit_transform(texts)

    def made_features(self, texts):
        return self.vectorizer.transform(texts)


class PecosOfTexts(Handed, Pecos):
    def learned_features(self, texts):
        from pecos.utils.featurization.text.vectorizers import Vectorizer

        # What its text2text application does by default: words and pairs of words.
        config = {"type": "tfidf", "kwargs": {"ngram_range": [1, 2], "max_df_ratio": 0.98, "analyzer": "word"}}
        self.vectorizer = Vectorizer.train(list(texts), config)
        return self.vectorizer.predict(list(texts))

    def made_features(self, texts):
        return self.vectorizer.predict(list(texts))


CONTENDERS = {
    "codekin": Codekin,
    "codekin, words": lambda *given: Codekin(*given, "--features", "words"),
    "TF-IDF + LogisticRegression": partial(Linear, learner="logistic"),
    "TF-IDF + LinearSVC": partial(Linear, learner="svc"),
    "LinearSVC, words and trigrams": partial(Linear, learner="svc", has_characters=True),
    "fastText": FastText,
    "fastText, characters": partial(FastText, characters=True),
    "fastText, autotuned": FastText,
    "omikuji, 3 trees": OmikujiOfTexts,
    "omikuji, 3 trees, our features": partial(OmikujiOfTexts, has_ours=True),
    "PECOS XR-Linear": PecosOfTexts,
    "PECOS XR-Linear, our features": partial(PecosOfTexts, has_ours=True),
}
ELSEWHERE = ("fastText", "omikuji", "PECOS")
"""Those that need the other environment."""


def measure(contender, data):
    training = processor_seconds(contender.fit)
    contender.load()
    test, rounds, of_model = data.test_texts, [], []
    predicted = contender.predict(test)
    while sum(rounds) < 2 or len(rounds) < 3:
        rounds.append(processor_seconds(lambda: contender.predict(test)))
    if hasattr(contender, "classify"):
        X = contender.features(test)
        of_model = [processor_seconds(lambda: contender.classify(X)) for _ in rounds]
    path = contender.model_path
    files = [path] if path.is_file() else [file for file in path.rglob("*") if file.is_file()]
    files += contender.folder.glob("vectorizer.pickle")
    return {
        "accuracy": 100 * float(np.mean(np.asarray(predicted).astype(str) == np.array(data.test_labels))),
        "bytes": sum(file.stat().st_size for file in files),
        "training": training,
        "text": 1e6 * min(rounds) / len(test),
        "model": 1e6 * min(of_model) / len(test) if of_model else None,
        "version": f"{contender.package} {version(contender.package)}",
    }


def run_one(name, folder, seed, autotune):
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, [max(os.sched_getaffinity(0))])
    data = Texts(folder)
    more = {"autotune": autotune} if name == "fastText, autotuned" else {}
    with tempfile.TemporaryDirectory() as working:
        try:
            contender = CONTENDERS[name](data, Path(working), seed, **more)
        except ValueError as error:
            result = {"left out": str(error)}
        else:
            result = measure(contender, data)
            if name == "codekin":  # for those that take a matrix
                for split, texts in (("train", data.texts), ("test", data.test_texts)):
                    sparse.save_npz(folder / f"ours_{split}.npz", sparse.csr_matrix(contender.features(texts)))
    (folder / "result.json").write_text(json.dumps(result))


def result_of(name, folder, seed, arguments):
    python = arguments.peers_python if arguments.peers_python and name.startswith(ELSEWHERE) else sys.executable
    needed = {"fastText": "fasttext", "omikuji": "omikuji", "PECOS": "pecos"}
    module = next((module for start, module in needed.items() if name.startswith(start)), None)
    if module and not has_module(python, module):
        return f"left out: {python} has no {module}"
    command = [python, __file__, "--one", name, "--folder", str(folder), "--seeds", str(seed)]
    command += ["--autotune", str(arguments.autotune)]
    try:
        run = subprocess.run(
            command, env=os.environ | ONE_THREAD, capture_output=True, timeout=arguments.time_limit, check=False
        )
    except subprocess.TimeoutExpired:
        return f"left out: more than {arguments.time_limit:g} seconds"
    if run.returncode != 0:
        return f"failed: {run.stderr.decode(errors='replace').strip()[-2000:]}"
    result = json.loads((folder / "result.json").read_text())
    return f"left out: {result['left out']}" if "left out" in result else result


def parsed():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data-home", help="the folder with one folder per data set; otherwise CODEKIN_DATA")
    parser.add_argument("--sets", nargs="+", choices=SETS, default=list(SETS))
    parser.add_argument("--contenders", nargs="+", choices=CONTENDERS, default=list(CONTENDERS))
    parser.add_argument("--peers-python", help="the interpreter of an environment with fastText, omikuji and PECOS")
    parser.add_argument("--licences", help="the wheel of scancode-toolkit-mini")
    parser.add_argument("--seeds", type=int, default=3, help="how many seeds those contenders get that have one")
    parser.add_argument("--autotune", type=int, default=0, help="seconds of fastText's autotuning; 0 leaves it out")
    parser.add_argument("--time-limit", type=float, default=1800, help="seconds for each contender, set and seed")
    parser.add_argument("--csv", help="also append the rows to this file")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    parser.add_argument("--folder", help=argparse.SUPPRESS)
    return parser.parse_args()


def main():
    arguments = parsed()
    if arguments.one:
        run_one(arguments.one, Path(arguments.folder), arguments.seeds, arguments.autotune)
        return 0
    failed, versions = [], set()
    for name in arguments.sets:
        try:
            splits = SETS[name](name, arguments)
        except FileNotFoundError as error:
            print(f"\n{name} left out: {error}")
            continue
        n_classes, sizes = len({label for label, _ in splits["train"]}), [len(splits[split]) for split in SPLITS]
        print(f"\n{name}: {n_classes:,} classes, {' / '.join(f'{n:,}' for n in sizes)} texts\n")
        print(f"| {'':<32} | accuracy |       MB | training |   a text |    model |")
        print("|---" + "|---:" * 5 + "|", flush=True)
        with tempfile.TemporaryDirectory() as working:
            folder = Path(working)
            Texts.write(splits, folder)
            for contender in arguments.contenders:
                if contender == "fastText, autotuned" and not arguments.autotune:
                    continue
                kind = CONTENDERS[contender]
                is_seeded = getattr(getattr(kind, "func", kind), "is_seeded", True)
                results = []
                for seed in range(arguments.seeds if is_seeded and not contender.startswith(ELSEWHERE) else 1):
                    result = result_of(contender, folder, seed, arguments)
                    if isinstance(result, str):
                        failed += [contender] if result.startswith("failed") else []
                        print(f"{contender} {result}", flush=True)
                        break
                    results.append(result)
                if not results:
                    continue
                versions.add(results[0]["version"])
                means = {key: np.mean([r[key] for r in results]) for key in ("accuracy", "bytes", "training", "text")}
                of_model = results[0]["model"]
                means["model"] = None if of_model is None else np.mean([r["model"] for r in results])
                cells = [means["bytes"] / 1e6, means["training"], means["text"], means["model"]]
                shown = " | ".join(f"{three_digits(cell):>8}" for cell in cells)
                print(f"| {contender:<32} | {means['accuracy']:8.1f} | {shown} |", flush=True)
                if arguments.csv:
                    with Path(arguments.csv).open("a", newline="") as file:
                        row = [name, contender, len(results), f"{means['accuracy']:.2f}", *map(three_digits, cells)]
                        csv.writer(file).writerow(row)
    print("\n" + ", ".join(sorted(versions)))
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
