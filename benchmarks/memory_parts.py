"""Where the memory of ``codekin train`` goes: libraries, samples, and what each stage holds beside them.

    python benchmarks/memory_parts.py [--sets ...] [--data-home FOLDER] [--n-threads 2]

Trains the default on the features of each set, in a process of its own, and looks at its resident size every two
milliseconds. Prints, in megabytes, what the process has before it reads anything; the samples as they are kept; and
for each stage the largest size, without both: reading and ordering the classes; the trial with some of the classes; the
trees, with the node in training; the candidates of all samples, with the weights as predictions need them; the class
vectors; and saving and measuring. The last column is the largest size of all. ``tools/pictures.py`` draws the table.
"""

import argparse
import os
import tempfile
import threading
import time
from pathlib import Path

import numpy as np
from apart import carry_out, peak_bytes, result_of

SETS = ("icd10cm_category", "wordnet_hypernym", "debian_dirs100k")
STAGES = {
    "on some of the classes": "trial",
    "learning the nodes": "trees",
    "listing the classes": "candidates",
    "learning class vectors": "vectors",
    "saving": "saving",
    "timing": "saving",
}
"""The parts of the table, by how the names of stages begin; others count for the part before them."""
PARTS = ("reading", "trial", "trees", "candidates", "vectors", "saving")
SECONDS_BETWEEN = 0.002


def resident():
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


class Watch:
    """The largest resident size in each part of a training."""

    def __init__(self):
        self.part, self.largest, self.is_over = "imports", {}, False
        self.thread = threading.Thread(target=self._look)

    def _look(self):
        while not self.is_over:
            self.largest[self.part] = max(self.largest.get(self.part, 0), resident())
            time.sleep(SECONDS_BETWEEN)

    def at(self, progress):
        if self.part == "imports":
            self.part = "reading"
        self.part = next((part for name, part in STAGES.items() if progress.stage.startswith(name)), self.part)


def measure(task):
    import codekin.cli.train  # noqa: F401  (counts as libraries)
    from codekin.cli.main import main
    from codekin.data.training_samples import SampleReader
    from codekin.progress import subscribe

    read, n_bytes = SampleReader.samples, []

    def samples(*arguments):
        found = read(*arguments)
        n_bytes.append(found.n_bytes + found.data.class_index.nbytes)
        return found

    SampleReader.samples = samples
    watch = Watch()
    watch.thread.start()
    command = ["train", task["file"], task["model"], "--n-threads", str(task["n_threads"])]
    with subscribe(watch.at):
        code = main([*command, "--no-checkpoint", "--quiet"])
    watch.is_over = True
    watch.thread.join()
    if code:
        raise SystemExit(code)
    return {**watch.largest, "samples": n_bytes[0], "peak": peak_bytes()}


def main():
    carry_out(measure)
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data-home", help="the folder with one folder per data set; otherwise CODEKIN_DATA")
    parser.add_argument("--sets", nargs="+", choices=SETS, default=list(SETS))
    parser.add_argument("--n-threads", type=int, default=2)
    options = parser.parse_args()
    from codekin.data import SparseData, load_dataset, write_data

    print("| set | libraries | samples | reading | trial | trees | candidates | vectors | saving | peak |")
    print(f"|---|{'---:|' * 9}")
    for name in options.sets:
        with tempfile.TemporaryDirectory() as folder:
            file, model, data = f"{folder}/train.svm", f"{folder}/model", load_dataset(name, options.data_home)
            write_data(file, SparseData(data.train.X, data.train.y, np.arange(data.n_classes)))
            of = result_of(__file__, {"file": file, "model": model, "n_threads": options.n_threads})
        if isinstance(of, str):
            raise SystemExit(of)
        before = of["imports"] + of["samples"]
        sizes = [of["imports"], of["samples"], *(max(of[part] - before, 0) for part in PARTS), of["peak"]]
        print(f"| {name} | {' | '.join(f'{size / 1e6:,.0f}' for size in sizes)} |", flush=True)


if __name__ == "__main__":
    main()
