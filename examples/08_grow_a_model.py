"""
Grow a model
============

New classes turn up after a model has been trained: new products, new intents, new codes. There is no need to start
over. A codebook with reserved codewords takes new classes in: they get the free codewords that fit their samples best, and
the predictors then learn to tell them from the old ones.
"""

import matplotlib.pyplot as plt
import numpy as np

from codekin import ExtremeClassifier
from codekin.data import make_sparse_topics

# Made-up texts in 64 classes, of which four turn up late.
topics = make_sparse_topics(64, 3_000, n_features=2_000, rng=0)
X, y, X_test, y_test = topics.X, topics.y, topics.test.X, topics.test.y
is_old, is_old_test = y < 60, y_test < 60


def accuracies(classifier):
    """In percent, of samples of old and of new classes."""
    right = classifier.predict(X_test) == y_test
    return 100 * right[is_old_test].mean(), 100 * right[~is_old_test].mean()


classifier = ExtremeClassifier(5, n_reserved=10, random_state=0).fit(X[is_old], y[is_old])
steps = {"60 classes": accuracies(classifier)}

# %%
# ``add_classes`` finds codewords and changes no weight, so the old classes lose nothing. The new ones gain little yet:
# the predictors have never seen them.
classifier.add_classes(X[~is_old], y[~is_old])
steps["64 classes,\nno weight changed"] = accuracies(classifier)

# %%
# ``partial_fit`` makes a pass over samples. Give it samples of all classes, or it will forget the old ones.
for _ in range(3):
    classifier.partial_fit(X, y)
steps["three more\npasses"] = accuracies(classifier)
for step, (old, new) in steps.items():
    print(f"{' '.join(step.split())}: old classes {old:.1f} %, new classes {new:.1f} %")

# %%

# sphinx_gallery_alt = "Old classes keep their accuracy at every step; new ones go from nothing to the same accuracy."
figure, axes = plt.subplots(figsize=(6, 3.2), layout="constrained")
for place, (name, values) in enumerate(
    zip(("old classes", "new classes"), zip(*steps.values(), strict=True), strict=True)
):
    axes.bar(np.arange(3) + 0.38 * place, values, width=0.36, label=name)
axes.set_xticks(np.arange(3) + 0.19, list(steps))
axes.set(title="Four new classes join sixty", ylabel="test accuracy, %")
figure.legend(loc="outside lower center", ncols=2)
plt.show()

# %%
# On the command line, with a file of all samples:
#
# .. code-block:: console
#
#    codekin train old.svm model --n-reserved 100
#    codekin grow model all.svm --n-epochs 3
