"""What a file of learners may contain: classes of scikit-learn by the modules that define them, and plain data.

A name that can merely be *accessed* in a module of scikit-learn proves nothing: such modules import ``partial``,
``GzipFile`` and many other things. So every class is listed here, and nothing that calls a function chosen by the file:
no ``FunctionTransformer``, no functions, no scorers. Each class on the list either computes with arrays whose bounds
NumPy checks, or is checked by :mod:`codekin.storage.learner_checks`.
"""

from __future__ import annotations

import sys

_BOOSTING = "sklearn.ensemble._hist_gradient_boosting"
_NUMBERS = (
    *("bool", "bool_", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    *("float16", "float32", "float64", "str_"),
)

ESTIMATORS: dict[str, tuple[str, ...]] = {
    "sklearn._loss.link": ("IdentityLink", "Interval", "LogitLink", "LogLink", "HalfLogitLink", "MultinomialLogit"),
    "sklearn._loss.loss": ("ExponentialLoss", "HalfBinomialLoss", "HalfMultinomialLoss"),
    "sklearn.calibration": ("CalibratedClassifierCV", "_CalibratedClassifier", "_SigmoidCalibration"),
    "sklearn.compose._column_transformer": ("ColumnTransformer",),
    "sklearn.decomposition._incremental_pca": ("IncrementalPCA",),
    "sklearn.decomposition._pca": ("PCA",),
    "sklearn.decomposition._truncated_svd": ("TruncatedSVD",),
    "sklearn.discriminant_analysis": ("LinearDiscriminantAnalysis", "QuadraticDiscriminantAnalysis"),
    "sklearn.dummy": ("DummyClassifier",),
    "sklearn.ensemble._bagging": ("BaggingClassifier",),
    "sklearn.ensemble._forest": (
        *("ExtraTreesClassifier", "ExtraTreesRegressor", "RandomForestClassifier", "RandomForestRegressor"),
    ),
    "sklearn.ensemble._gb": ("GradientBoostingClassifier",),
    f"{_BOOSTING}.binning": ("_BinMapper",),
    f"{_BOOSTING}.gradient_boosting": ("HistGradientBoostingClassifier",),
    f"{_BOOSTING}.predictor": ("TreePredictor",),
    "sklearn.ensemble._voting": ("VotingClassifier",),
    "sklearn.ensemble._weight_boosting": ("AdaBoostClassifier",),
    "sklearn.feature_extraction.text": ("CountVectorizer", "TfidfTransformer", "TfidfVectorizer"),
    "sklearn.feature_selection._variance_threshold": ("VarianceThreshold",),
    "sklearn.impute._base": ("MissingIndicator", "SimpleImputer"),
    "sklearn.kernel_approximation": ("Nystroem", "RBFSampler"),
    "sklearn.linear_model._base": ("LinearRegression",),
    "sklearn.linear_model._coordinate_descent": ("ElasticNet", "Lasso"),
    "sklearn.linear_model._logistic": ("LogisticRegression", "LogisticRegressionCV"),
    "sklearn.linear_model._passive_aggressive": ("PassiveAggressiveClassifier",),
    "sklearn.linear_model._perceptron": ("Perceptron",),
    "sklearn.linear_model._ridge": ("Ridge", "RidgeCV", "RidgeClassifier", "RidgeClassifierCV"),
    "sklearn.linear_model._stochastic_gradient": ("SGDClassifier", "SGDRegressor"),
    "sklearn.naive_bayes": ("BernoulliNB", "CategoricalNB", "ComplementNB", "GaussianNB", "MultinomialNB"),
    "sklearn.neighbors._classification": ("KNeighborsClassifier",),
    "sklearn.neighbors._nearest_centroid": ("NearestCentroid",),
    "sklearn.neural_network._multilayer_perceptron": ("MLPClassifier", "MLPRegressor"),
    "sklearn.neural_network._stochastic_optimizers": ("AdamOptimizer", "SGDOptimizer"),
    "sklearn.pipeline": ("FeatureUnion", "Pipeline"),
    "sklearn.preprocessing._data": (
        *("Binarizer", "MaxAbsScaler", "MinMaxScaler", "Normalizer", "PowerTransformer", "QuantileTransformer"),
        *("RobustScaler", "StandardScaler"),
    ),
    "sklearn.preprocessing._encoders": ("OneHotEncoder", "OrdinalEncoder"),
    "sklearn.preprocessing._label": ("LabelBinarizer", "LabelEncoder"),
    "sklearn.svm._classes": ("LinearSVC", "LinearSVR", "NuSVC", "SVC"),
    "sklearn.tree._classes": (
        *("DecisionTreeClassifier", "DecisionTreeRegressor", "ExtraTreeClassifier", "ExtraTreeRegressor"),
    ),
    "sklearn.utils._bunch": ("Bunch",),
}
"""Maps modules to classes that are restored from attributes, without calling their constructors."""

_LOSSES = {
    "sklearn._loss._loss": ("CyExponentialLoss", "CyHalfBinomialLoss", "CyHalfMultinomialLoss"),
    "sklearn.linear_model._sgd_fast": (
        *("EpsilonInsensitive", "Hinge", "Huber", "Log", "ModifiedHuber", "SquaredEpsilonInsensitive"),
        *("SquaredHinge", "SquaredLoss"),
    ),
}
_TYPES = {"builtins": ("bool", "float", "int", "str"), "numpy": _NUMBERS}

LOADERS: dict[str, dict[str, tuple[str, ...]]] = {
    "DictNode": {"builtins": ("dict",), "collections": ("OrderedDict",)},
    "DTypeNode": {"numpy": ("dtype",)},
    "ListNode": {"builtins": ("list",)},
    "LossNode": _LOSSES,
    "NdArrayNode": {"numpy": ("ndarray", *_NUMBERS)},
    "ObjectNode": ESTIMATORS,
    "RandomGeneratorNode": {"numpy.random._generator": ("Generator",)},
    "RandomStateNode": {"numpy.random.mtrand": ("RandomState",)},
    "SetNode": {"builtins": ("set",)},
    "SliceNode": {"builtins": ("slice",)},
    "SparseMatrixNode": {"scipy.sparse._csr": ("csr_array", "csr_matrix"), "scipy.sparse._csc": ("csc_matrix",)},
    "TreeNode": {"sklearn.tree._tree": ("Tree",)},
    "TupleNode": {"builtins": ("tuple",)},
    "TypeNode": _TYPES,
}
"""What each kind of node of a skops file may create; ``JsonNode``, which is plain data, may name anything."""


def is_listed(loader: str, module: str, name: str) -> bool:
    """Whether a node of a skops file creates something from the lists above."""
    if module == "_loss":
        return loader in ("LossNode", "ObjectNode") and _is_loss(name)
    return loader == "JsonNode" or name in LOADERS.get(loader, {}).get(module, ())


def _is_loss(name: str) -> bool:
    """Whether the module ``_loss`` is scikit-learn's, as it calls itself in 1.6, and this is one of its listed losses.

    Anybody can have a module of this name, so what it stands for here and now is compared.
    """
    from sklearn._loss import _loss

    is_listed_loss = name in _LOSSES["sklearn._loss._loss"]
    return is_listed_loss and getattr(sys.modules.get("_loss"), name, None) is getattr(_loss, name)
