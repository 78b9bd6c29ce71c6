"""Sends many requests to a translator and a tagger from threads, and compares each answer with a baseline.

    python benchmarks/soak.py saved_model --requests 100000     # or: objects, http

The models are trained here on a few words unless `--translator` and `--tagger` name others. They answer as
SavedModels, as `Translator` and `EntityTagger`, or through an HTTP server on 127.0.0.1 that takes the
requests of TensorFlow Serving's REST API. A request has 1 to 32 texts; a fifth of the requests have hostile
ones: empty, not UTF-8 (replaced for the objects), strange characters, very long. The baseline is the answer
to each text alone, by one thread. Prints memory after each tenth of the requests and the times of a request;
exits with 1 after an error, a different answer, or growth above 5 MB per 10,000 requests.
"""

import argparse
import base64
import http.client
import http.server
import itertools
import json
import os
import random
import re
import sys
import tempfile
import threading
import time
import warnings
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import numpy as np
import tensorflow as tf
import tensorflow_text  # noqa: F401

from keraszoo import EntityTagger, Translator
from keraszoo.models import RNNSearch
from keraszoo.search import SearchOptions
from keraszoo.text.subwords import Subwords
from keraszoo.text.tagged_corpus import TaggedSentence

GROWTH = 5.0  # MB per 10,000 requests
SAME = 1e-3  # the largest difference of log-probabilities and probabilities
NUMBERS = {"one": "eins", "two": "zwei", "three": "drei", "four": "vier", "five": "fünf", "six": "sechs"}
NAMES = {"PER": ["Ada Lovelace", "Kurt Gödel"], "LOC": ["Paris", "New York"]}
TEMPLATES = ["PER flew from LOC to LOC .", "In LOC , PER met PER !", "Nobody knew .", "one two three ."]
STRANGE = ["", " \t\n", "\0", "\u202eabc\u2066", "\u200b\u200d", "e" + "\u0301" * 200, "\U0001f600" * 50]
INVALID = [b"\xff\xfe", b"one \xed\xa0\x80 two", b"caf\xe9", b"Ada \xf0\x9f\x98 Lovelace"]
LONG = ["one two " * 2000, "x" * 10_000, "\u65e5\u672c" * 3000, "Ada met Kurt . " * 600]


def tiny_translator(folder):
    """Trains a translator of six words, which reverses them, and saves it in `folder`, which it returns."""
    draw = random.Random(0)
    sources = [draw.choices([*NUMBERS], k=draw.randint(1, 7)) for _ in range(1200)]
    pairs = [(" ".join(words), " ".join(NUMBERS[word] for word in words[::-1])) for words in sources]
    sides = [Subwords.train([pair[side] for pair in pairs], 40 + 4 * side) for side in range(2)]
    model = RNNSearch(*(side.vocabulary_size for side in sides), embedding_dim=32, units=48)
    translator = Translator(model, *sides, SearchOptions(beam_width=2, max_length=20), max_source_tokens=64)
    optimizer = {"schedule": "constant", "learning_rate": 0.01, "global_clipnorm": 1.0}
    translator.fit(pairs, epochs=8, batch_tokens=512, label_smoothing=0.0, optimizer=optimizer, verbose=0)
    translator.save_to_preset(folder)
    return folder


def tiny_tagger(folder):
    """Trains a tagger of a few names and saves it in `folder`, which it returns."""
    draw, sentences = random.Random(0), []
    for _ in range(200):
        pairs = []
        for word in draw.choice(TEMPLATES).split():
            words = draw.choice(NAMES.get(word, [word])).split()
            tags = [f"{'I' if i else 'B'}-{word}" if word in NAMES else "O" for i in range(len(words))]
            pairs += zip(words, tags, strict=True)
        sentences.append(TaggedSentence(*zip(*pairs, strict=True)))
    sizes = {"units": 12, "vector_width": 10, "character_units": 6, "character_dim": 6, "dropout": 0.0}
    tagger = EntityTagger.for_sentences(sentences, model="recurrent", **sizes)
    tagger.fit(sentences, epochs=6, batch_tokens=128, optimizer={"learning_rate": 0.02}, verbose=0)
    tagger.save_to_preset(folder)
    return folder


def rows_of(outputs):
    """The answer to each text, `(exact, rounded)`, from the outputs of a signature as lists."""
    if "translation" in outputs:
        return [
            (text, [number]) for text, number in zip(outputs["translation"], outputs["log_prob"], strict=True)
        ]
    ends = itertools.accumulate(outputs["count"], initial=0)
    exact = [*zip(*(outputs[name] for name in ("text", "label", "start", "end")), strict=True)]
    return [(exact[i:j], outputs["probability"][i:j]) for i, j in itertools.pairwise(ends)]


def as_saved_model(task, folder):
    """Exports a task; returns a function from a list of bytes to the outputs of the SavedModel as lists."""
    task.export(folder)
    loaded = tf.saved_model.load(str(folder))

    def outputs(texts, loaded=loaded):  # the signature alone does not keep the variables
        values = loaded.signatures["serving_default"](text=tf.constant(texts, tf.string))
        return {name: value.numpy().tolist() for name, value in values.items()}

    return outputs


def as_object(task):
    """A function from a list of bytes to the answers of a `Translator` or an `EntityTagger`."""

    def answer(texts):
        texts = [text.decode("utf-8", "replace") for text in texts]
        if isinstance(task, Translator):
            best = [hypotheses[0] if hypotheses else None for hypotheses in task.n_best(texts)]
            return [(one.text, [one.log_prob]) if one else ("", [0.0]) for one in best]
        return [
            ([(e.text, e.label, e.start, e.end) for e in some], [e.probability for e in some])
            for some in task.tag(texts)
        ]

    return answer


class Front(http.server.BaseHTTPRequestHandler):
    """Answers the requests `POST /v1/models/NAME:predict` of TensorFlow Serving's REST API."""

    protocol_version, wbufsize, disable_nagle_algorithm = "HTTP/1.1", -1, True
    models = {}  # noqa: RUF012

    def do_POST(self):
        """Answers a request."""
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        texts = [base64.b64decode(text["b64"]) for text in body["inputs"]["text"]]
        outputs = self.models[self.path](texts)
        content = json.dumps({"outputs": outputs}, default=lambda text: text.decode()).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format, *arguments):
        """Logs nothing."""


def over_http(port, name, connections):
    """A function from a list of bytes to the answers of the server; each thread has a connection."""

    def answer(texts):
        if not hasattr(connections, "one"):
            connections.one = http.client.HTTPConnection("127.0.0.1", port)
        body = json.dumps({"inputs": {"text": [{"b64": base64.b64encode(text).decode()} for text in texts]}})
        connections.one.request("POST", name, body.encode())
        response = connections.one.getresponse()
        return rows_of(json.loads(response.read())["outputs"])

    return answer


def same(answer, wanted):
    """Whether two answers to a text are equal, their numbers up to `SAME`."""
    return answer[0] == wanted[0] and np.allclose(answer[1], wanted[1], rtol=SAME, atol=SAME)


def resident():
    """The resident memory of this process in MB."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20


def soak(services, pools, requests, threads):
    """Sends requests to services in turn from threads; a service is a function from texts to answers.

    Returns:
        `(seconds, memory, failures)`: the time of each request, MB after each 10,000 requests (or tenth, if
        there are fewer), and a line for each error or different answer.
    """
    wanted = [{text: service([text])[0] for pool in pools for text in pool} for service in services]
    seconds, memory, failures = np.zeros(requests), [], []
    numbers, part = itertools.count(), min(10_000, max(1, requests // 10))

    def one(number):
        draw, which = random.Random(number), number % len(services)
        texts = draw.choices(pools[0], k=draw.randint(1, 32))
        if number % 10 < len(services):  # a fifth of the requests to each service
            texts[: len(texts) // 8 + 1] = draw.choices(pools[1], k=len(texts) // 8 + 1)
        started = time.perf_counter()
        try:
            answers = services[which](texts)
            if len(answers) != len(texts):
                raise ValueError(f"{len(answers)} answers to {len(texts)} texts")
        except Exception as error:
            failures.append(f"request {number}: {type(error).__name__}: {error}")
            return
        seconds[number] = time.perf_counter() - started
        for text, answer in zip(texts, answers, strict=True):
            if not same(answer, wanted[which][text]):
                failures.append(f"request {number}: {text[:60]!r}: {answer}, not {wanted[which][text]}")

    def work():
        while (number := next(numbers)) < requests:
            one(number)
            if number % part == part - 1:
                memory.append(resident())
                print(f"{number + 1:,} requests, {memory[-1]:,.0f} MB, {len(failures)} failures", flush=True)

    workers = [threading.Thread(target=work) for _ in range(threads)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    return seconds, memory, failures


def main():
    """Parses the command line, makes models and services, and prints the figures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("form", choices=["saved_model", "objects", "http"])
    parser.add_argument("--requests", type=int, default=100_000)
    parser.add_argument("--threads", type=int, default=8)
    parser.add_argument("--translator", help="name or directory; a tiny one by default")
    parser.add_argument("--tagger", help="the same")
    options = parser.parse_args()
    warnings.simplefilter("ignore")  # sources are cut
    draw = random.Random(1)
    texts = [" ".join(draw.choices([*NUMBERS], k=draw.randint(1, 12))) for _ in range(200)]
    texts += [re.sub("PER|LOC", lambda found: draw.choice(NAMES[found[0]]), t) for t in TEMPLATES * 25]
    pools = [[text.encode() for text in texts], [text.encode() for text in STRANGE + LONG] + INVALID]
    with tempfile.TemporaryDirectory() as folder:
        tasks = [
            Translator.from_preset(options.translator or tiny_translator(f"{folder}/translator")),
            EntityTagger.from_preset(options.tagger or tiny_tagger(f"{folder}/tagger")),
        ]
        names = [f"/v1/models/{task.kind}:predict" for task in tasks]
        if options.form == "objects":
            services = [as_object(task) for task in tasks]
        else:
            models = [as_saved_model(task, f"{folder}/{task.kind}") for task in tasks]
            services = [lambda texts, model=model: rows_of(model(texts)) for model in models]
        if options.form == "http":
            Front.models = dict(zip(names, models, strict=True))
            server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Front)
            threading.Thread(target=server.serve_forever, daemon=True).start()
            connections = threading.local()
            services = [over_http(server.server_port, name, connections) for name in names]
        started = time.perf_counter()
        seconds, memory, failures = soak(services, pools, options.requests, options.threads)
        took = time.perf_counter() - started
    print(*failures[:20], sep="\n")
    growth = (memory[-1] - memory[0]) / ((len(memory) - 1) * options.requests / len(memory) / 10_000)
    figures = {"form": options.form, "requests": options.requests, "threads": options.threads}
    figures |= {"failures": len(failures), "seconds": round(took), "mb_per_10_000": round(growth, 2)}
    for which, task in enumerate(tasks):
        times = np.percentile(1000 * seconds[which :: len(tasks)], [50, 95, 99])
        figures[f"{task.kind}_ms"] = dict(zip(("p50", "p95", "p99"), times.round(1).tolist(), strict=True))
    print(json.dumps({"bench": "soak", **figures}))
    sys.exit(bool(failures) or growth > GROWTH)


if __name__ == "__main__":
    main()
