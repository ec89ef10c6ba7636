"""The page of a model of several columns in a real browser: a field for each of them, and the answers of Python."""

import json

import numpy as np
import pandas as pd
import pytest
from tests.browser import seen_by

from codekin import TextClassifier
from codekin.data import TextVectorizer
from codekin.deploy.export import export_page

TYPE = """
const show = (cells) => {
  cells.forEach((cell, i) => { document.getElementById(`cell${i}`).value = cell ?? ""; });
  document.getElementById("cell0").dispatchEvent(new Event("input", { bubbles: true }));
  return { best: texts("#best li > :first-child"), shares: texts("#best .number"), note: texts("#note")[0] };
};
const rows = ROWS;
"""
NOUNS = ["lamp", "sofa", "kettle", "tent", "drill", "ΣΊΣΥΦΟΣ", "naïve", "C++", "東京", "v2.1"]
ODD = [
    "İstanbul",
    "\ufeffword",
    "a\x85b",
    "x\u200by",
    "¼ x²",
    "<b>&amp;</b>",
    "\x1c",
    "🦊",
    "zzyzx",
    "\u3000",
    "",
    "tab\tand\nline",
]
BRANDS = ["Acme", "Ölaf & Söhne", 'says "hi"', "<i>it</i>", "7", "two\nlines", "a  b"]
COLUMNS = {"text": {"title": 2, "description": 0.3}, "numbers": ["price", "weight"], "categories": ["brand", "on sale"]}
NAMES = [*COLUMNS["text"], *COLUMNS["numbers"], *COLUMNS["categories"]]


HASHING = TextVectorizer("words", hashing=True, n_features=512)
INVITATION = "Fill in what you know: the most probable classes appear here."


def goods(n, seed=0, n_classes=12):
    """A table whose columns each say a little about the class."""
    rng = np.random.default_rng(seed)
    y = rng.integers(n_classes, size=n)

    def text(k, n_words):
        own = [f"{NOUNS[k % len(NOUNS)]}", f"kind{k}", f"part{k % 5}"]
        return " ".join(rng.choice([*own, *NOUNS, "the", "good", "new"], n_words))

    return pd.DataFrame(
        {
            "title": [text(k, 3) for k in y],
            "description": [text(k, 8) if rng.random() < 0.9 else None for k in y],
            "price": [k * 1.5 + rng.normal() if rng.random() < 0.8 else np.nan for k in y],
            "weight": [float(10 ** (k % 4)) if rng.random() < 0.5 else 0.1 for k in y],
            "brand": [BRANDS[(k + rng.integers(2)) % len(BRANDS)] if rng.random() < 0.8 else None for k in y],
            "on sale": rng.random(n) < 0.3,
            "label": [f"class {k}" for k in y],
        }
    )


def odd_rows(table, n, seed=1):
    """Rows whose cells are known or odd, missing or far off, in every mixture."""
    rng = np.random.default_rng(seed)
    words = sorted({word for text in table["title"] for word in text.split()})
    known = {name: table[name].dropna().tolist() for name in ("price", "weight")}
    far = [None, None, 0.0, -0.0, 1e-300, 1e300, -1.7976931348623157e308, 0.1, 4.0, 1 / 3, -12.345678901234567]
    brands = [*BRANDS, *BRANDS, "", "acme", "unknown", "a b", "\ufeff7"]

    def one(choices):
        return choices[rng.integers(len(choices))]

    def text():
        some = [one(words) for _ in range(rng.integers(5))] + [one(ODD) for _ in range(rng.integers(4))]
        return one([" ", "\n", "\u2003", "-", "", "\x1f"]).join(some[k] for k in rng.permutation(len(some)))

    rows = [dict.fromkeys(NAMES, "") | {"price": None, "weight": None}]
    for _ in range(n):
        numbers = {name: one(far if rng.random() < 0.4 else known[name]) for name in known}
        edge = one(["", "", " ", "\u2003\t", "\x1c", "\x85"])
        others = {"brand": f"{edge}{one(brands)}{edge}", "on sale": one(["true", "false", "", "True", "maybe"])}
        rows.append({"title": text(), "description": text(), **numbers, **others})
    return rows


@pytest.fixture(scope="module")
def table():
    return goods(600)


@pytest.mark.parametrize(
    ("settings", "width"),
    [
        ({"code": "tree", "rerank": "centroid"}, 390),
        ({"code": "tree", "rerank": None, "width": 3, "precision": "int8", "features": "words+trigrams"}, 1200),
        ({"code": "tree", "rerank": "centroid", "width": 4, "n_codes": 2, "assignment": "random"}, 1200),
        ({"code": "trellis", "rerank": "centroid", "candidates": "code", "features": "words+prefixes"}, 1200),
        ({"code": "trellis", "rerank": None, "width": 3, "features": HASHING}, 390),
    ],
    ids=["a tree", "a deep tree", "two trees", "re-ranked", "hashing"],
)
def test_a_page_answers_rows_like_the_classifier(settings, width, table, tmp_path):
    classifier = TextClassifier(**{"features": "words", **settings}, **COLUMNS, random_state=0)
    classifier.fit(table, table["label"])
    page = export_page(classifier, tmp_path / "page").read_text(encoding="utf-8")
    rows = odd_rows(table, 300)
    cells = [[row[name] for name in NAMES] for row in rows]
    script = TYPE + "return { best: rows.map((row) => predict(given, row, 5)), shown: rows.map(show) };"
    seen = seen_by(script.replace("ROWS", json.dumps(cells)), page, tmp_path, width=width)
    labels, losses = classifier.top_k(rows, 5)
    probabilities = classifier.top_k_proba(rows, 5)[1]
    for i, best in enumerate(seen["best"]):
        assert [one["loss"] for one in best] == pytest.approx(losses[i].tolist(), rel=1e-6, abs=1e-9)
        assert [one["probability"] for one in best] == pytest.approx(probabilities[i].tolist(), rel=1e-5, abs=1e-9)
        assert [one["label"] for one in best] == labels[i].tolist()
    # What is shown when the cells are typed; nothing is while all fields are empty.
    assert seen["shown"].pop(0) == {"best": [], "shares": [], "note": INVITATION}
    for shown, own, shares in zip(seen["shown"], labels[1:].tolist(), probabilities[1:].tolist(), strict=True):
        assert shown["best"] == own
        assert shown["shares"] == ["< 0.1 %" if p < 0.0005 else f"{100 * p:.1f} %" for p in shares]


GUESS = "The model knows nothing of this; these are the most frequent classes."


@pytest.mark.parametrize("width", [390, 1200])
def test_fields_have_labels_and_notes_say_what_is_not_understood(width, table, tmp_path):
    classifier = TextClassifier(**COLUMNS, random_state=0).fit(table, table["label"])
    page = export_page(classifier, tmp_path / "page").read_text(encoding="utf-8")
    rows = [
        ["", "", None, None, "", ""],
        ["kind3", "", None, None, "Acme", ""],
        ["", "", None, None, "Acne", ""],
        ["zzyzx", "", None, None, "", "perhaps"],
        ["", "", 3, None, "", ""],
    ]
    script = (
        TYPE.replace("ROWS", json.dumps(rows))
        + """const fields = [...document.querySelectorAll("#row :is(textarea, input)")];
    const focused = document.activeElement.id, notes = rows.map((row) => show(row).note), price = fields[2];
    show(rows[1]);
    price.focus();
    document.execCommand("insertText", false, "1e");  // as if typed: not a number yet
    const unfinished = texts("#note")[0];
    document.execCommand("insertText", false, "3");
    return { notes, focused, unfinished, value: price.value, finished: texts("#note")[0],
      named: fields.map((field) => field.labels[0].textContent), kinds: fields.map((field) => field.type),
      lists: fields.map((field) => [...(field.list?.options ?? [])].map((option) => option.value)),
      reached: fields.every((field) => field.tabIndex === 0), group: document.getElementById("row").ariaLabel,
      heights: fields.map((field) => field.getBoundingClientRect().height) };"""
    )
    seen = seen_by(script, page, tmp_path, width=width)
    assert seen["named"] == NAMES
    assert seen["kinds"] == ["textarea"] * 2 + ["number"] * 2 + ["text"] * 2
    assert seen["lists"] == [[]] * 4 + [sorted(BRANDS), ["false", "true"]]
    assert (seen["focused"], seen["group"]) == ("cell0", "Sample to classify")
    assert seen["reached"]
    assert min(seen["heights"]) >= 44
    unknown = "{}: not known, so it counts as missing. " + GUESS
    assert seen["notes"] == [INVITATION, "", unknown.format("brand"), unknown.format("on sale"), ""]
    assert seen["unfinished"] == "price: not a number, so it counts as missing."
    assert (seen["value"], seen["finished"]) == ("1e3", "")


def test_names_of_columns_and_categories_are_text_and_never_markup(tmp_path):
    hostile = "</script><script>parent.hacked = 1</script><img src=x onerror='parent.hacked = 2'>"
    table = pd.DataFrame({hostile: ["a cat", "a dog", "a cow"] * 2, "@@k@@": [f"{hostile}{k}" for k in range(6)]})
    classifier = TextClassifier(text=[hostile], categories=["@@k@@"], random_state=0).fit(table, list("abcabc"))
    page = export_page(classifier, tmp_path / "page").read_text(encoding="utf-8")
    script = "return { labels: texts('label'), hacked: parent.hacked ?? null, images: document.images.length };"
    seen = seen_by(script, page, tmp_path, width=390)
    assert seen["labels"] == [hostile, "@@k@@"]
    assert (seen["hacked"], seen["images"]) == (None, 0)
