"""From a plan and samples to a model: the parts of the code, its bits, its ranking, its temperature, in this order."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any, cast

import numpy as np

from codekin._system.memory import require_memory
from codekin.coding import Code
from codekin.fitting.checked_choices import warn_of_constant_bits
from codekin.fitting.choices import choose_codebook
from codekin.fitting.column_trials import column_trials
from codekin.fitting.features import classes_as_learned
from codekin.fitting.fit_facts import Fit, Parts
from codekin.fitting.learner_choice import decoding_loss, memory_limit
from codekin.fitting.members import Members
from codekin.fitting.memory_needs import check_memory_needs
from codekin.fitting.order_choice import choose_orders
from codekin.fitting.plan import Plan, Watch
from codekin.fitting.ranked import fit_ranked, temperature_of
from codekin.fitting.rules import TARGET_RULES, check_rules
from codekin.fitting.shared_work import SharedWork
from codekin.fitting.size import bytes_of_tree
from codekin.learners.independent import check_kind
from codekin.model import Member, Model
from codekin.model.class_sizes import best_power, class_sizes, size_corrected
from codekin.model.prior import ClassPrior
from codekin.model.temperature import Temperature
from codekin.samples import Samples, check_features


def choose_parts(plan: Plan, samples: Samples, held_out: Samples | None = None) -> Parts:
    """The codebook and the assignment of a plan; of several policies, a trial chooses one."""
    check_features(samples.X)
    rngs = plan.generators()
    learner = plan.learner
    classes = classes_as_learned(
        getattr(learner, "estimator", None),
        samples.X,
        samples.class_index,
        n_classes=plan.n_classes,
        sample_weight=samples.weights,
        distances_choice=plan.class_distances,
        rng=rngs.distances,
        n_symbols=plan.n_symbols,
    )
    classes = replace(classes, trials=lambda: column_trials(learner, samples, plan.n_classes, rngs.codebook))
    codebook = choose_codebook(plan.codebook, plan.n_bits, classes, rngs.codebook, n_symbols=plan.n_symbols)
    if plan.width is not None and not plan.has_tree:
        # Before the assignment is chosen, which may take memory for every feature as well.
        n_features = int(samples.X.shape[1])
        require_memory(
            4 * n_features * codebook.n_bits,
            f"A model of {n_features:,} features x {codebook.n_bits:,} bits x 4 bytes",
            "Use fewer bits, fewer features (number them without gaps, or hash them) or more memory.",
        )
    of_trials: Any = {"samples": samples, "held_out": held_out, "max_memory": memory_limit(learner)}
    check_kind(learner, codebook)
    if codebook.is_real:
        check_rules(TARGET_RULES, {field.name: getattr(plan, field.name) for field in fields(plan)})
    orders = choose_orders(plan, codebook, classes, rngs.assignment, **of_trials)
    warn_of_constant_bits(codebook, orders.first)
    return Parts(codebook, orders, classes.known_distances)


def fit_model(
    plan: Plan,
    samples: Samples,
    *,
    held_out: Samples | None = None,
    parts: Parts | None = None,
    watch: Watch | None = None,
    shared: SharedWork | None = None,
    max_bytes: float = np.inf,
    with_temperature: bool = True,
) -> Fit:
    """Fit a model by a plan.

    - ``held_out``: validation samples, which choose the pass, the re-ranking and the temperature.
    - ``parts``: the result of :func:`choose_parts`.
    - ``watch``: where to report passes and save checkpoints.
    - ``shared``: what other plans with the same samples and seed have learned.
    - ``max_bytes``: how much each code may take on disk if weights are pruned to fit.
    - ``with_temperature``: whether to fit a temperature, which a trial does not need.
    """
    watch = Watch() if watch is None else watch
    check_memory_needs(plan, samples, held_out)
    if parts is None:
        parts = _chosen(plan, samples, held_out, shared)
    rng = plan.generators().bits
    codes = [Code(parts.codebook, order) for order in parts.orders.of(plan.n_members)]
    if plan.prune == "to fit":
        max_bytes -= bytes_of_tree(parts.class_distances) / plan.n_members
    members = Members(plan, codes, rng, watch, shared, max_bytes)
    temperature = Temperature()
    if plan.is_ranked:
        options: Any = {"held_out": held_out, "rng": rng, "with_temperature": with_temperature}
        model, temperature = fit_ranked(members, plan.rerank, samples, source=plan.candidates, **options)
    else:
        model = Model((_sized(members.fit(samples, held_out)[0], samples, held_out),))
        if held_out is not None and with_temperature:
            temperature = temperature_of(model, held_out)
    model = replace(model, prior=ClassPrior.of(samples, plan.n_classes))
    distances, result, decoder_fit = parts.class_distances, parts.orders.result, members.decoder_fit
    return Fit(model, plan, plan.learner, members.loss, distances, result, rng, temperature, decoder_fit=decoder_fit)


def _sized(member: Member, samples: Samples, held_out: Samples | None) -> Member:
    sizes = class_sizes(samples, member.code.n_classes)
    power = member.code.codebook.usual_size_power if held_out is None else best_power(member, sizes, held_out)
    return size_corrected(member, sizes, power)


def _chosen(plan: Plan, samples: Samples, held_out: Samples | None, shared: SharedWork | None) -> Parts:
    known: dict[int | None, Parts] = {} if shared is None else shared.parts_of
    if plan.width not in known:
        known[plan.width] = choose_parts(plan, samples, held_out)
    return known[plan.width]


def begin_fit(plan: Plan, samples: Samples) -> Fit:
    """Choose the parts from a first batch of samples; :func:`learn_batch` learns the bits."""
    parts, empty = choose_parts(plan, samples), cast("Any", None)
    first = Member.of(parts.code, empty, decoding_loss(plan, parts.codebook), is_weighted=plan.weighted_decoding)
    distances, result, rng = parts.class_distances, parts.orders.result, plan.generators().bits
    return Fit(Model((first,)), plan, plan.learner, first.decoder.loss, distances, result, rng)


def learn_batch(model: Model, learner: Any, samples: Samples, rng: np.random.Generator) -> Model:
    """The model after one pass over another batch of samples."""
    if not hasattr(learner, "partial_fit"):
        raise ValueError(f"The learner {type(learner).__name__} cannot learn batch by batch.")
    first = model.first
    bits = learner.partial_fit(first.bits, samples, first.code, rng=rng)
    return Model((Member(first.code, bits, first.decoder),))
