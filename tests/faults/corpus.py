"""A generated corpus of broken inputs: what is fed to which command, and where the error must point.

Files are written to the folder of the case. In arguments, ``SHARED`` stands for a folder with valid data and a valid
model. Some inputs look broken but are not: they have exit code 0.
"""

from __future__ import annotations

import gzip
import io
import json
import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

SHARED = "SHARED"


@dataclass(frozen=True)
class BadInput:
    """A broken input: the kind, what is wrong, the command line, its files, and words of the answer."""

    kind: str
    name: str
    arguments: tuple[str, ...]
    words: tuple[str, ...]
    files: Mapping[str, bytes] = field(default_factory=dict)
    make: Callable[[Path, Path], None] | None = None
    code: int = 2


CORPUS: list[BadInput] = []
TRAIN = ("model", "--quiet", "--n-epochs", "2")
LONG = 10**6


def samples(kind: str, file: str, name: str, content: bytes, line: int | None, *words: str) -> None:
    """A broken file of samples to train on; the answer names the file and the line."""
    where = f"{file}: " if line is None else f"{file}, line {line}: "
    CORPUS.append(BadInput(kind, name, ("train", file, *TRAIN), (where, *words), {file: content}))


def svmlight(name: str, content: bytes, line: int | None, *words: str) -> None:
    samples("svmlight", "bad.svm", name, content, line, *words)


GOOD = b"0 1:1 2:0.5\n1 2:1\n2 3:1\n"
svmlight("nan", GOOD + b"1 2:nan\n", 4, "'nan'")
svmlight("inf", GOOD + b"1 2:inf\n", 4, "'inf'")
svmlight("a value beyond float32", GOOD + b"1 2:1e39\n", 4, "too large for float32")
svmlight("a negative index", GOOD + b"1 -2:1\n", 4, "'-2'")
svmlight("duplicate indices", GOOD + b"1 2:1 2:1\n", 4, "feature index 2 after 2")
svmlight("decreasing indices", GOOD + b"1 5:1 2:1\n", 4, "feature index 2 after 5")
svmlight("an index of 2**31", GOOD + b"1 2147483648:1\n", 4, "too large")
svmlight("an index of 2**64", GOOD + b"1 18446744073709551617:1\n", 4, "too large")
svmlight("a query id", b"1 qid:3 1:1\n", 1, "query id")
svmlight("no label", GOOD + b"1:1 2:1\n", 4, "a label must come first")
svmlight("two labels", GOOD + b"1,2 2:1\n", 4, "2 labels")
svmlight("a NUL byte", GOOD + b"1 2:\x001\n", 4, "NUL")
svmlight("a label that is not UTF-8", b"a 1:1\n\xff\xfe 1:1\n", 2, "not UTF-8")
svmlight("UTF-16 without a mark", "0 1:1\n1 2:1\n".encode("utf-16-le"), 1, "NUL")
svmlight("a line of a million characters", GOOD + b"1 " + b"9" * LONG + b":1\n", 4)
svmlight("a label of a million characters", GOOD + b"x" * LONG + b"\n2 1:\n", 5)
svmlight("a value of a million digits", GOOD + b"1 1:" + b"x" * LONG + b"\n", 4)
svmlight("a million colons", GOOD + b"1 " + b":" * LONG + b"\n", 4)
svmlight("CRLF and a broken line", b"0 1:1\r\n1 2:1\r\n2 x:1\r\n", 3, "'x'")
svmlight("a byte order mark and a broken line", b"\xef\xbb\xbf0 1:1\n1 2:\n", 2, "values must be finite")
svmlight("old Macintosh ends of lines", b"0 1:1\r1 2:1\r2 3:1\r", 1)
svmlight("nothing", b"", None, "no samples")
svmlight("blank lines", b"\n\r\n \n", None, "no samples")
svmlight("one class", b"1 1:1\n1 2:1\n", None, "at least 2 classes")
svmlight("an XML page", b"<?xml version='1.0'?>\n<a>\n", 1)
svmlight("gzip cut off", gzip.compress(GOOD * 50, mtime=0)[:-9], 151, "gzip")
svmlight("gzip damaged", gzip.compress(GOOD)[:10] + b"\xff" * 40, 1, "gzip")
CORPUS.append(
    BadInput(
        "svmlight",
        "memory for 2**31 features",
        ("train", "bomb.svm", *TRAIN),
        ("needs", "GiB", "available"),
        {"bomb.svm": b"0 1:1\n1 2147483646:1\n"},
        code=1,
    )
)
svmlight("a hundred million blanks in gzip", gzip.compress(b" " * 10**8, compresslevel=9), 1, "longer than")

XMC = b"3 4 3\n0 0:1\n1 1:1\n2 2:1\n"
samples("xmc", "bad.xmc", "a header of two numbers", b"3 4\n0 0:1\n", 1, "three numbers")
samples("xmc", "bad.xmc", "a header of words", b"a b c\n0 0:1\n", 1, "three numbers")
samples("xmc", "bad.xmc", "a header of 10**12 features", b"1 1000000000000 3\n0 0:1\n", 1, "number of features")
samples("xmc", "bad.xmc", "a header of 10**18 rows", b"1000000000000000000 4 3\n0 0:1\n", 1, "three numbers")
samples("xmc", "bad.xmc", "more rows than promised", b"1 4 3\n0 0:1\n1 1:1\n", 3, "promises 1 rows")
samples("xmc", "bad.xmc", "a feature beyond the header", b"2 4 3\n0 0:1\n1 4:1\n", 3, "there are 4 features")
samples("xmc", "bad.xmc", "a label beyond the header", b"2 4 3\n0 0:1\n7 1:1\n", 3, "label 7")
samples("xmc", "bad.xmc", "a row without a label", b"2 4 3\n0 0:1\n 1:1\n", 3, "no label")
samples("xmc", "bad.xmc", "nan", b"2 4 3\n0 0:1\n1 1:nan\n", 3, "'nan'")

samples("vw", "bad.vw", "no bar", b"1 | a\n2 b\n", 2, "bar")
samples("vw", "bad.vw", "costs of labels", b"1:0.5 | a\n", 1, "colon")
samples("vw", "bad.vw", "a negative weight", b"1 -2 | a\n", 1, "weight")
samples("vw", "bad.vw", "nan", b"1 | a\n2 | b:nan\n", 2, "'nan'")
samples("vw", "bad.vw", "a feature without a name", b"1 | :2\n", 1, "without a name")
samples("vw", "bad.vw", "a NUL byte", b"1 | a\n2 | b\0\n", 2, "NUL")
samples("vw", "bad.vw", "no label", b"| a\n", 1, "no label")

samples("tsv", "bad.tsv", "no tab", b"cat\tpurrs\ndog barks\n", 2, "no tab")
samples("tsv", "bad.tsv", "Latin-1", b"cat\tpurrs\ndog\tb\xe4llt\n", 2, "not UTF-8")
samples("tsv", "bad.tsv", "a NUL byte", b"cat\tpurrs\ndog\tba\0rks\n", 2, "NUL")
samples("tsv", "bad.tsv", "no label", b"cat\tpurrs\n\tbarks\n", 2, "no label")
samples("tsv", "bad.tsv", "texts without words", b"cat\t\ndog\t \n", None)
samples("tsv", "bad.tsv", "one class", b"cat\tpurrs\ncat\tmeows\n", None, "at least 2 classes")
samples("tsv", "bad.tsv", "a line of 17 million characters", b"cat\t" + b"a" * 17_000_000, 1, "longer than")


def archive(**changes: Any) -> bytes:
    """A matrix as scipy.sparse.save_npz writes it, with labels, and some arrays changed or (None) left out."""
    arrays: dict[str, Any] = {
        "indices": np.array([1, 0, 2]),
        "indptr": np.array([0, 1, 2, 3]),
        "data": np.ones(3, np.float32),
        "format": np.array(b"csr"),
        "shape": np.array([3, 3]),
        "labels": np.array([0, 1, 2]),
    }
    stream = io.BytesIO()
    np.savez(stream, **{name: value for name, value in (arrays | changes).items() if value is not None})
    return stream.getvalue()


samples("npz", "bad.npz", "a text", b"1 1:1\n", None, "damaged")
samples("npz", "bad.npz", "cut off", archive()[:-30], None, "damaged")
samples(
    "npz",
    "bad.npz",
    "labels as Python objects",
    archive(labels=np.array([0, "a", None], dtype=object)),
    None,
    "objects",
)
samples("npz", "bad.npz", "no labels", archive(labels=None), None, "'labels' is missing")
samples("npz", "bad.npz", "nan", archive(data=np.array([1, np.nan, 1], np.float32)), None, "finite")
samples("npz", "bad.npz", "a negative index", archive(indices=np.array([1, -1, 2])), None, "must be from 0")
samples("npz", "bad.npz", "row ends that decrease", archive(indptr=np.array([0, 2, 1, 3])), None, "must not decrease")
samples("npz", "bad.npz", "a shape of 10**15 rows", archive(shape=np.array([10**15, 3])), None, "'indptr' must be")


def taxonomy(name: str, content: bytes, line: int | None, *words: str) -> None:
    where = "bad.txt: " if line is None else f"bad.txt, line {line}: "
    arguments = ("train", f"{SHARED}/train.svm", *TRAIN, "--taxonomy", "bad.txt")
    CORPUS.append(BadInput("taxonomy", name, arguments, (where, *words), {"bad.txt": content}))


taxonomy("a cycle", b"a b\nb c\nc a\n", 3, "cycle")
taxonomy("a loop", b"r 0\n1 1\n", 2, "own parent")
taxonomy("two parents", b"r 0\nr s\ns 0\n", 3, "second parent")
taxonomy("three names", b"r 0 1\n", 1, "3 names")
taxonomy("not UTF-8", b"r 0\nr \xff\n", 2, "not UTF-8")
taxonomy("nothing", b"", None, "no edges")
taxonomy("missing classes", b"r 0\nr 1\n", None, "not in the taxonomy")
taxonomy("a chain of 200,000 nodes that lacks the classes",
         b"".join(b"%d %d\n" % (k + 100, k + 101) for k in range(200_000)), None, "not in the taxonomy")  # fmt: skip
taxonomy("a name of a million characters", b"r 0\nr 1\nr " + b"x" * LONG + b" y\n", 3, "3 names")


def distances(name: str, content: bytes, *words: str) -> None:
    arguments = ("assign", "--distances", "bad.csv", "--quiet", "-o", "new.json")
    CORPUS.append(BadInput("distances", name, arguments, ("bad.csv", *words), {"bad.csv": content}))


distances("a word", b"0,1\nx,0\n", "line 2", "'x'")
distances("nan", b"0,nan\nnan,0\n")
distances("ragged rows", b"0,1,2\n1,0\n", "line 2", "2 entries")
distances("asymmetric", b"0,1\n2,0\n", "ymmetric")
distances("negative", b"0,-1\n-1,0\n")
distances("not square", b"0,1,2\n1,0,2\n")
distances("a diagonal", b"1,2\n2,1\n")
distances("too large for float64", b"0,1e999\n1e999,0\n")
distances("nothing", b"", "no rows")
distances("not UTF-8", b"0,1\n\xff,0\n", "line 2", "not UTF-8")
distances("labels in another order", b",a,b\nb,0,1\na,1,0\n", "same order")
distances("one class", b"0\n")
distances("a NUL byte", b"0,1\n1,\x000\n", "line 2")
distances("a number of a million digits", b"0," + b"1" * LONG + b"\n1,0\n")


def codebook(name: str, content: bytes, *words: str) -> None:
    arguments = ("assign", "--taxonomy", f"{SHARED}/taxonomy.txt", "--codebook", "bad.csv", "--quiet", "-o", "new.json")
    CORPUS.append(BadInput("codebook", name, arguments, words, {"bad.csv": content}))


codebook("more classes than codewords", b"1 1\n1 -1\n-1 1\n", "codewords")
codebook("entries of 2", b"1 2\n2 1\n")
codebook("equal codewords", b"1 1\n" * 8)
codebook("nothing", b"", "bad.csv")
codebook("words", b"plus minus\nplus plus\n", "bad.csv")


def assignment(name: str, content: Any, *words: str) -> None:
    text = content if isinstance(content, bytes) else json.dumps(content).encode()
    arguments = ("train", f"{SHARED}/train.svm", *TRAIN, "--assignment", "bad.json")
    CORPUS.append(BadInput("assignment", name, arguments, words, {"bad.json": text}))


def trellis(**changes: Any) -> dict[str, Any]:
    """What codekin assign writes for eight classes, changed."""
    return {
        "format": "codekin-assignment",
        "format_version": 1,
        "codebook": {"name": "trellis", "n_codewords": 8, "n_bits": 13, "is_designed": True, "width": 2},
        **{"method": "ordered", "sense": "preserving", "seed": 0, "score": 0.5, "z": 1.0},
        "codeword_of_class": {str(k): k for k in range(8)},
        **changes,
    }


assignment("no JSON", b"{", "bad.json is not JSON")
assignment("not UTF-8", b'{"a": "\xff"}', "bad.json is not JSON")
assignment("another object", {}, "'format'")
assignment("a later version", trellis(format_version=9), "format version 9")
assignment("a codeword twice", trellis(codeword_of_class={str(k): 0 for k in range(8)}), "bad.json")
assignment("a codeword that is not there", trellis(codeword_of_class={str(k): k + 1 for k in range(8)}), "bad.json")
assignment("a negative codeword", trellis(codeword_of_class={str(k): k - 1 for k in range(8)}), "bad.json")
assignment("a word as codeword", trellis(codeword_of_class={str(k): "x" for k in range(8)}), "bad.json")
assignment("half a codeword", trellis(codeword_of_class={str(k): k + 0.5 for k in range(8)}), "bad.json")
assignment("no classes", trellis(codeword_of_class={}), "bad.json")
assignment("other classes", trellis(codeword_of_class={f"x{k}": k for k in range(8)}), "no codeword for 8")
assignment("a width of -3", trellis(codebook={"n_codewords": 8, "width": -3}), "bad.json")
assignment("a list as codebook", trellis(codebook=[1, 2]), "bad.json")
assignment("brackets in brackets", b"[" * 100_000, "bad.json is not JSON")
assignment("a bomb in gzip", gzip.compress(b" " * 3 * 10**8, compresslevel=9), "bad.json")


def study(name: str, content: bytes, *words: str) -> None:
    arguments = ("study", "run", "bad.toml", "-o", "out", "--no-report", "--quiet", "--n-jobs", "1")
    CORPUS.append(BadInput("study", name, arguments, ("bad", *words), {"bad.toml": content}))


study("no TOML", b"kind = \n", "not TOML")
study("not UTF-8", b'title = "\xff"\n', "not TOML")
study("a NUL byte", b'title = "a\0"\n', "not TOML")
study("nothing", b"", "'kind'")
study("a number as kind", b"kind = 3\ntitle = 'x'\n", "'kind'")
study("an unknown kind", b"kind = 'guess'\ntitle = 'x'\n", "'kind' must be one of")
study("no options", b"kind = 'synthetic'\ntitle = 'x'\n", "'seed' is missing")
study("an unknown data set", b"kind='bound'\ntitle='x'\nseed=0\n[[data]]\nname='no'\n", "Got 'no'")
study("data without a name", b"kind='bound'\ntitle='x'\nseed=0\n[[data]]\nn_test=3\n")
study("a word as data", b"kind='bound'\ntitle='x'\nseed=0\ndata='yeast'\n")
study("a word as number", b"kind='synthetic'\ntitle='x'\nseed='x'\n", "'seed' must be a whole number")
study("brackets in brackets", b"a = " + b"[" * 100_000 + b"\n", "not TOML")


def folder(name: str, *words: str) -> Callable[[Callable[[Path, Path], None]], None]:
    """A broken model folder, made from a good one by a function, and a prediction with it."""

    def enter(make: Callable[[Path, Path], None]) -> None:
        arguments = ("predict", "broken", f"{SHARED}/test.svm", "-o", "labels.txt", "--quiet")
        CORPUS.append(BadInput("model folder", name, arguments, ("broken", *words), make=make))

    return enter


def copied(shared: Path, here: Path) -> Path:
    target = here / "broken"
    target.mkdir()
    for path in (shared / "model").iterdir():
        (target / path.name).write_bytes(path.read_bytes())
    return target


def resigned(folder: Path, **changes: Any) -> None:
    """Change ``model.json`` as a forger would: with a checksum that is right."""
    from codekin._system.files import json_checksum, sha256

    description = json.loads((folder / "model.json").read_text()) | changes
    for name, facts in description["files"].items():
        facts.update(bytes=(folder / name).stat().st_size, sha256=sha256(folder / name))
    description["sha256"] = json_checksum(description)
    (folder / "model.json").write_text(json.dumps(description))


def rewritten(folder: Path, **changes: Any) -> None:
    """Change arrays as a forger would."""
    from codekin._system.arrays import read_arrays, write_arrays

    arrays = {name: np.array(array) for name, array in read_arrays(folder / "arrays.safetensors").items()}
    write_arrays(folder / "arrays.safetensors", arrays | changes)
    resigned(folder)


@folder("nothing in it", "no model.json")
def _nothing(_shared: Path, here: Path) -> None:
    (here / "broken").mkdir()


@folder("a file in its place", "not a model folder")
def _file(_shared: Path, here: Path) -> None:
    (here / "broken").write_text("model")


@folder("no arrays", "arrays.safetensors is missing")
def _no_arrays(shared: Path, here: Path) -> None:
    (copied(shared, here) / "arrays.safetensors").unlink()


@folder("arrays cut off", "bytes")
def _cut(shared: Path, here: Path) -> None:
    path = copied(shared, here) / "arrays.safetensors"
    path.write_bytes(path.read_bytes()[:-5])


@folder("a header of 2**62 bytes", "arrays.safetensors")
def _header(shared: Path, here: Path) -> None:
    path = copied(shared, here) / "arrays.safetensors"
    path.write_bytes(struct.pack("<Q", 1 << 62) + path.read_bytes()[8:])
    resigned(path.parent)


@folder("brackets in brackets", "not JSON")
def _brackets(shared: Path, here: Path) -> None:
    (copied(shared, here) / "model.json").write_text("[" * 100_000)


@folder("a trellis of 10**15 codewords")
def _trellis(shared: Path, here: Path) -> None:
    resigned(copied(shared, here), codebook={"name": "trellis", "is_designed": True,
                                             "trellis": {"n_codewords": 10**15, "width": 2}})  # fmt: skip


@folder("a trellis of another size")
def _other_trellis(shared: Path, here: Path) -> None:
    resigned(copied(shared, here), codebook={"name": "trellis", "is_designed": True,
                                             "trellis": {"n_codewords": 8, "width": 4}})  # fmt: skip


@folder("no bits", "missing")
def _no_bits(shared: Path, here: Path) -> None:
    resigned(copied(shared, here), bits={})


@folder("a loss that is not there")
def _loss(shared: Path, here: Path) -> None:
    resigned(copied(shared, here), decoder={"loss": "none", "is_weighted": False})


@folder("a list as decoder")
def _decoder(shared: Path, here: Path) -> None:
    resigned(copied(shared, here), decoder=[1, 2])


@folder("codewords that are not there")
def _codewords(shared: Path, here: Path) -> None:
    rewritten(copied(shared, here), codeword_of_class=np.arange(100, 108))


@folder("fewer weights than bits")
def _weights(shared: Path, here: Path) -> None:
    rewritten(copied(shared, here), weights=np.zeros((60, 3), np.float32), bias=np.zeros(3, np.float32))


@folder("fewer labels than classes")
def _labels(shared: Path, here: Path) -> None:
    rewritten(copied(shared, here), labels=np.arange(3))


@folder("weights of one dimension")
def _flat(shared: Path, here: Path) -> None:
    rewritten(copied(shared, here), weights=np.zeros(5, np.float32))


def command(name: str, *arguments: str, words: tuple[str, ...] = (), code: int = 2) -> None:
    CORPUS.append(BadInput("arguments", name, arguments, words, code=code))


DATA = f"{SHARED}/train.svm"
command("no such command", "fit", words=("fit",))
command("no such option", "train", DATA, "model", "--speed", "9", words=("--speed",))
command("no data", "train", words=("'data'",))
command("a width of 1", "train", DATA, "model", "--width", "1", words=("--width",))
command("no epochs", "train", DATA, "model", "--n-epochs", "0", words=("--n-epochs",))
command("a learner that is not there", "train", DATA, "model", "--estimator", "magic", words=("--estimator",))
command("a negative r", "train", DATA, "model", "--r", "-1", "--quiet", words=("'--r'",))
command("nan as r", "train", DATA, "model", "--r", "nan", "--quiet", words=("'--r'",))
command("a size without a unit that is known", "train", DATA, "model", "--max-memory", "5XB", words=("--max-memory",))
command("a memory of one byte", "train", DATA, "model", "--max-memory", "1", "--quiet", words=("memory",), code=1)
command("a million characters as a name", "train", "x" * LONG, "model", "--quiet")
command("a folder of other files as data", "train", SHARED, "model", "--quiet", words=("arrays.safetensors", "NUL"))
command("top 0", "predict", f"{SHARED}/model", DATA, "--top-k", "0", words=("--top-k",))
command("a negative seed", "train", DATA, "model", "--random-state", "-1", words=("--random-state",))
command("both distances and a taxonomy", "assign", "--distances", "a", "--taxonomy", "b", words=("one of",))
command("no distances", "assign", words=("one of",))
command("a study that is not there", "study", "run", "guess", words=("guess",))
command("an assignment of words", "study", "show", "exhaustive", "--data", "yeast", "--codebook", "x", "--assignment",
        "a,b", "-o", "out")  # fmt: skip
command("a data set that is not there", "data", "export", "no", "out", words=("NAME",))
command("a format that is not there", "data", "convert", DATA, "out.csv", words=("out.csv",))
command("a model of features for texts", "predict", f"{SHARED}/model", f"{SHARED}/texts.tsv", "--quiet", "-o", "labels",
        words=("texts.tsv",))  # fmt: skip
command("a model in the place of data", "evaluate", f"{SHARED}/model", f"{SHARED}/model", "--quiet", words=("folder",))


def odd(name: str, *arguments: str, **files: bytes) -> None:
    named = {file.replace("_", "."): content for file, content in files.items()}
    CORPUS.append(BadInput("odd", name, (*arguments, "--quiet"), (), named, code=0))


odd("CRLF and a byte order mark", "train", "a.svm", "model", a_svm=b"\xef\xbb\xbf0 1:1\r\n1 2:1\r\n\r\n0 1:2\r\n")
odd("one sample per class", "train", "a.svm", "model", a_svm=GOOD)
odd("samples without features", "train", "a.svm", "model", a_svm=GOOD + b"1\n2\n")
odd("no end of the last line", "train", "a.svm", "model", a_svm=GOOD + b"1 2:3")
odd("labels unseen in training", "evaluate", f"{SHARED}/model", "a.svm", a_svm=b"77 1:1\n0 2:1\n")
odd("features unseen in training", "evaluate", f"{SHARED}/model", "a.svm", a_svm=b"0 1:1 999999:1\n")
odd("validation labels unseen in training", "train", f"{SHARED}/train.svm", "model", "--validation", "a.svm",
    a_svm=b"77 1:1\n0 2:1\n")  # fmt: skip
odd(
    "a text of a million characters", "train", "a.tsv", "model", a_tsv=b"cat\t" + b"purr " * 200_000 + b"\ndog\tbarks\n"
)
odd("sizes of 10**30", "train", f"{SHARED}/train.svm", "model", "--width", "1" + "0" * 30)
