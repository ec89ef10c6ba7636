"""Load forged model folders and predict with them: the outcome of each, and a table of all."""

from __future__ import annotations

import io
import json
import os
import resource
import shutil
import signal
import time
import warnings
from collections import Counter, deque
from collections.abc import Callable, Iterator
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.ensemble import (
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from codekin.classes import ClassTree
from codekin.cli.main import main as codekin
from codekin.data import TextVectorizer
from codekin.estimators import ECOCClassifier, ExtremeClassifier
from codekin.model import Model
from codekin.storage import ModelFolderError, ModelInput, load_saved, save_model
from tests.faults.feeding import listing
from tests.faults.forgeries import Forgery, forge
from tests.faults.processes import Running

OUTCOMES = ("refused", "same", "other", "defect", "out of bounds", "hang", "memory", "files touched")
HARMLESS = OUTCOMES[:3]
MEMORY_FACTOR, MEMORY_ALLOWANCE = 20, 64 << 20
"""What a mutant may take beyond the process that it begins in: so many times its folder's size, and a little for what
any command takes for itself."""
CPU_SECONDS = 20
MOST_ADDRESSES = 4 << 30

RNG = np.random.default_rng(0)
X = sparse.random(36, 12, density=0.4, rng=RNG, format="csr", dtype=np.float32)
Y = np.arange(36) % 6
TEXTS = [f"{'abcdef'[k % 6] * 3} word{k % 6} common{k % 2} it is" for k in range(36)]


class Judged(NamedTuple):
    """What came of a mutant, and what it said or did."""

    outcome: str
    words: str


def trellis(**options: Any) -> ExtremeClassifier:
    return ExtremeClassifier(2, rerank=None, n_codes=1, random_state=0).set_params(**options)


def ecoc(estimator: Any, **options: Any) -> ECOCClassifier:
    return ECOCClassifier(estimator, calibrate=None, random_state=0).set_params(**options)


def saved_models(home: Path) -> dict[str, Path]:
    """A folder of every kind of model."""
    dense, held_out = X.toarray(), {"validation": (X, Y)}
    tree = ClassTree.from_nested([[0, 1], [2, [3, 4, 5]]])
    made: dict[str, Any] = {
        "trees": ecoc(DecisionTreeClassifier(max_depth=3)).fit(dense, Y),
        "forest": ecoc(RandomForestClassifier(2, max_depth=2), n_bits=4).fit(dense, Y),
        "forest of symbols": ecoc(RandomForestClassifier(2, max_depth=2), n_symbols=3, n_bits=3).fit(dense, Y),
        "forest of numbers": ecoc(ExtraTreesRegressor(2), codebook="random_projection", n_bits=3).fit(dense, Y),
        "linear symbols": ecoc(LogisticRegression(), n_symbols=3, n_bits=3).fit(dense, Y),
        "naive Bayes": ecoc(GaussianNB(), n_bits=4).fit(dense, Y),
        "stochastic": ecoc(SGDClassifier(), n_bits=4).fit(dense, Y),
        "older boosted": ecoc(GradientBoostingClassifier(n_estimators=1, max_depth=1), n_bits=4).fit(dense, Y),
        "boosted": ecoc(HistGradientBoostingClassifier(max_iter=2, min_samples_leaf=2), n_bits=4).fit(dense, Y),
        "linear learners": ecoc(LogisticRegression(), calibrate="holdout").fit(dense, Y),
        "pipelines": ecoc(make_pipeline(StandardScaler(), SGDClassifier())).fit(dense, Y),
        "ternary": ecoc(SVC(), codebook="one_vs_one").fit(dense, Y),
        "neighbours": ecoc(KNeighborsClassifier(algorithm="brute")).fit(dense, Y),
        "softmax": ecoc("softmax").fit(X, Y),
        "learned decoder": ecoc(LogisticRegression(), decoding="learned").fit(dense, Y),
        "products of margins": ecoc(LogisticRegression(), n_bits=4, decoding="learned").fit(dense, Y),
        "trellis": trellis().fit(X, Y),
        "label tree": trellis(code="tree").fit(X, Y),
        "label trees": trellis(code="tree", rerank="learned", n_codes=2, precision="float16").fit(X, Y),
        "tree of classes": trellis(taxonomy=tree).fit(X, Y),
        "spare codewords": trellis(n_reserved=3).fit(X, Y),
        "halves": trellis(precision="float16").fit(X, Y),
        "bytes": trellis(precision="int8").fit(X, Y),
        "pruned": trellis(prune=0.9, precision="float32").fit(X, Y, **held_out),
        "gapped": trellis(prune=0.9, precision="int8").fit(X, Y, **held_out),
        "centroids": trellis(rerank="centroid").fit(X, Y),
        "members": trellis(rerank="learned", n_codes=2).fit(X, Y),
    }
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Learners of type")
        folders = {
            name: save_model(model, home / name, model_input=ModelInput(None, {"index_base": 0}))
            for name, model in made.items()
        }
    for hashing in (False, True):
        vectorizer = TextVectorizer(hashing=hashing, n_features=64).fit(TEXTS)
        model = trellis().fit(vectorizer.transform(TEXTS), Y)
        name = "hashing" if hashing else "tfidf"
        folders[name] = save_model(model, home / name, model_input=ModelInput(vectorizer))
    return folders


def write_samples(folder: Path) -> None:
    """The samples as files, for the command line."""
    rows = [" ".join(f"{j}:{value:g}" for j, value in zip(row.indices, row.data, strict=True)) for row in X]
    (folder / "samples.svm").write_text("".join(f"{label} {row}\n" for label, row in zip(Y, rows, strict=True)))
    (folder / "samples.tsv").write_text("".join(f"{label}\t{text}\n" for label, text in zip(Y, TEXTS, strict=True)))


def judged(folder: Path, samples: Path, answer: str | None) -> Judged:
    """Load a folder, predict by it, and let the command line do both."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            given = _answers(folder)
        except ValueError as error:
            # Learners have their own words for samples that they cannot take; the command line makes a line of them.
            is_ours = isinstance(error, ModelFolderError)
            if is_ours and ("\n" in str(error) or not str(error).endswith((".", "?", "!", ")"))):
                return Judged("defect", f"no sentence: {error}")
            return _judged_by_command_line(folder, samples) or Judged("refused", str(error))
        except IndexError as error:
            return Judged("out of bounds", f"{error!r}")
        except MemoryError as error:
            return Judged("memory", f"{error!r}")
        except Exception as error:
            return Judged("defect", f"{error!r}")
        by_command_line = _judged_by_command_line(folder, samples)
    return by_command_line or Judged("same" if given == answer else "other", given)


def _answers(folder: Path) -> str:
    """What a model has to say of the samples, as text."""
    saved = load_saved(folder)
    model, vectorizer = saved.model, saved.model_input.vectorizer
    given = X if vectorizer is None else vectorizer.transform(TEXTS)
    if isinstance(model, ECOCClassifier):
        given = given.toarray()
    parts: list[Any] = [model.predict(given), *model.top_k(given, 2)]
    if not isinstance(model, Model):
        parts += [model.decision_function(given), str(model.report())]
        parts += [model.predict_proba(given)] if hasattr(model, "predict_proba") else []
        # Written to by compiled code, as far as the depth of a tree says. A bit that has seen nothing has no tree.
        fitted = [learner for learner in getattr(model, "estimators_", ()) if hasattr(learner, "n_features_in_")]
        trees = [learner for learner in fitted if hasattr(learner, "decision_path")]
        parts += [learner.decision_path(given) for learner in trees]
    return "\n".join(str(part.tolist() if isinstance(part, np.ndarray) else part) for part in parts)


def _judged_by_command_line(folder: Path, samples: Path) -> Judged | None:
    """What is wrong with the answers of the command line, if anything is."""
    for arguments in (
        ["inspect", folder],
        ["predict", folder, samples / "samples.svm"],
        ["predict", folder, samples / "samples.tsv"],
    ):
        out, err = io.TextIOWrapper(io.BytesIO(), encoding="utf-8"), io.StringIO()
        with redirect_stdout(out), redirect_stderr(err):
            code = codekin([str(argument) for argument in arguments])
        last = (err.getvalue().splitlines() or [""])[-1]
        if "IndexError" in last and "defect" in last:
            return Judged("out of bounds", last)
        if code not in (0, 2) or "defect" in err.getvalue() or (code and not last.startswith("codekin")):
            return Judged("defect", f"{arguments[0]}: exit code {code}: {last}")
    return None


def judged_apart(
    number: int, models: dict[str, Path], answers: dict[str, str], home: Path, seed: int
) -> Callable[[], tuple[Forgery, Judged]]:
    """Begin to judge a mutant in a process of its own; the function waits for the end."""
    place = home / str(number)
    place.mkdir()
    write_samples(place)
    forgery = forge(number, models, place / "model", seed)
    before = listing(place)

    def work() -> int:
        print(json.dumps(judged(place / "model", place, answers[forgery.model])))  # noqa: T201  (to the file of the process)
        return 0

    addresses = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize() + MOST_ADDRESSES
    limits = {resource.RLIMIT_CPU: CPU_SECONDS, resource.RLIMIT_AS: addresses}
    process = Running(work, folder=place, limits=limits)

    def wait() -> tuple[Forgery, Judged]:
        ended = process.ended()
        n_bytes = sum(len(content) for content in before.values())
        allowed = MEMORY_FACTOR * n_bytes + MEMORY_ALLOWANCE
        if ended.code in (-signal.SIGXCPU, -signal.SIGKILL):
            verdict = Judged("hang", f"signal {-ended.code} after {ended.cpu_seconds:.0f} s of processor")
        elif ended.code != 0:
            verdict = Judged("out of bounds", f"exit code {ended.code}: {ended.err[-300:]}")
        elif listing(place) != before:
            verdict = Judged("files touched", f"{sorted(set(listing(place)) ^ set(before)) or 'a file was changed'}")
        elif ended.extra_bytes > allowed:
            verdict = Judged("memory", f"{ended.extra_bytes >> 20} MiB for a folder of {n_bytes >> 10} KiB")
        else:
            verdict = Judged(*json.loads(ended.out.splitlines()[-1]))
        shutil.rmtree(place)
        return forgery, verdict

    return wait


def all_judged(numbers: range, home: Path, *, seed: int, jobs: int) -> Iterator[tuple[Forgery, Judged]]:
    """Judge mutants, some at a time, in the order of their numbers."""
    models = saved_models(home)
    samples = home / "samples"
    samples.mkdir()
    write_samples(samples)
    # Whatever is compiled or loaded on first use is so in all processes that follow.
    answers = {name: judged(folder, samples, None).words for name, folder in models.items()}
    begun: deque[Callable[[], tuple[Forgery, Judged]]] = deque()
    for number in numbers:
        begun.append(judged_apart(number, models, answers, home, seed))
        if len(begun) >= jobs:
            yield begun.popleft()()
    while begun:
        yield begun.popleft()()


def table(results: list[tuple[Forgery, Judged]]) -> str:
    """How many of each kind of mutant came to what, by what was changed and by model."""
    lines = [f"{'':18}{'n':>7}" + "".join(f"{outcome:>15}" for outcome in OUTCOMES)]
    for column in ("what", "model"):
        counts: dict[str, Counter[str]] = {}
        for forgery, verdict in results:
            counts.setdefault(getattr(forgery, column), Counter())[verdict.outcome] += 1
        for name, of_name in sorted(counts.items()):
            lines.append(f"{name:18}{of_name.total():>7}" + "".join(f"{of_name[outcome]:>15}" for outcome in OUTCOMES))
    return "\n".join(lines)


def run(n_mutants: int, *, first: int, seed: int, jobs: int, home: Path, say: Callable[[str], None]) -> int:
    """Judge mutants, say what did harm and what came of all; 1 if any did harm."""
    results, started = [], time.monotonic()
    for forgery, verdict in all_judged(range(first, first + n_mutants), home, seed=seed, jobs=jobs):
        results.append((forgery, verdict))
        if verdict.outcome not in HARMLESS:
            say(
                f"{forgery.number} {forgery.model}, {forgery.what}: {forgery.how}\n"
                f"    {verdict.outcome}: {verdict.words[:300]}"
            )
        if len(results) % 1000 == 0:
            say(f"{len(results)} mutants in {time.monotonic() - started:.0f} s")
    bounds = "with" if os.environ.get("NUMBA_BOUNDSCHECK") == "1" else "without"
    say(f"{table(results)}\n{len(results)} mutants, kernels {bounds} bounds checking, seed {seed}")
    return int(any(verdict.outcome not in HARMLESS for _, verdict in results))
