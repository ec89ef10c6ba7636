"""Texts with labels that are no tables: lines of fastText and of Annif, and folders of files."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from codekin._system.messages import counted
from codekin.data.blocks import LineBlock, byte_blocks, decoded, in_utf8, line_blocks, opened, source_name
from codekin.data.datasets import DataError, TableColumns
from codekin.data.options import LABEL_PREFIX, ReadOptions
from codekin.data.table_formats import Table
from codekin.data.tables import Cells

FILES_AT_ONCE = 1_000


def fasttext_table(blocks: Iterator[LineBlock], _: str, options: ReadOptions) -> Table:
    """Lines of ``__label__x text``. Labels may be missing if they are not read or such lines are left out or kept."""

    def split(line: str) -> tuple[list[str], str]:
        words, given = line, []
        while words.lstrip().startswith(LABEL_PREFIX):
            label, _, words = words.lstrip().partition(" ")
            given.append(label.removeprefix(LABEL_PREFIX))
        return given, words

    needs = f"the line must begin with {LABEL_PREFIX} and a label."
    return _table_of_lines(blocks, options, split, needs, "fastText's lines of __label__ and text")


def annif_table(blocks: Iterator[LineBlock], _: str, options: ReadOptions) -> Table:
    """Lines of ``text<TAB><uri> <uri>``, labels without the angle brackets; labels may be missing as in fastText's."""

    def split(line: str) -> tuple[list[str], str]:
        text, tab, labels = line.rpartition("\t")
        return [each.strip("<>") for each in labels.split()] if tab else [], text if tab else line

    return _table_of_lines(
        blocks, options, split, "there is no label behind a tab.", "Annif's lines of text and labels"
    )


def _table_of_lines(
    blocks: Iterator[LineBlock],
    options: ReadOptions,
    split: Callable[[str], tuple[list[str], str]],
    needs: str,
    reading: str,
) -> Table:
    """Lines that are split into labels and a text."""
    is_labelled = options.labels != "none"

    def parts() -> Iterator[Cells]:
        for block in blocks:
            labels: list[list[str]] = []
            texts, places = [], []
            for number, line in enumerate(decoded(block).split("\n")[:-1], block.first_line):
                given, text = split(line.rstrip("\r"))
                if is_labelled and not text.strip() and not given:
                    continue
                if not options.may_miss and not all(given or ("",)):
                    raise DataError(block.source, needs, line=number)
                labels.append(given)
                texts.append(text)
                places.append(number)
            yield Cells(block.source, {"label": labels, "text": texts}, places)

    return Table(label_and_text(options), parts(), reading, is_named=False)


def label_and_text(options: ReadOptions) -> TableColumns:
    """The columns of a format that has nothing but a label and a text."""
    return TableColumns(("text",), None if options.labels == "none" else "label")


def folder_table(source: Any, options: ReadOptions) -> Table:
    """The texts of all files below a folder: the folders in it are the labels."""
    if not isinstance(source, str | Path) or not Path(source).is_dir():
        raise DataError(source_name(source), "this is not a folder.")
    folder, needs_label = Path(source), options.labels != "none"
    found = [path for path in sorted(folder.rglob("*")) if path.is_file()]
    files = [path for path in found if not any(part.startswith(".") for part in path.relative_to(folder).parts)]
    in_folders = [path for path in files if len(path.relative_to(folder).parts) > 1]
    if needs_label and not in_folders:
        raise DataError(str(folder), "a folder of samples needs a folder for each class, with a file for each text.")
    read = in_folders if needs_label else files
    n_left = len(files) - len(read)
    left = f"; not used: {counted(n_left, 'file')} outside of these folders" if n_left else ""

    def parts() -> Iterator[Cells]:
        left_files = iter(read)
        while some := list(islice(left_files, FILES_AT_ONCE)):
            labels = [path.relative_to(folder).parts[0] for path in some]
            texts = [_content(path, options.encoding) for path in some]
            yield Cells(str(folder), {"label": labels, "text": texts}, range(1, len(some) + 1), are_lines=False)

    reading = f"files in folders that are named like their labels{left}"
    return Table(label_and_text(options), parts(), reading, is_named=False)


def _content(path: Path, encoding: str | None) -> str:
    with opened(path) as (stream, name):
        blocks = line_blocks(in_utf8(byte_blocks(stream, name), encoding, name), name)
        return "".join(map(decoded, blocks)).removesuffix("\n")
