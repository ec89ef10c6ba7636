"""How large is an explorer page of a hundred thousand classes, and how long does it take to open?

    python benchmarks/explorer_page.py [--classes 102673] [--chromium chromium]

Claim: a page about 102,673 classes takes less than 5 MB and opens within 2 s. The model is trained on few samples,
since a page shows the same for any weights. The time is the processor time of all of Chromium's processes for the page,
its first drawing included, beyond that for a page of 200 classes; the median of five.
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

from codekin import TrellisClassifier
from codekin.datasets import make_sparse_topics

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
    classifier = TrellisClassifier(rerank=None, random_state=0, assignment="random", **settings)
    classifier.partial_fit(data.train.X, y, classes=labels)
    start = time.process_time()
    page = classifier.explore(data.test.X, labels[data.test.y * (n_classes // 200)])
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
    parser.add_argument("--chromium", default=shutil.which("chromium") or shutil.which("google-chrome"))
    options = parser.parse_args()
    is_kept = True
    with tempfile.TemporaryDirectory() as home:
        small = page_of(200, width=2).save(Path(home) / "small.html")
        nothing = seconds_of(options.chromium, small)
        for name, settings in {"trellis": {"width": 2}, "tree": {"code": "tree", "width": 32}}.items():
            print(f"{options.classes:,} classes on a {name}", flush=True)
            path = page_of(options.classes, **settings).save(Path(home) / f"{name}.html")
            size, seconds = path.stat().st_size, seconds_of(options.chromium, path) - nothing
            print(
                f"  {size / 1e6:.1f} MB, {seconds:.2f} s of processor time more than a page of 200 classes", flush=True
            )
            is_kept &= size < 5e6 and seconds < 2
    print(f"Below 5 MB and within 2 s: {'yes' if is_kept else 'NO'}")
    raise SystemExit(0 if is_kept else 1)


if __name__ == "__main__":
    main()
