import hashlib
import re
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from codekin.data import DATASETS, fetch
from codekin.data.registry import SOURCES, RemoteFile, RemoteSource

CONTENT = b"protein 0.5 MIT\n" * 50_000


class Handler(BaseHTTPRequestHandler):
    requests: list[str] = []

    def do_GET(self):
        self.requests.append(self.path)
        if self.path == "/missing.gz":
            self.send_error(404)
            return
        self.send_response(200)
        self.send_header("Content-Length", str(len(CONTENT)))
        self.end_headers()
        self.wfile.write(CONTENT[: len(CONTENT) // 2] if self.path == "/cut.gz" else CONTENT)

    def log_message(self, *_):
        pass


@pytest.fixture
def server():
    Handler.requests = []
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    server.server_close()
    thread.join()


def source(*urls, content=CONTENT):
    digest = hashlib.sha256(content).hexdigest()
    return {"toy": RemoteSource(tuple(RemoteFile(url, digest) for url in urls), "none")}


def test_files_are_downloaded_once(server, tmp_path):
    sources = source(f"{server}/a.gz", f"{server}/folder/b.gz?raw=1")
    steps = []
    folder = fetch("toy", tmp_path, sources=sources, progress=lambda *step: steps.append(step))
    assert folder == tmp_path / "toy"
    assert sorted(path.name for path in folder.iterdir()) == ["a.gz", "b.gz"]
    assert (folder / "a.gz").read_bytes() == CONTENT
    assert steps[-1] == ("b.gz", len(CONTENT), len(CONTENT))
    fetch("toy", tmp_path, sources=sources)
    assert Handler.requests == ["/a.gz", "/folder/b.gz?raw=1"]


def test_a_file_that_is_not_whole_is_downloaded_again(server, tmp_path):
    sources = source(f"{server}/a.gz")
    folder = fetch("toy", tmp_path, sources=sources)
    (folder / "a.gz").write_bytes(CONTENT[:100])
    fetch("toy", tmp_path, sources=sources)
    assert (folder / "a.gz").read_bytes() == CONTENT


def test_a_wrong_checksum_is_one_sentence_and_nothing_is_kept(server, tmp_path):
    with pytest.raises(ValueError, match="is not the file it should be: its SHA-256 is"):
        fetch("toy", tmp_path, sources=source(f"{server}/a.gz", content=b"other"))
    assert not (tmp_path / "toy").exists()


@pytest.mark.parametrize(
    ("path", "reason"), [("missing.gz", "the server says 404"), ("cut.gz", "cannot be downloaded: ")]
)
def test_what_the_server_does_not_give_is_one_sentence_and_nothing_is_kept(server, tmp_path, path, reason):
    with pytest.raises(ConnectionError) as caught:
        fetch("toy", tmp_path, sources=source(f"{server}/{path}"))
    assert reason in str(caught.value)
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "toy").exists()


@pytest.mark.parametrize("url", ["http://127.0.0.1:9/a.gz", "http://no-such-host.invalid/a.gz"])
def test_a_missing_network_is_one_sentence(tmp_path, url):
    with pytest.raises(ConnectionError, match=f"{re.escape(url)} cannot be downloaded: "):
        fetch("toy", tmp_path, sources=source(url), timeout=5)
    assert not (tmp_path / "toy").exists()


def test_an_unknown_data_set_is_refused(tmp_path):
    with pytest.raises(ValueError, match="The data sets that can be downloaded are cifar10, .* Got 'toy' instead."):
        fetch("toy", tmp_path)
    assert not list(tmp_path.iterdir())


def test_every_source_is_secure_checked_licensed_and_known():
    for name, remote in SOURCES.items():
        assert name in DATASETS
        assert remote.licence
        for file in remote.files:
            assert file.url.startswith("https://")
            assert re.fullmatch("[0-9a-f]{64}", file.sha256)
            assert file.file_name


def test_the_embedded_yeast_is_the_file_at_the_source():
    from tests.conftest import ROOT

    content = (ROOT / "src" / "codekin" / "data" / "files" / "yeast.data").read_bytes()
    assert hashlib.sha256(content).hexdigest() == SOURCES["yeast"].files[0].sha256
