"""All settings of a fit, with all automatic choices made, and what samples may still change in them."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, Literal, NamedTuple, cast

import numpy as np

from codekin._system.messages import counted
from codekin.code import Codebook
from codekin.code.codebook import MAX_SYMBOLS, kind_of_matrix, symbol_parameters
from codekin.code.tree import label_tree
from codekin.codebooks import CODEBOOKS, trellis_codebook
from codekin.codebooks.classic import DENSE_BITS_PER_DOUBLING, default_n_bits, n_binary_columns
from codekin.decoding.learned import LearnedDecoder
from codekin.decoding.losses import LossLike
from codekin.fitting.classes import Classes, classes_as_learned, column_trials
from codekin.fitting.defaults import MAX_CLUSTERED_CLASSES, FitSettings, tree_learner, trellis_learner
from codekin.fitting.setting import check_settings, is_auto, missing_arguments, shown
from codekin.fitting.settings import ECOC_SETTINGS
from codekin.learners import Learner
from codekin.learners.compact import Precision
from codekin.learners.estimators import declared_limit, learns_linearly
from codekin.model.reranking import CandidateSource
from codekin.samples import Samples

MAX_COLUMNS = 1_000
"""With more classes, one column per class takes too long for its gain."""
FEW_COLUMNS = 15
"""The least number of dense columns; more than this and more than one per class rarely pay."""
Seed = tuple[int, ...]


class Generators(NamedTuple):
    """Independent generators, one for each random choice."""

    codebook: np.random.Generator
    assignment: np.random.Generator
    distances: np.random.Generator
    bits: np.random.Generator


def generators(seed: Seed, *, for_codebook: bool) -> Generators:
    """The same generators at every call; the paths of a graph are not drawn, and leave theirs to others."""
    drawn = np.random.default_rng(seed).spawn(4)
    return Generators(*drawn) if for_codebook else Generators(drawn[3], *drawn[:3])


@dataclass(frozen=True, eq=False)
class Plan:
    """All settings of a fit. Nothing is left open: there is a single value of everything.

    - ``codebook``: which codewords exist.
    - ``class_distances``: how far apart classes are, or how that is learned.
    - ``assignment``: which class gets which codeword, or how that is found.
    - ``learner``: learns the bits.
    - ``loss``: the decoding loss.
    - ``seed``: determines all random choices.
    - ``draws_codebook``: whether the codebook was made with a generator of the seed.
    - ``reason``: why this codebook was chosen, if the user left it open.
    - ``policy``: the user's name for the assignment, if it has another name here.
    - ``weighted_decoding``: divide the loss of a class by the number of its non-zero bits.
    - ``decoding``: by the loss, by weights learned from margins, or each class by the margin of its own bit.
    - ``calibrate``: turn margins into log-odds with samples that the bits have not seen.
    - ``rerank``: how the best classes are rescored.
    - ``candidates``: what lists the classes to rescore.
    - ``precision``: how weights are stored.
    - ``prune``: how much validation accuracy pruning may cost.
    - ``max_bytes``: how many bytes a code may take on disk; pruning drops as many more weights as that requires.
    """

    n_classes: int
    codebook: Codebook
    class_distances: Any
    assignment: Any
    learner: Learner
    loss: LossLike
    seed: Seed
    draws_codebook: bool = False
    policy: str = ""
    reason: str = ""
    weighted_decoding: bool = False
    decoding: Literal["loss", "learned", "margins"] = "loss"
    calibrate: Literal["cv", "holdout"] | None = None
    n_codes: int = 1
    rerank: Literal["centroid", "learned"] | None = None
    candidates: CandidateSource = "code"
    precision: Precision = "float32"
    prune: float | None = None
    max_bytes: float | None = None

    @property
    def is_ranked(self) -> bool:
        """Whether candidates are listed and ranked, instead of a single best class being decoded."""
        return self.rerank is not None or self.n_codes > 1

    @property
    def generators(self) -> Generators:
        """The generators of the random choices, at their beginning."""
        return generators(self.seed, for_codebook=self.draws_codebook)

    def as_dict(self) -> dict[str, Any]:
        """The settings as JSON values: names and numbers as they are, everything else by its name."""
        values = {field.name: _plain(getattr(self, field.name)) for field in fields(self)}
        values |= {"n_bits": self.codebook.n_bits, "n_symbols": self.codebook.n_symbols}
        del values["draws_codebook"]
        if self.max_bytes is None or np.isinf(self.max_bytes):
            del values["max_bytes"]
        return values

    def __str__(self) -> str:
        """One setting per line, without empty ones."""
        given = {name: value for name, value in self.as_dict().items() if value not in (None, "", False)}
        return "\n".join(f"{name:<18} {value}" for name, value in given.items())


class Alternatives(NamedTuple):
    """What samples may change in a plan while it is carried out; fitting returns the plan with what they chose.

    - ``assignments``: the policies that a trial compares, if there are several; the plan has the first.
    - ``learned_decoding``: whether a decoder is learned for a plan that decodes by the loss, and taken if it is better.
    - ``decoder``: one that is known already, and that is taken.
    """

    assignments: tuple[str, ...] = ()
    learned_decoding: bool = False
    decoder: LearnedDecoder | None = None


def _plain(value: Any) -> Any:
    if value is None or isinstance(value, str | bool | int | float):
        return value
    if isinstance(value, tuple):
        return ", ".join(str(_plain(item)) for item in value)
    if isinstance(value, Codebook):
        return value.name if value.width is None else f"{value.name} of width {value.width}"
    return repr(value) if hasattr(value, "decoding_loss") else shown(value)


def extreme_plan(settings: FitSettings) -> tuple[Plan, Alternatives]:
    """All settings of a fit of a classifier of many classes, and the policies to try."""
    of_table = [field.name for field in fields(Plan) if field.name in settings.table]
    shared = {name: getattr(settings, name) for name in of_table if name not in ("assignment", "loss")}
    shared |= {"n_classes": settings.n_classes, "seed": settings.seed}
    tree, policy = settings.class_tree, settings.given["assignment"]
    tried = settings.assignment if is_auto(policy) else ()
    policy = tried[0] if tried else policy
    n_paths = settings.n_classes + settings.n_reserved
    codebook: Codebook
    if settings.code == "tree":
        codebook, learned_tree = label_tree(settings.n_classes, settings.width), "splitting"
        learner = tree_learner(settings)
    else:
        codebook = trellis_codebook(n_paths, min(settings.width, n_paths))
        codebook.check_spare_codewords(settings.n_classes)
        learned_tree = "clustering" if settings.n_classes <= MAX_CLUSTERED_CLASSES else "splitting"
        learner = trellis_learner(settings.estimator, cast("int", codebook.width))
        if isinstance(policy, str) and policy == "preserving":
            policy, shared["policy"] = "ordered", "preserving"
    plan = Plan(
        codebook=codebook,
        class_distances=learned_tree if tree is None else tree,
        assignment=policy,
        learner=learner,
        loss=learner.decoding_loss(codebook) if is_auto(settings.loss) else settings.loss,
        **shared,
    )
    return plan, Alternatives(tried if len(tried) > 1 else ())


def code_plan(
    given: Mapping[str, Any], classifier: Any, learner: Learner, samples: Samples, *, n_classes: int, seed: Seed
) -> tuple[Plan, Alternatives, Classes]:
    """All settings of a fit from the parameters of a :class:`codekin.ECOCClassifier`, and the classes of the samples.

    - ``classifier``: learns single columns, and may declare how many symbols; None if bits are learned jointly.
    - ``learner``: learns all columns.
    """
    n_symbols = _most_symbols(given["codebook"], given["n_symbols"], classifier, n_classes)
    values = {**given, "n_symbols": n_symbols, "learner": learner}
    kind = kind_of_matrix(n_symbols=n_symbols)
    check_settings(ECOC_SETTINGS, values, kind=kind)
    choice, n_bits, reason = given["codebook"], given["n_bits"], ""
    if is_auto(choice):
        choice, n_bits, reason = DEFAULT_CODES[kind](learner, n_classes, n_bits, n_symbols)
    draws_codebook = not (isinstance(choice, Codebook) and choice.width is not None)
    rngs = generators(seed, for_codebook=draws_codebook)
    classes = classes_as_learned(
        learner, samples, n_classes, given["class_distances"], rng=rngs.distances, n_symbols=n_symbols
    )
    classes = replace(classes, trials=lambda: column_trials(learner, samples, n_classes, rngs.codebook))
    codebook = choose_codebook(choice, n_bits, classes, rngs.codebook, n_symbols=n_symbols)
    named = learner if classifier is None else classifier
    codebook.check_learner(type(named).__name__, bool(getattr(learner, "learns_targets", False)))
    check_settings(ECOC_SETTINGS, values, kind=codebook.kind)
    is_log_odds = given["calibrate"] is not None and not codebook.has_symbol_margins
    own_loss: LossLike = "logistic" if is_log_odds else learner.decoding_loss(codebook)
    # A given loss and calibration are for decoding by the loss.
    is_open = (
        given["decoding"] == "auto"
        and is_auto(given["loss"])
        and given["calibrate"] is None
        and not codebook.has_symbol_margins
    )
    plan = Plan(
        n_classes=n_classes,
        codebook=codebook,
        class_distances=given["class_distances"],
        assignment=given["assignment"],
        learner=learner,
        loss=own_loss if is_auto(given["loss"]) else given["loss"],
        seed=seed,
        draws_codebook=draws_codebook,
        reason=reason,
        weighted_decoding=given["weighted_decoding"],
        decoding="learned" if given["decoding"] == "learned" else "loss",
        calibrate=given["calibrate"],
    )
    return plan, Alternatives(learned_decoding=is_open), classes


def _most_symbols(codebook: Any, limit: int | None, classifier: Any, n_classes: int) -> int:
    """How many symbols a column may have."""
    if isinstance(codebook, Codebook):
        if limit is not None and codebook.n_symbols > limit:
            raise ValueError(f"The given codebook has {codebook.n_symbols} symbols. Got n_symbols={limit}.")
        return codebook.n_symbols
    if not (isinstance(codebook, str) or callable(codebook)):
        # A given matrix has two symbols by default.
        return limit or 2
    if limit is None:
        limit = min(declared_limit(classifier) or 2, MAX_SYMBOLS)
    return max(min(limit, n_classes), 2)


# ----- the code, if it is left open ---------------------------------------------------------------------------------


class CodeDefault(NamedTuple):
    """A codebook, the number of bits if it leaves the choice, and the reason, empty if there was no choice."""

    codebook: str
    n_bits: int | None
    reason: str


def _default_of_signs(learner: Learner, n_classes: int, n_bits: int | None, _: int) -> CodeDefault:
    """One column per class for linear bits, dense columns for others.

    For linear bits, one column per class with a learned decoder is rarely behind any other code of the same length
    (``benchmarks/predictors.py``). Other bits gain from dense columns, each a different problem to learn: as many as
    classes, but at least 15 and at most those of Allwein et al. (2000).
    """
    if n_bits is not None or n_classes == 2:
        return CodeDefault("dense_random", n_bits, "")
    is_linear = learns_linearly(getattr(learner, "estimator", learner))
    if is_linear and n_classes <= MAX_COLUMNS:
        return CodeDefault("one_vs_rest", None, f"the bits are linear, the classes at most {MAX_COLUMNS:,}")
    if is_linear:
        return CodeDefault("dense_random", None, f"the classes are more than {MAX_COLUMNS:,}")
    return CodeDefault("dense_random", n_dense_bits(n_classes), "the bits are not linear")


def n_dense_bits(n_classes: int) -> int:
    """How many dense columns bits that are not linear get by default."""
    n_columns = n_binary_columns(n_classes) if n_classes <= FEW_COLUMNS else n_classes
    most = default_n_bits(n_classes, DENSE_BITS_PER_DOUBLING, n_columns=n_columns)
    return min(max(n_classes, FEW_COLUMNS), most)


def _default_of_symbols(learner: Learner, n_classes: int, n_bits: int | None, n_symbols: int) -> CodeDefault:
    """Several classes against the rest for linear learners, if the number of columns allows it.

    A linear learner separates one class from all others better than a set of dissimilar classes from other sets; trees
    gain from columns that all classes share (``benchmarks/many_classes.py``).
    """
    n_columns = -(-n_classes // (n_symbols - 1))
    if n_classes <= n_symbols or not learns_linearly(getattr(learner, "estimator", learner)):
        return CodeDefault("dense_random", n_bits, "")
    if n_bits not in (None, n_columns) or n_columns > MAX_COLUMNS:
        return CodeDefault("dense_random", n_bits, "")
    reason = f"the columns are linear, and {n_columns} of them have a symbol for every class"
    return CodeDefault("one_vs_rest", None, reason)


DEFAULT_CODES: dict[str, Callable[[Learner, int, int | None, int], CodeDefault]] = {
    "signs": _default_of_signs,
    "symbols": _default_of_symbols,
}
"""The default codes by the kind of their matrix."""


# ----- the codebook -------------------------------------------------------------------------------------------------

CODEBOOK_ARGUMENTS = "n_bits, n_symbols, rng, class_distances, class_moments, column_trials and class_tree"
"""The possible arguments of a function that makes a codebook."""


def choose_codebook(
    choice: Any, n_bits: int | None, classes: Classes, rng: np.random.Generator, *, n_symbols: int = 2
) -> Codebook:
    """A codebook with at least as many codewords as there are classes.

    A function in ``CODEBOOKS`` names what it needs as parameters: ``n_bits``, ``n_symbols``, ``rng``,
    ``class_distances`` (a matrix), ``class_moments``, ``column_trials`` or ``class_tree``; it gets only these.

    - ``choice``: a name from ``CODEBOOKS``, a function like those in it, or the codewords.
    - ``n_bits``: how many bits; None for the codebook's own default.
    - ``n_symbols``: how many symbols a column may have.
    """
    if isinstance(choice, str) or (callable(choice) and not isinstance(choice, Codebook)):
        codebook = _make_codebook(choice, n_bits, n_symbols, classes, rng)
    else:
        codebook = choice if isinstance(choice, Codebook) else Codebook(choice, n_symbols=n_symbols)
        _check_n_bits(n_bits, codebook, "The given codebook")
    if codebook.n_codewords < classes.n_classes:
        raise ValueError(
            f"The codebook has {codebook.n_codewords} codewords, but the labels have {classes.n_classes} classes."
        )
    codebook.check_spare_codewords(classes.n_classes)
    return codebook


def _make_codebook(
    choice: str | Callable[..., Codebook],
    n_bits: int | None,
    n_symbols: int,
    classes: Classes,
    rng: np.random.Generator,
) -> Codebook:
    if isinstance(choice, str):
        make, name = CODEBOOKS[choice], choice
    else:
        make, name = choice, getattr(choice, "__name__", "given")
    wanted = inspect.signature(make).parameters
    empty, parameter = inspect.Parameter.empty, wanted.get("n_symbols")
    # A given function keeps a default of its own for two symbols.
    takes_any = parameter is not None and (isinstance(choice, str) or parameter.default is empty)
    arguments: dict[str, Any] = {"n_symbols": n_symbols} if takes_any else {**symbol_parameters(n_symbols)}
    if not arguments.keys() <= wanted.keys():
        names = [repr(key) for key, each in CODEBOOKS.items() if "n_symbols" in inspect.signature(each).parameters]
        raise ValueError(
            f"The {name} codebook has two symbols. Got n_symbols={n_symbols}; use 2, or one of {', '.join(names)}."
        )
    if "n_bits" in wanted and n_bits is not None:
        arguments["n_bits"] = n_bits
    if "rng" in wanted:
        arguments["rng"] = rng
    if "class_distances" in wanted:
        matrix = classes.distances.matrix()
        # Learnability may be negative, which assignments support and designed codebooks do not.
        arguments["class_distances"] = classes.mean_distances() if (matrix < 0).any() else matrix
    if "class_moments" in wanted:
        arguments["class_moments"] = classes.moments
    if "column_trials" in wanted and classes.trials is not None:
        arguments["column_trials"] = classes.trials()
    if "class_tree" in wanted:
        # A tree is computed only for codebooks that need one.
        is_needed = wanted["class_tree"].default is empty
        arguments["class_tree"] = classes.tree if is_needed else classes.distances.tree
    missing = "" if isinstance(choice, str) else missing_arguments(make, [classes.n_classes], arguments)
    if missing:
        raise ValueError(
            f"A function given as 'codebook' takes the number of classes and optionally {CODEBOOK_ARGUMENTS}. "
            f"Got {name}: {missing}."
        )
    try:
        made = make(classes.n_classes, **arguments)
    except ValueError as error:
        raise ValueError(
            str(error) if n_bits is None else f"{error} Got codebook={name!r}, n_bits={n_bits}."
        ) from error
    codebook = made if isinstance(made, Codebook) else Codebook(made, name=name, n_symbols=n_symbols)
    if "n_bits" not in wanted:
        _check_n_bits(n_bits, codebook, f"codebook={name!r}")
    return codebook


def _check_n_bits(n_bits: int | None, codebook: Codebook, what: str) -> None:
    """Raise if a codebook whose width is not a choice has another one than was asked for."""
    if n_bits not in (None, codebook.n_bits):
        has = f"{counted(codebook.n_bits, 'bit')} for {counted(codebook.n_codewords, 'class')}"
        raise ValueError(f"{what} has {has}. Got n_bits={n_bits}; leave it out, or choose another codebook.")
