"""
A Dask cluster
==============

Bits are independent problems, and so are the restarts of a search for an assignment. Other processes or machines can
solve them: codekin passes them on to joblib, and joblib to Dask. The result does not depend on where the work is done,
which this example checks on the smallest cluster there is, two threads of this process. It needs
``pip install dask distributed``.
"""

import joblib
import matplotlib.pyplot as plt
from dask.distributed import Client
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression

from codekin import ECOCClassifier
from codekin.plots import BitErrorDisplay

X, y = load_digits(return_X_y=True)
X_train, y_train, X_test, y_test = X[:1000] / 16, y[:1000], X[1000:] / 16, y[1000:]
settings = {
    "codebook": "dense_random",
    "n_bits": 12,
    "decoding": "loss",
    "random_state": 0,
}
here = ECOCClassifier(LogisticRegression(), **settings).fit(X_train, y_train)

# %%
# On a real cluster, the address of the scheduler is all that changes: ``Client("tcp://host:8786")``.
with (
    Client(
        processes=False, n_workers=2, threads_per_worker=1, dashboard_address=":0"
    ) as client,
    joblib.parallel_config(backend="dask"),
):
    print(len(client.scheduler_info()["workers"]), "workers")
    there = ECOCClassifier(LogisticRegression(), **settings).fit(X_train, y_train)
print("the same weights, to the last digit:", bool((here.coef_ == there.coef_).all()))

# %%
# Whoever learned them, this is how often each of the twelve bits is wrong about a new digit:

# sphinx_gallery_alt = "Twelve bars, the share of wrong answers of each bit, and their mean."
BitErrorDisplay.from_estimator(there, X_test, y_test)
plt.show()
