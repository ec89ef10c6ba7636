"""
A taxonomy
==========

Often you know which classes are similar before you have many samples: a product catalogue, a classification of
diseases, the departments of a help desk. Give codekin that tree, and it decides which classes get similar codewords.
"""

import matplotlib.pyplot as plt
from sklearn.feature_extraction.text import TfidfVectorizer

from codekin import ExtremeClassifier
from codekin.plots import CodingMatrixDisplay

# Eight kinds of messages to a help desk. In practice they come from a file: codekin.data.read_data("train.tsv").
WORDS = {
    "password": "password login forgotten locked account",
    "permission": "permission denied access rights account",
    "printer": "printer paper jam toner office",
    "screen": "screen monitor flicker black office",
    "invoice": "invoice amount wrong payment customer",
    "refund": "refund money back payment customer",
    "parcel": "parcel lost delivery address customer",
    "pickup": "pickup time courier delivery address",
}
texts, labels = [], []
for label, words in WORDS.items():
    first, *others = words.split()
    for other in others:
        for opening in ("please help with", "question about", "again trouble with"):
            texts.append(f"{opening} {first} {other}")
            labels.append(label)

# %%
# The leaves of the tree are named like the labels. Nested dictionaries and lists will do; so do networkx graphs and
# files with a line per edge.
TAXONOMY = {
    "inside": {
        "accounts": ["password", "permission"],
        "devices": ["printer", "screen"],
    },
    "outside": {"money": ["invoice", "refund"], "transport": ["parcel", "pickup"]},
}
vectorizer = TfidfVectorizer()
classifier = ExtremeClassifier(
    width=2, taxonomy=TAXONOMY, assignment="preserving", random_state=0
)
classifier.fit(vectorizer.fit_transform(texts), labels)

# %%
# Classes that are close in the taxonomy have codewords that differ in few bits: few predictors have to tell them apart.
coding_matrix = classifier.codebook_.coding_matrix(classifier.assignment_)
differing = {2: [], 4: [], 6: []}
for k, one in enumerate(coding_matrix):
    for other in range(k):
        steps = int(classifier.class_distances_.between(k, other))
        differing[steps].append((one != coding_matrix[other]).sum())
for steps, n_bits in differing.items():
    print(
        f"{steps} steps apart in the taxonomy: {sum(n_bits) / len(n_bits):.1f} bits differ"
    )

# %%

# sphinx_gallery_alt = "The codewords of eight classes; rows of classes from one branch of the tree look alike."
CodingMatrixDisplay.from_estimator(classifier)
plt.show()

# %%
new = [
    "my login does not work, password forgotten",
    "where is the courier with my delivery",
]
classes, _ = classifier.top_k(vectorizer.transform(new), 2)
for text, best in zip(new, classes, strict=True):
    print(f"{text}: {', '.join(best)}")
