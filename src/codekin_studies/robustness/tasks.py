"""Robustness of every assignment by capacity: the configuration and the tasks of a study.

For each capacity, one least-squares fit gives the outputs of all splits, under every corruption. Sweeps count what all
assignments get right; attacks and small networks look at some, one of each stratum of the score.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from pathlib import Path
from typing import Any

from codekin.datasets import load_dataset
from codekin_studies.configuration import Study, data_among
from codekin_studies.engine.schema import NUMBER, POSITIVE, TEXT, Entries, ListOf, OneOf, Place, Rule, Table, whole
from codekin_studies.engine.task import Stage, Task
from codekin_studies.entries import check_entries
from codekin_studies.fields import CODEBOOK_NAME, COUNT, HEAD, NUMBERED, SEED, CodebookTable, DataName
from codekin_studies.robustness.attacking import ATTACK, NETWORK, STRONGER, run_attack, run_network, run_stronger
from codekin_studies.robustness.comparing import COMPARE, PAIRS, run_compare, run_pairs
from codekin_studies.robustness.corruptions import CORRUPTIONS
from codekin_studies.robustness.responses import RESPOND, run_respond
from codekin_studies.robustness.sweeping import (
    MAX_BITS,
    SCORE,
    SWEEP,
    conditions,
    run_score,
    run_sweep,
    score_task,
)

SHARE = Rule("a number from 0 to 1", lambda value: NUMBER.holds(value) and 0 <= value <= 1)

FUNCTIONS = {
    RESPOND: run_respond,
    SCORE: run_score,
    SWEEP: run_sweep,
    COMPARE: run_compare,
    PAIRS: run_pairs,
    ATTACK: run_attack,
    STRONGER: run_stronger,
    NETWORK: run_network,
}

SAMPLES = ("seed", "corruptions", "n_steps")
"""Options of the study that determine all responses."""


def _radii_increase(data: Mapping[str, Any], place: Place) -> None:
    radii = data["radii"]
    if sorted(radii) != radii:
        raise place.at("radii").error(f"'{place.at('radii')}' must increase. Got {radii} instead.")


def _first_is_plain(data: Mapping[str, Any], place: Place) -> None:
    _radii_increase(data, place)
    first = place.at("capacities", 0, "features")
    if data["capacities"][0]["features"]:
        rule = "must be 0, the plain features: their confusion is what scores are measured by"
        raise first.error(f"'{first}' {rule}. Got {data['capacities'][0]['features']} instead.")


def _codebooks_are_listed(content: Mapping[str, Any], place: Place) -> None:
    names = OneOf([code["name"] for code in content["codebooks"]])
    for number, data in enumerate(content["data"]):
        for chosen, name in enumerate(data.get("codebooks", [])):
            names.check(name, place.at("data", number, "codebooks", chosen))


CAPACITY = Table({"features": whole(0, 100_000), "n_attacked": COUNT, "n_samples": COUNT, "seconds": POSITIVE})
NETWORK_TABLE = Table({"n_assignments": COUNT, "n_hidden": COUNT, "n_epochs": COUNT, "n_samples": COUNT})

SCHEMA = Table(
    {
        **HEAD,
        "seed": SEED,
        "n_checked": COUNT,
        "n_steps": COUNT,
        "n_restarts": COUNT,
        "corruptions": Table(dict.fromkeys(CORRUPTIONS, SHARE)),
        "data": Entries(
            Table(
                {
                    "name": DataName(most_classes=10),
                    "picture": ListOf(whole(1), length=3),
                    "ridge": POSITIVE,
                    "width": POSITIVE,
                    "transfer": ListOf(POSITIVE),
                    "radii": ListOf(POSITIVE),
                    "network": NETWORK_TABLE,
                    "capacities": Entries(CAPACITY, known_by=(("features",),)),
                },
                {"n_test": COUNT, "n_swept": COUNT, "codebooks": ListOf(TEXT)},
                _first_is_plain,
            )
        ),
        "codebooks": Entries(CodebookTable(CODEBOOK_NAME)),
    },
    NUMBERED,
    _codebooks_are_listed,
)
"""The keys of a configuration."""


def check(study: Study, data_names: list[str], data_home: Path | None) -> None:
    """Raise unless the samples are pictures of the given sizes, and the codebooks are available."""
    check_entries(study, data_names, data_home, most_bits=MAX_BITS)
    for number, data in enumerate(study.option("data")):
        if data["name"] in data_names:
            _check_pictures(data, study.place.at("data", number), data_home)


def _check_pictures(data: Mapping[str, Any], place: Place, data_home: Path | None) -> None:
    dataset = load_dataset(data["name"], data_home)
    n_features = prod(dataset.X.shape[1:])
    if prod(data["picture"]) != n_features:
        wanted = f"height, width and channels of {n_features} features"
        raise place.at("picture").wrong(wanted, data["picture"])
    n_test = data.get("n_test") or (0 if dataset.test is None else len(dataset.test.y))
    if data.get("n_swept", 1) > n_test:
        raise place.at("n_swept").wrong(f"at most the number of test samples, {n_test}", data["n_swept"])
    n_swept = data.get("n_swept", n_test)
    for where, table in (("network", data["network"]), *(("capacities", one) for one in data["capacities"])):
        if table["n_samples"] > n_swept:
            wanted = f"at most the number of samples in sweeps, {n_swept}"
            raise place.at(where).error(f"'{place.at(where)}.n_samples' must be {wanted}. Got {table['n_samples']}.")


def stages(study: Study, data_names: list[str]) -> list[Stage]:
    """Fits and corrupted samples, sweeps, comparisons, matched pairs, attacks and networks."""
    chosen = data_among(study, data_names)
    cases = [(data, capacity) for data in chosen for capacity in data["capacities"]]
    coded = [(data, capacity, code) for data, capacity in cases for code in codebooks_of(study, data)]
    scores = [score_task(_coded(study, *case)) for case in coded if not case[1]["features"]]
    sweeps = [task for case in coded for task in sweep_tasks(study, *case).values()]
    attacks = [task for case in coded for task in attack_tasks(study, *case)]
    networks = [
        task for data in chosen for code in codebooks_of(study, data) for task in network_tasks(study, data, code)
    ]
    return [
        Stage("fitting and corrupting", [respond_task(study, *case) for case in cases]),
        Stage("scoring all assignments", scores),
        Stage("sweeping all assignments", sweeps),
        Stage("comparing clean and corrupted", [compare_task(study, *case) for case in coded]),
        Stage("matching pairs", [pairs_task(study, *case) for case in coded]),
        Stage("attacking", [*attacks, *(stronger_task(study, *case) for case in coded)]),
        Stage("training networks", networks),
    ]


def codebooks_of(study: Study, data: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The codebooks of a data set: those it names, or all."""
    names = data.get("codebooks")
    return [code for code in study.option("codebooks") if names is None or code["name"] in names]


def _samples(study: Study, data: Mapping[str, Any], features: int) -> dict[str, Any]:
    """The parameters that determine responses."""
    given = {key: data[key] for key in ("picture", "ridge", "width", "transfer")}
    rest = {"data": data["name"], "n_test": data.get("n_test"), "n_swept": data.get("n_swept"), "features": features}
    options = {name: study.option(name) for name in SAMPLES}
    return {**given, **rest, **options, "corruptions": dict(options["corruptions"])}


def _title(data: Mapping[str, Any], capacity: Mapping[str, Any], *more: str) -> str:
    return ", ".join([data["name"], f"{capacity['features']:,} features", *more])


def respond_task(study: Study, data: Mapping[str, Any], capacity: Mapping[str, Any]) -> Task:
    """Fit a capacity and look at the corrupted samples."""
    parameters = _samples(study, data, capacity["features"])
    return Task(RESPOND, parameters, label=_title(data, capacity), weight=capacity["seconds"])


def _coded(
    study: Study, data: Mapping[str, Any], capacity: Mapping[str, Any], code: Mapping[str, Any], *names: str
) -> dict[str, Any]:
    options = {name: study.option(name) for name in names}
    return {**_samples(study, data, capacity["features"]), "codebook": dict(code), **options}


def sweep_tasks(
    study: Study, data: Mapping[str, Any], capacity: Mapping[str, Any], code: Mapping[str, Any]
) -> dict[str, Task]:
    """Test all assignments under each condition, by its name."""
    given = _coded(study, data, capacity, code, "n_checked")
    return {
        condition: Task(
            SWEEP, {**given, "condition": condition}, label=_title(data, capacity, code["name"], condition), weight=8.0
        )
        for condition in conditions(given)
    }


def compare_task(study: Study, data: Mapping[str, Any], capacity: Mapping[str, Any], code: Mapping[str, Any]) -> Task:
    """Compare accuracies under all conditions with clean ones."""
    parameters = _coded(study, data, capacity, code, "n_checked")
    return Task(COMPARE, parameters, label=_title(data, capacity, code["name"]), weight=5.0)


def pairs_task(study: Study, data: Mapping[str, Any], capacity: Mapping[str, Any], code: Mapping[str, Any]) -> Task:
    """Compare assignments of equal training loss and different score."""
    parameters = _coded(study, data, capacity, code, "n_checked")
    return Task(PAIRS, parameters, label=_title(data, capacity, code["name"], "pairs"), weight=5.0)


N_PER_TASK = 50
"""How many assignments a task attacks: a killed run loses no more than these."""


def attack_tasks(
    study: Study, data: Mapping[str, Any], capacity: Mapping[str, Any], code: Mapping[str, Any]
) -> list[Task]:
    """Attack some assignments, stratified by score."""
    given = _attacked(study, data, capacity, code)
    n = capacity["n_attacked"]
    return [
        Task(
            ATTACK,
            {**given, "first": first, "last": min(first + N_PER_TASK, n) - 1},
            label=_title(data, capacity, code["name"], f"attacks on {first} to {min(first + N_PER_TASK, n) - 1}"),
            weight=10.0,
        )
        for first in range(0, n, N_PER_TASK)
    ]


def stronger_task(study: Study, data: Mapping[str, Any], capacity: Mapping[str, Any], code: Mapping[str, Any]) -> Task:
    """Attack a few assignments with more steps and restarts."""
    given = _attacked(study, data, capacity, code)
    return Task(STRONGER, given, label=_title(data, capacity, code["name"], "more steps"), weight=10.0)


def _attacked(
    study: Study, data: Mapping[str, Any], capacity: Mapping[str, Any], code: Mapping[str, Any]
) -> dict[str, Any]:
    return {
        **_coded(study, data, capacity, code, "n_restarts"),
        "radii": data["radii"],
        "n_attacked": capacity["n_attacked"],
        "n_samples": capacity["n_samples"],
    }


NETWORKS_PER_TASK = 5


def network_tasks(study: Study, data: Mapping[str, Any], code: Mapping[str, Any]) -> list[Task]:
    """Train networks for some assignments, stratified by score, corrupt and attack them."""
    given = {**_coded(study, data, {"features": 0}, code, "n_restarts"), "radii": data["radii"]}
    network = dict(data["network"])
    n = network["n_assignments"]
    return [
        Task(
            NETWORK,
            {**given, "network": network, "first": first, "last": min(first + NETWORKS_PER_TASK, n) - 1},
            label=f"{data['name']}, networks, {code['name']}, from {first}",
            weight=20.0,
        )
        for first in range(0, n, NETWORKS_PER_TASK)
    ]
