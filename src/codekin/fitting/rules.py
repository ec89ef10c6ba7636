"""Which settings need others: without them they would have no effect, so they are rejected.

The estimators and the command line give the same messages, each with the names that its users know.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from types import SimpleNamespace
from typing import Any, NamedTuple

from codekin.fitting.checked_choices import codes_of
from codekin.fitting.choices import is_one_order

RERANK = ("centroid", "learned")
OF_INDEX = ("index", "both")
"""Sources of candidates that need class vectors."""
ALONE = ("auto", 1)
"""Numbers of members that allow a single code."""

TRELLIS_ONLY, TREE_ONLY = "a trellis. Got {code.given}", "a tree. Got {code.given}"


class Rule(NamedTuple):
    """A setting and what it needs.

    In ``needs``, ``{width}`` is the name of a setting, and ``{width.given}`` its name and value. ``is_kept`` takes the
    values of all settings.
    """

    setting: str
    needs: str
    is_kept: Callable[[Any], bool]


class Spelled(NamedTuple):
    """A setting as its user writes it, alone and with its value."""

    name: str
    given: str

    def __str__(self) -> str:
        """The name."""
        return self.name

    def __format__(self, _: str) -> str:
        """The name."""
        return self.name


TRELLIS_RULES = (
    Rule(
        "max_bits",
        "an automatic {width}, which it chooses. Got {width.given}",
        lambda s: s.max_bits is None or s.width == "auto",
    ),
    Rule(
        "time_limit",
        "a budget, {max_model_bytes} or {max_microseconds}: it ends the search for a model within one",
        lambda s: s.time_limit is None or s.max_model_bytes is not None or s.max_microseconds is not None,
    ),
    Rule(
        "prune",
        "{validation} samples, which measure what it costs",
        lambda s: s.prune in (None, "auto") or s.validation is not None,
    ),
    Rule(
        "n_members",
        "an {assignment} that says how orders are found, by a name or a function. Got one order, which all codes would "
        "share",
        lambda s: s.n_members in ALONE or not is_one_order(s.assignment),
    ),
    Rule(
        "n_spare",
        "a single code without re-ranking. Got {n_members.given} and {rerank.given}",
        lambda s: not s.n_spare or (s.n_members in ALONE and s.rerank not in RERANK),
    ),
    Rule(
        "candidates",
        "a re-ranking with class vectors, of which it makes an index. Got {rerank.given} and {n_spare.given}",
        lambda s: s.candidates not in OF_INDEX or (s.rerank in ("auto", *RERANK) and not s.n_spare),
    ),
    Rule("assignment", TREE_ONLY, lambda s: s.code != "trellis" or "trellis" in codes_of(s.assignment)),
    Rule("assignment", TRELLIS_ONLY, lambda s: s.code != "tree" or "tree" in codes_of(s.assignment)),
    Rule("max_bits", TRELLIS_ONLY, lambda s: s.code != "tree" or s.max_bits is None),
    Rule("n_spare", TRELLIS_ONLY, lambda s: s.code != "tree" or not s.n_spare),
    Rule("loss", TRELLIS_ONLY, lambda s: s.code != "tree" or (isinstance(s.loss, str) and s.loss == "auto")),
)
"""Rules of a classifier on a trellis or a tree."""

CODE_RULES = (
    Rule(
        "weighted_decoding",
        "bits that are learned one by one; use False",
        lambda s: not s.weighted_decoding or not s.learner.learns_probabilities,
    ),
    Rule(
        "decoding",
        "margins as they are: a learned decoder gives probabilities itself. Got {calibrate.given}",
        lambda s: s.decoding != "learned" or s.calibrate is None,
    ),
)
"""Rules of a classifier with any code."""

SYMBOL_RULES = (
    Rule(
        "loss",
        "two symbols; with {n_symbols.given} log-probabilities are added up. Use 'auto'",
        lambda s: isinstance(s.loss, str) and s.loss in ("auto", "log_likelihood"),
    ),
    Rule(
        "decoding",
        "two symbols; with {n_symbols.given} use 'auto', and calibrate='holdout' to weight the columns",
        lambda s: s.decoding != "learned",
    ),
    Rule(
        "estimator",
        "two symbols; {n_symbols.given} needs a scikit-learn classifier",
        lambda s: hasattr(s.learner, "estimator"),
    ),
)
"""Rules of a classifier whose columns have more than two symbols."""

TARGET_RULES = (
    Rule(
        "loss",
        "bits that are signs; real ones are decoded by the nearest target. Use 'auto'",
        lambda s: isinstance(s.loss, str) and s.loss in ("auto", "squared"),
    ),
    Rule(
        "weighted_decoding",
        "bits that may ignore a class, and real ones do not; use False",
        lambda s: not s.weighted_decoding,
    ),
    Rule(
        "calibrate",
        "margins that can be log-odds; the probabilities of real bits are calibrated by decoding='learned'",
        lambda s: s.calibrate is None,
    ),
)
"""Rules of a classifier whose bits are real."""


def in_python(name: str, value: Any) -> Spelled:
    """A parameter of a function or an estimator."""
    return Spelled(name, f"{name}={value!r}")


def check_rules(
    rules: Iterable[Rule], values: Mapping[str, Any], spelled: Callable[[str, Any], Spelled] = in_python
) -> None:
    """Raise if a setting lacks what it needs.

    - ``values``: the values of all settings in the rules.
    - ``spelled``: from the name and the value of a setting to how its user writes it.
    """
    for rule in rules:
        if not rule.is_kept(SimpleNamespace(**values)):
            names = {name: spelled(name, value) for name, value in values.items()}
            raise ValueError(f"{names[rule.setting].given} needs {rule.needs.format(**names)}.")
