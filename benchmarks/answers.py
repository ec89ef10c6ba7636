"""Do answers keep what is promised: precision, coverage by few groups of classes, and probabilities?

    python benchmarks/answers.py [--data icd10cm_category ...] [--data-home FOLDER] [--n-splits 100]

Each model is trained with one half of the validation samples; the other half and the test samples are split at random
into equal parts again and again: one is calibrated on, the other answered. The taxonomy is that of the data set, or
for tldr_commands, which has none, the order of the classes in the model. Claims: 95 % of the answers are right in 95 of
100 splits, by labels alone and with groups of classes; sets of at most three labels and groups cover 90 % within a
point. Also printed: log loss and calibration error (15 bins) at temperature 1 and at the fitted temperature.
"""

import argparse
import gzip
from pathlib import Path

import numpy as np

from codekin import ExtremeClassifier, TextClassifier
from codekin.data import load_dataset, read_taxonomy
from codekin.data.stored_sets import data_home
from codekin.measures.predictions import confidence_error
from codekin.measures.thresholds import last_precise, least_for_precision
from codekin.model.answer_tree import AnswerTree
from codekin.model.prediction_sets import SURE, SetCalibration

DATA = ("icd10cm_category", "tldr_commands", "wordnet_hypernym")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", nargs="+", default=DATA)
    parser.add_argument("--data-home", help="the folder with one folder per data set; otherwise CODEKIN_DATA")
    parser.add_argument("--n-splits", type=int, default=100)
    parser.add_argument("--min-precision", type=float, default=0.95)
    options = parser.parse_args()
    are_kept = [measured(name, options) for name in options.data]
    raise SystemExit(0 if all(are_kept) else 1)


def measured(name, options):
    """Print what one data set gives; returns whether the claims hold."""
    classifier, X, y, taxonomy = fitted(name, options.data_home)
    model, labels = classifier.model_, classifier.classes_
    place = np.minimum(np.searchsorted(labels, y), len(labels) - 1)
    true = np.where(labels[place] == y, place, -1)
    groups = AnswerTree.of_model(model, labels) if taxonomy is None else AnswerTree.of(taxonomy, labels)
    print(f"{name}: {len(labels):,} classes, {len(y):,} samples, {len(y) // 2:,} of them to calibrate on", flush=True)
    for what, temperature in (("at temperature 1", 1.0), ("as fitted", model.temperature)):
        own = model.with_temperature(temperature)
        classes, p = own.top_k_proba(X, 1)
        logs, known = own.log_proba(X, true), true >= 0
        error = confidence_error(p[:, 0], classes[:, 0] == true)
        print(f"  {what}: log loss {-logs[known].mean():.4f}, calibration error {error:.4f}", flush=True)
    classes, p = model.top_k_proba(X, 1)
    confidence, is_right = p[:, 0], classes[:, 0] == true
    sure, _ = groups.sure(model, X, SURE)
    is_sure, is_held = sure >= 0, groups.holds(sure, true)
    of_classes, of_groups = (
        -logs.astype(np.float32) for logs in (model.log_proba(X, true), groups.scores(model, X, true))
    )
    rng, found = np.random.default_rng(0), []
    for _ in range(options.n_splits):
        one, other = np.array_split(rng.permutation(len(y)), 2)
        row = {}
        try:
            least = least_for_precision(confidence[one], is_right[one], options.min_precision)
            is_given = confidence[other] >= least
            row["labels"] = is_given.mean(), is_right[other][is_given].mean()
        except ValueError:  # nothing is promised
            row["labels"] = 0.0, 1.0
        try:
            counts = is_held[one].sum(axis=0), is_sure[one].sum(axis=0)
            chosen = last_precise(*counts, options.min_precision)
            is_given = is_sure[other, chosen]
            row["groups"] = is_given.mean(), is_held[other, chosen][is_given].mean()
        except ValueError:
            row["groups"] = 0.0, 1.0
        for kind, scores in (("sets of labels", of_classes), ("sets of groups", of_groups)):
            largest = SetCalibration(np.sort(scores[one])).largest_score(0.9)
            row[kind] = largest, (scores[other] <= largest).mean()
        found.append(row)
    for kind in ("labels", "groups"):
        share, precision = np.array([row[kind] for row in found]).T
        n_kept, right = int((precision >= options.min_precision).sum()), precision[share > 0]
        print(
            f"  answers with {kind}: {share.mean():.1%} of the samples, {right.mean() if len(right) else 1:.2%} right,"
            f" {options.min_precision:.0%} kept in {n_kept} of {len(found)} splits,"
            f" nothing promised in {(share == 0).sum()}",
            flush=True,
        )
    for kind in ("sets of labels", "sets of groups"):
        largest, covered = np.array([row[kind] for row in found]).T
        print(f"  {kind}: 90 % asked for, {covered.mean():.2%} covered (the first split {covered[0]:.1%})", flush=True)
    answers = list(groups.sets(model, X, np.float32(np.median([row["sets of groups"][0] for row in found]))))
    sizes = np.array([1 if not hasattr(each, "labels") else len(each.labels) for each in groups.names[:-1]])
    n_nodes, n_classes = [len(own) for own in answers], [sizes[own].sum() for own in answers]
    print(
        f"  sets of groups: {np.mean(n_nodes):.2f} labels and groups, {np.mean(n_classes):,.1f} classes in them"
        f" (median {np.median(n_classes):,.0f})",
        flush=True,
    )
    kept = [np.mean([row[kind][1] >= options.min_precision for row in found]) >= 0.95 for kind in ("labels", "groups")]
    covered = np.mean([row["sets of groups"][1] for row in found])
    return all(kept) and abs(covered - 0.9) <= 0.01 and np.mean(n_nodes) <= 3


def fitted(name, home):
    """A classifier of features, the samples it has not seen, their labels, and the taxonomy, if there is one."""
    folder = data_home(home) / name
    if (folder / "train.tsv.gz").exists():
        parts = {part: read_texts(folder / f"{part}.tsv.gz") for part in ("train", "val", "test")}
        texts, labels = parts["val"]
        first, second = halves(len(labels))
        classifier = TextClassifier(random_state=0)
        classifier.fit(*parts["train"], validation=([texts[i] for i in first], labels[first]))
        unseen = [texts[i] for i in second] + parts["test"][0]
        X = classifier.vectorizer_.transform(unseen)
        return classifier.classifier_, X, np.concatenate([labels[second], parts["test"][1]]), None
    from scipy.sparse import csr_array, vstack

    data = load_dataset(name, home)
    first, second = halves(len(data.validation.y))
    classifier = ExtremeClassifier(random_state=0)
    classifier.fit(data.train.X, data.train.y, validation=(data.validation.X[first], data.validation.y[first]))
    X = csr_array(vstack([data.validation.X[second], data.test.X]))
    y = np.concatenate([data.validation.y[second], data.test.y])
    return classifier, X, y, read_taxonomy(folder / "taxonomy.txt.gz", classes=classifier.classes_)


def halves(n):
    order = np.random.default_rng(0).permutation(n)
    return order[: n // 2], order[n // 2 :]


def read_texts(path: Path):
    with gzip.open(path, "rt", encoding="utf-8") as stream:
        rows = [line.rstrip("\n").split("\t", 1) for line in stream]
    return [text for _, text in rows], np.array([label for label, _ in rows])


if __name__ == "__main__":
    main()
