"""
Digits in ten lines
===================

A problem with ten classes can be learned as a few yes-or-no questions. Every class gets a codeword of bits, every bit
gets a binary predictor, and the class whose codeword fits the answers best wins. ``ECOCClassifier`` does this with any
classifier of scikit-learn for the bits, and behaves like one of them itself.
"""

from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.svm import LinearSVC

from codekin import ECOCClassifier

X, y = load_digits(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X / 16, y, random_state=0)
classifier = ECOCClassifier(LinearSVC(), n_bits=8, random_state=0).fit(X_train, y_train)
print(f"eight linear predictors get {classifier.score(X_test, y_test):.1%} right")

# %%
# The picture shows the codewords, one per row, with similar digits next to each other. Down a column, each change of
# colour is a border that this bit's predictor has to learn. There are few of them, because codekin gave similar digits
# similar codewords.

# sphinx_gallery_alt = "Ten rows of eight coloured cells: rows of similar digits next to each other look alike."
from codekin.plots import CodingMatrixDisplay

display = CodingMatrixDisplay.from_estimator(classifier)

# %%
# The report says what this choice was worth: how hard each bit is, and how far the assignment of codewords to digits is
# from a random one.
print(classifier.report(X_train, y_train))
