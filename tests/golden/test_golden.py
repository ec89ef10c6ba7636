"""The answers of the corpus are those that were written down."""

import json

import pytest

from tests.golden.cases import ANSWERS, CASES, answers, environment, page_answers

WRITTEN = json.loads(ANSWERS.read_text(encoding="utf-8"))
CLOSE = 2e-2
"""On other processors sums are rounded differently, and learners stop at slightly different weights."""


def assert_close(found, written):
    """The same classes with about the same probabilities; classes that are about equally probable may change places."""
    assert len(found) == len(written)
    for (labels, probabilities), (written_labels, written_probabilities) in zip(found, written, strict=True):
        assert probabilities == pytest.approx(written_probabilities, abs=CLOSE)
        for place, label in enumerate(written_labels):
            near = [abs(other - written_probabilities[place]) for other in written_probabilities]
            is_alone = sum(gap <= 2 * CLOSE for gap in near) == 1 and place + 1 < len(near)
            assert not is_alone or labels[place] == label


def test_every_case_is_written_down():
    assert list(WRITTEN["cases"]) == list(CASES)


@pytest.mark.filterwarnings("ignore:load_model will refuse these learners")
@pytest.mark.parametrize("name", CASES)
def test_a_model_is_the_one_that_was_written_down(name, tmp_path):
    found, written = answers(name, tmp_path), WRITTEN["cases"][name]
    if environment() != WRITTEN["environment"] and not CASES[name].is_same_elsewhere:
        pytest.skip("this case is compared only on the kind of machine that wrote its answers")
    for part in ("best", "onnx") if "onnx" in written else ("best",):
        assert_close(found[part], written[part])
    if environment() == WRITTEN["environment"]:
        assert found == {part: value for part, value in written.items() if part != "page"}
    if "page" in written:
        assert_close(page_answers(tmp_path), written["page"])
