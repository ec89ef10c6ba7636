"""Which class distances predict the test accuracy of an assignment.

    python benchmarks/learnability.py [--assignments 5000]

Claim: over random assignments of a codebook of 8 bits to the digits of scikit-learn, with linear SVMs and hinge
decoding, the squared correlation between accuracy and the learnability score, which is known before training, is at
least 1.5 times that of the class-codeword score from class means. Each of the at most 511 different bits is trained
once; 15 bits are shown as well.
"""

import argparse
from time import perf_counter

import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.svm import LinearSVC
from threadpoolctl import threadpool_limits

from codekin.classes.distances import learnability_distances, learned_confusion_distances, mean_distances
from codekin.codebooks import dense_random


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--assignments", type=int, default=5_000)
    n_assignments = parser.parse_args().assignments
    X, y = load_digits(return_X_y=True)
    X_train, X_test, y_train, y_test = train_test_split(X / 16, y, test_size=0.4, stratify=y, random_state=0)
    distances = {}
    for name, make in {
        "means": mean_distances,
        "confusion, training": learned_confusion_distances,
        "confusion, out of fold": lambda *data, rng: learned_confusion_distances(*data, counted="out_of_fold", rng=rng),
        "learnability": learnability_distances,
        "learnability, held out": lambda *data, rng: learnability_distances(*data, held_out=True, rng=rng),
    }.items():
        start = perf_counter()
        distances[name] = make(X_train, y_train, rng=0)
        print(f"{name}: {perf_counter() - start:.2f} s")
    margins_of_split = {}

    def margins(bit):
        split = tuple((bit * bit[0]).tolist())
        if split not in margins_of_split:
            model = LinearSVC(random_state=0).fit(X_train, np.array(split)[y_train])
            margins_of_split[split] = model.decision_function(X_test)
        return bit[0] * margins_of_split[split]

    for n_bits in (8, 15):
        codebook = dense_random(10, n_bits, rng=0)
        rng = np.random.default_rng(0)
        accuracy = np.empty(n_assignments)
        sums = {name: np.empty(n_assignments) for name in distances}
        for i in range(n_assignments):
            coding_matrix = codebook.matrix[rng.permutation(10)]
            bit_margins = np.column_stack([margins(bit) for bit in coding_matrix.T])
            right, wrong = np.maximum(0, 1 - bit_margins), np.maximum(0, 1 + bit_margins)
            losses = right @ (coding_matrix.T == 1) + wrong @ (coding_matrix.T == -1)
            accuracy[i] = np.mean(losses.argmin(axis=1) == y_test)
            # The class-codeword score squared is 2 - 2 F / (|A| |B|) with constant norms: F alone has its correlation.
            for name, class_distances in distances.items():
                sums[name][i] = class_distances.inner_product(coding_matrix)
        r_squared = {name: np.corrcoef(values, accuracy)[0, 1] ** 2 for name, values in sums.items()}
        print(f"{n_bits} bits, {n_assignments} assignments, mean accuracy {accuracy.mean():.3f}; r^2 with accuracy:")
        for name, value in r_squared.items():
            print(f"  {name:24s} {value:.3f}  ({value / r_squared['means']:.2f} times that of means)")


if __name__ == "__main__":
    with threadpool_limits(1):
        main()
