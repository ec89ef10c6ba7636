"""
A model within a budget
=======================

A model must often fit into what there is: a few megabytes in an app, a few microseconds in a service. Which settings
give the best model of that size is hard to guess. Say what you can afford instead. codekin tries recipes, measures the
bytes and the accuracy of each, and keeps the best that fits.
"""

from pathlib import Path
from tempfile import TemporaryDirectory

import matplotlib.pyplot as plt

from codekin import ExtremeClassifier, load_model, save_model
from codekin.data import load_dataset, vectorized

BUDGET = 150_000  # bytes on disk, the whole folder

# 374 categories of diagnoses; the first fifty are enough for an example.
data, _ = vectorized(load_dataset("icd10cm"))
(X, y), (X_validation, y_validation), (X_test, y_test) = (
    (split.X[split.y < 50], split.y[split.y < 50])
    for split in (data.train, data.validation, data.test)
)

# The validation samples choose every setting that is "auto".
classifier = ExtremeClassifier(max_model_bytes=BUDGET, random_state=0)
classifier.fit(X, y, validation=(X_validation, y_validation))
for trial in classifier.trials_:
    print(trial)
print(f"chosen: {classifier.recipe_}")

# %%
# Of the recipes left of the line, the most accurate one is kept.

# sphinx_gallery_alt = "Accuracy of three recipes against their kilobytes, all left of the line of the budget."
figure, axes = plt.subplots(figsize=(6, 3.2), layout="constrained")
for trial in classifier.trials_:
    is_chosen = trial.recipe == classifier.recipe_
    axes.plot(
        trial.n_bytes / 1000,
        100 * trial.accuracy,
        "D" if is_chosen else "o",
        color="C0" if is_chosen else "0.6",
    )
axes.axvline(BUDGET / 1000, color="C1", linestyle="--")
axes.annotate(
    "the budget",
    (BUDGET / 1000, axes.get_ylim()[0]),
    (-4, 6),
    textcoords="offset points",
    ha="right",
)
axes.set(
    title="Recipes tried; the chosen one is blue",
    xlabel="kilobytes on disk",
    ylabel="validation accuracy, %",
)
plt.show()

# %%
# The budget counts the whole folder, and the loaded model makes the same predictions.
with TemporaryDirectory() as folder:
    save_model(classifier, Path(folder) / "model")
    n_bytes = sum(
        file.stat().st_size
        for file in (Path(folder) / "model").rglob("*")
        if file.is_file()
    )
    loaded = load_model(Path(folder) / "model")
    print(f"{n_bytes:,} of {BUDGET:,} bytes, accuracy {loaded.score(X_test, y_test):.3f}")

# %%
# The same on the command line, with a limit on the time of a prediction as well:
#
# .. code-block:: console
#
#    codekin train train.tsv model --validation val.tsv --max-model-bytes 150kB --max-microseconds 20
