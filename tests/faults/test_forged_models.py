"""Forged model folders do no harm; ``make fuzz`` tries thousands, in separate processes with bounds checking."""

import sys

import pytest

if not sys.platform.startswith("linux"):
    pytest.skip("forged folders are judged with the means of Linux", allow_module_level=True)

from tests.faults.forgeries import PARTS, forge
from tests.faults.judging import HARMLESS, judged, saved_models, write_samples

N_MUTANTS = 190


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    return saved_models(tmp_path_factory.mktemp("models"))


def test_folders_as_they_were_saved_are_read_unless_they_need_trust(models, tmp_path):
    write_samples(tmp_path)
    outcomes = {name: judged(folder, tmp_path, None).outcome for name, folder in models.items()}
    assert outcomes == {
        name: "refused" if (folder / "learners.skops").exists() else "other" for name, folder in models.items()
    }
    by_skops = {name for name, outcome in outcomes.items() if outcome == "refused"}
    assert by_skops == {"boosted", "older boosted", "pipelines", "ternary", "neighbours"}


def test_forged_folders_are_refused_or_harmless(models, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_samples(tmp_path)
    harmful, forged = [], set()
    for number in range(N_MUTANTS):
        forgery = forge(number, models, tmp_path / str(number))
        forged.add((forgery.model, forgery.what))
        verdict = judged(tmp_path / str(number), tmp_path, "")
        if verdict.outcome not in HARMLESS:
            harmful.append(f"{forgery}: {verdict}")
    assert not harmful, "\n".join(harmful)
    assert len(forged) >= len(models) * (len(PARTS) - 1)
