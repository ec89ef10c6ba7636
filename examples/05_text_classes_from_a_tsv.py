"""
Hundreds of text classes from a TSV file
========================================

With hundreds of classes of text, one predictor per class gets large and slow. ``ExtremeClassifier`` needs a few dozen
bits: its codewords are the paths of a small graph, so that the best of all classes is a shortest path. The embedded
example has 374 classes: descriptions of diagnoses and the ICD-10-CM category of each. A hundred thousand classes are
read and learned in the same way.
"""

from pathlib import Path
from tempfile import TemporaryDirectory

import matplotlib.pyplot as plt

from codekin import ExtremeClassifier
from codekin.data import TextVectorizer, load_dataset, read_data

diagnoses = load_dataset("icd10cm")
with TemporaryDirectory() as folder:
    # Lines of label, tab, text, as your own file would have.
    file = Path(folder) / "train.tsv"
    labels = [diagnoses.class_names[k] for k in diagnoses.train.y]
    lines = [
        f"{label}\t{text}\n"
        for label, text in zip(labels, diagnoses.train.texts, strict=True)
    ]
    file.write_text("".join(lines), encoding="utf-8")
    train = read_data(file)
print(train)

# %%
# Texts become sparse vectors of weighted words and pairs of words. Keep the vectorizer for the texts to come.
vectorizer = TextVectorizer().fit(train.texts)
classifier = ExtremeClassifier(width=5, random_state=0)
classifier.fit(vectorizer.transform(train.texts), train.labels)
n_bits = classifier.codebook_.n_bits

truth = [diagnoses.class_names[k] for k in diagnoses.test.y]
right = classifier.predict(vectorizer.transform(diagnoses.test.texts)) == truth
print(
    f"{classifier.n_classes_} classes, {n_bits} bits, {right.mean():.1%} of new texts right"
)

# %%
# A text that somebody typed, and its best five categories with their probabilities:
typed = "type 2 diabetes with kidney disease"
titles = dict(zip(diagnoses.class_names, diagnoses.class_titles, strict=True))
(best,), (probabilities,) = classifier.top_k_proba(vectorizer.transform([typed]), 5)
# sphinx_gallery_alt = "Five bars: type 2 diabetes mellitus is by far the most probable category."
figure, axes = plt.subplots(figsize=(7, 2.4), layout="constrained")
axes.barh([f"{code}  {titles[code]:.45}" for code in best], 100 * probabilities)
axes.invert_yaxis()
axes.set(title=f"“{typed}”", xlabel="probability, %")
plt.show()

# %%
# The command line does all of this without a program:
#
# .. code-block:: console
#
#    codekin train train.tsv model
#    codekin predict model new.tsv --top-k 5 --probabilities
#    codekin evaluate model test.tsv
