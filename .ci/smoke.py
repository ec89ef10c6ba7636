"""Use an installed codekin as a stranger would: run by `make smoke` where only the wheel is installed."""

import subprocess
import sys
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.svm import LinearSVC

import codekin

assert "site-packages" in codekin.__file__, f"the wheel is not what was imported: {codekin.__file__}"

X_train, X_test, y_train, y_test = train_test_split(*load_digits(return_X_y=True), random_state=0)
classifier = codekin.ECOCClassifier(LinearSVC(), n_bits=10, random_state=0).fit(X_train / 16, y_train)
accuracy = classifier.score(X_test / 16, y_test)
assert accuracy > 0.8, f"digits with 10 bits: accuracy {accuracy:.3f}"
probabilities = classifier.top_k(X_test[:5] / 16, 3)
assert np.shape(probabilities[0]) == (5, 3)

command = Path(sys.executable).with_name("codekin")
version = subprocess.run([command, "--version"], check=True, capture_output=True, text=True).stdout
assert codekin.__version__ in version, version
print(f"codekin {codekin.__version__}: imported, fitted (accuracy {accuracy:.3f}), command line answers")
