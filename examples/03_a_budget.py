"""A model within a budget of bytes: codekin chooses the recipe.

    python examples/03_a_budget.py    # about ten seconds

The command line does the same: codekin train train.tsv model --validation val.tsv --max-model-bytes 150kB
"""

from pathlib import Path
from tempfile import TemporaryDirectory

from codekin import TrellisClassifier, load_model, save_model
from codekin.datasets import load_dataset, vectorized

BUDGET = 150_000  # bytes on disk, the whole folder

# 374 categories of diagnoses; the first fifty are enough for an example.
data, _ = vectorized(load_dataset("icd10cm"))
(X, y), (X_validation, y_validation), (X_test, y_test) = (
    (split.X[split.y < 50], split.y[split.y < 50]) for split in (data.train, data.validation, data.test)
)

# The validation samples choose every setting that is "auto": of some recipes, the best one within the budget is kept.
classifier = TrellisClassifier(max_model_bytes=BUDGET, random_state=0)
classifier.fit(X, y, validation=(X_validation, y_validation))
for trial in classifier.trials_:
    print(trial)
print(f"chosen: {classifier.recipe_}")

# The budget is for the whole folder, and the loaded model makes the same predictions.
with TemporaryDirectory() as folder:
    save_model(classifier, Path(folder) / "model")
    n_bytes = sum(file.stat().st_size for file in (Path(folder) / "model").rglob("*") if file.is_file())
    loaded = load_model(Path(folder) / "model")
    print(f"{n_bytes:,} of {BUDGET:,} bytes, accuracy {loaded.score(X_test, y_test):.3f}")
