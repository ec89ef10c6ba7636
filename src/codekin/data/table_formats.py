"""The formats of tables and texts that people have: CSV, JSON lines, Parquet, fastText, Annif, folders of files."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import IO, Any

from codekin._system.messages import counted, not_installed
from codekin.data.blocks import (
    MAX_LINE_BYTES,
    LineBlock,
    byte_blocks,
    decoded,
    in_utf8,
    line_blocks,
    opened,
    source_name,
)
from codekin.data.datasets import DataError, TableColumns
from codekin.data.options import LABEL_PREFIX, ReadOptions
from codekin.data.tables import Cells, Header, unique_names

DELIMITERS = {",": "commas", "\t": "tabs", ";": "semicolons", "|": "bars"}
HEAD_CHARACTERS = 1 << 16
"""How much of a table is looked at before any of it is read."""
ROWS_AT_ONCE = 10_000
FILES_AT_ONCE = 1_000
LineSplit = Callable[[str], tuple[list[str], str]]


@dataclass(frozen=True)
class Table:
    """A table that is being read: the chosen columns, its rows, how it was understood, in words.

    Its columns are not named if the format has but a label and a text.
    """

    columns: TableColumns
    parts: Iterator[Cells]
    reading: str
    is_named: bool = True


def with_head(blocks: Iterator[LineBlock]) -> Iterator[LineBlock]:
    """The same lines, with enough of them in the first block to see what they are, however they arrive in a pipe."""
    pending: list[LineBlock] = []
    for block in blocks:
        pending.append(block)
        if sum(len(each.text) for each in pending) >= HEAD_CHARACTERS:
            break
    if pending:
        text, n_lines = b"".join(block.text for block in pending), sum(block.n_lines for block in pending)
        yield replace(pending[0], text=text, n_lines=n_lines)
    yield from blocks


def _peeked(blocks: Iterator[LineBlock], options: ReadOptions) -> tuple[str, bool, Iterator[LineBlock]]:
    """The first lines as text, whether that is certainly all, and all blocks.

    A model that knows its columns needs the header only, so that the rows of a pipe are answered as they arrive.
    """
    is_known = options.trained_on is not None
    blocks = blocks if is_known else with_head(blocks)
    first, second = next(blocks, None), None if is_known else next(blocks, None)
    if first is None:
        return "", True, blocks
    blocks = chain([first], () if second is None else (second,), blocks)
    text = decoded(first)
    cut = text.rfind("\n", 0, HEAD_CHARACTERS) + 1 or text.find("\n", HEAD_CHARACTERS) + 1
    return text[:cut], not is_known and second is None and cut == len(text), blocks


def _unused(names: Sequence[str], chosen: TableColumns) -> str:
    unused = [name for name in names if name not in chosen.names]
    return f"; not used: {', '.join(unused)}" if unused else ""


# ----- CSV ----------------------------------------------------------------------------------------------------------


def csv_table(blocks: Iterator[LineBlock], source: str, options: ReadOptions) -> Table:
    """A table of delimited columns, with or without a header."""
    head, is_whole, blocks = _peeked(blocks, options)
    dialect, rows = dialect_of(head, is_whole, [options.delimiter] if options.delimiter else list(DELIMITERS))
    if not rows:
        raise DataError(source, "there are no samples in it.")
    if options.delimiter and options.labels != "none" and len(rows[0]) == 1:
        got = f"there is one column, {rows[0][0][:40]!r}, where a label and a text are needed"
        raise DataError(source, f"with --delimiter {options.delimiter!r} {got}.")
    then, has_header = options.trained_on, True
    if options.header is not None or (then is not None and not replace(options, keep=()).names_columns):
        has_header = bool(options.header if options.header is not None else then and then.has_header)
    names = unique_names(rows[0], source) if has_header else tuple(str(k + 1) for k in range(len(rows[0])))
    header = Header(source, names, rows[1:] if has_header else rows, has_header, options.header is None)
    chosen, delimiter = header.chosen(options), dialect["delimiter"]
    parts = [
        f"CSV separated by {DELIMITERS.get(delimiter, repr(delimiter))}",
        "with a header" if has_header else "without a header",
        *(["quotes are part of the texts"] if dialect.get("quoting") == csv.QUOTE_NONE else []),
        *(["quotes are escaped by backslashes"] if "escapechar" in dialect else []),
    ]
    cells = _csv_cells(blocks, source, dialect, names, chosen, skips_blank=options.labels != "none")
    return Table(chosen, cells, f"{', '.join(parts)}{_unused(names, chosen)}")


def dialect_of(head: str, is_whole: bool, delimiters: Sequence[str]) -> tuple[dict[str, Any], list[list[str]]]:
    """How the columns of a table are separated and quoted, and its first rows.

    The delimiter is the one by which most rows have as many columns as the first.
    """
    best, best_score, best_rows = dict[str, Any](delimiter=delimiters[0]), (False, 0.0, 0), list[list[str]]()
    for delimiter in delimiters:
        dialect, rows = _quoting(head, is_whole, delimiter)
        if rows:
            n_columns = len(rows[0])
            score = n_columns > 1, sum(len(row) == n_columns for row in rows) / len(rows), n_columns
            if score > best_score:
                best, best_score, best_rows = dialect, score, rows
    return best, best_rows


def _quoting(head: str, is_whole: bool, delimiter: str) -> tuple[dict[str, Any], list[list[str]]]:
    """With quotes within quotes doubled, as usual, unless something else explains the first rows better."""
    usual: dict[str, Any] = {"delimiter": delimiter}
    line = head.split("\n", 1)[0]
    if delimiter != "\t" and line.count(delimiter) == line.count(f"{delimiter} ") > 0:
        usual["skipinitialspace"] = True
    rows, is_valid = _parsed(head, is_whole, usual)
    if is_valid:
        return usual, rows
    plain = {"delimiter": delimiter, "quoting": csv.QUOTE_NONE}
    plain_rows, _ = _parsed(head, is_whole, plain)
    begun = [cell for row in plain_rows for cell in row if cell.startswith('"')]
    n_closed = sum(len(cell) > 1 and cell.endswith('"') for cell in begun)
    if len({len(row) for row in plain_rows}) == 1 and 2 * n_closed <= len(begun):
        return plain, plain_rows
    escaped = {**usual, "doublequote": False, "escapechar": "\\"}
    escaped_rows, is_valid = _parsed(head, is_whole, escaped)
    # Otherwise there is a mistake, which is named when it is read.
    return (escaped, escaped_rows) if is_valid and '\\"' in head else (usual, rows)


def _parsed(head: str, is_whole: bool, dialect: dict[str, Any]) -> tuple[list[list[str]], bool]:
    """The rows, and whether they have no mistake."""
    csv.field_size_limit(max(csv.field_size_limit(), MAX_LINE_BYTES))
    rows = []
    try:
        for row in csv.reader(io.StringIO(head, newline=""), strict=True, **dialect):
            if row:
                rows.append(row)
    except csv.Error as error:
        return rows, not is_whole and "unexpected end" in str(error)
    return rows, True


def _csv_cells(
    blocks: Iterator[LineBlock],
    source: str,
    dialect: dict[str, Any],
    names: tuple[str, ...],
    chosen: TableColumns,
    *,
    skips_blank: bool,
) -> Iterator[Cells]:
    last, n_left = [""], [0]

    def lines() -> Iterator[str]:
        for block in blocks:
            of_block = list(io.StringIO(decoded(block), newline=""))
            for k, last[0] in enumerate(of_block, 1):
                n_left[0] = len(of_block) - k
                yield last[0]

    # A text longer than 128 KiB is none too long; without strict, mistakes would change texts silently.
    csv.field_size_limit(max(csv.field_size_limit(), MAX_LINE_BYTES))
    reader = csv.reader(lines(), strict=True, **dialect)
    positions = [names.index(name) for name in chosen.names]
    rows: list[list[str]] = []
    places: list[int] = []
    is_header, line, n_columns = chosen.has_header, 1, len(names)

    def cells() -> Cells:
        columns = {names[k]: [row[k] for row in rows] for k in positions}
        return Cells(source, columns, places)

    try:
        for row in reader:
            if len(row) != n_columns and row:
                where = f"the {'header' if chosen.has_header else 'first row'} has {n_columns}"
                found = f"{counted(len(row), 'column')} where {where}"
                within = DELIMITERS.get(dialect["delimiter"], repr(dialect["delimiter"]))
                remedy = f"; {within} within a text must be quoted." if len(row) > n_columns else "."
                raise DataError(source, found + remedy, line=line)
            if row and not is_header and not (skips_blank and not any(row)):
                rows.append(row)
                places.append(line)
            is_header = is_header and not row
            line = reader.line_num + 1
            # The next block of a pipe may be long in coming.
            if len(rows) == ROWS_AT_ONCE or (rows and not n_left[0]):
                yield cells()
                rows, places = [], []
    except csv.Error as error:
        raise _csv_error(str(error), source, dialect["delimiter"], (line, reader.line_num), last[0]) from None
    if rows:
        yield cells()


def _csv_error(reason: str, source: str, delimiter: str, lines: tuple[int, int], text: str) -> DataError:
    first, last = lines
    if "field limit" in reason:
        limit = MAX_LINE_BYTES >> 20
        return DataError(source, f"a text of more than {limit} MiB begins here; is its quote closed?", line=first)
    if "unexpected end" in reason:
        return DataError(source, "a quote opens in this row and is not closed before the end of the file.", line=first)
    delimiter = re.escape(delimiter)
    found = re.search(rf'(?:^|{delimiter} ?)"(?:[^"]|"")*"(?!"|{delimiter}|[\r\n]|$)', text)
    where = "" if found is None else f" at column {found.end() + 1}"
    rule = "after a closing quote, the column must end; quotes within a text must be doubled."
    shown = "a quote" if found is None else repr(text[found.end() : found.end() + 10].rstrip("\r\n"))
    return DataError(source, f"{shown}{where}: {rule}", line=last, column=found and found.end() + 1)


# ----- JSON lines ---------------------------------------------------------------------------------------------------


def json_table(blocks: Iterator[LineBlock], source: str, options: ReadOptions) -> Table:
    """A table of one JSON object per line. What a line lacks, and null, is empty."""
    _, _, blocks = _peeked(blocks, options)
    parsed = (_json_rows(block) for block in blocks)
    rows, places = next(parsed, ([], []))
    if not rows:
        raise DataError(source, "there are no samples in it.")
    then = options.trained_on or TableColumns(())
    found = dict.fromkeys(name for row in rows[:1000] for name in row)
    # Numbers and categories may be missing everywhere.
    names = unique_names(list(found | dict.fromkeys((*then.numbers, *then.categories))), source)
    first = [[row.get(name) for name in names] for row in rows[:100]]
    chosen = Header(source, names, first).chosen(options)

    def parts() -> Iterator[Cells]:
        for rows_of_block, lines in chain([(rows, places)], parsed):
            columns = {name: [row.get(name) for row in rows_of_block] for name in chosen.names}
            yield Cells(source, columns, lines)

    return Table(chosen, parts(), f"JSON lines{_unused(names, chosen)}")


def _json_rows(block: LineBlock) -> tuple[list[dict[str, Any]], list[int]]:
    rows, places = [], []
    text = decoded(block)
    has_halves = re.search(r"\\u[dD][89a-fA-F]", text) is not None
    for number, line in enumerate(text.split("\n"), block.first_line):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
            if has_halves:
                json.dumps(row, ensure_ascii=False).encode()
        except json.JSONDecodeError as error:
            reason = f"{error.msg[:1].lower()}{error.msg[1:]} at column {error.colno}; a line must be a JSON object."
            raise DataError(block.source, reason, line=number, column=error.colno) from None
        except (ValueError, RecursionError) as error:  # half a surrogate pair, a number of 5,000 digits, deep nesting
            why = "half a character" if isinstance(error, UnicodeError) else " ".join(str(error).split())
            raise DataError(block.source, f"this line has {why}; it cannot be read.", line=number) from None
        if not isinstance(row, dict):
            kind = "a list; write its items, one per line" if isinstance(row, list) else repr(row)[:40]
            raise DataError(block.source, f"every line must be a JSON object. Got {kind}.", line=number)
        rows.append(row)
        places.append(number)
    return rows, places


# ----- Parquet ------------------------------------------------------------------------------------------------------


def parquet_table(file: IO[bytes], source: str, options: ReadOptions) -> Table:
    """A Parquet file, read in batches of rows."""
    try:
        import pyarrow as pa  # type: ignore[import-untyped]
        from pyarrow import parquet
    except ImportError:
        raise not_installed("Reading Parquet", "parquet") from None
    try:
        opened_file = parquet.ParquetFile(file)
        names = unique_names(opened_file.schema_arrow.names, source)
        first = next(opened_file.iter_batches(batch_size=100), None)
    except (pa.ArrowException, OSError, ValueError) as error:
        raise _not_parquet(source, error) from None
    rows = [] if first is None else list(zip(*(column.to_pylist() for column in first.columns), strict=True))
    chosen = Header(source, names, rows).chosen(options)

    def parts() -> Iterator[Cells]:
        n_before = 0
        batches = opened_file.iter_batches(batch_size=ROWS_AT_ONCE, columns=list(chosen.names))
        try:
            for batch in batches:
                given = {name: batch.column(name) for name in chosen.names}
                columns = {name: own if name in chosen.embeddings else own.to_pylist() for name, own in given.items()}
                yield Cells(source, columns, range(n_before + 1, n_before + len(batch) + 1), are_lines=False)
                n_before += len(batch)
        except (pa.ArrowException, OSError) as error:
            raise _not_parquet(source, error) from None

    return Table(chosen, parts(), f"Parquet{_unused(names, chosen)}")


def _not_parquet(source: str, error: Exception) -> DataError:
    return DataError(source, f"this Parquet file cannot be read: {' '.join(str(error).split()).rstrip('.')}.")


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

    needs = "there is no label behind a tab."
    return _table_of_lines(blocks, options, split, needs, "Annif's lines of text and labels")


def _table_of_lines(
    blocks: Iterator[LineBlock], options: ReadOptions, split: LineSplit, needs: str, reading: str
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
    read = [path for path in files if len(path.relative_to(folder).parts) > 1 or not needs_label]
    if needs_label and not read:
        raise DataError(str(folder), "a folder of samples needs a folder for each class, with a file for each text.")
    n_left = len(files) - len(read)
    left = f"; not used: {counted(n_left, 'file')} outside of these folders" if n_left else ""

    def parts() -> Iterator[Cells]:
        for start in range(0, len(read), FILES_AT_ONCE):
            some = read[start : start + FILES_AT_ONCE]
            labels = [path.relative_to(folder).parts[0] for path in some]
            texts = [_content(path, options.encoding) for path in some]
            yield Cells(str(folder), {"label": labels, "text": texts}, range(1, len(some) + 1), are_lines=False)

    reading = f"files in folders that are named like their labels{left}"
    return Table(label_and_text(options), parts(), reading, is_named=False)


def _content(path: Path, encoding: str | None) -> str:
    with opened(path) as (stream, name):
        blocks = line_blocks(in_utf8(byte_blocks(stream, name), encoding, name), name)
        return "".join(map(decoded, blocks)).removesuffix("\n")
