"""Your own texts and what you know about their classes: a taxonomy decides which classes get similar codewords.

python examples/02_your_own_taxonomy.py    # a few seconds
"""

from sklearn.feature_extraction.text import TfidfVectorizer

from codekin import TrellisClassifier

# Eight kinds of messages to a help desk. In practice they come from a file: codekin.datasets.read_data("train.tsv").
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

# Which kinds are similar need not be learned from the samples. The leaves are named like the labels.
TAXONOMY = {
    "inside": {"accounts": ["password", "permission"], "devices": ["printer", "screen"]},
    "outside": {"money": ["invoice", "refund"], "transport": ["parcel", "pickup"]},
}

vectorizer = TfidfVectorizer()
classifier = TrellisClassifier(width=2, taxonomy=TAXONOMY, assignment="preserving", random_state=0)
classifier.fit(vectorizer.fit_transform(texts), labels)

# Classes that are close in the taxonomy have codewords that differ in few bits: few predictors have to tell them apart.
coding_matrix = classifier.codebook_.coding_matrix(classifier.assignment_)
differing = {2: [], 4: [], 6: []}
for k, one in enumerate(coding_matrix):
    for other in range(k):
        steps = int(classifier.class_distances_.between(k, other))
        differing[steps].append((one != coding_matrix[other]).sum())
for steps, n_bits in differing.items():
    print(f"{steps} steps apart in the taxonomy: {sum(n_bits) / len(n_bits):.1f} bits differ")

new = ["my login does not work, password forgotten", "where is the courier with my delivery"]
classes, _ = classifier.top_k(vectorizer.transform(new), 2)
for text, best in zip(new, classes, strict=True):
    print(f"{text}: {', '.join(best)}")
