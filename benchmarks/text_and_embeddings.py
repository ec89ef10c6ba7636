"""Texts, vectors of them by a sentence encoder, and both in one model.

    python benchmarks/text_and_embeddings.py [--data-home FOLDER] [--seeds 1] [--sets icd10cm_category]

Two sets of ``texts.py`` with vectors of all-MiniLM-L6-v2 beside them: ``minilm/NAME.npz`` in the data home, with arrays
``X_train``, ``X_val`` and ``X_test`` in the order of the texts. Accuracy on the test samples in percent, its gain over
the model of texts in points with one standard error of the difference on the same samples, megabytes of the model
folder, CPU seconds of training from texts and vectors on, and CPU microseconds of a prediction from features on.
"two models" adds the log-probabilities of the first two, the second times a weight that validation samples choose.
"""

import argparse
import os
import time
from functools import partial
from pathlib import Path

import numpy as np
import texts
from contenders import processor_seconds

from codekin import TextClassifier
from codekin.data.columns import samples_of
from codekin.storage import stored_bytes

SETS = ("icd10cm_category", "tldr_commands")
BESIDE = {"text": "text", "embeddings": "vector"}
SIDES = {
    "text": {"text": "text"},
    "vectors": {"embeddings": "vector"},
    "both": BESIDE,
    "both, vectors times 0.5": {**BESIDE, "embeddings": {"vector": 0.5}},
    "both, vectors times 2": {**BESIDE, "embeddings": {"vector": 2}},
}
WEIGHTS = (0.1, 0.2, 0.3, 0.5, 0.7, 1, 1.5, 2, 3)
LEAST = 1e-12


def splits_of(name, arguments):
    """For each split, its labels and its columns."""
    vectors = np.load(Path(arguments.data_home or os.environ["CODEKIN_DATA"]) / "minilm" / f"{name}.npz")
    found = {}
    for split, rows in texts.SETS[name](name, arguments).items():
        array = vectors[f"X_{'val' if split == 'validation' else split}"]
        columns = {"text": [text for _, text in rows], "vector": array.astype(np.float32)}
        assert len(array) == len(rows), f"{len(array)} vectors of {len(rows)} texts of {name}, {split}"
        found[split] = np.array([label for label, _ in rows]), columns
    return found


def log_probabilities(classifier, columns):
    return np.log(np.maximum(classifier.predict_proba(columns), LEAST))


def two_models(fitted, splits):
    """The predictions of the first two by their log-probabilities."""
    first, second = fitted["text"], fitted["vectors"]
    (labels, columns), (_, of_test) = splits["validation"], splits["test"]
    own, other = (log_probabilities(classifier, columns) for classifier in (first, second))
    right = [np.mean(first.classes_[(own + weight * other).argmax(axis=1)] == labels) for weight in WEIGHTS]
    weight = WEIGHTS[int(np.argmax(right))]
    both = log_probabilities(first, of_test) + weight * log_probabilities(second, of_test)
    return first.classes_[both.argmax(axis=1)]


def gain(is_right, is_right_of_text):
    difference = is_right.astype(float) - is_right_of_text
    return f"{100 * difference.mean():+.1f} ± {100 * difference.std() / np.sqrt(len(difference)):.1f}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data-home", help="the folder with one folder per data set; otherwise CODEKIN_DATA")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--sets", nargs="+", choices=SETS, default=SETS)
    parser.add_argument("--sides", nargs="+", choices=SIDES, default=list(SIDES), help="besides text, which is always")
    arguments = parser.parse_args()
    print("| | accuracy | over text | MB | training, s | model, µs |")
    print("| --- | ---: | ---: | ---: | ---: | ---: |")
    for name in arguments.sets:
        splits = splits_of(name, arguments)
        labels, columns = splits["test"]
        right, measures = {}, {}
        for seed in range(arguments.seeds):
            fitted = {}
            for side in dict.fromkeys(("text", *arguments.sides)):
                settings = SIDES[side]
                classifier, started = TextClassifier(**settings, random_state=seed), time.process_time()
                given, held_out = splits["train"], splits["validation"]
                classifier.fit(given[1], given[0], validation=(held_out[1], held_out[0]))
                seconds = time.process_time() - started
                fitted[side] = classifier
                X = classifier.vectorizer_.transform(samples_of(columns, classifier._columns))
                times = [processor_seconds(partial(classifier.model_.predict, X)) for _ in range(3)]
                own = stored_bytes(classifier) / 1e6, seconds, 1e6 * min(times) / X.shape[0]
                measures.setdefault(side, []).append(own)
                right.setdefault(side, []).append(classifier.predict(columns) == labels)
            if "vectors" in fitted:
                right.setdefault("two models", []).append(two_models(fitted, splits) == labels)
                own = np.add(measures["text"][-1], measures["vectors"][-1])
                measures.setdefault("two models", []).append(own)
        of_text = np.mean(right["text"], axis=0)
        for side, every in right.items():
            is_right = np.mean(every, axis=0)
            megabytes, seconds, microseconds = np.mean(measures[side], axis=0)
            over = "" if side == "text" else gain(is_right, of_text)
            shown = f"{megabytes:.3g} | {seconds:.3g} | {microseconds:.3g}"
            print(f"| {name}, {side} | {100 * is_right.mean():.1f} | {over} | {shown} |", flush=True)


if __name__ == "__main__":
    main()
