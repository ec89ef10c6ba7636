"""The documents are true: their examples run, their links work, and the README's map matches the code."""

import doctest
import gzip
import io
import re
from contextlib import redirect_stdout
from itertools import chain
from pathlib import Path

import pytest

from codekin.assignments import ASSIGNMENTS
from codekin.classes.distances import CLASS_DISTANCES
from codekin.codebooks import CODEBOOKS
from codekin.decoding import LOSSES
from tests.conftest import ROOT

DOCUMENTS = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
FENCE = re.compile(r"^```(\w+)[^\n]*\n(.*?)^```", re.MULTILINE | re.DOTALL)


def named_blocks(document: Path) -> list[tuple[str, str]]:
    """The languages and blocks of a document, each moved down to its line so that errors point at it."""
    text = document.read_text(encoding="utf-8")
    return [(match[1], "\n" * text[: match.start(2)].count("\n") + match[2]) for match in FENCE.finditer(text)]


def fenced(document: Path, *languages: str) -> list[str]:
    """The blocks of a document in one of the languages."""
    return [block for language, block in named_blocks(document) if language in languages]


def prose(document: Path) -> str:
    return re.sub(r"`[^`\n]*`", "", FENCE.sub("", document.read_text(encoding="utf-8")))


def name_of(document: Path) -> str:
    return str(document.relative_to(ROOT))


# What examples call the reader's own files.
SVMLIGHT = b"0 1:1.0 3:0.5\n1 2:2.0\n2 1:0.5 2:0.5\n0 1:1.5\n1 2:1.0 3:0.1\n2 1:0.4 2:0.6\n"
FILES_OF_THE_READER = {
    "train.svm.gz": SVMLIGHT,
    "test.svm.gz": SVMLIGHT,
    "huge.svm.gz": SVMLIGHT * 10,
    "reviews.csv": b'text,label\n"It purrs,\nloudly",cat\nbarks,dog\n',
    "products.csv": b"title,description,price,brand,category\n"
    + b"red cat bed,soft,20,Acme,pets\nhammer,steel,9,Bolt,tools\ndog leash,long,,Acme,pets\nsaw,sharp,12,,tools\n" * 3,
    "taxonomy.txt": b"root upper\nupper 0\nupper 1\nroot 2\n",
}

WITH_EXAMPLES = [document for document in DOCUMENTS if fenced(document, "python", "pycon")]


@pytest.fixture
def _tables_as_before():
    """Examples may enter parts of their own; other tests must not see them."""
    tables = (CODEBOOKS, CLASS_DISTANCES, ASSIGNMENTS, LOSSES)
    before = [dict(table) for table in tables]
    yield
    for table, entries in zip(tables, before, strict=True):
        if table != entries:
            table.clear()
            table.update(entries)


@pytest.mark.usefixtures("_tables_as_before")
@pytest.mark.parametrize("document", WITH_EXAMPLES, ids=name_of)
def test_examples_run_from_top_to_bottom_and_print_what_is_shown(document, tmp_path, monkeypatch):
    for name, content in FILES_OF_THE_READER.items():
        (tmp_path / name).write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    monkeypatch.chdir(tmp_path)
    namespace = {"__name__": "__main__"}
    for block, shown in with_outputs(document):
        if ">>>" in block:
            example = doctest.DocTestParser().get_doctest(block, namespace, name_of(document), str(document), 0)
            results = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(example, clear_globs=False)
            namespace.update(example.globs)
            assert results.failed == 0
        else:
            printed = io.StringIO()
            with redirect_stdout(printed):
                exec(compile(block, str(document), "exec"), namespace)
            assert_same_output(printed.getvalue(), shown)


def with_outputs(document: Path) -> list[tuple[str, str]]:
    """The examples, each with the block of output that stands below it; empty where there is none."""
    blocks = []
    for language, block in named_blocks(document):
        if language in ("python", "pycon"):
            blocks.append((block, ""))
        elif language == "output":
            blocks[-1] = (blocks[-1][0], block)
    return blocks


NUMBER = re.compile(r"(-?\d+(?:\.\d+)?(?:e-?\d+)?)")


def assert_same_output(printed: str, shown: str) -> None:
    """The same words; numbers with a point may differ by half a percent, as they do from processor to processor."""
    got, wanted = (
        [NUMBER.split(" ".join(line.split())) for line in text.strip().splitlines()] for text in (printed, shown)
    )
    assert [line[::2] for line in got] == [line[::2] for line in wanted], f"printed:\n{printed}"
    for mine, theirs in zip(chain(*got), chain(*wanted), strict=True):
        if "." in mine and NUMBER.fullmatch(mine):
            assert float(mine) == pytest.approx(float(theirs), rel=0.005, abs=0.003), f"printed:\n{printed}"
        else:
            assert mine == theirs, f"printed:\n{printed}"


def test_links_lead_to_files():
    links = [
        (document, target)
        for document in DOCUMENTS
        for target in re.findall(r"\]\(([^)#\s]+)[^)]*\)", prose(document))
        if not re.match(r"[a-z]+:", target)
    ]
    assert len(links) > 50
    broken = [f"{name_of(document)}: {target}" for document, target in links if not (document.parent / target).exists()]
    assert not broken, "\n" + "\n".join(broken)


def test_the_map_of_the_readme_is_the_code():
    (diagram,) = fenced(ROOT / "README.md", "text")
    listed = re.findall(r"^( *)(\S+)", diagram.lstrip("\n"), re.MULTILINE)
    inside = {name.rstrip("/") for indent, name in listed if indent}
    outside = {name for indent, name in listed if not indent}
    package = ROOT / "src" / "codekin"
    found = {path.name for path in package.iterdir() if not path.name.startswith(("__", "_version", "py.typed"))}
    assert inside == found
    assert all((ROOT / name).exists() for name in outside)


def test_the_list_of_make_targets_in_contributing_is_true():
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    named = set(re.findall(r"^make ([a-z]+)", (ROOT / "CONTRIBUTING.md").read_text(), re.MULTILINE))
    named |= set(re.findall(r"^make ([a-z]+)", (ROOT / "README.md").read_text(), re.MULTILINE))
    assert named <= targets


def test_the_list_of_benchmarks_is_complete():
    folder = ROOT / "benchmarks"
    listed = re.findall(r"^\| `(\w+\.py)`", (folder / "README.md").read_text(encoding="utf-8"), re.MULTILINE)
    shared = {"apart.py", "contenders.py", "single_peer.py"}  # what several scripts use
    assert sorted(listed) == sorted({path.name for path in folder.glob("*.py")} - shared)
