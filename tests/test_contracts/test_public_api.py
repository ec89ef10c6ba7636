"""The public API changes when somebody means it to."""

import importlib
import re

import pytest

from tests.conftest import ROOT
from tests.test_contracts.public_api import SNAPSHOT, public_api, public_modules, public_names


def test_the_public_api_is_as_written_down():
    before, now = SNAPSHOT.read_text(encoding="utf-8").splitlines(), public_api()
    gone = [f"- {line}" for line in before if line not in set(now)]
    new = [f"+ {line}" for line in now if line not in set(before)]
    assert not gone + new, "\n".join(["the public API changed; if that was meant, run `make api`:", *gone, *new])


def test_the_reference_lists_every_public_module():
    listed = set()
    for page in (ROOT / "docs" / "api").glob("*.md"):
        listed |= set(re.findall(r"automodule:: (\S+)", page.read_text(encoding="utf-8")))
    assert listed == set(public_modules()) - {"codekin"}


@pytest.mark.parametrize("module_name", public_modules())
def test_exported_names_exist_and_stand_in_order(module_name):
    module = importlib.import_module(module_name)
    for name in public_names(module):
        assert hasattr(module, name), f"{module_name}.__all__ has {name}, which does not exist"
    declared = getattr(module, "__all__", [])
    assert len(set(declared)) == len(declared)
