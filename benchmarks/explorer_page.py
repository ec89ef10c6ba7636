"""How large is an explorer page of a hundred thousand classes, and how long does it take to open?

    python benchmarks/explorer_page.py [--classes 102673] [--dataset debian_dirs100k] [--chromium chromium]

Claim: a page about 102,673 classes takes less than 5 MB and opens within 2 s. The models are trained on few samples,
since a page shows the same for any weights. With --dataset, a default model of true data is added, trained on all of
it, whose page shows some of its test samples. The time is the processor time of all of Chromium's processes for the
page, its first drawing included, beyond that for a page of 200 classes; the median of five.
"""

import argparse
import re
import resource
import shutil
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

import numpy as np

from codekin import ExtremeClassifier
from codekin.data import load_dataset, make_sparse_topics

FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
]
FLAGS += ["--disable-component-update", "--disable-sync", "--dump-dom", "--virtual-time-budget=3000"]


def page_of(n_classes, **settings):
    data = make_sparse_topics(200, 2_000, n_features=2_000, rng=0)
    labels = np.array([f"class {k:06d} of many" for k in range(n_classes)])
    y = labels[data.train.y * (n_classes // 200)]
    classifier = ExtremeClassifier(rerank=None, random_state=0, assignment="random", **settings)
    classifier.partial_fit(data.train.X, y, classes=labels)
    return explored(classifier, data.test.X, labels[data.test.y * (n_classes // 200)])


def page_of_dataset(name):
    data = load_dataset(name)
    names, start = np.array(data.class_names), time.process_time()
    classifier = ExtremeClassifier(random_state=0).fit(data.train.X, names[data.train.y])
    print(f"  trained in {time.process_time() - start:.0f} s of processor time", flush=True)
    return explored(classifier, data.test.X[:2_000], names[data.test.y[:2_000]])


def explored(classifier, X, y):
    start = time.process_time()
    page = classifier.explore(X, y)
    print(f"  made in {time.process_time() - start:.1f} s", flush=True)
    return page


def seconds_of(browser, path):
    taken = []
    for _ in range(5):
        with tempfile.TemporaryDirectory() as home:
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            command = [browser, *FLAGS, f"--user-data-dir={home}", path.as_uri()]
            done = subprocess.run(command, capture_output=True, check=True)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            taken.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
        assert re.search(rb'id="facts"[^>]*>[\d,]+ classes', done.stdout), "the page has not opened"
    return statistics.median(taken)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--classes", type=int, default=102_673)
    parser.add_argument("--dataset", help="a data set of sparse samples, of which to train a default model")
    parser.add_argument("--chromium", default=shutil.which("chromium") or shutil.which("google-chrome"))
    options = parser.parse_args()
    is_kept = True
    with tempfile.TemporaryDirectory() as home:
        small = page_of(200, width=2).save(Path(home) / "small.html")
        nothing = seconds_of(options.chromium, small)
        print(f"A page of 200 classes: {nothing:.2f} s of processor time", flush=True)
        pages = {
            f"{options.classes:,} classes on a trellis": lambda: page_of(options.classes, width=2),
            f"{options.classes:,} classes on a tree": lambda: page_of(options.classes, code="tree", width=32),
        }
        if options.dataset is not None:
            pages[options.dataset] = lambda: page_of_dataset(options.dataset)
        for name, made in pages.items():
            print(name, flush=True)
            path = made().save(Path(home) / "page.html")
            size, seconds = path.stat().st_size, seconds_of(options.chromium, path) - nothing
            print(f"  {size / 1e6:.1f} MB, {seconds:.2f} s more than a page of 200 classes", flush=True)
            is_kept &= size < 5e6 and seconds < 2
    print(f"Below 5 MB and within 2 s: {'yes' if is_kept else 'NO'}")
    raise SystemExit(0 if is_kept else 1)


if __name__ == "__main__":
    main()
