"""
One prediction at a time
========================

A service answers one request after the other, and for a single row most of ``predict`` goes into checks that pay for
whole tables. ``Predictor`` is the same model without them. Load it once, share it between threads, and give it a row or
a text: the folder of a model also holds its vectorizer.
"""

from pathlib import Path
from tempfile import TemporaryDirectory
from timeit import timeit

import matplotlib.pyplot as plt

from codekin import Predictor, ExtremeClassifier, load_model, save_model
from codekin.data import TextVectorizer
from codekin.storage import ModelInput

SENTENCES = {
    "weather": ["will it rain today", "is it cold outside", "how warm is it in rome"],
    "alarm": ["wake me at seven", "set an alarm for six", "wake me up early"],
    "music": ["play some jazz", "play the song again", "louder music please"],
    "travel": ["when does my train leave", "book a train to rome", "is the flight late"],
}
texts = [text for some in SENTENCES.values() for text in some]
labels = [label for label, some in SENTENCES.items() for _ in some]
vectorizer = TextVectorizer().fit(texts)
classifier = ExtremeClassifier(5, random_state=0).fit(vectorizer.transform(texts), labels)

# %%
# In training, save the model with its vectorizer; in the service, load both. ``codekin train`` makes such folders, too.
with TemporaryDirectory() as home:
    folder = save_model(
        classifier, Path(home) / "intents", model_input=ModelInput(vectorizer)
    )
    loaded, predictor = load_model(folder), Predictor.load(folder)
for text in ("is it warm in rome", "play it louder", "wake me before the train"):
    (label, *_), (probability, *_) = predictor.top_k_proba(text, 2)
    print(f"{text}: {label} ({probability:.0%})")

# %%
# The labels are those of the classifier. The times depend on the machine; their ratio is what counts.
ways = {
    "classifier": lambda: loaded.predict(vectorizer.transform(["play some jazz"])),
    "predictor": lambda: predictor.predict("play some jazz"),
}
assert ways["classifier"]()[0] == ways["predictor"]()
microseconds = {
    name: 1e6 * min(timeit(call, number=20) for _ in range(5)) / 20
    for name, call in ways.items()
}
# sphinx_gallery_alt = "Two bars: a prediction by the predictor takes a small part of the classifier's time."
figure, axes = plt.subplots(figsize=(6, 1.8), layout="constrained")
axes.barh(list(microseconds), list(microseconds.values()))
axes.invert_yaxis()
axes.set(title="From one text to its label", xlabel="microseconds")
plt.show()
