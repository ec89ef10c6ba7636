"""An explorer page in a real browser, by keyboard alone, on a phone and on a screen."""

import json

import numpy as np
import pytest
from scipy import sparse
from scipy.special import softmax
from sklearn.datasets import load_digits
from tests.browser import seen_by
from tests.estimators.test_rows import COLUMNS, pets

from codekin import ECOCClassifier, ExtremeClassifier, TextClassifier
from codekin.assignments.scores import class_codeword_score
from codekin.classes.learnability import learnability_distances
from codekin.code import Assignment
from codekin.data import TextVectorizer, load_dataset
from codekin.deploy.explore.content import _places_before
from codekin_studies.splits.sweeps import lexicographic_rank

PRESS = """const press = (target, key, more = {}) =>
  target.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true, ...more }));
"""
# Everything that can be clicked can be reached with the Tab key, and fields have names.
REACHED = """
const all = (selector) => [...document.querySelectorAll(selector)];
seen.unreachable = all("button, input, select, textarea, canvas").filter((node) => node.tabIndex < 0).length;
seen.unnamed = all("input, select, textarea").filter((node) => !node.labels?.length).length;
return seen;
"""


@pytest.fixture
def seen(tmp_path):
    """A function: what a script sees on a page, in a window of some width."""

    def look(page, script, width=1200):
        whole = f"{PRESS} const seen = (() => {{ {script} }})(); {REACHED}"
        found = seen_by(whole, page.html, tmp_path, width=width)
        assert (found["unreachable"], found["unnamed"]) == (0, 0)
        return found

    return look


@pytest.fixture(scope="module")
def icd():
    """Some diagnoses, what makes features of them, and a function that fits a classifier; labels are long."""
    data = load_dataset("icd10cm")
    fitted = TextVectorizer("words", word_ngrams=(1, 1)).fit(data.train.texts)
    X, y = fitted.transform(data.train.texts[::12]), long_labels(data, data.train.y[::12])
    return data, fitted, lambda **settings: ExtremeClassifier(random_state=0, **settings).fit(X, y)


def long_labels(data, y):
    """Labels of up to 80 characters, which pages don't cut."""
    return np.array([f"{title[:75]} {k}" for k, title in enumerate(data.class_titles)])[y]


def explored(classifier, icd):
    data, fitted, _ = icd
    some = slice(0, 400, 20)
    texts = data.test.texts[some]
    labels = long_labels(data, data.test.y[some])
    return classifier.explore(fitted.transform(texts), labels, texts=texts, vectorizer=fitted)


@pytest.mark.parametrize(
    "settings",
    [
        {"code": "trellis", "rerank": "centroid", "width": 2, "assignment": "random", "candidates": "code"},
        {"code": "trellis", "rerank": None, "width": 3, "assignment": "random"},
        {"code": "tree", "rerank": "centroid"},
        {"code": "tree", "rerank": None, "width": 2, "assignment": "random"},
        {"code": "tree", "rerank": "centroid", "width": 4, "n_codes": 2, "assignment": "random"},
    ],
    ids=["re-ranked trellis", "trellis", "re-ranked tree", "deep tree", "two trees"],
)
def test_typed_texts_are_predicted_and_explained_as_in_python(settings, icd, seen):
    data, fitted, fit = icd
    classifier = fit(**settings)
    texts = data.test.texts[:4]
    page = explored(classifier, icd)
    found = seen(
        page,
        f"""const field = document.getElementById("text"), answers = {json.dumps(texts)}.map((text) => {{
          field.value = text;
          field.dispatchEvent(new Event("input"));
          const sample = state.sample, best = sample.best;
          return {{ labels: best.map((one) => page.labels[one.class]), losses: best.map((one) => one.loss),
            before: best.map((one) => one.before ?? null), explained: best.map((one) => sample.explained[one.class]),
            shown: texts("#sample td button"), lit: document.querySelectorAll(".on-path").length,
            path: pathOf(best[0].class).length }};
        }});
        return {{ answers }};""",
        width=390,
    )
    rows = fitted.transform(texts)
    labels, losses = classifier.top_k(rows, 8)
    before = _places_before(classifier.model_, rows, np.searchsorted(classifier.classes_, labels))
    for i, answer in enumerate(found["answers"]):
        assert answer["losses"] == pytest.approx(losses[i].tolist(), rel=1e-5)
        assert answer["labels"][0] == str(labels[i, 0])
        assert answer["shown"] == answer["labels"]
        assert answer["lit"] == answer["path"]
        assert answer["before"] == ([None] * 8 if before is None else before[i].tolist())
        words = fitted.terms_by_column(texts[i])
        for label, own in zip(labels[i], answer["explained"], strict=True):
            total = sum(value for _, value in own["features"]) + sum(value for _, value in own["rest"])
            assert total == pytest.approx(own["score"], abs=1e-4)
            explanation = classifier.explain(rows[[i]], label)
            wanted = {" / ".join(words[feature]): value for feature, value in explanation.top(0, 12)}
            assert dict(own["features"]) == pytest.approx(wanted, rel=1e-4, abs=1e-4)
            wanted = dict(explanation.rest(0, 12, least=1e-4))
            assert {name: own for name, own in own["rest"] if name in wanted} == pytest.approx(wanted, abs=1e-4)


@pytest.mark.parametrize("code", ["tree", "trellis"])
def test_typed_rows_are_predicted_and_explained_as_in_python(code, seen):
    table = pets()
    classifier = TextClassifier(**COLUMNS, code=code, width=2, rerank=None, random_state=0).fit(table, table["pet"])
    rows = [
        {"title": "my purrs", "text": "nice litter litter", "kg": 3.4567891, "home": "land"},
        {"title": "barks", "text": "", "kg": None, "home": "moon"},
        {"title": "", "text": "", "kg": 0.25, "home": " water "},
    ]
    found = seen(
        classifier.explore(table, table["pet"]),
        f"""const answers = {json.dumps([list(row.values()) for row in rows])}.map((cells) => {{
          cells.forEach((cell, i) => {{ document.getElementById(`cell${{i}}`).value = cell ?? ""; }});
          document.getElementById("cell3").dispatchEvent(new Event("input", {{ bubbles: true }}));
          const {{ best, explained }} = state.sample;
          return {{ labels: texts("#sample td button"), losses: best.map((one) => one.loss),
            explained: explained[best[0].class].features, notes: texts("#sample .body > .note") }};
        }}), choice = document.getElementById("choice");
        const picked = choice.value, fields = [...document.querySelectorAll("#row input, #row textarea")];
        choice.dispatchEvent(new Event("change"));
        return {{ answers, picked, left: fields.map((field) => field.value) }};""",
        width=390,
    )
    labels, losses = classifier.top_k(rows, 3)
    for i, (row, answer) in enumerate(zip(rows, found["answers"], strict=True)):
        assert answer["labels"] == labels[i].tolist()
        assert answer["losses"] == pytest.approx(losses[i].tolist(), rel=1e-6)
        explanation = classifier.explain([row])
        wanted = dict(explanation.top(0, 12))
        assert dict(answer["explained"]) == pytest.approx(wanted, rel=1e-4, abs=1e-4)
        assert ("home: not known, so it counts as missing." in answer["notes"]) == (row["home"] == "moon")
    assert (found["picked"], found["left"]) == ("", [""] * 4)


@pytest.mark.parametrize("code", ["tree", "trellis"])
def test_a_typed_text_without_a_known_word_has_the_most_frequent_classes_and_no_explanation(code, icd, seen):
    data, fitted, fit = icd
    classifier = fit(code=code, width=2, rerank=None, assignment="random")
    found = seen(
        explored(classifier, icd),
        """const field = document.getElementById("text");
        field.value = "zzyzx";
        field.dispatchEvent(new Event("input"));
        return { labels: texts("#sample td button"), shown: texts("#sample td.number"), titles: texts("#sample h3"),
          note: texts("#sample .body .note") };""",
    )
    labels, probabilities = classifier.top_k_proba(fitted.transform(["zzyzx"]), 8)
    sizes = np.unique(long_labels(data, data.train.y[::12]), return_counts=True)[1]
    assert found["labels"] == labels[0].tolist()
    assert probabilities[0].tolist() == (np.sort(sizes)[::-1][:8] / sizes.sum()).tolist()
    assert found["shown"][0] == f"{100 * probabilities[0, 0]:.1f} %"
    assert found["note"] == ["The model knows none of these words; these are the most frequent classes."]
    assert found["titles"] == ["The best classes"]


def test_a_typed_text_and_a_picked_sample_are_not_shown_together(icd, seen):
    data, _, fit = icd
    found = seen(
        explored(fit(), icd),
        f"""const field = document.getElementById("text"), choice = document.getElementById("choice");
        const before = choice.value;
        field.value = {json.dumps(data.test.texts[0])};
        field.dispatchEvent(new Event("input"));
        const typed = [choice.value, state.sample.isTyped];
        choice.value = "3";
        choice.dispatchEvent(new Event("change"));
        return {{ before, typed, picked: [field.value, choice.value, state.sample.name === page.samples[3].name] }};""",
    )
    assert found["before"] == "0"
    assert found["typed"] == ["", True]
    assert found["picked"] == ["", "3", True]


@pytest.mark.parametrize("width", [390, 1200])
def test_the_focus_stays_on_the_class_or_bit_that_a_button_opens(icd, seen, width):
    _, _, fit = icd
    found = seen(
        explored(fit(code="tree", width=4), icd),
        """const visits = [], visit = (button) => {
          const wanted = button.firstChild.textContent;
          button.focus();
          button.click();  // as the Enter key does
          visits.push([document.activeElement.id, document.activeElement.textContent.includes(wanted)]);
        };
        visit(document.querySelector("#class .body div button"));
        visit(document.querySelector("#bit .body div button"));
        visit(document.querySelector("#class .body .chips button"));
        const query = document.getElementById("query");
        query.value = page.labels[5];
        query.dispatchEvent(new Event("input"));
        visit(document.querySelector("#hits button"));
        return { visits, kept: document.activeElement === document.querySelector("#hits button") };""",
        width=width,
    )
    assert found["visits"][:2] == [["class-title", True], ["class-title", True]]
    assert found["visits"][2][0] == "bit-title"
    assert found["kept"]


def test_three_hundred_typed_texts_have_the_five_best_classes_of_python(icd, seen):
    data, fitted, fit = icd
    classifier = fit()
    assert classifier.codebook_.tree is not None
    texts = data.test.texts[: 5 * 300 : 5]
    found = seen(
        explored(classifier, icd),
        f"""const field = document.getElementById("text");
        return {{ answers: {json.dumps(texts)}.map((text) => {{
          field.value = text;
          field.dispatchEvent(new Event("input"));
          return [texts("#sample td button").slice(0, 5), state.sample.best.slice(0, 5).map((one) => one.loss)];
        }}) }};""",
    )
    labels, losses = classifier.top_k(fitted.transform(texts), 5)
    assert len(texts) == 300
    for answer, wanted, own in zip(found["answers"], labels.astype(str).tolist(), losses.tolist(), strict=True):
        assert answer[1] == pytest.approx(own, rel=1e-6, abs=1e-9)
        assert answer[0] == wanted or has_ties(own)


def has_ties(losses):
    return np.isclose(np.diff(losses), 0, atol=1e-9).any()


@pytest.mark.parametrize("width", [390, 1200])
def test_the_path_of_a_typed_text_compares_the_children_of_each_node(icd, seen, width):
    data, fitted, fit = icd
    classifier = fit(code="tree", width=4)
    page = explored(classifier, icd)
    found = seen(
        page,
        f"""const field = document.getElementById("text");
        field.value = {json.dumps(data.test.texts[0])};
        field.dispatchEvent(new Event("input"));
        const best = state.sample.best[0].class, steps = state.sample.steps[best];
        const headings = texts("h4"), marked = texts(".on-path button");
        document.querySelector(".shares button").click();
        const visit = [state.bit, state.class];
        document.querySelectorAll("#sample td button")[1].click();
        const second = texts(".on-path button"), label = page.labels[state.sample.best[1].class];
        const choice = document.getElementById("choice");
        choice.value = "0";
        choice.dispatchEvent(new Event("change"));
        return {{ steps, headings, marked, visit, second, label, best: page.labels[best], path: pathOf(best),
          stored: texts("h4"), below: steps.map(([own]) => classesBelow(own).n) }};""",
        width=width,
    )
    model = classifier.model_
    tree = model.codebook.tree
    margins = np.asarray(model.lazy_margins(fitted.transform(data.test.texts[:1]))[0])[0].astype(float)
    k = classifier.classes_.tolist().index(found["best"])
    path = tree.unrank(model.assignment.codeword_of_class[[k]])[0]
    assert [own for own, _ in found["steps"]] == path[path >= 0].tolist() == found["path"]
    assert len(found["path"]) == 4
    for own, children in found["steps"]:
        node = np.searchsorted(tree.first_bits, own, side="right") - 1
        first, stop = tree.first_bits[node : node + 2]
        probabilities = softmax(margins[first:stop])
        assert [p for _, p in children] == pytest.approx([probabilities[bit - first] for bit, _ in children], abs=1e-5)
        best = np.argsort(-probabilities, kind="stable")[:5] + first
        assert {bit for bit, _ in children} == {*best.tolist(), own}
    sizes = np.diff(tree.first_bits)
    assert found["headings"][0] == f"1. Node 0 compares {sizes[0]} groups of classes"
    assert found["headings"][-1].endswith(" classes")
    assert len(found["stored"]) >= 2
    assert found["marked"][-1] == found["best"]
    assert found["second"][-1] == found["label"]
    assert found["below"][-1] == 1
    assert found["visit"][0] == found["steps"][0][1][0][0]


def test_a_page_without_room_for_the_weights_says_so_and_keeps_samples(icd, seen, monkeypatch):
    _, _, fit = icd
    monkeypatch.setattr("codekin.deploy.explore.page.MAX_BYTES", 200_000)
    found = seen(
        explored(fit(), icd),
        """return { notes: texts(".note"), field: document.getElementById("text"), steps: texts(".on-path button"),
          samples: texts("#choice option").length };""",
    )
    assert any(note.startswith("Typing texts is left out: this model would add ") for note in found["notes"])
    assert found["field"] is None
    assert found["samples"] == 20
    assert found["steps"]


@pytest.mark.parametrize("width", [390, 1200])
def test_classes_bits_samples_and_assignments_answer_to_keys(seen, width):
    X, y = load_digits(return_X_y=True)
    X, names = X / 16, np.array([f"digit {k}" for k in range(10)])
    classifier = ECOCClassifier(n_bits=8, decoding="loss", random_state=0).fit(X[:300], names[y[:300]])
    page = classifier.explore(X[300:500], names[y[300:500]])
    found = seen(
        page,
        """const grid = document.getElementById("grid"), visits = [];
        for (const key of ["Home", "ArrowDown", "ArrowDown", "ArrowRight", "End", "PageUp"]) {
          press(grid, key);
          visits.push([state.class, state.bit]);
        }
        const query = document.getElementById("query");
        query.value = "digit 7";
        query.dispatchEvent(new Event("input"));
        const hits = texts("#hits button");
        document.getElementById("search").requestSubmit();
        const titles = [texts("#class-title")[0], texts("#bit-title")[0]];
        const side = texts("#bit h3")[0], codeword = texts("#class .codeword")[0];
        const choice = document.getElementById("choice");
        choice.value = "1";
        choice.dispatchEvent(new Event("change"));
        const chips = () => [...document.querySelectorAll("#moving .slots button")];
        const numbers = () => texts("#moving td.number").filter(Boolean);
        const before = numbers(), order = texts("#moving .slots button");
        chips()[0].click();
        chips()[3].click();
        const between = texts("#moving .slots button");
        press(chips()[3], "ArrowDown", { shiftKey: true });
        return { visits, hits, titles, side, codeword, labels: page.labels, sample: state.sample.name, before, order,
          between, after: numbers(), end: texts("#moving .slots button"),
          moving: !document.getElementById("moving").hidden };""",
        width=width,
    )
    assert found["visits"] == [[0, 0], [1, 0], [2, 0], [2, 1], [9, 1], [0, 1]]
    assert found["hits"] == ["digit 7"]
    assert found["titles"] == ["Class digit 7", "Bit 1"]
    k = classifier.classes_.tolist().index("digit 7")
    assert found["codeword"] == "".join("+" if bit > 0 else "−" for bit in classifier.coding_matrix_[k])
    n_plus = int((classifier.coding_matrix_[:, 1] > 0).sum())
    assert found["side"].startswith(f"The side of +1: {n_plus} class")
    assert sorted(found["labels"]) == classifier.classes_.tolist()
    assert found["sample"].startswith("sample ")
    assert found["moving"]
    order, between = found["order"], found["between"]
    assert (between[0], between[3]) == (order[3], order[0])
    assert (found["end"][3], found["end"][4]) == (between[4], between[3])
    # The numbers are those of Python, before and after.
    known = learnability_distances(X[300:500], y[300:500])
    for labels, shown in ((order, found["before"]), (found["end"], found["after"])):
        codeword_of_class = [labels.index(label) for label in classifier.classes_.tolist()]
        assignment = Assignment(codeword_of_class)
        score = class_codeword_score(classifier.codebook_, assignment, classifier.class_distances_)
        error = -2 * known.inner_product(classifier.codebook_.coding_matrix(assignment)) / 8
        numbers = [float(number.replace("−", "-")) for number in shown]
        assert numbers[0] == pytest.approx(score, abs=1e-4)
        assert numbers[len(numbers) // 2] == pytest.approx(error, abs=1e-4)


def test_dragging_shows_the_accuracies_of_a_sweep(seen):
    X, y = load_digits(return_X_y=True)
    rows = np.flatnonzero(y < 4)[:200]
    matrix = [[1, 1, 1, -1], [1, -1, -1, -1], [-1, 1, -1, 1], [-1, -1, 1, 1]]
    classifier = ECOCClassifier(codebook=matrix, decoding="loss", random_state=0).fit(X[rows] / 16, y[rows])
    accuracies = np.arange(24) * 4.0
    found = seen(
        classifier.explore(accuracies=accuracies),
        """const slots = () => [...document.querySelectorAll("#moving .slots li")];
        const labels = () => texts("#moving .slots button");
        const accuracy = () => Number(texts("#moving tr:last-child td.number")[0]), steps = [[labels(), accuracy()]];
        for (const [from, to] of [[0, 2], [1, 3], [3, 0]]) {
          const dataTransfer = new DataTransfer(), drag = { dataTransfer, bubbles: true, cancelable: true };
          slots()[from].dispatchEvent(new DragEvent("dragstart", drag));
          slots()[to].dispatchEvent(new DragEvent("drop", drag));
          steps.push([labels(), accuracy()]);
        }
        return { steps };""",
    )
    for labels, shown in found["steps"]:
        assert shown == accuracies[lexicographic_rank([labels.index(str(k)) for k in range(4)])]
    assert len({tuple(labels) for labels, _ in found["steps"]}) == 4


def test_a_tree_without_samples_says_what_is_missing(seen):
    X, y = load_digits(return_X_y=True)
    rows = sparse.csr_array(X[:300] / 16)
    classifier = ExtremeClassifier(code="tree", width=2, rerank=None, random_state=0).fit(rows, y[:300])
    found = seen(classifier.explore(), """return { notes: texts(".note"), path: pathOf(0) };""")
    notes = " ".join(found["notes"])
    assert "Samples, confusions and the losses of bits need a file of samples" in notes
    assert "Unknown without samples: give some with --data." in notes
    assert len(found["path"]) == 2


@pytest.mark.parametrize("width", [390, 1200])
def test_a_page_begins_with_a_prediction_and_ends_with_the_matrix(seen, width):
    X, y = load_digits(return_X_y=True)
    X, names = X / 16, np.array([f"digit {k}" for k in range(10)])
    classifier = ECOCClassifier(n_bits=8, decoding="loss", random_state=0).fit(X[:300], names[y[:300]])
    found = seen(
        classifier.explore(X[300:900], names[y[300:900]]),
        """const sections = [...document.querySelectorAll("main section")].map((one) => one.id);
        const shown = texts("#class-title")[0], first = state.sample.best[0].class;
        const scores = texts("#sample td:nth-child(4)"), total = texts("#sample .total")[0];
        const pairs = [...document.querySelectorAll("#confused li")];
        const named = (one) => [...one.querySelectorAll(".pair:first-child button")].map((node) => node.textContent);
        const said = pairs.map(named);
        const counts = pairs.map((one) => one.querySelector(".note").textContent);
        const example = pairs.map((one) => one.querySelector(".pair + .pair button")).find(Boolean);
        example.click();
        return { sections, shown, first: page.labels[first], scores, total, said, counts,
          wrong: [page.labels[state.sample.true], page.labels[state.sample.best[0].class]],
          of: named(example.closest("li")),
          focused: document.activeElement.id };""",
        width=width,
    )
    assert found["sections"] == ["sample", "confused", "class", "moving", "matrix", "bit"]
    assert found["shown"] == f"Class {found['first']}"
    assert found["total"] == f"Score: {found['scores'][0]}"
    predicted, true = classifier.predict(X[300:900]), names[y[300:900]]
    totals = []
    for (a, b), count in zip(found["said"], found["counts"], strict=True):
        there, back = (int(((true == one) & (predicted == other)).sum()) for one, other in ((a, b), (b, a)))
        assert count.startswith(f"taken for each other: {there} and {back}" if back else f"taken for it: {there}")
        totals.append(there + back)
    assert totals == sorted(totals, reverse=True)
    assert len(totals) == 10
    assert sorted(found["wrong"]) == sorted(found["of"])
    assert found["focused"] == "sample-title"
