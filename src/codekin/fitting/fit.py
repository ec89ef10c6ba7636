"""From a plan and samples to a model: the code is chosen, its bits are learned, then its ranking and temperature.

A model can learn from further batches. Classes can be added later: each gets the free codeword that fits its samples
best, and nothing else changes.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, replace
from typing import Any, cast

import numpy as np

from codekin.classes import ClassDistances
from codekin.code import Code, FloatArray, IntArray, Margins
from codekin.decoding import Loss
from codekin.decoding.decoder_fit import DecoderFit
from codekin.fitting.codes import CodesToLearn, LearnedCode, SharedWork
from codekin.fitting.footprint import check_memory_needs
from codekin.fitting.orders import Orders, choose_orders
from codekin.fitting.plan import Alternatives, Plan
from codekin.fitting.reranking import fit_ranked
from codekin.fitting.temperature import Temperature, fit_temperature
from codekin.fitting.trial import Trial, corrected_for_sizes, hold_out_samples
from codekin.learners.training import Callbacks
from codekin.model import FittedCode, Model
from codekin.model.probabilities import ClassPrior
from codekin.progress import stage
from codekin.samples import Samples
from codekin.states import tree_arrays

TRIED_PER_CLASS = 50
"""How many samples per class the learners that are compared learn from, at most."""


@dataclass(frozen=True, eq=False)
class FitResult:
    """A fitted model, and how it came about; ``trials`` are those of a search within ``budget``."""

    model: Model
    plan: Plan
    orders: Orders
    class_distances: ClassDistances | None
    loss: Loss
    rng: np.random.Generator
    temperature: Temperature = field(default_factory=Temperature)
    trials: tuple[Trial, ...] = ()
    budget: str = ""
    decoder_fit: DecoderFit | None = None
    facts: dict[str, Any] = field(init=False)
    """What the report says about the fit."""

    def __post_init__(self) -> None:
        found, measures = self.decoder_fit, asdict(self.temperature)
        del measures["value"], measures["marginals"]
        named = {"decoding": self.plan.decoding, "codebook_reason": self.plan.reason, "budget": self.budget}
        facts = {**named, "trials": self.trials, **measures}
        if found is not None:
            facts |= {"learned_accuracy": found.accuracy, "loss_accuracy": found.loss_based_accuracy}
            if self.plan.decoding == "learned":
                facts["decoder_strength"] = found.strength
        object.__setattr__(self, "facts", facts)


def fit_model(
    plan: Plan,
    samples: Samples,
    *,
    held_out: Samples | None = None,
    alternatives: Alternatives = Alternatives(),  # noqa: B008  (immutable)
    orders: Orders | None = None,
    callbacks: Callbacks = Callbacks(),  # noqa: B008  (immutable)
    shared: SharedWork | None = None,
    with_temperature: bool = True,
) -> FitResult:
    """Fit a model by a plan.

    - ``held_out``: validation samples, which choose the pass, the re-ranking and the temperature.
    - ``alternatives``: what the samples may change in the plan; the result has the plan as it was carried out.
    - ``orders``: of the classes, if they are chosen already.
    - ``callbacks``: where to report passes and save checkpoints.
    - ``shared``: what other plans with the same samples and seed have learned.
    - ``with_temperature``: whether to fit a temperature, which a trial does not need.
    """
    limit = getattr(plan.learner, "max_memory", None)
    if limit is not None:
        check_memory_needs(plan, samples, held_out, limit, alternatives.assignments)
    if orders is None:
        known: dict[int | None, Orders] = {} if shared is None else shared.orders
        if plan.codebook.width not in known:
            known[plan.codebook.width] = choose_orders(plan, samples, held_out, tried=alternatives.assignments)
        orders = known[plan.codebook.width]
    class_distances = orders.class_distances
    if plan.max_bytes is not None:
        tree = None if class_distances is None else class_distances.tree
        arrays = {} if tree is None else tree_arrays(tree)
        of_tree = sum(array.nbytes for array in arrays.values()) / plan.n_codes
        if of_tree <= plan.max_bytes / 2:  # a search within a budget leaves a larger one out
            plan = replace(plan, max_bytes=plan.max_bytes - of_tree)
    rng = plan.generators.bits
    codes = [Code(plan.codebook, order) for order in orders.of(plan.n_codes)]
    if shared is not None:
        generators = rng.spawn(len(codes))  # a code must be the same in every trial
    elif plan.codebook.uses_all_threads:
        generators = [rng] * len(codes)  # in turn
    else:
        generators = [rng, *(rng.spawn(len(codes) - 1) if len(codes) > 1 else ())]
    to_learn = CodesToLearn(plan, codes, generators, callbacks, shared, alternatives)
    if plan.is_ranked:
        model, temperature, first = fit_ranked(to_learn, samples, held_out, rng, with_temperature=with_temperature)
    else:
        usual, temperature = getattr(plan.learner, "usual_temperature", None), Temperature()
        tried, is_measured = getattr(plan.learner, "tried", ()), usual is not None or samples.labels is not None
        is_corrected = plan.codebook.usual_size_power and usual is None
        if is_measured and held_out is None and with_temperature:
            with stage("on nine tenths of the samples"):
                is_copied, most = (
                    not isinstance(samples.X, np.ndarray),
                    TRIED_PER_CLASS * plan.n_classes if tried else None,
                )
                trial = hold_out_samples(samples, rng.spawn(1)[0], is_copied=is_copied, most_learned=most)
                first, to_learn = _best_tried(to_learn, tried, trial.samples, trial.held_out)
                of_trial = corrected_for_sizes((first.member,), trial.samples)[0] if is_corrected else (first.member,)
                temperature = fit_temperature(Model(of_trial), trial.held_out, usual)
        if len(tried) > 1 and held_out is not None:
            _, to_learn = _best_tried(to_learn, tried, samples, held_out)
        (first,) = to_learn.fit(samples, held_out)
        plan = to_learn.plan
        of_first: tuple[FittedCode, ...] = (first.member,)
        if is_corrected:
            of_first, _ = corrected_for_sizes(of_first, samples, held_out)
        model = Model(of_first)
        if held_out is not None and with_temperature:
            temperature = fit_temperature(model, held_out, usual)
    decoding: Any = "learned" if first.member.decoder.is_learned else "loss"
    prior = ClassPrior.of(samples, plan.n_classes) if hasattr(samples.X, "nnz") else None
    return FitResult(
        replace(model, prior=prior, temperature=temperature.value, marginals=temperature.marginals),
        replace(plan, assignment=orders.policy, decoding=decoding),
        orders,
        class_distances,
        first.loss,
        rng,
        temperature,
        decoder_fit=first.decoder_fit,
    )


def _best_tried(
    to_learn: CodesToLearn, learners: tuple[tuple[Any, Any], ...], samples: Samples, held_out: Samples
) -> tuple[LearnedCode, CodesToLearn]:
    """What is right most often of what several learners make of the samples, and what to learn with the best one.

    Each learner comes with the one that is tried for it.
    """
    found: list[tuple[float, LearnedCode, CodesToLearn]] = []
    for number, (learner, tried) in enumerate(learners or ((to_learn.plan.learner,) * 2,)):
        own = replace(to_learn, plan=replace(to_learn.plan, learner=tried), shared=None)
        (first,) = own.with_checkpoints(f"trial-{number}" if number else "trial").fit(samples, None)
        right = 1.0 if len(learners) < 2 else held_out._share_of_hits(Model((first.member,)).predict(held_out.X))
        found.append((right, first, replace(to_learn, plan=replace(to_learn.plan, learner=learner))))
    _, best, chosen = max(found, key=lambda one: one[0])
    return best, chosen


def begin_fit(plan: Plan, orders: Orders) -> FitResult:
    """A model of a code chosen from a first batch of samples, without bits, which :func:`learn_batch` learns."""
    code, empty = Code(plan.codebook, orders.first), cast("Any", None)
    first = FittedCode.of(code, empty, plan.loss, is_weighted=plan.weighted_decoding)
    plan = replace(plan, assignment=orders.policy)
    return FitResult(Model((first,)), plan, orders, orders.class_distances, first.decoder.loss, plan.generators.bits)


def learn_batch(model: Model, learner: Any, samples: Samples, rng: np.random.Generator) -> Model:
    """The model after one pass over another batch of samples."""
    if not hasattr(learner, "partial_fit"):
        raise ValueError(f"The learner {type(learner).__name__} cannot learn batch by batch; use Softmax or AROW.")
    first = model.first
    bits = learner.partial_fit(first.bits, samples, first.code, rng=rng)
    return Model((FittedCode(first.code, bits, first.decoder),))


def grown(model: Model, margins: Margins, new_class: IntArray, places: IntArray, loss: Loss) -> Model:
    """The model with free codewords for new classes; the bits stay as they are.

    - ``margins``, ``new_class``: samples of the new classes, which are numbered from 0.
    - ``places``: the class that each one of the grown model was before; new ones follow the old ones.
    """
    codebook, decoder = model.codebook, model.decoder
    codebook.check_growth()
    codewords = best_free_codewords(model.code, margins, new_class, loss)
    codeword_of_class = np.concatenate([model.assignment.codeword_of_class, codewords])[places]
    code = Code(codebook, replace(model.assignment, codeword_of_class=codeword_of_class))
    own: Any = decoder
    if decoder.is_learned:
        grown_code = FittedCode(
            code, model.bits, own.with_codewords(codebook.indicators_at(codewords)).in_order(places)
        )
    else:
        is_weighted = getattr(own, "is_weighted", False)
        grown_code = FittedCode.of(code, model.bits, decoder.loss, is_weighted=is_weighted)
    return Model((grown_code,), temperature=model.temperature)


def best_free_codewords(code: Code, margins: Margins, new_class: IntArray, loss: Loss) -> IntArray:
    """A free codeword for each new class, such that the sum of the classes' mean decoding losses is minimal.

    Each row of ``margins`` is a sample of one of the new classes, which ``new_class`` numbers from 0.
    """
    codebook, free, n_new = code.codebook, code.free_codewords, int(new_class.max()) + 1
    if len(free) < n_new:
        needs = (
            "1 new class needs a free codeword" if n_new == 1 else f"{n_new} new classes need as many free codewords"
        )
        raise ValueError(
            f"{needs}. Got {len(free)} among the {codebook.n_codewords} of the codebook. "
            "Train again with more reserved codewords."
        )
    from scipy.optimize import linear_sum_assignment

    costs = _mean_losses(codebook.indicators_at(free).astype(np.float64), margins, new_class, loss)
    return free[linear_sum_assignment(costs)[1]]


def _mean_losses(codewords: FloatArray, margins: Margins, new_class: IntArray, loss: Loss) -> FloatArray:
    """The mean loss of each codeword over the samples of each new class: per bit there are three losses to average."""
    counts = np.bincount(new_class)
    means = []
    for bit in (1.0, -1.0):
        total = np.zeros((len(counts), margins.shape[1]))
        np.add.at(total, new_class, loss(bit * margins.astype(np.float64)))
        means.append(total / counts[:, None])
    of_zeros = float(loss(np.zeros(1))[0]) * (codewords == 0).sum(axis=1)
    positive, negative = (codewords > 0).astype(np.float64), (codewords < 0).astype(np.float64)
    return np.asarray(means[0] @ positive.T + means[1] @ negative.T + of_zeros)
