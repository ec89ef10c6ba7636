"""An interrupted training ends like an undisturbed one, however often and wherever it stops."""

import json

import numpy as np
import pytest
from scipy import sparse

from codekin.code import Assignment, Code
from codekin.codebooks import trellis_codebook
from codekin.learners import AROW, CheckpointError, Checkpoints, Softmax, Validation
from codekin.learners import arow as arow_module
from codekin.learners import softmax as softmax_module
from codekin.progress import subscribe
from codekin.samples import Samples

N_CLASSES, N_FEATURES = 6, 20
CODING_MATRIX = trellis_codebook(N_CLASSES, 2).matrix


@pytest.fixture(scope="module")
def samples():
    rng = np.random.default_rng(0)
    class_index = rng.integers(0, N_CLASSES, size=60)
    X = rng.normal(size=(60, N_FEATURES)) * (rng.random((60, N_FEATURES)) < 0.4)
    return sparse.csr_array(X.astype(np.float32)), class_index


@pytest.fixture(autouse=True)
def small_steps(monkeypatch):
    """Two or three reports in each pass."""
    for module in (arow_module, softmax_module):
        monkeypatch.setattr(module, "UPDATES_AT_ONCE", 25 * 8 * CODING_MATRIX.shape[1])


class Interruptions:
    """A listener that interrupts at every ``period``-th step."""

    def __init__(self, period):
        self.period, self.n_calls = period, 0

    def __call__(self, progress):
        if progress.total is None:
            return
        self.n_calls += 1
        assert 0 < progress.done <= progress.total
        if self.n_calls % self.period == 0:
            raise KeyboardInterrupt


def scores_of(shape):
    """A validation whose score depends on nothing but the margins; ``shape`` says which pass is the best."""
    return {"rising": lambda m: float(np.abs(m).mean()), "falling": lambda m: -float(np.abs(m).mean())}[shape]


def limited(learner, n_columns, validation):
    n_features = N_FEATURES + learner.fit_intercept
    kept = n_features * CODING_MATRIX.shape[1] + (0 if validation is None else 4 * 10 * CODING_MATRIX.shape[1])
    return 4 * (kept + n_features * n_columns * (3 if learner.average else 2))


@pytest.mark.parametrize("scores", [None, "rising", "falling"])
@pytest.mark.parametrize("period", [4, 7])
def test_interrupted_again_and_again_softmax_ends_the_same(samples, tmp_path, scores, period):
    X, class_index = samples
    codebook, assignment = trellis_codebook(N_CLASSES, 2), Assignment.identity(N_CLASSES)
    validation = None if scores is None else Validation(X[:10], scores_of(scores))
    learner = Softmax(n_epochs=4, fit_intercept=True)
    undisturbed = learner.fit(Samples(X, class_index), Code(codebook, assignment), rng=1, validation=validation)
    watched = {"validation": validation, "checkpoints": Checkpoints(tmp_path / "here", resume=True)}
    interruptions = Interruptions(period)
    for _ in range(50):
        try:
            with subscribe(interruptions):
                resumed = learner.fit(Samples(X, class_index), Code(codebook, assignment), rng=1, **watched)
            break
        except KeyboardInterrupt:
            continue
    assert interruptions.n_calls > period
    np.testing.assert_array_equal(resumed.weights, undisturbed.weights)
    np.testing.assert_array_equal(resumed.bias, undisturbed.bias)
    with pytest.raises(CheckpointError, match="its learner is .*softmax.*, not .*arow"):
        AROW(n_epochs=4).fit(Samples(X, class_index), Code.of(CODING_MATRIX), rng=1, checkpoints=watched["checkpoints"])


def test_parts_of_a_training_are_found_and_cleared_with_it(tmp_path):
    whole = Checkpoints(tmp_path / "here", resume=True)
    assert not whole.exists
    whole.part("softmax").save({"seed": 1}, {"epoch": 2}, {"state": {"weights": np.ones(3)}})
    assert whole.exists
    assert whole.found({"seed": 1}) is None
    assert whole.part("softmax").found({"seed": 1}).progress == {"epoch": 2}
    whole.clear()
    assert not (tmp_path / "here").exists()


@pytest.mark.parametrize("options", [{}, {"average": True, "fit_intercept": True}])
@pytest.mark.parametrize("scores", [None, "rising", "falling"])
@pytest.mark.parametrize("n_columns", [None, 5])
@pytest.mark.parametrize("period", [4, 7])
def test_interrupted_again_and_again_a_training_ends_the_same(samples, tmp_path, options, scores, n_columns, period):
    X, class_index = samples
    validation = None if scores is None else Validation(X[:10], scores_of(scores))
    learner = AROW(n_epochs=4, **options)
    undisturbed = learner.fit(Samples(X, class_index), Code.of(CODING_MATRIX), rng=1, validation=validation)
    if n_columns is not None:
        learner = AROW(n_epochs=4, max_memory=limited(learner, n_columns, validation), **options)
    checkpoints, interruptions, n_runs = Checkpoints(tmp_path / "here", resume=True), Interruptions(period), 0
    while True:
        n_runs += 1
        assert n_runs < 50
        try:
            with subscribe(interruptions):
                resumed = learner.fit(
                    Samples(X, class_index),
                    Code.of(CODING_MATRIX),
                    rng=1,
                    validation=validation,
                    checkpoints=checkpoints,
                )
        except KeyboardInterrupt:
            continue
        break
    assert n_runs > 1
    np.testing.assert_array_equal(resumed.weights, undisturbed.weights)
    np.testing.assert_array_equal(resumed.bias, undisturbed.bias)
    checkpoints.clear()
    assert not (tmp_path / "here").exists()


def begun(samples, folder, n_epochs=3, **options):
    """Leave a checkpoint in the folder."""
    try:
        with subscribe(Interruptions(4)):
            AROW(n_epochs=n_epochs, **options).fit(
                Samples(*samples), Code.of(CODING_MATRIX), rng=1, checkpoints=Checkpoints(folder)
            )
    except KeyboardInterrupt:
        return Checkpoints(folder, resume=True)
    raise AssertionError


def test_without_resuming_a_checkpoint_is_replaced(samples, tmp_path):
    begun(samples, tmp_path)
    epochs = []
    AROW(n_epochs=2).fit(
        Samples(*samples),
        Code.of(CODING_MATRIX),
        rng=2,
        on_epoch=lambda report: epochs.append(report.epoch),
        checkpoints=Checkpoints(tmp_path),
    )
    assert epochs == [1, 2]
    assert json.loads((tmp_path / "checkpoint.json").read_text())["training"]["n_epochs"] == 2


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"r": 2.0}, "its r is 1.0, not 2.0"),
        ({"n_epochs": 5}, "its n_epochs is 3, not 5"),
        ({"average": True}, "its average is false, not true"),
        ({"class_weight": "balanced"}, "its samples_checksum"),
    ],
)
def test_the_checkpoint_of_another_training_is_refused(samples, tmp_path, change, message):
    checkpoints = begun(samples, tmp_path)
    with pytest.raises(CheckpointError, match=message):
        AROW(**{"n_epochs": 3, **change}).fit(Samples(*samples), Code.of(CODING_MATRIX), rng=1, checkpoints=checkpoints)
    with pytest.raises(CheckpointError, match="its seeds"):
        AROW(n_epochs=3).fit(Samples(*samples), Code.of(CODING_MATRIX), rng=2, checkpoints=checkpoints)
    with pytest.raises(CheckpointError, match="its codewords_checksum"):
        AROW(n_epochs=3).fit(Samples(*samples), Code.of(CODING_MATRIX[::-1]), rng=1, checkpoints=checkpoints)


def test_a_harmed_checkpoint_gets_one_clear_sentence(samples, tmp_path):
    checkpoints = begun(samples, tmp_path)
    (state,) = tmp_path.glob("*.safetensors")
    content = state.read_bytes()

    def resumed():
        return AROW(n_epochs=3).fit(Samples(*samples), Code.of(CODING_MATRIX), rng=1, checkpoints=checkpoints)

    state.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    with pytest.raises(CheckpointError, match="checksum does not match"):
        resumed()
    state.unlink()
    with pytest.raises(CheckpointError, match="the file of 'state' is missing"):
        resumed()
    description = tmp_path / "checkpoint.json"
    for text, message in [
        ("{", "is not JSON"),
        ("{}", "does not describe a checkpoint"),
        (json.dumps({**json.loads(description.read_text()), "format_version": 9}), "format version 9"),
    ]:
        description.write_text(text)
        with pytest.raises(CheckpointError, match=message):
            resumed()


def test_a_checkpoint_that_no_longer_fits_into_memory_is_refused(samples, tmp_path):
    checkpoints = begun(samples, tmp_path)
    less = limited(AROW(), 3, None)
    with pytest.raises(MemoryError, match="bits at once, but there is memory for only 3"):
        AROW(n_epochs=3, max_memory=less).fit(Samples(*samples), Code.of(CODING_MATRIX), rng=1, checkpoints=checkpoints)


def test_what_else_is_in_the_folder_stays(samples, tmp_path):
    (tmp_path / "notes.txt").write_text("keep")
    begun(samples, tmp_path).clear()
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]


def test_a_failed_write_leaves_the_checkpoint_before(samples, tmp_path, monkeypatch):
    checkpoints = begun(samples, tmp_path, n_epochs=4)
    before = json.loads((tmp_path / "checkpoint.json").read_text())

    def fail(path, arrays):
        path.write_bytes(b"half")
        raise OSError("No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr("codekin._system.checkpoints.write_arrays", fail)
        with pytest.raises(OSError, match="No space left"):
            AROW(n_epochs=4).fit(Samples(*samples), Code.of(CODING_MATRIX), rng=1, checkpoints=checkpoints)
    assert json.loads((tmp_path / "checkpoint.json").read_text()) == before
    undisturbed = AROW(n_epochs=4).fit(Samples(*samples), Code.of(CODING_MATRIX), rng=1)
    resumed = AROW(n_epochs=4).fit(Samples(*samples), Code.of(CODING_MATRIX), rng=1, checkpoints=checkpoints)
    np.testing.assert_array_equal(resumed.weights, undisturbed.weights)


def test_an_interruption_before_the_first_checkpoint_leaves_no_folder(tmp_path):
    checkpoints = Checkpoints(tmp_path / "model.checkpoint")
    with checkpoints.held():
        (checkpoints.folder / "trial" / "fit-0").mkdir(parents=True)
    assert not checkpoints.folder.exists()
    with checkpoints.held():
        checkpoints.part("trial").save({}, {}, {})
        (checkpoints.folder / "fit-0").mkdir()
    assert [path.name for path in checkpoints.folder.iterdir()] == ["trial"]
