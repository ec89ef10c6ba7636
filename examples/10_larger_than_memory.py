"""
Larger than memory
==================

Files of samples outgrow memory sooner than disks. codekin converts such a file once, leaves it on disk and learns from
one block of it at a time, in a new random order every pass. No other library is needed, and the result depends only on
the seed and on the size of the blocks. How much accuracy does it cost to see only a block at a time?
"""

from pathlib import Path
from tempfile import TemporaryDirectory

import matplotlib.pyplot as plt
import numpy as np

from codekin import ExtremeClassifier
from codekin.data import SparseData, cached_data, make_sparse_topics, write_data

topics = make_sparse_topics(64, 4_000, n_features=1_000, rng=0)
n_bytes = topics.X.data.nbytes + topics.X.indices.nbytes + topics.X.indptr.nbytes
print(f"{topics.X.shape[0]:,} samples, {n_bytes:,} bytes in memory")
settings = {"width": 5, "rerank": None, "assignment": "random", "random_state": 0}
in_memory = ExtremeClassifier(**settings).fit(topics.X, topics.y)
accuracies = {"all": 100 * in_memory.score(topics.test.X, topics.test.y)}

# %%
# ``cached_data`` converts the file into a folder beside it, or takes the folder that is there. Its ``X`` stays on disk:
# estimators accept it in place of a matrix, and ``data.X[10:20]`` reads ten rows.
with TemporaryDirectory() as folder:
    file = Path(folder) / "train.svm"
    write_data(file, SparseData(topics.X, topics.y, np.arange(64)))
    for part in (2, 8):
        # Half of the limit is for samples.
        data = cached_data(file, max_memory=2 * n_bytes // part)
        classifier = ExtremeClassifier(**settings).fit(data.X, data.encoded_labels)
        accuracies[f"1/{part}"] = 100 * classifier.score(topics.test.X, topics.test.y)
for share, accuracy in accuracies.items():
    print(f"samples in memory: {share:4} accuracy {accuracy:.1f} %")

# %%
# It costs nothing here.

# sphinx_gallery_alt = "Three bars of the same length: all samples in memory, a half and an eighth of them."
figure, axes = plt.subplots(figsize=(6, 2.2), layout="constrained")
axes.barh([f"{share} of the samples" for share in accuracies], list(accuracies.values()))
axes.invert_yaxis()
axes.set(
    title="Accuracy by the share that is in memory at a time", xlabel="test accuracy, %"
)
plt.show()

# %%
# On the command line, the limit is an option:
#
# .. code-block:: console
#
#    codekin train train.svm.gz model --rerank none --max-memory 2GB
