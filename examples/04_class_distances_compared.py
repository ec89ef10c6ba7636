"""
Class distances compared
========================

To give similar classes similar codewords, codekin needs to know which classes are similar. There are several ways to
measure it. ``means`` compares the average sample of each class, ``confusion`` counts how often a classifier takes one
for the other, and ``learnability``, the default, asks how well least squares could put two classes on different sides
of a bit. What counts is the accuracy that each leads to.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.linear_model import RidgeClassifier
from sklearn.model_selection import train_test_split

from codekin import ECOCClassifier
from codekin.plots import ClassDistanceDisplay

X, y = load_digits(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(
    X / 16, y, test_size=0.5, random_state=0
)


def fitted(seed, **settings):
    return ECOCClassifier(
        RidgeClassifier(),
        codebook="dense_random",
        n_bits=8,
        decoding="loss",
        random_state=seed,
        **settings,
    ).fit(X_train, y_train)


# %%
# The accuracies are means over five codebooks.
MEASURES = ["means", "confusion", "learnability"]
by_chance = np.mean(
    [fitted(seed, assignment="random").score(X_test, y_test) for seed in range(5)]
)
print(f"random        {by_chance:.1%}")
classifiers = {
    name: [fitted(seed, class_distances=name) for seed in range(5)] for name in MEASURES
}
accuracies = {
    name: np.mean([one.score(X_test, y_test) for one in some])
    for name, some in classifiers.items()
}
for name, accuracy in accuracies.items():
    print(f"{name:13} {accuracy:.1%}")

# %%
# Dark cells are pairs of digits that count as similar. The three do not agree. ``confusion`` knows only the pairs that
# were ever confused; to it, all others are equally far apart, which leaves the search without advice.

# sphinx_gallery_alt = "Three heat maps of the distances between digits, which differ in the pairs they call similar."
figure, panels = plt.subplots(1, 3, figsize=(9, 3.2), layout="constrained")
for axes, name in zip(panels, MEASURES, strict=True):
    ClassDistanceDisplay.from_estimator(classifiers[name][0], ax=axes)
    axes.set_title(f"{name}: {accuracies[name]:.1%}")
plt.show()
