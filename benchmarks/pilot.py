"""A pilot with some of the classes chooses the leaves of a tree that are better on all of them.

    python benchmarks/pilot.py [--sets ...] [--draws 3] [--data-home FOLDER]

For each data set: trees whose leaves follow the taxonomy and trees made by halving, without re-ranking; their
accuracies on the test samples, and which of the two the pilot chooses in several draws of its classes. Then the same
with a taxonomy whose classes are shuffled. A choice is wrong if it costs more than half a point. The last
column is the processor time of a pilot as a share of the default fit.
"""

import argparse

import numpy as np
from apart import cpu_seconds

MOST, HALF_A_POINT = 0.5, 0.005
POLICIES = ("preserving", "halving")
SETS = ("clinc150", "icd10cm_small", "icd10cm_category", "wordnet_hypernym", "debian_dirs100k")


def shuffled(tree):
    from codekin.classes import ClassTree

    places = np.random.default_rng(1).permutation(tree.n_classes)
    return ClassTree(tree.parent, tree.node_of_class[places], tree.edge_length)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", nargs="+", choices=SETS, default=list(SETS))
    parser.add_argument("--draws", type=int, default=3)
    parser.add_argument("--data-home", help="the folder with one folder per data set; otherwise CODEKIN_DATA")
    options = parser.parse_args()
    from codekin import ExtremeClassifier
    from codekin._system.parallel import limited_threads
    from codekin.data import load_dataset
    from codekin.fitting import orders, trial
    from codekin.fitting.defaults import tree_width
    from codekin.learners import Softmax
    from codekin.samples import Samples

    is_met = True
    print("| | by taxonomy, % | by halving, % | the pilot's choices | wrong | share of a fit |")
    print("|---|---:|---:|---|---:|---:|")
    for name in options.sets:
        data = load_dataset(name, options.data_home)
        train, test = (data.splits[part] for part in ("train", "test"))
        validation = data.splits["validation"].X, data.splits["validation"].y
        for label, tree in ((name, data.class_tree), (f"{name}, shuffled", shuffled(data.class_tree))):
            with limited_threads(1):
                begin = cpu_seconds()
                ExtremeClassifier(taxonomy=tree, random_state=0).fit(train.X, train.y, validation=validation)
                whole = cpu_seconds() - begin
                is_right = {}
                for policy in POLICIES:
                    own = {"assignment": policy, "code": "tree", "rerank": None, "n_codes": 1}
                    classifier = ExtremeClassifier(taxonomy=tree, random_state=0, **own).fit(train.X, train.y)
                    is_right[policy] = classifier.predict(test.X) == test.y
                chosen, seconds = [], []
                for draw in range(options.draws):
                    trial.SEED = draw
                    begin = cpu_seconds()
                    samples, width = Samples(train.X, train.y), tree_width(tree.n_classes)
                    chosen.append(orders.best_of_trees(POLICIES, samples, tree, width=width, learner=Softmax()))
                    seconds.append(cpu_seconds() - begin)
                trial.SEED = 0
            gain = float(is_right["preserving"].mean() - is_right["halving"].mean())
            worse = "halving" if gain > HALF_A_POINT else "preserving" if gain < -HALF_A_POINT else None
            n_wrong, share = sum(policy == worse for policy in chosen), float(np.mean(seconds)) / whole
            is_met &= n_wrong == 0 and share <= MOST
            accuracies = " | ".join(f"{100 * is_right[policy].mean():.1f}" for policy in POLICIES)
            print(f"| {label} | {accuracies} | {', '.join(chosen)} | {n_wrong} | {share:.2f} |", flush=True)
    print("\nmet" if is_met else "\nNOT met")
    return 0 if is_met else 1


if __name__ == "__main__":
    raise SystemExit(main())
