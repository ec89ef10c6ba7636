"""
Sets with a promise
===================

Sometimes one label is not enough: a doctor or a program downstream wants all that are plausible, and a promise that the
true one is among them. ``predict_sets`` returns such sets, small where the classifier is sure and large where it is
not. Samples that were held out decide how large they must be (conformal prediction), so the promise holds even if the
probabilities are poor.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from codekin import ECOCClassifier

# Few samples to learn from, so that there is something to be unsure about.
X, y = load_digits(return_X_y=True)
X_train, X_rest, y_train, y_rest = train_test_split(
    X / 16, y, train_size=80, stratify=y, random_state=0
)
X_held, X_test, y_held, y_test = train_test_split(
    X_rest, y_rest, test_size=0.5, random_state=0
)
classifier = ECOCClassifier(random_state=0).fit(X_train, y_train)
print(f"one label: {classifier.score(X_test, y_test):.1%} right")

# %%
# The held-out samples must be new to the classifier. Any coverage can be asked for afterwards.
classifier.calibrate_sets(X_held, y_held)
for coverage in (0.95, 0.97, 0.99):
    sets = classifier.predict_sets(X_test, coverage)
    covered = np.mean([label in own for label, own in zip(y_test, sets, strict=True)])
    size = np.mean([len(own) for own in sets])
    print(
        f"{coverage:.0%} asked for, {covered:.1%} covered by {size:.2f} labels on average"
    )

# %%
# The sizes of the sets for a coverage of 99 % say for which digits one should look again.

# sphinx_gallery_alt = "Bars: at 99 % coverage most sets have one to four labels, and few have more than six."
sizes = np.bincount([len(own) for own in sets])
figure, axes = plt.subplots(figsize=(6, 3), layout="constrained")
axes.bar(np.arange(1, len(sizes)), sizes[1:])
axes.set(
    title="Sets that hold the true digit in 99 % of the cases",
    xlabel="labels in the set",
    ylabel="digits",
)
axes.set_xticks(np.arange(1, len(sizes)))
plt.show()

# %%
# The same on the command line:
#
# .. code-block:: console
#
#    codekin calibrate model held_out.tsv
#    codekin predict model new.tsv --coverage 0.9
