import pytest

from codekin.data import DATASETS, load_dataset
from codekin.data.stored_sets import data_home


def test_the_data_home_is_given_or_in_the_environment_or_in_the_cache(monkeypatch, tmp_path):
    monkeypatch.delenv("CODEKIN_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    assert data_home() == tmp_path / "cache" / "codekin"
    monkeypatch.setenv("CODEKIN_DATA", str(tmp_path / "data"))
    assert data_home() == tmp_path / "data"
    assert data_home(tmp_path) == tmp_path


@pytest.mark.parametrize("name", [name for name, entry in DATASETS.items() if entry.is_embedded])
def test_an_embedded_set_needs_no_data_home(name, tmp_path):
    dataset = load_dataset(name, tmp_path / "nowhere")
    assert dataset.name == name
    assert dataset.n_classes == DATASETS[name].n_classes


@pytest.mark.parametrize("name", [name for name, entry in DATASETS.items() if not entry.is_embedded])
def test_a_set_that_is_not_there_is_named_with_the_folder_and_the_remedy(name, tmp_path):
    assert not DATASETS[name].is_available(tmp_path)
    with pytest.raises(FileNotFoundError) as caught:
        load_dataset(name, tmp_path)
    assert f"The data set {name!r} is not in {tmp_path}." in str(caught.value)
    assert "CODEKIN_DATA" in str(caught.value)
    assert ("codekin data fetch" in str(caught.value)) == DATASETS[name].can_be_fetched


@pytest.mark.parametrize("name", ["icd10cm_small", "mnist"])
def test_the_table_knows_the_number_of_classes(name, shared_data):
    assert load_dataset(name, shared_data(name).parent).n_classes == DATASETS[name].n_classes


def test_an_unknown_name_is_refused():
    with pytest.raises(ValueError, match="The data sets are yeast, digits, .* Got 'iris' instead."):
        load_dataset("iris")
