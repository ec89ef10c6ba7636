"""Pictures of documents exist for light and dark pages and are described, and their numbers are those of the guides."""

import re
import sys
from pathlib import Path

import pytest
from PIL import Image

from tests.conftest import ROOT
from tests.test_contracts.test_documents import DOCUMENTS, name_of

PICTURE = re.compile(r"<picture>(.*?)</picture>", re.DOTALL)
WITH_PICTURES = [document for document in DOCUMENTS if PICTURE.search(document.read_text(encoding="utf-8"))]
REMEDY = "Run: python tools/pictures.py frontier which memory"


@pytest.fixture(scope="module")
def pictures():
    """The script that makes them."""
    sys.path.insert(0, str(ROOT / "tools"))
    import pictures

    yield pictures
    sys.path.remove(str(ROOT / "tools"))


def described_pictures(document: Path) -> list[tuple[Path, Path, str]]:
    """The light and the dark file of every picture, and its description."""
    found = []
    for picture in PICTURE.findall(document.read_text(encoding="utf-8")):
        assert 'media="(prefers-color-scheme: dark)"' in picture
        (dark,), (light,), (alt,) = (re.findall(rf'{name}="([^"]*)"', picture) for name in ("srcset", "src", "alt"))
        found.append((document.parent / light, document.parent / dark, alt))
    return found


def test_pictures_are_small_and_come_in_light_and_dark():
    problems = []
    pictures = [picture for document in WITH_PICTURES for picture in described_pictures(document)]
    for light, dark, alt in pictures:
        with Image.open(light) as one, Image.open(dark) as other:
            wrong = {
                "has a short description": len(alt) <= 80,
                "and its dark twin differ in size": one.size != other.size,
                "is not light": one.convert("L").getpixel((2, 2)) <= 250,
                "has no dark twin": other.convert("L").getpixel((2, 2)) >= 40,
                "takes too many bytes": max(light.stat().st_size, dark.stat().st_size) >= 100_000,
            }
        problems += [f"{name_of(light.resolve())} {problem}" for problem, holds in wrong.items() if holds]
    assert pictures
    assert not problems, "\n" + "\n".join(problems)


def test_the_readme_opens_with_the_idea():
    (light, _, alt), *_ = described_pictures(ROOT / "README.md")
    assert light.name == "idea-light.png"
    random, preserving = (float(share) for share in re.findall(r"([\d.]+) % right", alt))
    assert preserving > random + 3
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert readme.index("<picture>") < readme.index("\n## ")


def test_the_page_about_the_choice_has_the_numbers_of_the_guides(pictures):
    page = pictures.PAGE.read_text(encoding="utf-8")
    assert page.count("\n| ") > 12
    assert pictures.with_current_tables(page) == page, REMEDY


def test_descriptions_of_the_frontier_have_the_numbers_of_the_guide(pictures):
    _, (_, _, alt), *_ = described_pictures(ROOT / "README.md")
    ours = pictures.contender(pictures.FRONTIER, "ours, default")
    shown = f"{ours.accuracy:.1f} %, {ours.megabytes:.1f} MB, {ours.microseconds:.0f} µs"
    assert shown in alt, f"{REMEDY}, and mend the description in the README: {shown}"
    others = [pictures.contender(pictures.FRONTIER, row) for _, row, *_ in pictures.SHOWN if row != "ours, default"]
    assert all(other.accuracy < ours.accuracy and other.megabytes > ours.megabytes for other in others)
    assert sum(other.microseconds <= 1.1 * ours.microseconds for other in others) == 1


def test_what_the_chart_says_is_measured(pictures):
    says = pictures.measured()
    assert set(says) == {"letters", "symbols", *pictures.TEXTS}
    assert all(len(re.findall(r"\d+\.\d %", lines)) == 2 for lines in says.values())
