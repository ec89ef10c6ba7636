"""An explorer page in a real browser, by keyboard alone, on a phone and on a screen."""

import json
import re
import shutil
import subprocess

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_digits
from tests.pages.test_in_browser import BROWSERS, FLAGS

from codekin import ECOCClassifier, TrellisClassifier
from codekin.assignments.scores import class_codeword_score
from codekin.class_distances.learnability import learnability_distances
from codekin.coding import Assignment
from codekin.datasets import TextVectorizer, load_dataset
from codekin.studies.splits.sweeps import lexicographic_rank

WATCH = """
<script>
window.addEventListener("error", (event) => document.body.dataset.error = event.message);
window.addEventListener("unhandledrejection", (event) => document.body.dataset.error = event.reason);
const press = (target, key, more = {}) =>
  target.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true, ...more }));
const texts = (selector) => [...document.querySelectorAll(selector)].map((node) => node.textContent);
ready.then(() => {
  const seen = (() => { SCRIPT })();
  // Everything that can be clicked can be reached with the Tab key.
  const all = (selector) => [...document.querySelectorAll(selector)];
  seen.unreachable = all("button, input, select, textarea, canvas").filter((node) => node.tabIndex < 0).length;
  seen.unnamed = all("input, select, textarea").filter((node) => !node.labels?.length).length;
  seen.overflow = document.documentElement.scrollWidth - document.documentElement.clientWidth;
  seen.error = document.body.dataset.error ?? null;
  const note = document.createElement("pre");
  note.id = "seen";
  note.textContent = JSON.stringify(seen);
  document.body.append(note);
});
</script></body>
"""


@pytest.fixture
def seen(tmp_path):
    """A function: what a script sees on a page, in a window of some width."""
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    if browser is None:
        pytest.skip("needs Chromium or Chrome")

    def look(page, script, width=1200):
        watched = tmp_path / "watched.html"
        watched.write_text(page.html.replace("</body>", WATCH.replace("SCRIPT", script)), encoding="utf-8")
        flags = [*FLAGS, f"--window-size={width},900", f"--user-data-dir={tmp_path / 'profile'}"]
        command = [browser, *flags, watched.as_uri()]
        done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=100)
        shown = re.search(r'<pre id="seen">(.*?)</pre>', done.stdout, re.DOTALL)[1]
        found = json.loads(shown.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&"))
        assert found["error"] is None
        assert (found["unreachable"], found["unnamed"]) == (0, 0)
        assert found["overflow"] <= 0
        return found

    return look


@pytest.mark.parametrize("settings", [{"rerank": "centroid", "width": 2}, {"rerank": None, "width": 3}])
def test_typed_texts_are_predicted_and_explained_as_in_python(settings, seen):
    data = load_dataset("icd10cm")
    fitted = TextVectorizer(ngram_range=(1, 1)).fit(data.train.texts)
    X, y = fitted.transform(data.train.texts[::12]), data.train.y[::12]
    classifier = TrellisClassifier(random_state=0, assignment="random", **settings).fit(X, y)
    texts = [*data.test.texts[:3], "nothing heard of"]
    some = slice(0, 400, 20)
    page = classifier.explore(
        fitted.transform(data.test.texts[some]), data.test.y[some], texts=data.test.texts[some], vectorizer=fitted
    )
    found = seen(
        page,
        f"""const field = document.getElementById("text"), answers = {json.dumps(texts)}.map((text) => {{
          field.value = text;
          field.dispatchEvent(new Event("input"));
          const sample = state.sample, best = sample.best;
          return {{ labels: best.map((one) => page.labels[one.class]), losses: best.map((one) => one.loss),
            explained: sample.explained[best[0].class], shown: texts("#sample td button"),
            lit: document.querySelectorAll(".on-path").length }};
        }});
        return {{ answers, path: pathOf(state.sample.best[0].class).length }};""",
        width=390,
    )
    rows = fitted.transform(texts)
    labels, losses = classifier.top_k(rows, 8)
    explanation = classifier.explain(rows)
    for i, answer in enumerate(found["answers"]):
        assert answer["losses"] == pytest.approx(losses[i].tolist(), rel=1e-5)
        assert answer["labels"][0] == str(labels[i, 0])
        assert answer["shown"] == answer["labels"]
        assert answer["lit"] > 0
        own = answer["explained"]
        total = sum(value for _, value in own["features"]) + sum(value for _, value in own["rest"])
        assert total == pytest.approx(own["score"], abs=1e-4)
        words = fitted.terms_by_column(texts[i])
        wanted = {" / ".join(words[feature]): value for feature, value in explanation.top(i, 12)}
        assert dict(own["features"]) == pytest.approx(wanted, rel=1e-4, abs=1e-4)


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
    classifier = TrellisClassifier(code="tree", width=2, rerank=None, random_state=0).fit(rows, y[:300])
    found = seen(classifier.explore(), """return { notes: texts(".note"), path: pathOf(0) };""")
    notes = " ".join(found["notes"])
    assert "Samples, confusions and the losses of bits need a file of samples" in notes
    assert "Unknown without samples: give some with --data." in notes
    assert len(found["path"]) == 2
