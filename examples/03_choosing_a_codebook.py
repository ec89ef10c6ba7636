"""
Choosing a codebook
===================

More bits make a classifier more accurate and slower. Which codebook pays depends on the learner: linear predictors do
well with one class against the rest, since that is a simple question. Trees can answer any question, and gain from many
different ones. So try a few codebooks with your own learner; ``codebook="auto"``, the default, knows these two cases.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_digits
from sklearn.linear_model import RidgeClassifier
from sklearn.model_selection import train_test_split
from sklearn.tree import DecisionTreeClassifier

from codekin import ECOCClassifier

X, y = load_digits(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(
    X / 16, y, test_size=0.5, random_state=0
)

LEARNERS = {
    "linear": RidgeClassifier(),
    "trees": DecisionTreeClassifier(min_samples_leaf=3, random_state=0),
}
CODEBOOKS = [
    ("one_vs_rest", None),
    ("dense_random", 6),
    ("dense_random", 10),
    ("dense_random", 20),
    ("sparse_random", 20),
    ("spectral", 9),
]

found = {name: {} for name in LEARNERS}
for learner_name, learner in LEARNERS.items():
    for codebook, n_bits in CODEBOOKS:
        classifier = ECOCClassifier(
            learner, codebook=codebook, n_bits=n_bits, random_state=0
        )
        accuracy = 100 * classifier.fit(X_train, y_train).score(X_test, y_test)
        used = classifier.codebook_.n_bits  # codebooks without n_bits have their own number
        found[learner_name][codebook, used] = accuracy
        print(f"{learner_name:7} {codebook:14}{used:3} bits: {accuracy:.1f} %")

# %%
# With linear predictors the codebooks differ by five points, most of them lost by six bits, and ten bits do nearly as well
# as twenty. With trees they
# differ by thirteen: one class against the rest is the worst of these codebooks, and twenty dense bits are the best.

# sphinx_gallery_alt = "Accuracy of six codebooks: close together with linear predictors, far apart with trees."
figure, panels = plt.subplots(1, 2, figsize=(7, 3.2), layout="constrained", sharey=True)
for axes, (learner_name, accuracies) in zip(panels, found.items(), strict=True):
    for place, accuracy in enumerate(accuracies.values()):
        is_best = accuracy == max(accuracies.values())
        axes.plot(
            accuracy, place, "D" if is_best else "o", color="C0" if is_best else "0.6"
        )
    axes.set_yticks(
        range(len(accuracies)),
        [f"{codebook}, {n_bits}" for codebook, n_bits in accuracies],
    )
    axes.set(
        title=f"{learner_name}: by codebook and bits",
        xlabel="test accuracy, %",
        xlim=(80, 97),
    )
    axes.grid(axis="x")
panels[0].invert_yaxis()
plt.show()
