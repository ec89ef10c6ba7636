"""Only their own folders distinguish kinds of models, learners and decoders."""

import ast
import re
from functools import cache
from pathlib import Path

import pytest

from codekin.cli import inspect
from codekin.code import KINDS, Codebook, entry_for
from codekin.decoding import DECODERS
from codekin.deploy.explore.content import WRITERS as EXPLORED
from codekin.deploy.export.onnx_graph import WRITERS as IN_ONNX
from codekin.deploy.export.page import WRITERS as IN_PAGES
from codekin.explaining import EXPLAINERS
from codekin.plots.assignments import ENTRIES
from codekin.states import codes
from codekin.storage import assignments
from tests.conftest import ROOT

SOURCES = ROOT / "src"
PACKAGE = SOURCES / "codekin"
HOMES = ("model", "learners", "decoding")
MARKS = {"decoding_loss", "decode", "_costs"}
"""A class of these folders with one of these methods is a learner or a decoder."""
FILES = [path for path in SOURCES.rglob("*.py") if not any(path.is_relative_to(PACKAGE / home) for home in HOMES)]


def tree_of(path: Path) -> ast.AST:
    return ast.parse(path.read_text(encoding="utf-8"))


@cache
def kinds() -> set[str]:
    homes = [path for home in HOMES for path in (PACKAGE / home).rglob("*.py")]
    classes = [node for path in homes for node in ast.walk(tree_of(path)) if isinstance(node, ast.ClassDef)]
    methods = {one.name: {part.name for part in one.body if isinstance(part, ast.FunctionDef)} for one in classes}
    return {name for name, own in methods.items() if own & MARKS} | {"Model", "FittedCode", "AutoLearner"}


def names_in(node: ast.AST) -> set[str]:
    return {getattr(part, "id", getattr(part, "attr", "")) for part in ast.walk(node)} - {""}


def questions(tree: ast.AST) -> list[str]:
    """What a file asks about kinds: ``isinstance``, a comparison with ``type(...)``, a case of a match."""
    asked = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") in ("isinstance", "issubclass"):
            asked.append((node, names_in(node.args[1])))
        elif isinstance(node, ast.Compare) and any(
            isinstance(part, ast.Call) and names_in(part.func) == {"type"} for part in (node.left, *node.comparators)
        ):
            asked.append((node, names_in(node)))
        elif isinstance(node, ast.MatchClass):
            asked.append((node, names_in(node.cls)))
    return [ast.unparse(node) for node, names in asked if names & (kinds() | {"LEARNERS"})]


def test_learners_and_decoders_are_found_by_what_they_do():
    assert {"AROW", "Softmax", "IndependentBits", "Learner"} <= kinds()
    assert {"MinimumLossDecoder", "ShortestPathDecoder", "LearnedDecoder"} <= kinds()


def test_kinds_of_models_and_learners_are_asked_for_at_home_only():
    asked = {str(path.relative_to(SOURCES)): questions(tree_of(path)) for path in FILES}
    assert not {name: found for name, found in asked.items() if found}


@pytest.mark.parametrize(
    "text",
    [
        "isinstance(value, Codebook | Model)",
        "isinstance(learner_of(choice), learners.AROW)",
        "issubclass(kind, (int, Softmax))",
        "type(learner) is AROW",
        "type(learner) in LEARNERS.values()",
        "match learner:\n    case AROW():\n        pass",
    ],
)
def test_a_question_would_be_found(text):
    assert questions(ast.parse(text))


def test_other_questions_are_allowed():
    assert not questions(ast.parse("isinstance(X, StoredRows) or type(X) is dict"))


FORMS = re.compile(r"\.(tree|trellis|graph) is (not )?None|has_tree|\bis_real\b|n_symbols (==|!=|>) 2")
MOST_FORMS = 0
"""How often the kind of a code is asked for outside its home. The limit only falls, to 0."""


def test_the_kind_of_a_code_is_asked_for_less_and_less():
    files = [path for path in SOURCES.rglob("*.py") if not path.is_relative_to(PACKAGE / "code")]
    assert sum(len(FORMS.findall(path.read_text(encoding="utf-8"))) for path in files) <= MOST_FORMS


SEVERAL = re.compile(
    r"(samples|held_out)\.labels is (not )?None|\bmarginals is (not )?None|\bs\.has_sets\b|self\.multilabel_"
)
WHERE_LABELS_ARE = ("samples.py", "learners", "model")
"""Samples, the targets of learners and the probabilities of models differ if samples have several labels."""
AT_THE_DOORS = ("estimators", "cli", "deploy", "states")
"""Where labels come in and go out, as one per sample or as an indicator."""
MOST_FORKS = {"doors": 13, "fitting": 4}
"""How often it is asked whether samples have several labels. In fitting: what "auto" means, whether samples are held
out for probabilities, of which kind these are, and the error of a report."""


def test_whether_samples_have_several_labels_is_asked_at_the_doors_and_at_home():
    forks = {"doors": 0, "fitting": 0}
    for path in PACKAGE.rglob("*.py"):
        place = path.relative_to(PACKAGE).parts[0]
        if place not in WHERE_LABELS_ARE:
            where = "doors" if place in AT_THE_DOORS else "fitting"
            forks[where] += len(SEVERAL.findall(path.read_text(encoding="utf-8")))
    assert {where: n for where, n in forks.items() if n > MOST_FORKS[where]} == {}


TABLES = {
    "decoders": DECODERS,
    "model folders": codes.CODEBOOKS,
    "files of assignments": assignments.CODEBOOKS,
    "inspect": inspect.KINDS,
    "ONNX": IN_ONNX,
    "pages": IN_PAGES,
    "explorer": EXPLORED,
    "explanations": EXPLAINERS,
    "figures": ENTRIES,
}


@pytest.mark.parametrize("table", TABLES.values(), ids=TABLES)
def test_tables_have_an_entry_or_a_sentence_of_refusal_for_every_kind_of_code(table):
    assert table.keys() == KINDS.keys()
    refusals = [entry for entry in table.values() if isinstance(entry, str)]
    assert len(refusals) < len(KINDS)
    assert all(re.fullmatch(r"[A-Z][^.]+\.", refusal) for refusal in refusals)


def test_a_refused_kind_is_named_after_the_sentence():
    with pytest.raises(ValueError, match=r"Nobody draws signs\. Got <Codebook given: 2 codewords x 2 bits"):
        entry_for({"signs": "Nobody draws signs."}, Codebook([[1, 1], [1, -1]]))
