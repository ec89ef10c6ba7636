"""
Reproduce Figure 2 of the paper
===============================

Evron et al. (2023) tried all 3.6 million ways to assign a codebook's ten codewords to ten classes. Their Figure 2 shows
why some are better than others: the easier the binary problems, the more accurate the classifier (top), and the
problems are easy when similar classes have similar codewords (bottom). This is a small version: least squares on the
digits of scikit-learn, and 4,000 assignments drawn by chance.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.linear_model import Ridge
from sklearn.model_selection import train_test_split

from codekin.classes.distances import mean_distances
from codekin.codebooks import dense_random

X, y = load_digits(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(
    X / 16, y, test_size=500, stratify=y, random_state=0
)

# %%
# However many assignments there are, a bit is one of 1,024 ways to put ten digits on two sides. Each of these splits is
# learned once; an assignment then looks up those that it needs.
split_numbers = np.arange(1024)
is_positive = (
    split_numbers[:, None] >> np.arange(10)
) & 1  # which digits are on which side
signs = np.where(is_positive, 1, -1)
splits = Ridge().fit(X_train, signs[:, y_train].T)
margins = splits.predict(X_test)
hinge = np.maximum(0, 1 - signs[:, y_train].T * splits.predict(X_train))
losses = hinge.mean(axis=0)  # of each split, on the training samples

# %%
# The class-codeword score is small if similar digits have similar codewords: both kinds of distances are divided by
# their norm and compared.
codewords = dense_random(10, 8, rng=0).matrix
of_codewords = (codewords[:, None] != codewords).sum(axis=2)
of_classes = mean_distances(X_train, y_train).matrix()
of_codewords = of_codewords / np.linalg.norm(of_codewords)
of_classes = of_classes / np.linalg.norm(of_classes)

rng = np.random.default_rng(0)
found = []
for _ in range(4_000):
    codeword_of_class = rng.permutation(10)
    coding_matrix = codewords[codeword_of_class]
    chosen = (coding_matrix.T > 0) @ (1 << np.arange(10))  # the numbers of its eight splits
    hinge = np.maximum(0, 1 - coding_matrix * margins[:, None, chosen]).sum(axis=2)
    right = hinge.argmin(axis=1) == y_test
    assigned = of_codewords[np.ix_(codeword_of_class, codeword_of_class)]
    score = np.linalg.norm(assigned - of_classes)
    found.append((losses[chosen].mean(), score, 100 * right.mean()))
loss, score, accuracy = np.array(found).T

# %%
# The whole figure, of all assignments, is drawn by ``codekin study run exhaustive``.

# sphinx_gallery_alt = "Two clouds of dots with falling lines: low loss and low score go with high accuracy."
figure, panels = plt.subplots(2, 1, figsize=(5, 6), layout="constrained")
quantities = {"average binary loss": loss, "class-codeword score": score}
for axes, (name, values) in zip(panels, quantities.items(), strict=True):
    r_squared = np.corrcoef(values, accuracy)[0, 1] ** 2
    print(f"{name}: r² = {r_squared:.2f}")
    axes.plot(values, accuracy, ".", markersize=2, alpha=0.5)
    slope, _ = np.polyfit(values, accuracy, 1)
    axes.axline((values.mean(), accuracy.mean()), slope=slope, color="C1")
    axes.set_title(f"Accuracy against {name}, r² = {r_squared:.2f}")
    axes.set(xlabel=name, ylabel="test accuracy, %")
plt.show()
