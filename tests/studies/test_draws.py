import pytest

from codekin_studies import load_study, run_study, write_report
from codekin_studies.engine.workspace import Workspace
from codekin_studies.exhaustive.tasks import draw_tasks, drawn_codebooks, sweep_task

DRAWS = """
[draws]
name = "dense-6"
data = ["tiny"]
codebook = "dense_random"
options = { n_bits = 6 }
seeds = [1]
"""


@pytest.fixture
def study(study_file):
    study_file.write_text(study_file.read_text() + DRAWS)
    return load_study(str(study_file))


def test_a_drawn_codebook_is_swept_like_one_that_is_listed_and_has_its_place_on_the_page(study, tmp_path):
    run_study(study, tmp_path / "out", only=["tiny"], n_jobs=1)
    data, listed = study.option("data")[0], study.option("codebooks")[0]
    journal = Workspace(tmp_path / "out" / study.name).journal
    drawn = journal.result(draw_tasks(study, data)[0])
    assert drawn == journal.result(sweep_task(study, data, listed))  # the same options and the same seed
    text = write_report(study, tmp_path / "out", data_home=tmp_path).read_text(encoding="utf-8")
    assert "How 1 codebooks, drawn the same way with different seeds, differ." in text
    assert text.count("<img src=") == 5


def test_only_the_data_sets_that_are_named_have_more_codebooks(study):
    assert [code["seed"] for code in drawn_codebooks(study, "tiny")] == [1]
    assert drawn_codebooks(study, "trees") == []
    assert drawn_codebooks(load_study("bound"), "digits") == []
