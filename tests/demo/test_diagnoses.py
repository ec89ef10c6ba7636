import pytest

pytestmark = pytest.mark.xdist_group("demo")


def test_preserving_assignments_are_better_at_every_width(quick_diagnoses):
    assert [trellis.width for trellis in quick_diagnoses.trellises] == [2, 5]
    assert all(trellis.gain > 0.5 for trellis in quick_diagnoses.trellises)
    assert all(trellis.accuracies["preserving"].mean() > 85 for trellis in quick_diagnoses.trellises)


def test_typed_diagnoses_find_their_category(quick_diagnoses):
    answers = quick_diagnoses.answers
    assert answers["type 2 diabetes with kidney disease"][0].code == "E11"
    assert answers["glaucoma of both eyes"][0].code == "H40"
    for candidates in answers.values():
        probabilities = [candidate.probability for candidate in candidates]
        assert probabilities == sorted(probabilities, reverse=True)
        assert 0 < sum(probabilities) <= 1 + 1e-9
