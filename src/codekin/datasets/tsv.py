"""Raw text: one sample per line, ``label<TAB>text`` in UTF-8."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from codekin.datasets.blocks import LineBlock
from codekin.datasets.rows import LabelColumn, TextRows


def text_rows(blocks: Iterator[LineBlock], labels: LabelColumn) -> Iterator[TextRows]:
    """The texts of a file, block by block. Further tabs belong to the text.

    Blank lines are skipped if labels are read. Otherwise they are texts without words, so that predictions match lines,
    and the text of a line is what follows the first tab, or the whole line.
    """
    for block in blocks:
        texts: list[str] = []
        spans: list[tuple[int, int]] = []
        start = 0
        for line in block.text.removesuffix(b"\n").split(b"\n"):
            content = line.rstrip(b"\r")
            if content.strip() or labels.kind == "none":
                tab = content.find(b"\t")
                if tab < 0 and labels.kind != "none":
                    raise block.error(start, "there is no tab between the label and the text.")
                if tab == 0 and labels.kind != "none":
                    raise block.error(start, "there is no label before the tab.")
                try:
                    texts.append(content[tab + 1 :].decode())
                except UnicodeDecodeError as error:
                    position = start + tab + 1 + error.start
                    reason = f"byte {error.object[error.start]:#04x} is not UTF-8; texts must be."
                    raise block.error(position, reason) from None
                spans.append((start, start + max(tab, 0)))
            start += len(line) + 1
        positions = np.array(spans, dtype=np.intp).reshape(-1, 2)
        # Mark all labels as unusual, so that they are parsed one by one.
        of_rows, is_dropped = labels.of_spans(block, positions, np.zeros(0, np.int64), len(texts))
        rows = TextRows(texts, of_rows)
        if is_dropped is not None:
            kept = np.flatnonzero(~is_dropped).tolist()
            assert of_rows is not None
            remaining = [of_rows[i] for i in kept]
            rows = TextRows(
                [texts[i] for i in kept],
                np.array(remaining, dtype=np.int64) if isinstance(of_rows, np.ndarray) else remaining,
            )
        yield rows
