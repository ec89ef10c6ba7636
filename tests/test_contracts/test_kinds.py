"""Nobody outside their own folders asks what kind of model or learner something is."""

import re

import pytest

from tests.conftest import ROOT

LEARNERS = "Learner|AutoLearner|AROW|Softmax|IndependentBits"
KINDS = f"Model|Member|{LEARNERS}|MinimumLossDecoder|ShortestPathDecoder|LearnedDecoder"
HOMES = ("model", "learners", "decoding")
ASKED = re.compile(rf"isinstance\([^)]*\b(?:{KINDS})\b")
PACKAGE = ROOT / "src" / "codekin"
FILES = [path for path in PACKAGE.rglob("*.py") if path.relative_to(PACKAGE).parts[0] not in HOMES]


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_kinds_of_models_and_learners_are_asked_for_at_home_only(path):
    assert not ASKED.findall(path.read_text(encoding="utf-8"))


def test_the_question_would_be_found():
    assert ASKED.search("if isinstance(value, Codebook | Model):")
