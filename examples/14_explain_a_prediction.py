"""
Explain a prediction
====================

Why this class, and not the one that nearly won? With linear bits, ``explain`` divides the score of a class among the
features: the contributions add up to the score, so they explain what decided and nothing else. Take a digit that was
hard to tell, and look at what each of its pixels said.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split

from codekin import ECOCClassifier

X, y = load_digits(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X / 16, y, random_state=0)
classifier = ECOCClassifier(LogisticRegression(), decoding="loss", random_state=0).fit(
    X_train, y_train
)

# The sample whose two best classes are closest.
two_best, losses = classifier.top_k(X_test, 2)
hardest = np.argmin(losses[:, 1] - losses[:, 0])
sample, (first, second) = X_test[hardest : hardest + 1], two_best[hardest]
print(f"true {y_test[hardest]}, predicted {first}, nearly {second}")

# %%
# Contributions, the bias and the part that all classes share add up to the score.
explanation, other = classifier.explain(sample), classifier.explain(sample, second)
print(explanation.text(n=3))

# %%
# The difference of two explanations says why one class rather than the other. Violet pixels speak for the winner,
# orange ones for the runner-up: the upper half of this 2 could be a 7, and the stroke at its foot decides.

# sphinx_gallery_alt = "A blurred digit, and its pixels coloured by how much they speak for the winner or the runner-up."
difference = (explanation.contributions - other.contributions).reshape(8, 8)
reach = np.abs(difference).max()
figure, (left, right) = plt.subplots(1, 2, figsize=(6.5, 3), layout="constrained")
left.imshow(sample.reshape(8, 8), cmap="gray_r")
left.set_title(f"true: {y_test[hardest]}")
shown = right.imshow(difference, cmap="PuOr", vmin=-reach, vmax=reach)
right.set_title(f"for {first} (violet) or for {second} (orange)")
figure.colorbar(shown, ax=right)
for axes in (left, right):
    axes.set(xticks=[], yticks=[])
plt.show()
