"""
More symbols than two
=====================

Some strong learners accept few classes; tabular foundation models, for example, stop at ten. A code with ten symbols
instead of two lets them learn forty classes or a thousand: each column of the code is a problem of ten classes, and the
probabilities of a codeword's symbols are multiplied.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import make_blobs
from sklearn.model_selection import train_test_split
from sklearn.naive_bayes import GaussianNB

from codekin import ECOCClassifier
from codekin.plots import CodingMatrixDisplay


class KnowsTen(GaussianNB):
    """Stands for a learner with a limit. The limit is read from the attribute; otherwise pass ``n_symbols=10``."""

    max_num_classes_ = 10

    def fit(self, X, y):
        if len(set(y)) > 10:
            raise ValueError("Number of classes exceeds the maximal number of 10.")
        return super().fit(X, y)


X, y = make_blobs(2400, centers=40, n_features=10, cluster_std=3.0, random_state=0)
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)
accuracies = {}
for assignment in ("random", "preserving"):
    for n_bits in (2, 4, 8):
        classifier = ECOCClassifier(
            KnowsTen(), n_bits=n_bits, assignment=assignment, random_state=0
        )
        accuracies[assignment, n_bits] = 100 * classifier.fit(X_train, y_train).score(
            X_test, y_test
        )
        print(f"{n_bits} columns, {assignment}: {accuracies[assignment, n_bits]:.1f} %")

# %%
# Two columns of ten symbols are enough to tell forty classes apart. With so few, it matters most which classes share a
# symbol.

# sphinx_gallery_alt = "Accuracy against columns: preserving is far above random with two columns, a little with eight."
figure, axes = plt.subplots(figsize=(6, 3.2), layout="constrained")
for assignment, style, colour in (("random", "o--", "0.6"), ("preserving", "D-", "C0")):
    values = [accuracies[assignment, n_bits] for n_bits in (2, 4, 8)]
    axes.plot([2, 4, 8], values, style, color=colour, label=assignment)
axes.set(
    title="Forty classes, a learner that knows ten",
    xlabel="columns, one fit each",
    ylabel="test accuracy, %",
)
axes.set_xticks([2, 4, 8])
axes.legend(loc="lower right")
plt.show()

# %%
# The codewords, similar classes next to each other. Where two of them share a symbol, that column need not tell them apart.

# sphinx_gallery_alt = "Forty rows of eight cells with symbols from 0 to 9; some neighbouring rows share several symbols."
# sphinx_gallery_thumbnail_number = 2
CodingMatrixDisplay.from_estimator(classifier)
plt.show()
