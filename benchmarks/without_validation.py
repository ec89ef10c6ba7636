"""Without validation samples, a trial with some of the classes chooses as well as one with nine tenths of all samples.

    python benchmarks/without_validation.py [--sets ...] [--seeds 3] [--data-home FOLDER]

The default fit without validation samples, once as it is and once with a trial that learns from nine tenths of all
samples: accuracy on the test samples, the share of them whose class is among the best five, and processor time of
training on one thread.
"""

import argparse

import numpy as np
from apart import cpu_seconds

BEHIND = 0.3
"""How many points the smaller trial may cost."""
SOON = 2.0
"""Up to so many seconds, time is not what counts."""
SETS = ("clinc150", "icd10cm_small", "icd10cm_category", "wordnet_hypernym", "debian_dirs100k")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", nargs="+", choices=SETS, default=list(SETS))
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--data-home", help="the folder with one folder per data set; otherwise CODEKIN_DATA")
    options = parser.parse_args()
    from codekin import ExtremeClassifier
    from codekin._system.parallel import limited_threads
    from codekin.data import load_dataset
    from codekin.fitting import reranking

    some_classes = reranking.hold_out_classes

    def no_classes(samples, n_classes):
        raise MemoryError  # as if class means did not fit into memory

    is_met = True
    print(
        "| | trial with | accuracy, % | among the best five, % | training, s | ratio |\n|---|---|---:|---:|---:|---:|"
    )
    for name in options.sets:
        data = load_dataset(name, options.data_home)
        train, test = (data.splits[part] for part in ("train", "test"))
        found = {}
        for label, trial in (("nine tenths of the samples", no_classes), ("some of the classes", some_classes)):
            reranking.hold_out_classes, rows = trial, []
            for seed in range(options.seeds):
                with limited_threads(1):
                    begin = cpu_seconds()
                    classifier = ExtremeClassifier(taxonomy=data.class_tree, random_state=seed).fit(train.X, train.y)
                    seconds = cpu_seconds() - begin
                is_among = classifier.top_k(test.X, 5)[0] == np.asarray(test.y)[:, None]
                rows.append((100 * is_among[:, 0].mean(), 100 * is_among.any(axis=1).mean(), seconds))
            found[label] = np.mean(rows, axis=0)
            accuracy, among, seconds = found[label]
            ratio = seconds / next(iter(found.values()))[2]
            print(f"| {name} | {label} | {accuracy:.2f} | {among:.2f} | {seconds:.1f} | {ratio:.2f} |", flush=True)
        before, now = found.values()
        is_met &= now[0] >= before[0] - BEHIND and now[2] <= max(before[2], SOON)
    print("\nmet" if is_met else "\nNOT met")
    return 0 if is_met else 1


if __name__ == "__main__":
    raise SystemExit(main())
