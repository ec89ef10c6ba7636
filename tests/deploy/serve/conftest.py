"""Models of texts, sparse rows and dense rows, and their applications."""

import asyncio
import json
from dataclasses import dataclass

import pytest
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression

from codekin import ECOCClassifier, ExtremeClassifier, TextClassifier, save_model
from codekin.data import TextVectorizer
from codekin.deploy.serve import Limits, application
from codekin.storage import ModelInput

WORDS = ("apple", "river", "engine", "violin", "desert", "needle", "copper", "spider")
TEXTS = [f"{a} and {b} with {a}" for a in WORDS for b in WORDS]
LABELS = [a for a in WORDS for _ in WORDS]


@pytest.fixture(scope="session")
def text_folder(tmp_path_factory):
    vectorizer = TextVectorizer("words", word_ngrams=(1, 1)).fit(TEXTS)
    classifier = ExtremeClassifier(width=2, random_state=0).fit(vectorizer.transform(TEXTS), LABELS)
    return save_model(classifier, tmp_path_factory.mktemp("served") / "texts", model_input=ModelInput(vectorizer))


@pytest.fixture(scope="session")
def digits_folder(tmp_path_factory):
    X, y = load_digits(return_X_y=True)
    classifier = ECOCClassifier(LogisticRegression(max_iter=50), n_bits=10, decoding="loss", random_state=0)
    return save_model(classifier.fit(X[:300] / 16, y[:300]), tmp_path_factory.mktemp("served") / "digits")


@pytest.fixture(scope="session")
def rows_folder(tmp_path_factory):
    """A model of two columns of texts, a number and a category."""
    rows = [{"title": text, "text": "more", "size": i % 8, "kind": LABELS[i][:1]} for i, text in enumerate(TEXTS)]
    columns = {"text": {"title": 2, "text": 1}, "numbers": "size", "categories": "kind"}
    classifier = TextClassifier(**columns, random_state=0).fit(rows, LABELS)
    return classifier.save(tmp_path_factory.mktemp("served") / "rows")


@pytest.fixture
def rows(rows_folder):
    return application(rows_folder)


@pytest.fixture
def texts(text_folder):
    return application(text_folder)


@pytest.fixture
def digits(digits_folder):
    return application(digits_folder)


@pytest.fixture
def impatient(text_folder):
    return application(text_folder, limits=Limits(max_body_bytes=2_000, max_seconds=0.5))


@dataclass
class Answer:
    """What came back: the status, the headers and the body."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self):
        return json.loads(self.body)

    @property
    def predictions(self):
        assert self.status == 200, self.body
        return self.json["predictions"]

    @property
    def error(self):
        """The sentence of an error; nothing else may be in the body."""
        assert self.headers["content-type"] == "application/json"
        assert list(self.json) == ["error"]
        assert "Traceback" not in self.json["error"]
        return self.json["error"]


async def asked(app, method, path, body=b"", content_type=None, query=""):
    """The answer of an application, without a server."""
    headers = [] if content_type is None else [(b"content-type", content_type.encode("latin-1"))]
    scope = {
        "type": "http",
        "method": method,
        "path": path,
        "raw_path": path.encode(),
        "query_string": query.encode(),
        "headers": headers,
        "http_version": "1.1",
        "scheme": "http",
        "server": ("127.0.0.1", 80),
    }
    parts = [{"type": "http.request", "body": body, "more_body": False}]
    sent = []

    async def receive():
        return parts.pop() if parts else {"type": "http.disconnect"}

    async def send(message):
        sent.append(message)

    await app(scope, receive, send)
    start, *rest = sent
    found = {name.decode(): value.decode() for name, value in start["headers"]}
    return Answer(start["status"], found, b"".join(part["body"] for part in rest))


def ask(app, *arguments, **options):
    return asyncio.run(asked(app, *arguments, **options))


def predict(app, question, **options):
    body = question if isinstance(question, bytes) else json.dumps(question).encode()
    return ask(app, "POST", "/v1/predict", body, options.pop("content_type", "application/json"), **options)
