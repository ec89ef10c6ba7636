"""Settings of a trellis classifier with all automatic choices made, and how good a recipe is."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from time import process_time
from typing import Any, Literal

from codekin._system.memory import in_units
from codekin._system.threads import limited_threads
from codekin.learners.compact import Precision
from codekin.model.reranking import CandidateSource

GENTLE_PRUNING = 0.001
"""How much validation accuracy pruning may cost by default."""

LISTED_BY = {"code": "", "index": " of an index", "both": " of the code and an index"}


@dataclass(frozen=True)
class Recipe:
    """Settings of a trellis classifier, none of them left open.

    - ``rerank``: how the best classes are rescored.
    - ``precision``: how weights are stored.
    - ``prune``: how much validation accuracy pruning may cost; "to fit" drops weights that cost next to nothing, and
      as many more as a budget requires.
    - ``code``: what the codewords are paths of.
    - ``candidates``: what lists the classes to rescore.
    """

    width: int
    n_members: int
    rerank: Literal["centroid", "learned"] | None
    precision: Precision
    prune: float | Literal["to fit"] | None
    code: Literal["trellis", "tree"] = "trellis"
    candidates: CandidateSource = "code"

    @classmethod
    def of(cls, plan: Any) -> Recipe:
        """The recipe of a plan."""
        own = {setting.name: getattr(plan, setting.name) for setting in fields(cls) if setting.name != "code"}
        return cls(**own, code="tree" if plan.has_tree else "trellis")

    def __str__(self) -> str:
        """A few words."""
        kind = "tree of width" if self.code == "tree" else "width"
        parts = [f"{kind} {self.width}" if self.n_members == 1 else f"{self.n_members} x {kind} {self.width}"]
        parts += [f"{self.rerank} re-ranking{LISTED_BY[self.candidates]}"] * (self.rerank is not None)
        parts.append(self.precision)
        pruned = (
            [] if self.prune is None else ["pruned " + (self.prune if self.prune == "to fit" else f"by {self.prune:g}")]
        )
        return ", ".join([*parts, *pruned])


@dataclass(frozen=True)
class Trial:
    """A recipe and its results.

    - ``accuracy``: on the validation samples.
    - ``n_bytes``: the size of the whole model folder.
    - ``microseconds``: per prediction, on one thread.
    - ``fits``: whether it is within the budget.
    """

    recipe: Recipe
    accuracy: float
    n_bytes: int
    microseconds: float
    seconds: float
    fits: bool

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Trial:
        """The trial whose ``as_dict`` this is."""
        return cls(**{**values, "recipe": Recipe(**values["recipe"])})

    def __str__(self) -> str:
        """One line."""
        return (
            f"{100 * self.accuracy:.2f} %  {in_units(self.n_bytes):>9}  {self.microseconds:>5.1f} us  {self.recipe}"
            + ("" if self.fits else "  (beyond the budget)")
        )


@dataclass(frozen=True)
class Limits:
    """What a model may cost.

    - ``n_bytes``: of the whole folder on disk.
    - ``microseconds``: per prediction, on one thread.
    - ``seconds``: for the search.
    """

    n_bytes: int | None = None
    microseconds: float | None = None
    seconds: float | None = None

    def allow(self, n_bytes: float, microseconds: float = 0.0) -> bool:
        """Whether a model of this size and speed is within the limits."""
        is_small = self.n_bytes is None or n_bytes <= self.n_bytes
        return is_small and (self.microseconds is None or microseconds <= self.microseconds)

    def __str__(self) -> str:
        """A few words."""
        size = [] if self.n_bytes is None else [in_units(self.n_bytes)]
        return " and ".join([*size, *([] if self.microseconds is None else [f"{self.microseconds:g} microseconds"])])


def microseconds_of(model: Any, X: Any, n_rounds: int = 3, n_rows: int = 2_000) -> float:
    """CPU microseconds per prediction on one thread; the minimum of some rounds."""
    rows = X[:n_rows]
    with limited_threads(1):
        model.predict(rows)  # compiles
        times = []
        for _ in range(n_rounds):
            begin = process_time()
            model.predict(rows)
            times.append(process_time() - begin)
    return float(1e6 * min(times) / rows.shape[0])
