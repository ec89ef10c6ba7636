"""Every mistake in a configuration gives one sentence with file, line, key and value, and leaves nothing behind."""

import re
import tomllib

import numpy as np
import pytest
from tests.conftest import ROOT

from codekin.cli.main import main
from codekin.data import DATASETS
from codekin.data.embedded import make_sparse_topics
from codekin.data.registry import DatasetEntry
from codekin_studies import load_study, paper_studies
from codekin_studies.engine.schema import Entries, Keys, line_of
from codekin_studies.engine.workspace import Workspace
from codekin_studies.entries import LEARNER_OPTIONS, CodebookTable
from codekin_studies.splits.dichotomies import LEARNER_NAMES, SPLIT_LEARNERS
from codekin_studies.studies import STUDY_KINDS

BOUND = """kind = "bound"
title = "Bounds"
seed = 0
n_assignments = 3
losses = ["hinge"]
[[data]]
name = "tiny"
n_test = 60
learner = { name = "linear_svm", C = 1.0 }
[[codebooks]]
name = "dense"
codebook = "dense_random"
options = { n_bits = 6 }
seed = 0
"""
EXHAUSTIVE = """kind = "exhaustive"
title = "Every assignment"
seed = 0
splits_per_task = 8
[[data]]
name = "tiny"
n_test = 60
learner = { name = "linear_svm", C = 1.0 }
confusion = "train"
[[codebooks]]
name = "dense"
codebook = "dense_random"
options = { n_bits = 6 }
seed = 0
[draws]
name = "drawn"
data = ["tiny"]
codebook = "dense_random"
options = { n_bits = 6 }
seeds = [1]
"""
INTERMEDIATE = """kind = "intermediate"
title = "Several"
seed = 0
n_assignments = 2
n_random_scores = 5
metrics = ["means"]
[[data]]
name = "trees"
learner = { name = "least_squares", ridge = 0.001 }
[codebook]
codebook = "dense_random"
options = { n_bits = 6 }
seed = 0
"""
SYNTHETIC = """kind = "synthetic"
title = "Six classes"
seed = 0
n_per_class = 20
angles = [0.0, 20.0, 110.0]
offset = 0.03
gap = 0.03
C = 10.0
one_vs_rest_C = [1.0]
"""
EXTREME = """kind = "extreme"
title = "Many classes"
n_runs = 1
[[data]]
name = "topics"
tree = "given"
widths = [2]
n_epochs = 1
"""
DECODING = """kind = "decoding"
title = "Decoding"
seed = 0
n_spans = 10
n_trained = 2
n_multinomial = 1
[[data]]
name = "tiny"
n_test = 60
ridge = 0.001
[[codebooks]]
name = "dense"
codebook = "dense_random"
options = { n_bits = 6 }
seed = 0
"""
ROBUSTNESS = """kind = "robustness"
title = "Robustness"
seed = 0
n_checked = 5
n_steps = 2
n_restarts = 1
[corruptions]
noise = 0.1
blur = 0.1
occlusion = 0.1
contrast = 0.5
code_bits = 0.1
weight_bits = 0.1
[[data]]
name = "tiny"
n_test = 60
picture = [3, 1, 1]
ridge = 0.1
width = 1.0
transfer = [0.1]
radii = [0.1, 0.2]
network = { n_assignments = 2, n_hidden = 2, n_epochs = 1, n_samples = 5 }
capacities = [{ features = 0, n_attacked = 5, n_samples = 5, seconds = 1.0 }]
[[codebooks]]
name = "dense"
codebook = "dense_random"
options = { n_bits = 6 }
seed = 0
"""
STUDIES = {
    "robustness": ROBUSTNESS,
    "decoding": DECODING,
    "bound": BOUND,
    "exhaustive": EXHAUSTIVE,
    "intermediate": INTERMEDIATE,
    "synthetic": SYNTHETIC,
    "extreme": EXTREME,
}
SVM = 'learner = { name = "linear_svm", C = 1.0 }'
DENSE = 'codebook = "dense_random"\noptions = { n_bits = 6 }\nseed = 0\n'

# Kind, what stands in its file, what is put there, and what the sentence must say.
WRONG = [
    ("decoding", "ridge = 0.001", "ridge = -1", "'data[0].ridge' must be a number above 0. Got -1 instead"),
    ("decoding", "n_spans = 10\n", "", "'n_spans' is missing"),
    ("robustness", "noise = 0.1", "noise = 1.5", "'corruptions.noise' must be a number from 0 to 1. Got 1.5 instead"),
    ("robustness", "[0.1, 0.2]", "[0.2, 0.1]", "'data[0].radii' must increase. Got [0.2, 0.1] instead"),
    ("robustness", "[3, 1, 1]", "[2, 2, 1]", "'data[0].picture' must be height, width and channels of 3 features. Got"),
    ("robustness", "n_test = 60", "n_test = 60\nn_swept = 61", "'data[0].n_swept' must be at most .* 60. Got 61"),
    (
        "robustness",
        "n_epochs = 1, n_samples = 5",
        "n_epochs = 1, n_samples = 90",
        "'data[0].network.n_samples' must",
    ),
    ("robustness", "features = 0", "features = 9", "'data[0].capacities[0].features' must be 0, .* Got 9 instead"),
    ("robustness", "n_test = 60", 'n_test = 60\ncodebooks = ["sparse"]', "'data[0].codebooks[0]' must be 'dense'"),
    ("decoding", "dense_random", "separating", "'codebooks[0].codebook' must be one of .* Got 'separating'"),
    ("bound", "C = 1.0", "Cc = 1", "line 9: 'data[0].learner.Cc' is not known. The keys here are name, C."),
    ("bound", "linear_svm", "linear_smv", "'data[0].learner.name' must be one of 'linear_svm', .* Got 'linear_smv'"),
    ("bound", SVM, "", "line 6: 'data[0].learner' is missing. It must be a table, for example { name ="),
    ("bound", SVM, 'learner = "linear_svm"', "'data[0].learner' must be a table, .* Got 'linear_svm' instead"),
    ("bound", 'name = "linear_svm", ', "", "'data[0].learner.name' is missing. It must be one of"),
    ("bound", "C = 1.0", 'C = "x"', "line 9: 'data[0].learner.C' must be a number above 0. Got 'x' instead."),
    ("bound", "C = 1.0", 'C = "cross-validated"', "'data[0].learner.C' must be a number above 0. Got 'cross-val"),
    ("bound", "C = 1.0", "C = nan", "'data[0].learner.C' must be a number above 0. Got nan instead"),
    ("exhaustive", "C = 1.0", 'C = "crossvalidated"', "must be a number above 0 or 'cross-validated'. Got 'crossval"),
    ("bound", "dense_random", "dense_rand", "line 12: 'codebooks[0].codebook' must be one of .* Got 'dense_rand'"),
    ("bound", "dense_random", "decoc", "'codebooks[0].codebook' must be one of .* Got 'decoc'"),
    ("bound", DENSE, "", "line 10: 'codebooks[0].codebook' is missing"),
    (
        "bound",
        "n_bits = 6",
        "n_bit = 8",
        "line 13: 'codebooks[0].options.n_bit' is not known. .* n_bits, n_symbols, n_draws",
    ),
    ("bound", "n_bits = 6", 'n_bits = "8"', "'codebooks[0].options.n_bits' must be a whole number .* Got '8'"),
    ("bound", "n_bits = 6", "n_bits = 2", "line 10: 'codebooks[0]' cannot be made for 5 classes: 2 bits cannot tell"),
    ("bound", "seed = 0\n", 'seed = "a"\n', "'seed' must be a whole number from 0 to 4294967295. Got 'a'"),
    ("bound", "}\nseed = 0", '}\nseed = "a"', "line 14: 'codebooks[0].seed' must be a whole number .* Got 'a'"),
    ("bound", "}\nseed = 0", "}", "'codebooks[0].seed' is missing"),
    ("bound", DENSE, 'codebook = "hadamard"\nseed = 0', "'codebooks[0].seed' is not known. The keys here are name, co"),
    ("bound", DENSE, 'codebook = "spectral"\nclass_distances = "confusion"', "must be 'means'. Got 'confusion'"),
    ("bound", DENSE, 'codebook = "given"', "'codebooks[0].options' is missing"),
    (
        "bound",
        'name = "dense"',
        'name = "../dense"',
        "'codebooks[0].name' must be a name of letters, .* Got '../dense'",
    ),
    ("bound", "n_assignments = 3", "n_assignments = 2.5", "line 4: 'n_assignments' must be a whole number .* Got 2.5"),
    ("bound", "n_assignments = 3", "n_assignments = [1, 2]", "must be a whole number from 1 to .* Got [1, 2]"),
    ("bound", "n_assignments = 3", "n_assignments = 0", "must be a whole number from 1 to .* Got 0 instead"),
    ("bound", "n_assignments = 3", "n_assignments = -3", "must be a whole number from 1 to .* Got -3 instead"),
    ("bound", "n_assignments = 3", "n_assignments = true", "must be a whole number from 1 to .* Got True instead"),
    (
        "bound",
        '["hinge"]',
        '"hinge"',
        "line 5: 'losses' must be a list of one or more values, each one of .* Got 'hinge'",
    ),
    ("bound", '["hinge"]', "[]", "'losses' must be a list of one or more values, .* Got [] instead"),
    ("bound", '["hinge"]', '["hing"]', "'losses[0]' must be one of 'hinge', .* Got 'hing' instead"),
    ("bound", '["hinge"]', '["hinge", "hinge"]', "'losses[1]' must not be in the list twice. Got 'hinge'."),
    ("bound", '"tiny"', '"icd10cm"', "line 7: 'data[0].name' must be one of .* Got 'icd10cm' with 374 instead"),
    ("exhaustive", 'name = "tiny"', 'name = "clinc150"', "'data[0].name' must be .* Got 'clinc150' with 150 instead"),
    ("bound", '"tiny"', '"tinny"', "'data[0].name' must be one of 'yeast', .* Got 'tinny' instead"),
    ("bound", "n_test = 60", "n_test = -5", "line 8: 'data[0].n_test' must be a whole number from 1 to .* Got -5"),
    ("bound", "n_test = 60", "n_test = 50_000", "line 8: 'data[0].n_test' must be from 5 to 195, .* Got 50000"),
    ("bound", "n_test = 60", 'n_test = "5"', "'data[0].n_test' must be a whole number from 1 to .* Got '5'"),
    ("bound", "n_test = 60", "n_test = 5.5", "'data[0].n_test' must be a whole number from 1 to .* Got 5.5"),
    (
        "bound",
        "seed = 0\nn",
        "sed = 1\nseed = 0\nn",
        "line 3: 'sed' is not known. The keys here are kind, title, seed,",
    ),
    (
        "bound",
        "n_test = 60",
        "n_tst = 60",
        "line 8: 'data[0].n_tst' is not known. The keys here are name, learner, n_te",
    ),
    ("bound", "n_bits = 6 }", "n_bits = 6 }\nseeed = 1", "line 14: 'codebooks[0].seeed' is not known"),
    (
        "bound",
        "[[codebooks]]",
        "[[codebooks]]\nname = 'dense'\ncodebook = 'hadamard'\n[[codebooks]]",
        "line 13: 'codebooks[1]' must differ from 'codebooks[0]' in 'name'. Got 'dense'.",
    ),
    (
        "bound",
        "[[codebooks]]",
        f"[[data]]\nname = 'tiny'\nn_test = 50\n{SVM}\n[[codebooks]]",
        "line 10: 'data[1]' must di",
    ),
    ("bound", '"Bounds"', '"a\\nb"', "line 2: 'title' must be a line of text in quotes. Got 'a"),
    (
        "bound",
        "n_assignments = 3",
        "n_assignments = 9_999_999",
        "must be a whole number from 1 to 1000000. Got 9999999",
    ),
    ("bound", DENSE, 'codebook = "nested_dichotomies"\nseed = 1', "'codebooks[0]' must be a codebook without zeros"),
    ("bound", DENSE, 'codebook = "random_projection"\nseed = 1', "Got 'random_projection' instead"),
    ("bound", "[[data]]", "[data]", "'data' must be a list of one or more tables, [[data]]. Got {'name': "),
    ("exhaustive", "seeds = [1]", "seeds = [1]\nseed = 1", "line 21: 'draws.seed' is not known"),
    ("exhaustive", "seeds = [1]", "seeds = [1, 1]", "line 20: 'draws.seeds[1]' must not be in the list twice. Got 1."),
    ("exhaustive", "seeds = [1]", "", "'draws.seeds' is missing. It must be a list of one or more values"),
    (
        "exhaustive",
        'data = ["tiny"]',
        'data = ["yeast"]',
        "line 17: 'draws.data[0]' must be 'tiny'. Got 'yeast' instead",
    ),
    ("exhaustive", 'confusion = "train"', 'confusion = "out_of_fold"', "must be 'train' unless the learner is"),
    ("exhaustive", 'confusion = "train"', "", "'data[0].confusion' is missing. It must be one of 'train'"),
    (
        "exhaustive",
        DENSE,
        'codebook = "one_vs_one"\n',
        "'codebooks[0]' must be a codebook without zeros, .* Got 'one_vs_one' instead",
    ),
    (
        "exhaustive",
        DENSE,
        'codebook = "spectral"\nclass_distances = "means"\noptions = { n_bits = 16 }\n',
        "'codebooks[0]' must have at most 15 bits, .* It has 16 bits",
    ),
    ("exhaustive", "splits_per_task = 8", "splits_per_task = 0", "'splits_per_task' must be a whole number"),
    ("intermediate", '["means"]', '"names"', "'metrics' must be a list of one or more values, .* Got 'names' instead"),
    (
        "intermediate",
        '["means"]',
        '["means", "human"]',
        "line 6: 'metrics[1]' is 'human', which the data set 'trees' does not have",
    ),
    (
        "intermediate",
        '"trees"',
        '"topics"',
        "line 8: 'data[0].name' must be a data set of dense .* 'topics' has sparse",
    ),
    (
        "intermediate",
        '"trees"',
        '"icd10cm"',
        "'data[0].name' must be a data set of dense features. 'icd10cm' has texts",
    ),
    ("intermediate", '"trees"', '"digits"', "'data[0]' must be a data set with test samples, which 'digits' is not"),
    ("intermediate", '"trees"', '"trees"\nn_test = 60', "'data[0].n_test' is not known"),
    (
        "intermediate",
        "[codebook]",
        "[[data]]\nname = 'trees'\nlearner = { name = 'least_squares', ridge = 1.0 }\n[codebook]",
        "'data[1]' must differ from 'data[0]' in 'name' or 'learner.name'. Got 'trees', 'least_squares'.",
    ),
    (
        "synthetic",
        "n_per_class = 20",
        "n_per_class = 2.5",
        "'n_per_class' must be a whole number from 1 to .* Got 2.5",
    ),
    ("synthetic", "n_per_class = 20", "n_per_class = -3", "'n_per_class' must be a whole number from 1 to .* Got -3"),
    (
        "synthetic",
        "seed = 0",
        "seed = -1",
        "line 3: 'seed' must be a whole number from 0 to 4294967295. Got -1 instead.",
    ),
    ("synthetic", "gap = 0.03", "gap = -1", "line 7: 'gap' must be a number of at least 0. Got -1 instead."),
    (
        "synthetic",
        "20.0, 110.0]",
        "20.0]",
        "'angles' must be a list of 3, each a finite number. Got [0.0, 20.0] instead.",
    ),
    (
        "synthetic",
        "20.0, 110.0]",
        "0.0, 90.0]",
        "line 5: 'angles', 'offset' and 'gap' do not fit. .* fewer than 6 regions",
    ),
    (
        "synthetic",
        "one_vs_rest_C = [1.0]",
        "one_vs_rest_C = []",
        "'one_vs_rest_C' must be a list of one or more values",
    ),
    ("extreme", "widths = [2]", "widths = [2, 1]", "'data[0].widths[1]' must be a whole number of at least 2. Got 1"),
    ("extreme", "widths = [2]", "widths = [40]", "'data[0].widths[0]' must be a whole number from 2 to 12. Got 40"),
    ("extreme", '"given"', '"both"', "line 6: 'data[0].tree' must be one of 'given', 'learned'. Got 'both' instead."),
    (
        "extreme",
        '"given"',
        '"learned"\norders = ["given"]',
        "'data[0].orders[0]' must be one of 'random', .* Got 'given'",
    ),
    (
        "bound",
        "n_test = 60",
        'n_test = 60\nscaling = "loud"',
        "'data[0].scaling' must be one of 'largest', 'unit_norm'. Got 'loud' instead.",
    ),
    (
        "extreme",
        "n_epochs = 1",
        'n_epochs = 1\nclustering = "plain"',
        "'data[0].clustering' must be one of 'ordered', 'average'. Got 'plain' instead.",
    ),
    ("extreme", "n_epochs = 1", "n_epochs = 1\noversample = [1.0]", "with validation samples, .* 'topics' has none"),
    ("extreme", '"topics"', '"icd10cm"', "line 4: 'data[0]' must be a data set with features. 'icd10cm' has none."),
    ("extreme", '"topics"\ntree = "given"', '"digits"\ntree = "learned"', "must be a data set with test samples"),
]


@pytest.fixture
def refused(study_file, tmp_path, capsys, monkeypatch):
    """A function: writes a configuration, runs it and returns the sentence with which it was refused."""
    topics = make_sparse_topics(12, 120, n_features=60, rng=np.random.default_rng(0))
    monkeypatch.setitem(DATASETS, "topics", DatasetEntry(lambda _: topics, 12, "made up"))
    path, output = study_file.with_name("wrong.toml"), tmp_path / "out"

    def run(text):
        path.write_text(text)
        code = main(["study", "run", str(path), "--output", str(output), "--no-report", "--quiet", "--n-jobs", "1"])
        said = capsys.readouterr()
        assert (code, said.out) == (2, "")
        assert re.fullmatch(r"codekin: [^\n]+\.\n", said.err)
        assert not output.exists()
        assert said.err.startswith(f"codekin: {path}")
        return said.err

    return run


@pytest.mark.parametrize(("kind", "good", "bad", "sentence"), WRONG)
def test_what_is_wrong_is_one_sentence_and_leaves_nothing_behind(refused, kind, good, bad, sentence):
    assert good in STUDIES[kind]
    said = refused(STUDIES[kind].replace(good, bad, 1))
    assert re.search(".*".join(map(re.escape, sentence.split(".*"))), said), said


@pytest.mark.usefixtures("study_file")
@pytest.mark.parametrize("kind", ["bound", "exhaustive", "intermediate", "synthetic"])
def test_what_is_right_is_read(kind, tmp_path):
    (tmp_path / "right.toml").write_text(STUDIES[kind])
    assert load_study(str(tmp_path / "right.toml")).kind == kind


@pytest.mark.parametrize("name", paper_studies())
def test_no_value_of_the_papers_studies_is_changed_by_the_check(name):
    study = load_study(name)
    content = tomllib.loads(study.text)
    assert {"kind": study.kind, "title": study.title, **study.options} == content


def test_a_run_without_any_data_makes_nothing(study_file, tmp_path, capsys):
    command = ["study", "run", str(study_file), "--only", "absent", "--data-home", str(tmp_path)]
    assert main([*command, "--output", str(tmp_path / "out")]) == 0
    said = capsys.readouterr()
    assert "skipped absent" in said.err
    assert "nothing to do, since none of its data is available" in said.out
    assert not (tmp_path / "out").exists()


def test_a_run_that_fails_before_anything_is_finished_leaves_nothing(tmp_path):
    workspace = Workspace(tmp_path / "out" / "small", configuration="seed = 0")
    with workspace.locked():
        assert workspace.configuration_path.read_text() == "seed = 0"
    assert not workspace.folder.exists()


def keys_of(check):
    if isinstance(check, Entries):
        yield from keys_of(check.entry)
    elif isinstance(check, CodebookTable):
        yield from (
            *check.keys,
            "codebook",
            "options",
            check.seed[0],
            *(["class_distances"] * bool(check.class_distances)),
        )
    elif isinstance(check, Keys):
        for key, content in {**check.required, **check.optional}.items():
            yield from (key, *keys_of(content))


@pytest.mark.parametrize("kind", STUDY_KINDS)
def test_the_reference_names_every_key(kind):
    text = (ROOT / "docs" / "reference" / "study-files.md").read_text(encoding="utf-8")
    words = set(re.findall(r"\w+", text))
    assert set(keys_of(STUDY_KINDS[kind].schema)) <= words


def test_every_learner_has_options_and_a_name_for_pages():
    assert set(SPLIT_LEARNERS) == set(LEARNER_OPTIONS) == set(LEARNER_NAMES)


@pytest.mark.parametrize(
    ("path", "line"),
    [(("a",), 1), (("b", 0, "c"), 4), (("b", 1, "c"), 6), (("b", 1, "d", "e"), 8), (("b", 1, "x"), 5), (("z",), None)],
)
def test_the_line_is_that_of_the_key_or_of_the_table_around_it(path, line):
    text = "a = 1\n# c = 3\n[[b]]\nc = 1\n[[b]]\nc = 2\n[b.d]\ne = 3\n"
    assert line_of(text, path) == line


def test_no_line_is_named_where_texts_may_look_like_keys():
    assert line_of('a = """\nb = 1\n"""\nb = 2', ("b",)) is None
