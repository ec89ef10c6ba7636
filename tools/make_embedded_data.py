"""Generate the files in src/codekin/data/files from their sources, always with the same bytes.

Usage: python tools/make_embedded_data.py SOURCES, a folder with yeast/yeast.data (UCI) and icd10cm_small/
(samples.tsv.gz, nodes.tsv.gz, labels.tsv.gz and taxonomy.txt.gz, made from the ICD-10-CM tabular list).
"""

from __future__ import annotations

import gzip
import re
import sys
from pathlib import Path

TARGET = Path(__file__).parents[1] / "src" / "codekin" / "data" / "files"
SPLITS = {"train": "train", "val": "validation", "test": "test"}


def main(sources: Path, target: Path = TARGET) -> None:
    (target / "yeast.data").write_bytes((sources / "yeast" / "yeast.data").read_bytes())
    icd = sources / "icd10cm_small"
    titles = dict(row for row in rows(icd / "nodes.tsv.gz"))
    codes = {label: code for label, code, _ in rows(icd / "labels.tsv.gz")}
    names = {node: codes.get(node) or inner_name(title) for node, title in titles.items()}
    lines: dict[str, list[str]] = {split: [] for split in SPLITS.values()}
    for split, label, _, *text in rows(icd / "samples.tsv.gz"):
        lines[SPLITS[split]].append(f"{codes[label]}\t{' '.join(' '.join(text).split())}")
    for split, samples in lines.items():
        write(target / f"icd10cm_{split}.tsv.gz", samples)
    edges = [line.split() for line in gzip.decompress((icd / "taxonomy.txt.gz").read_bytes()).decode().splitlines()]
    write(target / "icd10cm_taxonomy.tsv.gz", [f"{names[parent]}\t{names[child]}" for parent, child in edges])
    write(target / "icd10cm_titles.tsv.gz", [f"{names[node]}\t{plain_title(title)}" for node, title in titles.items()])


def inner_name(title: str) -> str:
    """``CH1 Certain ...`` is a chapter, ``BA15-A19 Tuberculosis ...`` a block."""
    word = title.split(maxsplit=1)[0]
    if word == "ROOT":
        return "ICD-10-CM"
    return f"chapter {word[2:]}" if re.fullmatch(r"CH[0-9]+", word) else f"block {word[1:]}"


def plain_title(title: str) -> str:
    """The title without its code and without the range of codes at its end."""
    words = title.split(maxsplit=1)
    return re.sub(r" \([A-Z0-9]+(-[A-Z0-9]+)?\)$", "", words[1]) if len(words) > 1 else "All of ICD-10-CM"


def rows(path: Path) -> list[list[str]]:
    return [line.split("\t") for line in gzip.decompress(path.read_bytes()).decode().split("\n") if line]


def write(path: Path, lines: list[str]) -> None:
    path.write_bytes(gzip.compress("".join(f"{line}\n" for line in lines).encode(), compresslevel=9, mtime=0))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
