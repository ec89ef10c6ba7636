"""`codekin serve` under load: p50 and p99 at a stated rate, and what batching is worth when many clients ask at once.

    python benchmarks/serving.py [--data DIR] [--rate 200] [--requests 2000] [--clients 32] [--learned]

A real server on 127.0.0.1, with a model of the 1,532 classes of icd10cm_category (those of the embedded icd10cm without
that folder). This process is the client: it sends one text per request, over connections that stay open, and so takes
a core of its own. At the stated rate, requests leave by the clock, whether or not earlier ones have been answered, and
the time counts from when a request was due. At full load, every client sends its next request when it has the answer.
Once with batching and once with --max-batch 1, in turns; five labels, without and with probabilities.

The server's processor time per request depends less on other work of the machine than the other numbers do.

Claims: all answers arrive and are those of `Predictor`; at full load, batching takes at most 0.7 of the processor time
per request that answering one by one takes.
"""

import argparse
import asyncio
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from single_prediction import texts_and_labels

from codekin import ExtremeClassifier, Predictor
from codekin.data import TextVectorizer, load_dataset
from codekin.storage import ModelInput, save_model

ROUNDS = 2


def model_and_texts(home, folder, is_learned):
    """A model folder, and texts to ask for."""
    if (home / "icd10cm_category").exists():
        train, labels = texts_and_labels(home / "icd10cm_category", "train")
        texts = texts_and_labels(home / "icd10cm_category", "test")[0]
    else:
        data = load_dataset("icd10cm")
        train, labels, texts = data.train.texts, data.train.y, data.test.texts
    vectorizer = TextVectorizer().fit(train)
    classifier = ExtremeClassifier(rerank="auto" if is_learned else "centroid", random_state=0)
    classifier.fit(vectorizer.transform(train), labels)
    return save_model(classifier, folder, model_input=ModelInput(vectorizer)), texts


@contextmanager
def server(model, *options):
    """The port of a new server, and its process."""
    command = [sys.executable, "-m", "codekin", "serve", str(model), "--port=0", "--quiet", *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield int(re.findall(r":(\d+)\n", process.stdout.readline())[0]), process.pid
        finally:
            process.terminate()
            assert process.wait(60) == 0


def request(text, has_probabilities):
    body = json.dumps({"samples": [text], "top_k": 5, "probabilities": has_probabilities}).encode()
    head = "POST /v1/predict HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"
    return f"{head}content-length: {len(body)}\r\n\r\n".encode() + body


class Client:
    """One connection, and one request at a time."""

    async def connect(self, port):
        self.reader, self.writer = await asyncio.open_connection("127.0.0.1", port)
        return self

    async def ask(self, data):
        self.writer.write(data)
        head = await self.reader.readuntil(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 200 "), head
        return await self.reader.readexactly(int(re.search(rb"content-length: (\d+)", head)[1]))


async def at_rate(port, requests, rate, n_clients):
    """The seconds of each answer since its request was due."""
    clients = asyncio.Queue()
    for _ in range(n_clients):
        clients.put_nowait(await Client().connect(port))
    begin = time.perf_counter() + 0.1

    async def one(i):
        due = begin + i / rate
        await asyncio.sleep(max(0.0, due - time.perf_counter()))
        client = await clients.get()
        await client.ask(requests[i % len(requests)])
        clients.put_nowait(client)
        return time.perf_counter() - due

    return await asyncio.gather(*(one(i) for i in range(len(requests))))


async def at_full_load(port, requests, n_clients):
    """Requests per second, and the answers in order."""
    clients = [await Client().connect(port) for _ in range(n_clients)]
    answers = [b""] * len(requests)

    async def all_of(client, first):
        for i in range(first, len(requests), n_clients):
            answers[i] = await client.ask(requests[i])

    begin = time.perf_counter()
    await asyncio.gather(*(all_of(client, i) for i, client in enumerate(clients)))
    return len(requests) / (time.perf_counter() - begin), answers


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    home = os.environ.get("CODEKIN_DATA", os.environ.get("CODEKIN_SHARED_DATA", "data"))
    parser.add_argument("--data", type=Path, default=Path(home))
    parser.add_argument("--rate", type=float, default=200.0, help="requests per second")
    parser.add_argument("--requests", type=int, default=2_000, help="how many of each kind")
    parser.add_argument("--clients", type=int, default=32)
    parser.add_argument("--learned", action="store_true", help="learned class vectors, the default of codekin train")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        model, texts = model_and_texts(arguments.data, Path(temporary) / "model", arguments.learned)
        predictor = Predictor.load(model)
        texts = [texts[i % len(texts)] for i in range(arguments.requests)]
        print(f"{len(predictor.labels):,} classes, one text a request, 5 labels, {arguments.clients} connections")
        with server(model) as together, server(model, "--max-batch=1") as alone:
            for kind in ("labels", "probabilities"):
                requests = [request(text, kind == "probabilities") for text in texts]
                for port, _ in (together, alone):
                    asyncio.run(at_full_load(port, requests[:200], arguments.clients))  # warm
                took = 1e3 * np.array(asyncio.run(at_rate(together[0], requests, arguments.rate, arguments.clients)))
                p50, p99 = np.percentile(took, [50, 99])
                at = f"{kind:14} at {arguments.rate:.0f} requests/s"
                print(f"{at}: p50 {p50:.1f} ms, p99 {p99:.1f} ms, most {took.max():.1f} ms")
                rates, processor = {together: 0.0, alone: 0.0}, {together: np.inf, alone: np.inf}
                for _ in range(ROUNDS):
                    for port, process in (together, alone):
                        before = processor_seconds(process)
                        rate, answers = asyncio.run(at_full_load(port, requests, arguments.clients))
                        spent = 1e6 * (processor_seconds(process) - before) / len(requests)
                        rates[port, process] = max(rate, rates[port, process])
                        processor[port, process] = min(spent, processor[port, process])
                        check(answers, texts, predictor, kind == "probabilities")
                for what, of in (("requests/s", rates), ("us of processor a request", processor)):
                    values = f"{of[together]:,.0f} with batching, {of[alone]:,.0f} without"
                    print(f"{kind:14} at full load, {what}: {values}, ratio {of[together] / of[alone]:.2f}")


def processor_seconds(process):
    """The processor time of a process so far, where the system tells it."""
    try:
        facts = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return np.nan
    return (int(facts[11]) + int(facts[12])) / os.sysconf("SC_CLK_TCK")


def check(answers, texts, predictor, has_probabilities):
    """Every 20th answer is the predictor's; last digits of probabilities may depend on the batch."""
    for i in range(0, len(texts), 20):
        (best,) = json.loads(answers[i])["predictions"]
        find = predictor.top_k_proba if has_probabilities else predictor.top_k
        labels, numbers = find(texts[i], 5)
        assert [one["label"] for one in best["top"]] == labels, texts[i]
        if has_probabilities:
            np.testing.assert_allclose([one["probability"] for one in best["top"]], numbers, rtol=1e-4, atol=1e-9)


if __name__ == "__main__":
    main()
