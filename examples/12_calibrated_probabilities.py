"""
Calibrated probabilities
========================

A probability is useful if it can be taken at its word: of all predictions made with 80 %, four in five should be
right. The probabilities of trees cannot, since a leaf with three samples is sure of everything. ``calibrate="cv"`` puts
that right: copies of the predictors are tested on samples they have not seen, and the margins are scaled accordingly.
The codebook is given here. Where it is left open, held-out samples choose it, and scale the margins as well.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split
from sklearn.tree import DecisionTreeClassifier

from codekin import ECOCClassifier

X, y = load_digits(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.5, random_state=0)
trees = DecisionTreeClassifier(min_samples_leaf=3, random_state=0)
curves = {}
for calibrate in (None, "cv"):
    classifier = ECOCClassifier(
        trees, codebook="dense_random", calibrate=calibrate, random_state=0
    ).fit(X_train, y_train)
    probabilities = classifier.predict_proba(X_test)
    surest, is_right = probabilities.max(axis=1), classifier.predict(X_test) == y_test
    # Ten groups of test samples, from the least sure to the surest.
    groups = np.array_split(np.argsort(surest), 10)
    curves[calibrate] = [
        100 * np.array([values[group].mean() for group in groups])
        for values in (surest, is_right)
    ]
    loss = log_loss(y_test, probabilities)
    print(f"calibrate={calibrate!r}: accuracy {is_right.mean():.1%}, log loss {loss:.2f}")

# %%
# The predictions hardly change; what they claim about themselves does.

# sphinx_gallery_alt = "Share of right predictions against stated probability: calibrated ones lie on the diagonal."
figure, axes = plt.subplots(figsize=(5, 4), layout="constrained")
axes.plot([50, 100], [50, 100], color="0.6", linestyle="--", label="as good as its word")
for (calibrate, curve), style in zip(curves.items(), ("o-", "D-"), strict=True):
    axes.plot(*curve, style, label=f"calibrate={calibrate!r}")
axes.set(
    title="How often predictions are right", xlabel="they say, %", ylabel="they are, %"
)
axes.legend()
plt.show()
