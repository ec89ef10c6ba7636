"""A model of at most so many bytes: say what it may take, and let the recipe be chosen.

    python examples/03_a_budget.py    # some ten seconds

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

# Every setting that is "auto" is chosen by the validation samples: some recipes are tried, the best that fits is kept.
classifier = TrellisClassifier(max_model_bytes=BUDGET, random_state=0)
classifier.fit(X, y, validation=(X_validation, y_validation))
for trial in classifier.trials_:
    print(trial)
print(f"chosen: {classifier.recipe_}")

# The budget is that of the folder, and what is loaded from it predicts the same.
with TemporaryDirectory() as folder:
    save_model(classifier, Path(folder) / "model")
    n_bytes = sum(file.stat().st_size for file in (Path(folder) / "model").rglob("*") if file.is_file())
    loaded = load_model(Path(folder) / "model")
    print(f"{n_bytes:,} of {BUDGET:,} bytes, accuracy {loaded.score(X_test, y_test):.3f}")
