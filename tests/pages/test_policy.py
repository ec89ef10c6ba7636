"""Every page has a policy by which a browser runs nothing but the page's own script and loads nothing at all."""

import base64
import hashlib
import re
from pathlib import Path

import pytest

import codekin
from codekin import ExtremeClassifier
from codekin.data import TextVectorizer
from codekin.deploy.export import export_page
from codekin.pages.html import Page, Paragraph, Section, page_html
from tests.browser import seen_by

HOSTILE = "</script><script>parent.hacked = 1</script><img src=x onerror='parent.hacked = 2'>"
LABELS = list("abcabc")


def _exported(home):
    classifier, fitted, _ = _fitted()
    return export_page(classifier, home / "page", vectorizer=fitted, title=HOSTILE).read_text(encoding="utf-8")


def _explorer(_):
    classifier, fitted, texts = _fitted()
    return classifier.explore(
        fitted.transform(texts), list("abcabc"), texts=texts, vectorizer=fitted, title=HOSTILE
    ).html


def _report(_):
    return page_html(Page(HOSTILE, HOSTILE, [Section(HOSTILE, [Paragraph(HOSTILE)])]))


WRITERS = {"deploy/export/page.html": _exported, "deploy/explore/explorer.html": _explorer, "pages/page.html": _report}
"""For each file with the beginning of a page, how such a page is written."""


def _fitted():
    texts = ["a cat purrs", "a dog barks", "a cow moos", "the cat", "the dog", f"the cow {HOSTILE}"]
    fitted = TextVectorizer().fit(texts)
    classifier = ExtremeClassifier(width=2, rerank=None, random_state=0).fit(fitted.transform(texts), LABELS)
    return classifier, fitted, texts


def test_there_are_no_other_pages():
    home = Path(codekin.__file__).parent
    files = [file for kind in ("*.py", "*.html", "*.js") for file in home.rglob(kind)]
    assert {str(file.relative_to(home)) for file in files if "<html" in file.read_text(encoding="utf-8")} == set(
        WRITERS
    )


@pytest.mark.parametrize("writer", WRITERS.values(), ids=WRITERS)
def test_the_policy_allows_the_own_script_and_style_and_nothing_from_anywhere(writer, tmp_path):
    page = writer(tmp_path)
    (policy,) = re.findall(r'<meta http-equiv="Content-Security-Policy" content="([^"]*)">', page)
    rules = dict(rule.split(" ", 1) for rule in policy.split("; "))
    for kind in ("script", "style"):
        own = [_hash(text) for text in re.findall(rf"<{kind}>(.*?)</{kind}>", page, re.DOTALL)]
        assert rules.pop(f"{kind}-src") == " ".join(own)
    nothing = dict.fromkeys(("default-src", "base-uri", "form-action"), "'none'")
    assert rules == {**nothing, "img-src": "data:"}
    # A policy in the middle of a page would come too late for what is before it.
    assert page.index("Content-Security-Policy") < page.index("<title>")


@pytest.mark.parametrize("writer", WRITERS.values(), ids=WRITERS)
def test_what_is_smuggled_into_a_page_does_not_run_there(writer, tmp_path):
    smuggled = f'{HOSTILE.removeprefix("</script>")}<p style="color: red">x</p><img src="http://localhost:1/x.png">'
    page = writer(tmp_path).replace("<main>", f"<main>{smuggled}", 1)
    found = seen_by(
        """const field = document.querySelector("input, textarea");
        return new Promise((done) => setTimeout(() => done({ hacked: parent.hacked ?? null, field: field?.id }), 50));
        """,
        page,
        tmp_path,
        violations=["script-src-elem", "script-src-attr", "img-src", "img-src", "style-src-attr"],
    )
    assert found["hacked"] is None
    assert found.get("field") == {_exported: "text", _explorer: "text", _report: None}[writer]


def _hash(text):
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
