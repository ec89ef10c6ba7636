"""``codekin assign``: find an assignment, show how good it is and what it does to similar classes."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from codekin._system.arrays import read_npy
from codekin._system.messages import Need
from codekin._system.parallel import workers
from codekin.assignments import ASSIGNMENTS, AssignmentResult, assign
from codekin.assignments.identifiers import MOST_SYMBOLS, item_identifiers
from codekin.assignments.result import POLICIES, nearest_classes, torn_pairs
from codekin.classes import ClassDistances
from codekin.classes.distances import CLASS_DISTANCES_FROM_DATA
from codekin.classes.tree_distances import TreeDistances
from codekin.cli.display import Display, show
from codekin.cli.options import (
    TAXONOMY_NEEDS,
    App,
    AsJson,
    Format,
    NJobs,
    NThreads,
    Quiet,
    RandomState,
    Scheduler,
    Taxonomy,
    TaxonomyLayout,
    check_needs,
    check_sources,
    named,
    positive_number,
    reader_of,
)
from codekin.code import Codebook
from codekin.code.codebook import MAX_SYMBOLS
from codekin.code.geometry import codeword_distances
from codekin.codebooks import CODEBOOKS, trellis_codebook
from codekin.data import TextData, TextVectorizer, read_data, read_taxonomy
from codekin.data.class_files import read_distances, read_matrix
from codekin.data.datasets import Data, DataError
from codekin.fitting.classes import Classes
from codekin.fitting.orders import learnability_assignment
from codekin.fitting.plan import choose_codebook
from codekin.fitting.settings import EXTREME_SETTINGS
from codekin.progress import report, reported, reporter
from codekin.storage import save_assignment

app = App()

METHODS = tuple(dict.fromkeys([*POLICIES, *ASSIGNMENTS, "learnability"]))
NEED_MORE = ("given", "separating", "learnable", "cross_validated", "ecoc_one")
"""These codebooks need a matrix or samples."""
CODEBOOK_NAMES = [name for name in CODEBOOKS if name not in NEED_MORE]
BITS_SHOWN = 40
DIGITS_SHOWN = 2
"""Of real bits."""
NEIGHBOURS_SHOWN = 3
DISTANCES = {"targets": "codeword distance"}
"""What the distance between codewords of some kinds is called."""
PAIRS_SHOWN = 10
NEEDS = {
    **TAXONOMY_NEEDS,
    "format": (Need("--data FILE", lambda given: given.data is not None),),
    "class_distances": (
        Need(
            "--data FILE, and a --method other than learnability",
            lambda given: given.data is not None and given.method != "learnability",
        ),
    ),
    "width": (Need("--codebook trellis. Got {codebook.given}", lambda given: given.codebook == "trellis"),),
}


@app.command("assign")
def assign_codewords(
    context: typer.Context,
    codebook: Annotated[
        str,
        typer.Option(
            metavar="NAME|FILE",
            help=f"The codebook: {', '.join(CODEBOOK_NAMES)}, or a file with one codeword per line.",
        ),
    ] = "trellis",
    n_bits: Annotated[int | None, typer.Option(min=1, help="The number of bits; for a trellis, the maximum.")] = None,
    n_symbols: Annotated[
        int | None,
        typer.Option(
            min=2,
            max=MOST_SYMBOLS,
            show_default="2, or 256 with --items",
            help="The number of symbols of a column, for codebooks that allow it.",
        ),
    ] = None,
    width: Annotated[
        Any,
        typer.Option(
            parser=reader_of(EXTREME_SETTINGS["width"]),
            metavar="N|auto",
            show_default="2, or auto with --n-bits",
            help="The width of a trellis.",
        ),
    ] = None,
    distances: Annotated[
        str | None, typer.Option(metavar="FILE.csv", help="Class distances: a matrix, with or without labels.")
    ] = None,
    taxonomy: Taxonomy = None,
    taxonomy_layout: TaxonomyLayout = "edges",
    data: Annotated[str | None, typer.Option(metavar="FILE", help="Samples to compute class distances from.")] = None,
    class_distances: Annotated[
        str,
        named(CLASS_DISTANCES_FROM_DATA, f"How to compute them: {', '.join(CLASS_DISTANCES_FROM_DATA)}."),
    ] = "means",
    items: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.npy|FILE.csv",
            help="Embeddings of items: give every item an identifier of its own, whose first symbols similar items "
            "share, instead of assigning codewords.",
        ),
    ] = None,
    format: Format = "auto",
    method: Annotated[
        str,
        named(
            METHODS,
            f"How to search: {', '.join(METHODS)}. learnability needs --data, and starts from a --taxonomy if "
            "there is one.",
        ),
    ] = "preserving",
    sense: Annotated[
        str | None,
        named(
            POLICIES,
            "What a method looks for: similar codewords for similar classes (preserving), or dissimilar ones "
            "(breaking).",
            show_default="preserving",
        ),
    ] = None,
    time_limit: Annotated[
        float | None,
        typer.Option(parser=positive_number, metavar="SECONDS", help="The longest search; compiling is not counted."),
    ] = None,
    n_restarts: Annotated[int | None, typer.Option(min=1, help="The number of starts.")] = None,
    explain: Annotated[
        bool, typer.Option("--explain", help="Show pairs of similar classes that ended up far apart.")
    ] = False,
    n_shown: Annotated[int, typer.Option("--classes", min=0, help="How many classes to show.")] = 5,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="Where to write the assignment, as JSON; identifiers as CSV, or as JSON lines if it ends in .jsonl.",
        ),
    ] = None,
    random_state: RandomState = 0,
    n_threads: NThreads = None,
    n_jobs: NJobs = None,
    scheduler: Scheduler = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Search for a good assignment of codewords to classes.

    Class distances come from one of --distances, --taxonomy and --data; learnability comes from --data, and its search
    starts from the order of a --taxonomy if there is one. The file that --output writes can be passed to codekin train
    --assignment. With --items, items get identifiers, which --output writes.
    """
    if items is not None:
        _check_options_of_items(context)
        check_sources({"--items": items}, output)
        with workers(None, None, n_threads), Display(quiet).watching():
            _identify(items, n_symbols or 256, random_state, output, as_json)
        return
    n_symbols = n_symbols or 2
    if n_symbols > MAX_SYMBOLS:
        raise ValueError(f"--n-symbols of a codebook must be at most {MAX_SYMBOLS}. Got {n_symbols} instead.")
    given = {"--distances": distances, "--taxonomy": taxonomy, "--data": data}
    if method == "learnability":
        if data is None or distances is not None or sense is not None:
            raise ValueError("--method learnability needs --data, and takes neither --distances nor --sense.")
    elif sum(value is not None for value in given.values()) != 1:
        got = ", ".join(name for name, value in given.items() if value is not None) or "none of them"
        raise ValueError(f"Class distances come from one of --distances, --taxonomy and --data. Got {got}.")
    check_needs(context, NEEDS)
    check_sources({**given, "--codebook": codebook}, output)
    rng_distances, rng_codebook, rng_search = np.random.default_rng(random_state).spawn(3)
    with workers(n_jobs, scheduler, n_threads), Display(quiet).watching():
        search: Any = None
        if method == "learnability":
            classes, labels = _classes(str(data), format, taxonomy, taxonomy_layout, rng_distances)
            known = Known(classes.learnability, labels)
            search = partial(learnability_assignment, classes=classes)
        elif distances is not None:
            between, labels = read_distances(distances)
            known = Known(between, labels)
        elif taxonomy is not None:
            tree = read_taxonomy(taxonomy, layout=taxonomy_layout)  # type: ignore[arg-type]
            known = Known(TreeDistances(tree), tuple(str(label) for label in tree.class_labels or ()))
        else:
            known = _from_data(str(data), format, class_distances, rng_distances)
        if search is None:
            search = partial(assign, class_distances=known.distances, method=method, sense=sense)  # type: ignore[arg-type]
        if len(known.labels) < 2:
            source = next(value for value in given.values() if value is not None)
            raise ValueError(f"{source}: at least 2 classes are needed. Got {len(known.labels)}.")
        made = _made_codebook(codebook, (n_bits, n_symbols), width, known, rng_codebook)
        result = search(made, rng=rng_search, time_limit=time_limit, n_restarts=n_restarts)
        report("comparing classes and codewords")
        if output is not None:
            save_assignment(output, result, known.labels, made)
        shown = _summary(made, result, known, n_shown)
        if explain:
            shown["torn_pairs"] = _torn(made, result, known)
    if output is not None:
        shown["output"] = str(output)
    show(json.dumps(shown, ensure_ascii=False) if as_json else _text(made, shown))


def _check_options_of_items(context: typer.Context) -> None:
    taken = ("items", "n_symbols", "output", "random_state", "n_threads", "as_json", "quiet")
    for each in context.command.params:
        source: Any = context.get_parameter_source(str(each.name))
        if each.name not in taken and source is not None and source.name != "DEFAULT":
            raise ValueError(f"--items takes --n-symbols, --output and --random-state. Got {each.opts[0]} as well.")


def _identify(items: Path, n_symbols: int, random_state: int, output: Path | None, as_json: bool) -> None:
    """Give items identifiers, write them and show how similar items are that share symbols."""
    report(f"reading {items}")
    vectors, names = (read_npy(items), None) if items.suffix == ".npy" else read_matrix(str(items))
    if vectors.dtype.kind not in "fiu":
        raise DataError(str(items), f"vectors are numbers. Got {vectors.dtype}.")
    report("making identifiers")
    found = item_identifiers(vectors, n_symbols, names=names or (), rng=random_state)
    if output is not None:
        found.save(output)
    where = {} if output is None else {"output": str(output)}
    text = "\n".join([str(found), *(f"written to {name}" for name in where.values())])
    show(json.dumps({**found.as_dict(), **where}) if as_json else text)


@dataclass(frozen=True, eq=False)
class Known:
    """What is known about the classes: how far apart they are, and their labels."""

    distances: ClassDistances
    labels: tuple[str, ...]


def _from_data(source: str, format: str, name: str, rng: np.random.Generator) -> Known:
    X, samples, labels = _samples(source, format)
    report(f"measuring class distances by {name}")
    distances = CLASS_DISTANCES_FROM_DATA[name](
        X, samples.class_index, n_classes=len(labels), sample_weight=getattr(samples, "sample_weight", None), rng=rng
    )
    return Known(distances, labels)


def _classes(
    source: str, format: str, taxonomy: str | None, layout: str, rng: np.random.Generator
) -> tuple[Classes, tuple[str, ...]]:
    """The classes of some samples and their labels, with a taxonomy if there is one."""
    X, samples, labels = _samples(source, format)
    tree = None if taxonomy is None else read_taxonomy(taxonomy, classes=samples.classes, layout=layout)  # type: ignore[arg-type]
    assert samples.class_index is not None
    weights = getattr(samples, "sample_weight", None)
    return Classes(lambda: X, samples.class_index, len(labels), weights, tree, rng), labels


def _samples(source: str, format: str) -> tuple[Any, Data, tuple[str, ...]]:
    """Features, what was read, and the labels of the classes."""
    samples = read_data(source, format, progress=reporter(f"reading {source}"))
    if isinstance(samples, TextData):
        fitted = TextVectorizer().fit(samples.texts)
        X = fitted.transform(reported(samples.texts, "making features of texts", unit="texts"))
    else:
        X = samples.X
    assert samples.classes is not None
    return X, samples, tuple(str(label) for label in samples.classes.tolist())


def _made_codebook(
    name: str, size: tuple[int | None, int], width: Any, known: Known, rng: np.random.Generator
) -> Codebook:
    choice: Any = name
    n_bits, n_symbols = size
    if name == "trellis":
        choice = partial(trellis_codebook, width=width or (2 if n_bits is None else "auto"))
    elif name not in CODEBOOK_NAMES:
        if not Path(name).exists():
            raise ValueError(f"--codebook must be one of {', '.join(CODEBOOK_NAMES)}, or a file. Got {name!r} instead.")
        choice = Codebook(read_matrix(name)[0], n_symbols=n_symbols)
    n_classes = known.distances.n_classes
    classes = Classes(_no_samples, np.arange(n_classes), n_classes, None, known.distances, rng)
    return choose_codebook(choice, n_bits, classes, rng, n_symbols=n_symbols)


def _no_samples() -> Any:
    raise ValueError("This codebook needs a tree of the classes; give one with --taxonomy.")


# ----- what is printed ----------------------------------------------------------------------------------------------


def _summary(codebook: Codebook, result: AssignmentResult, known: Known, n_shown: int) -> dict[str, Any]:
    n_classes = len(known.labels)
    classes = np.unique(np.linspace(0, n_classes - 1, min(n_shown, n_classes)).astype(np.intp))
    neighbours, how_near = nearest_classes(known.distances, classes, k=NEIGHBOURS_SHOWN)
    examples = []
    for u, near, distances in zip(classes.tolist(), neighbours, how_near, strict=True):
        own = codebook.codewords(result.codeword_of_class[[u]])[0].round(DIGITS_SHOWN)
        indicators = codebook.indicators_at(result.codeword_of_class[[u, *near]])
        apart = codeword_distances(indicators[:1], indicators[1:])[0]
        examples.append(
            {
                "label": known.labels[u],
                "codeword": int(result.codeword_of_class[u]),
                "bits": codebook.text(own),
                "nearest": [
                    {"label": known.labels[v], "class_distance": float(a), "codeword_distance": float(d)}
                    for v, a, d in zip(near.tolist(), distances, apart, strict=True)
                ],
            }
        )
    return {
        "codebook": codebook.name,
        "n_classes": n_classes,
        "n_bits": codebook.n_bits,
        "method": result.method,
        "sense": result.sense,
        "score": float(result.score) if np.isfinite(result.score) else None,
        "z": float(result.z),
        "is_optimal": result.is_optimal,
        "n_evaluations": result.n_evaluations,
        "seconds": result.seconds,
        "classes": examples,
    }


def _torn(codebook: Codebook, result: AssignmentResult, known: Known) -> list[dict[str, Any]]:
    return [
        {
            "labels": [known.labels[pair.u], known.labels[pair.v]],
            "class_distance": pair.class_distance,
            "codeword_distance": pair.codeword_distance,
        }
        for pair in torn_pairs(codebook, result.assignment, known.distances, n_pairs=PAIRS_SHOWN)
    ]


def _text(codebook: Codebook, shown: dict[str, Any]) -> str:
    z = shown["z"]
    place = f"{abs(z):.1f} standard deviations {'below' if z >= 0 else 'above'} the mean of random assignments"
    if codebook.is_equidistant:
        place = "the same for every assignment"
    lines = [
        f"{shown['n_classes']:,} classes, {codebook!r}",
        f"{shown['method']} ({shown['sense']}){', proven optimal' if shown['is_optimal'] else ''}: "
        f"{shown['n_evaluations']:,} assignments in {shown['seconds']:.2f} s",
        "all classes are equally far apart: every assignment is as good as another"
        if shown["score"] is None
        else f"class-codeword score {shown['score']:.4f} (z = {z:.2f}): {place}",
    ]
    apart = f"(class distance, {DISTANCES.get(codebook.kind, 'bits in which codewords differ')})"
    if shown["classes"]:
        lines.append(f"classes and their nearest ones {apart}:")
    for example in shown["classes"]:
        bits = example["bits"]
        lines.append(f"  {example['label']}: {bits if len(bits) <= BITS_SHOWN else bits[: BITS_SHOWN - 3] + '...'}")
        near = [f"{n['label']} ({n['class_distance']:.3g}, {n['codeword_distance']:g})" for n in example["nearest"]]
        lines.append(f"    {', '.join(near)}")
    if "torn_pairs" in shown:
        lines.append(f"similar classes that ended up far apart {apart}:")
        lines += [
            f"  {' and '.join(pair['labels'])} ({pair['class_distance']:.3g}, {pair['codeword_distance']:g})"
            for pair in shown["torn_pairs"]
        ]
    if "output" in shown:
        lines.append(f"written to {shown['output']}")
    return "\n".join(lines)
