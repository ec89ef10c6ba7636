"""One table of all settings of the classifiers.

A row says what a setting may be, its default, what "auto" means, what it needs of other settings, and what it is for.
The checks of the estimators, the options of ``codekin train`` and the tables of the docs follow from it.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from numbers import Integral, Real

from codekin._system.messages import Need
from codekin.code.codebook import MAX_SYMBOLS
from codekin.decoding import LOSSES
from codekin.fitting import defaults
from codekin.fitting.setting import (
    AUTO,
    EVERY_CODE,
    LEARNING,
    Methods,
    Numbers,
    Setting,
    check_assignment_choice,
    check_codebook_choice,
    check_distances_choice,
    check_loss_choice,
    codes_of,
    is_auto,
    table_of,
)
from codekin.learners import LEARNERS
from codekin.learners.compact import PRECISIONS
from codekin.model.reranking import CANDIDATE_SOURCES

RERANK = ("centroid", "learned")
OF_INDEX = ("index", "both")
"""Sources of candidates that need class vectors."""
ALONE = (AUTO, 1)
"""Numbers of codes that allow a single one."""


def _at_least(least: int, most: int | None = None) -> Numbers:
    return Numbers(Integral, least, most, closed="left" if most is None else "both")


ABOVE_ZERO = Numbers(Real, 0, None, closed="neither")
TRELLIS_ONLY = "a trellis. Got {code.given}"

JOBS = Setting(
    "n_jobs",
    None,
    "How many workers share the work, -1 for one per processor; the result does not depend on it.",
    more=(Integral,),
    is_optional=True,
)
RANDOM_STATE = Setting(
    "random_state", None, "The seed; the same data and settings give the same result.", more=("random_state",)
)
LOSS = Setting(
    "loss",
    AUTO,
    f"The decoding loss: {', '.join(LOSSES)}.",
    names=(AUTO, *LOSSES),
    more=(str, callable),
    check=check_loss_choice,
    auto="the learner's own: exponential for arow, logistic for softmax",
)

ECOC_SETTINGS = table_of(
    Setting(
        "estimator",
        None,
        "What learns the bits: a classifier, a regressor or one of codekin's learners.",
        names=tuple(LEARNERS),
        more=(
            Methods(("fit", "decision_function")),
            Methods(("fit", "predict_proba")),
            Methods(("fit", "decoding_loss")),
            Methods(("fit", "predict"), of_regressor=True),
        ),
        is_optional=True,
        needs=(
            Need(
                "two symbols; {n_symbols.given} needs a scikit-learn classifier",
                lambda s: hasattr(s.learner, "estimator"),
                "symbols",
            ),
        ),
        section=LEARNING,
    ),
    Setting(
        "codebook",
        AUTO,
        "Which codewords exist.",
        check=check_codebook_choice,
        auto="one_vs_rest for linear estimators and up to 1,000 classes; else none, or dense_random if that is better",
    ),
    Setting("n_bits", None, "How many bits codewords have.", numbers=_at_least(1), is_optional=True),
    Setting(
        "n_symbols",
        None,
        "How many classes the estimator learns at once.",
        numbers=_at_least(2, MAX_SYMBOLS),
        is_optional=True,
    ),
    Setting("class_distances", "learnability", "How far apart classes are.", check=check_distances_choice),
    Setting("assignment", "preserving", "Which class gets which codeword.", check=check_assignment_choice),
    replace(
        LOSS,
        auto="what suits the learner",
        needs=(
            Need(
                "two symbols; with {n_symbols.given} log-probabilities are added up. Use 'auto'",
                lambda s: isinstance(s.loss, str) and s.loss in (AUTO, "log_likelihood"),
                "symbols",
            ),
            Need(
                "bits that are signs; real ones are decoded by the nearest target. Use 'auto'",
                lambda s: isinstance(s.loss, str) and s.loss in (AUTO, "squared"),
                "targets",
            ),
        ),
    ),
    Setting(
        "decoding",
        AUTO,
        "How margins become classes: by the sum of the losses of the bits, or by learned weights.",
        names=(AUTO, "loss", "learned"),
        auto="learned if the bits are linear and it pays on held-out samples, else loss",
        needs=(
            Need(
                "margins as they are: a learned decoder gives probabilities itself. Got {calibrate.given}",
                lambda s: s.decoding != "learned" or s.calibrate is None,
            ),
            Need(
                "two symbols; with {n_symbols.given} use 'auto', and calibrate='holdout' to weight the columns",
                lambda s: s.decoding != "learned",
                "symbols",
            ),
        ),
    ),
    Setting(
        "weighted_decoding",
        False,
        "Divide the loss of a class by the number of bits that do not ignore it.",
        more=("boolean",),
        needs=(
            Need(
                "bits that are learned one by one; use False",
                lambda s: not s.weighted_decoding or not s.learner.learns_probabilities,
            ),
            Need(
                "bits that may ignore a class, and real ones do not; use False",
                lambda s: not s.weighted_decoding,
                "targets",
            ),
        ),
    ),
    Setting(
        "calibrate",
        None,
        "Turn margins into log-odds with samples that the bits have not seen.",
        names=("cv", "holdout"),
        is_optional=True,
        needs=(
            Need(
                "margins that can be log-odds; the probabilities of real bits are calibrated by decoding='learned'",
                lambda s: s.calibrate is None,
                "targets",
            ),
        ),
    ),
    Setting(
        "class_weight",
        None,
        "Weights of the classes, multiplied into those of the samples.",
        names=("balanced",),
        more=(dict,),
        is_optional=True,
        section=LEARNING,
    ),
    JOBS,
    RANDOM_STATE,
)
"""The settings of :class:`codekin.ECOCClassifier`."""

EXTREME_SETTINGS = table_of(
    Setting(
        "width",
        AUTO,
        "The width of the trellis, or how many children a node of the tree has: wider codes are larger and more "
        "accurate.",
        names=(AUTO,),
        numbers=_at_least(2),
        auto="the widest within {max_bits}, the best within a budget, or else 10 (2 for 100 to 499 re-ranked classes); "
        "for trees a power of 2 up to 64",
        follows=defaults.width_that_follows,
        resolve=defaults.width_of,
        metavar="N|auto",
    ),
    Setting(
        "max_bits",
        None,
        "The most bits that an automatic {width} may use.",
        numbers=_at_least(1),
        is_optional=True,
        needs=(
            Need(
                "an automatic {width}, which it chooses. Got {width.given}",
                lambda s: s.max_bits is None or s.width == AUTO,
            ),
            Need(TRELLIS_ONLY, lambda s: s.code != "tree" or s.max_bits is None),
        ),
        metavar="N",
    ),
    Setting(
        "max_model_bytes",
        None,
        "The most bytes of the model folder, like 5MB. Validation samples then choose everything that is auto.",
        numbers=_at_least(1),
        is_optional=True,
        metavar="SIZE",
        is_size=True,
    ),
    Setting(
        "max_microseconds",
        None,
        "The most microseconds per prediction on one thread; also a budget.",
        numbers=ABOVE_ZERO,
        is_optional=True,
        metavar="NUMBER",
    ),
    Setting(
        "time_limit",
        None,
        "Seconds after which no further recipe is tried within a budget.",
        numbers=ABOVE_ZERO,
        is_optional=True,
        needs=(
            Need(
                "a budget, {max_model_bytes} or {max_microseconds}: it ends the search for a model within one",
                lambda s: s.time_limit is None or s.max_model_bytes is not None or s.max_microseconds is not None,
            ),
        ),
        metavar="SECONDS",
    ),
    Setting(
        "code",
        AUTO,
        "What codewords are paths of: trellis or tree.",
        names=(AUTO, *reversed(EVERY_CODE)),
        auto="a tree for sparse samples, below 100 classes from 300 samples on, and for 100 or more classes of "
        "embeddings, unless a setting needs a trellis",
        resolve=defaults.code_of,
    ),
    Setting("taxonomy", None, "A tree of the classes."),
    Setting(
        "assignment",
        AUTO,
        "Which class gets which codeword; halving, cooccurrence and mixed are for trees.",
        check=partial(check_assignment_choice, more_names=(AUTO,), codes=EVERY_CODE),
        auto="learnability for 100 to 50,000 classes on narrow trellises, halving on trees, else preserving; "
        "with a taxonomy, a trial chooses",
        resolve=defaults.assignments_of,
        needs=(
            Need("a tree. Got {code.given}", lambda s: s.code != "trellis" or "trellis" in codes_of(s.assignment)),
            Need(TRELLIS_ONLY, lambda s: s.code != "tree" or "tree" in codes_of(s.assignment)),
        ),
        metavar="NAME|FILE.json",
    ),
    Setting(
        "estimator",
        AUTO,
        f"The learner: {', '.join(LEARNERS)}.",
        names=(AUTO, *LEARNERS),
        more=(object,),
        auto="svm for fewer than 1,000 classes of sparse samples, vectors for 100 or more of dense ones if no setting "
        "asks for a code; otherwise arow at width 2 and softmax above",
        section=LEARNING,
    ),
    replace(
        LOSS,
        auto="exponential for arow, logistic for softmax and trees, hinge for svm on a trellis",
        needs=(Need(TRELLIS_ONLY, lambda s: s.code != "tree" or is_auto(s.loss)),),
    ),
    Setting(
        "prune",
        AUTO,
        "Drop as many small weights as cost at most this much validation accuracy; 0.001 is a tenth of a point.",
        names=(AUTO,),
        numbers=Numbers(Real, 0, 1, closed="left"),
        is_optional=True,
        auto="0.001 where {precision} is int8 on a trellis, and what a budget needs",
        resolve=defaults.prune_of,
        needs=(
            Need(
                "{validation} samples, which measure what it costs",
                lambda s: s.prune in (None, AUTO) or s.validation is not None,
            ),
        ),
        section=LEARNING,
        metavar="MAX_LOSS",
    ),
    Setting(
        "precision",
        AUTO,
        "How weights are stored: float32, float16 (half the bytes), int8 (a quarter).",
        names=(AUTO, *PRECISIONS),
        auto="int8 for trees, within a budget and with a re-ranking of 100 or more classes, else float32",
        resolve=defaults.precision_of,
        section=LEARNING,
    ),
    Setting(
        "rerank",
        AUTO,
        f"Rescore the best classes by class vectors: none, {', '.join(RERANK)}.",
        names=(AUTO, *RERANK),
        is_optional=True,
        auto="learned on trees, and for 100 or more classes of sparse samples or embeddings; none if auto chooses svm",
        follows=defaults.rerank_that_follows,
        resolve=defaults.rerank_of,
    ),
    Setting(
        "candidates",
        AUTO,
        "What lists the classes to rescore: code (its best paths), index (of class vectors) or both.",
        names=(AUTO, *CANDIDATE_SOURCES),
        auto="index for 100 or more classes on trellises of width 2 to 4, else code",
        resolve=defaults.candidates_of,
        needs=(
            Need(
                "a re-ranking with class vectors, of which it makes an index. Got {rerank.given} and "
                "{n_reserved.given}",
                lambda s: s.candidates not in OF_INDEX or (s.rerank in (AUTO, *RERANK) and not s.n_reserved),
            ),
        ),
    ),
    Setting(
        "n_codes",
        AUTO,
        "How many codes to train, whose losses are added.",
        names=(AUTO,),
        numbers=_at_least(1),
        auto="1, or 2 for trees of more than 50,000 classes, or the best within a budget",
        follows=defaults.n_codes_that_follow,
        resolve=defaults.n_codes_of,
        needs=(
            Need(
                "an {assignment} that says how orders are found, by a name or a function. Got one order, which all "
                "codes would share",
                lambda s: s.n_codes in ALONE or not defaults.is_one_order(s.assignment),
            ),
        ),
        metavar="N|auto",
    ),
    Setting(
        "n_reserved",
        0,
        "How many codewords to leave free, for classes added later. With them there is no re-ranking.",
        numbers=_at_least(0),
        needs=(
            Need(
                "a single code without re-ranking. Got {n_codes.given} and {rerank.given}",
                lambda s: not s.n_reserved or (s.n_codes in ALONE and s.rerank not in RERANK),
            ),
            Need(TRELLIS_ONLY, lambda s: s.code != "tree" or not s.n_reserved),
        ),
        metavar="N",
    ),
    JOBS,
    RANDOM_STATE,
)
"""The settings of a classifier of many classes."""
