"""The command line in this process, and a small translator and tagger, made once for all tests."""

import base64
import functools
import hashlib
import http.server
import importlib.util
import io
import json
import os
import random
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
from filelock import FileLock

# A shell that starts the tests in the background has SIGINT ignored, also for the processes that tests start.
signal.signal(signal.SIGINT, signal.default_int_handler)


def set_random_seed(number):
    """Keras is imported when it is used: a process that only hands tests to others does without."""
    import keras

    keras.utils.set_random_seed(number)


@pytest.fixture
def write(tmp_path):
    """Writes text or bytes to a file of that name and returns its path."""

    def write(data, name="file.txt"):
        path = tmp_path / name
        path.write_bytes(data if isinstance(data, bytes) else data.encode())
        return path

    return write


@pytest.fixture
def shared_data():
    """Finds a file of the shared corpora; the test is skipped without it."""
    data = Path(os.environ.get("KERASZOO_DATA", Path(__file__).parents[2] / "shared" / "data"))

    def find(name):
        if not (data / name).is_file():
            pytest.skip("the corpora are not here")
        return data / name

    return find


@pytest.fixture(scope="session")
def make_once(tmp_path_factory):
    """Makes a directory that all processes of a test run share."""

    def once(name, make):
        root = tmp_path_factory.getbasetemp()
        if "PYTEST_XDIST_WORKER" in os.environ:
            root = root.parent
        place, making = root / name, root / f"{name}.making"
        with FileLock(root / f"{name}.lock"):
            if not place.exists():
                make(making)
                making.rename(place)
        return place

    return once


@pytest.fixture(scope="session")
def characters_of_every_kind():
    """Lists of characters: all of the frozen table, but of the ideographs and syllables every fiftieth."""
    from keraszoo.text.characters import inside, members

    table = {c: kind for kind in "L M N P S Z Cc".split() for c in members(inside(kind))}
    codes = [code for code in range(1, 0x110000) if not 0xD800 <= code < 0xE000]
    kinds = [table.get(chr(code)) for code in codes]
    some = [
        chr(code)
        for code, kind, before, after in zip(codes[1:], kinds[1:], kinds, [*kinds[2:], None], strict=False)
        if kind != before or kind != after or kind not in ("L", None) or code % 50 == 0 or code < 0x3000
    ]
    return [some[i : i + 500] for i in range(0, len(some), 500)]


@pytest.fixture
def run(capfd, monkeypatch):
    """Runs the command line in this process: (exit code, stdout, stderr)."""
    from keraszoo.cli import app

    monkeypatch.setenv("TF_NUM_INTRAOP_THREADS", "")  # what a command sets ends with the test
    monkeypatch.delenv("TF_NUM_INTRAOP_THREADS")

    def run(*arguments, stdin=b""):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BufferedReader(io.BytesIO(stdin))))
        with pytest.raises(SystemExit) as ended:
            app.main([str(argument) for argument in arguments])
        sys.stdout.flush()
        return ended.value.code or 0, *capfd.readouterr()

    return run


@pytest.fixture
def refusal(run):
    """Runs a command line that must fail before it prints a result; returns its error, one line."""

    def refusal(*arguments, **options):
        code, out, err = run(*arguments, **options)
        assert (code, out) == (2, ""), err
        assert err.startswith("keraszoo: error: ") and len(err.splitlines()) == 1, err
        return err

    return refusal


@pytest.fixture
def program():
    """Starts the command line, or some code, in a process of its own."""

    def start(*arguments, code=None, **options):
        command = [sys.executable, *(["-c", code] if code else ["-m", "keraszoo"]), *arguments]
        pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
        return subprocess.Popen(command, **{**pipes, **options})

    return start


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    """Headless Chromium, with a folder `downloads`."""
    webdriver = pytest.importorskip("selenium.webdriver")
    if not ((chromium := shutil.which("chromium")) and (driver := shutil.which("chromedriver"))):
        pytest.skip("needs chromium and chromedriver")
    options, downloads = webdriver.ChromeOptions(), tmp_path_factory.mktemp("downloads")
    options.binary_location = chromium
    switches = "headless no-sandbox disable-gpu disable-quic no-first-run disable-background-networking "
    switches += "disable-component-update disable-sync disable-dev-shm-usage"
    for switch in (*switches.split(), f"user-data-dir={tmp_path_factory.mktemp('profile')}"):
        options.add_argument(f"--{switch}")
    options.add_experimental_option("prefs", {"download.default_directory": str(downloads)})
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    with webdriver.Chrome(options, webdriver.ChromeService(driver)) as page:
        page.downloads = downloads
        yield page


class Hub(http.server.BaseHTTPRequestHandler):
    """The part of the Hub's interface that uploads and downloads use."""

    protocol_version = "HTTP/1.1"

    def do_POST(self):
        self.server.requests.append(self.path)
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        files = self.server.files
        if self.path == "/api/repos/create":
            self._answer({"url": f"{self.server.url}/{json.loads(body)['organization']}/small"})
        elif self.path == "/api/validate-yaml":
            self._answer({"errors": [], "warnings": []})
        elif self.path.endswith("/preupload/main"):
            modes = {"uploadMode": "regular", "shouldIgnore": False, "oid": None}
            paths = [file["path"] for file in json.loads(body)["files"]]
            self._answer({"files": [{"path": path, **modes} for path in paths]})
        elif self.path.endswith("/commit/main"):
            for line in map(json.loads, body.splitlines()):
                if line["key"] == "file":
                    files[line["value"]["path"]] = base64.b64decode(line["value"]["content"])
            self._answer({"commitUrl": self.server.commit, "commitOid": "1" * 40, "success": True})
        else:
            self.send_error(404)

    def do_GET(self):
        self.server.requests.append(self.path)
        self.server.tokens.add(self.headers["Authorization"])
        name = re.sub(r"^/[^/]+/[^/]+/resolve/[^/]+/", "", self.path)
        content = self.server.files.get(name)
        if content is None:
            self.send_response(404)
            self.send_header("X-Error-Code", "EntryNotFound")
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        start = int((self.headers.get("Range") or "bytes=0-")[6:].split("-")[0])
        self.send_response(206 if start else 200)
        self.send_header("X-Repo-Commit", "1" * 40)
        self.send_header("ETag", f'"{hashlib.sha1(content).hexdigest()}"')
        self.send_header("Content-Length", str(len(content) - start))
        if start:
            self.send_header("Content-Range", f"bytes {start}-{len(content) - 1}/{len(content)}")
        self.end_headers()
        if self.command == "GET":
            if name in self.server.cut:
                self.server.cut.remove(name)
                content, self.close_connection = content[: len(content) // 2], True
            self.wfile.write(content[start:])

    do_HEAD = do_GET

    def _answer(self, value):
        content = json.dumps(value).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *arguments):
        pass


def forget_library():
    """huggingface_hub reads the environment when it is imported."""
    for name in [name for name in sys.modules if name.split(".")[0] == "huggingface_hub"]:
        del sys.modules[name]


@pytest.fixture
def hub(tmp_path, monkeypatch):
    """A server on 127.0.0.1 in the place of the Hugging Face Hub: one repository, the dict `files`."""
    pytest.importorskip("huggingface_hub")
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Hub) as server:
        server.url, server.files, server.requests = f"http://127.0.0.1:{server.server_port}", {}, []
        server.tokens, server.cut, server.forget_library = set(), set(), forget_library
        server.commit = f"{server.url}/somebody/small/commit/{'1' * 40}"
        for name, value in {
            "HF_ENDPOINT": server.url, "HF_HOME": f"{tmp_path}/hf", "HF_TOKEN": "hf_token",
            "no_proxy": "127.0.0.1", "XDG_CACHE_HOME": f"{tmp_path}/cache", "HF_HUB_DISABLE_TELEMETRY": "1",
        }.items():  # fmt: skip
            monkeypatch.setenv(name, value)
        forget_library()
        threading.Thread(target=functools.partial(server.serve_forever, 0.01), daemon=True).start()
        yield server
        server.shutdown()
    forget_library()


@pytest.fixture
def start_workers(tmp_path):
    """Starts two processes with equal arguments of Python, worker 0 and worker 1; none outlives the test."""
    started = []

    def start(*arguments):
        with socket.socket() as one, socket.socket() as two:
            for port in (one, two):
                port.bind(("127.0.0.1", 0))
            addresses = [f"127.0.0.1:{port.getsockname()[1]}" for port in (one, two)]
        common = {"TF_CPP_MIN_LOG_LEVEL": "3", "PYTHONPATH": str(Path(__file__).parents[1])}
        for index in range(2):
            place = {"cluster": {"worker": addresses}, "task": {"type": "worker", "index": index}}
            options = {"cwd": tmp_path, "text": True}
            options["env"] = {**os.environ, **common, "TF_CONFIG": json.dumps(place)}
            pipes = dict.fromkeys(("stdout", "stderr"), subprocess.PIPE)
            started.append(subprocess.Popen([sys.executable, *arguments], **options, **pipes))
        return started[-2:]

    yield start
    for worker in started:
        worker.kill()
        worker.communicate()


@pytest.fixture
def on_backend():
    """Runs a program on another backend, in a process of its own; returns what it prints."""

    def run(backend, program, *arguments, **options):
        if importlib.util.find_spec(backend) is None:
            pytest.skip(f"{backend} is not installed")
        environment = {**os.environ, "KERAS_BACKEND": backend, "JAX_PLATFORMS": "cpu"}
        command = [sys.executable, "-W", "ignore", "-c", program, *map(str, arguments)]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, **options)
        assert done.returncode == 0, done.stderr[-4000:]
        return done.stdout

    return run


@pytest.fixture
def printed_without_keras():
    """Runs an exported program where neither Keras nor keraszoo can be imported; returns what it prints."""

    def run(program, texts, *other_packages):
        hidden = "keras", "tensorflow", "keraszoo", *other_packages
        code = f"import runpy, sys; sys.modules.update(dict.fromkeys({hidden}))\n"
        code += "runpy.run_path(sys.argv[1], None, '__main__')"
        ran = subprocess.run(
            [sys.executable, "-W", "error", "-c", code, str(program)],
            input="\n".join(texts) + "\n",
            capture_output=True,
            encoding="utf-8",
            env={**os.environ, "PYTHONIOENCODING": "cp1252"},  # as for files and pipes in Windows
        )
        assert ran.stderr == ""
        return ran.stdout

    return run


@pytest.fixture
def full_disk():
    """No file may grow beyond 16 KiB, as if the disk were full."""
    resource = pytest.importorskip("resource")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 14, hard))
    yield
    resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


# Changes each folder in a forked child that is killed at its k-th event: before or after a call that changes
# the file system, or with a file half written. The last child lives. The events are the last lines of stdout.
KILLER = """
import os, signal, sys
from pathlib import Path
import numpy as np
from keraszoo.saving import atomic

root, every = Path(sys.argv[1]), int(sys.argv[2])
exec(sys.argv[3])  # before(folder) and change(folder)

def count_down(k):
    def event(*label):
        nonlocal k
        if k == 0:
            print(*label, flush=True)
            os.kill(os.getpid(), signal.SIGKILL)
        k -= 1

    def watched(name, function):
        def call(*arguments, **options):
            event("before", name)
            if name == "write_bytes":
                path, content = arguments
                write(path, content[: len(content) // 2])
                event("half", name)
            result = function(*arguments, **options)
            event("after", name)
            return result
        return call

    write = Path.write_bytes
    for module, name in [(os, "rename"), (os, "fsync"), (os, "mkdir"), (os, "unlink"), (os, "rmdir"),
                         (Path, "write_bytes"), (np, "savez"), (atomic, "exchange")]:
        setattr(module, name, watched(name, getattr(module, name)))

for k in range(0, 500, every):
    folder = root / str(k)
    before(folder)
    child = os.fork()
    if not child:
        count_down(k)
        change(folder)
        os._exit(0)
    if os.waitpid(child, 0)[1] == 0:
        break
"""


@pytest.fixture
def killed(tmp_path):
    """Runs code that defines `before(folder)` and `change(folder)`, kills the latter at every so many events.

    Returns the folders and the events, both in order; the last folder has no event.
    """
    if not hasattr(os, "fork"):
        pytest.skip("needs fork")

    def run(code, every=1):
        command = [sys.executable, "-c", KILLER, tmp_path, str(every), code]
        options = {"check": True, "timeout": 300, "cwd": Path(__file__).parents[1]}
        out = subprocess.run(command, stdout=subprocess.PIPE, text=True, **options).stdout
        return sorted(tmp_path.iterdir(), key=lambda item: int(item.name)), out.splitlines()

    return run


@pytest.fixture
def eagerly():
    """Runs functions of TensorFlow without tracing them, which takes longer than a few small steps."""
    import tensorflow as tf

    tf.config.run_functions_eagerly(True)
    yield
    tf.config.run_functions_eagerly(False)


@pytest.fixture
def no_collection(monkeypatch):
    """Keras collects garbage for each weight that it quantizes, which takes most of a test's time."""
    monkeypatch.setattr("gc.collect", lambda *_: 0)


WORDS = {"one": "eins", "two": "zwei", "three": "drei", "four": "vier", "five": "fünf", "six": "sechs"}


def make_pairs(count, seed):
    """Pairs of 4 to 7 words, the second the translation of the first in reverse order."""
    draw = random.Random(seed)
    sources = [draw.choices(list(WORDS), k=draw.randint(4, 7)) for _ in range(count)]
    return [(" ".join(words), " ".join(WORDS[word] for word in reversed(words))) for words in sources]


@pytest.fixture(scope="session")
def train_pairs():
    return make_pairs(1200, seed=0)


@pytest.fixture(scope="session")
def test_pairs():
    return make_pairs(40, seed=1)


@pytest.fixture(scope="session")
def both_subwords(train_pairs):
    """A vocabulary of each language, of different sizes."""
    from keraszoo.text.subwords import Subwords

    return tuple(
        Subwords.train([pair[side] for pair in train_pairs], size) for side, size in enumerate((40, 44))
    )


@pytest.fixture
def new_translator(both_subwords):
    """Makes untrained translators."""
    from keraszoo import Translator
    from keraszoo.models import RNNSearch
    from keraszoo.search import SearchOptions

    def make(**search):
        set_random_seed(7)
        source, target = both_subwords
        sizes = source.vocabulary_size, target.vocabulary_size
        model = RNNSearch(*sizes, embedding_dim=24, units=32)
        return Translator(
            model, source, target, SearchOptions(**{"beam_width": 3, "max_length": 20, **search})
        )

    return make


@pytest.fixture(scope="session")
def trained_directory(both_subwords, train_pairs, test_pairs, make_once):
    """Where a translator was saved that gets most of the sentences right."""
    from keraszoo import Translator
    from keraszoo.models import RNNSearch
    from keraszoo.search import SearchOptions

    def train(directory):
        set_random_seed(7)
        source, target = both_subwords
        model = RNNSearch(source.vocabulary_size, target.vocabulary_size, embedding_dim=32, units=48)
        search = SearchOptions(beam_width=3, max_length=20)
        translator = Translator(model, source, target, search, max_source_tokens=24)
        translator.fit(
            train_pairs,
            test_pairs,
            directory,
            epochs=9,
            batch_tokens=512,
            label_smoothing=0.0,
            optimizer={"schedule": "constant", "learning_rate": 0.01, "global_clipnorm": 1.0},
        )

    return make_once("translator", train)


@pytest.fixture(scope="session")
def trained(trained_directory):
    """The translator of that directory; tests leave it as it is."""
    from keraszoo import Translator

    return Translator.from_preset(trained_directory)


@pytest.fixture(scope="session")
def exported_translator(trained, make_once):
    """The SavedModel of the trained translator."""
    return make_once("exported_translator", trained.export)


NAMES = {"PER": ["Ada Lovelace", "Kurt Gödel", "Hedy Lamarr"], "LOC": ["Paris", "New York", "Buenos Aires"]}
TEMPLATES = ["PER flew from LOC to LOC .", "In LOC , PER met PER !", "Nobody knew .", "PER isn't in LOC ."]


def make_tagged(count, seed):
    """Sentences about people and places, as `TaggedSentence`."""
    from keraszoo.text.tagged_corpus import TaggedSentence

    draw = random.Random(seed)
    sentences = []
    for _ in range(count):
        tokens, tags = [], []
        for word in draw.choice(TEMPLATES).replace("isn't", "is n't").split():
            names = NAMES.get(word)
            words = draw.choice(names).split() if names else [word]
            tokens += words
            tags += [f"B-{word}"] + [f"I-{word}"] * (len(words) - 1) if names else ["O"]
        sentences.append(TaggedSentence(tuple(tokens), tuple(tags)))
    return sentences


@pytest.fixture(scope="session")
def tagged_sentences():
    return make_tagged(160, seed=0)


@pytest.fixture(scope="session")
def other_sentences():
    return make_tagged(30, seed=1)


@pytest.fixture(scope="session")
def new_tagger(tagged_sentences):
    """Makes small untrained taggers with everything in them: attention, characters, casing and a CRF."""
    from keraszoo import EntityTagger

    def make(**options):
        set_random_seed(5)
        sizes = {"units": 12, "vector_width": 10, "character_units": 6, "character_dim": 6, "dropout": 0.0}
        arguments = {"model": "attention", "configuration": "bidirectional", **sizes, **options}
        return EntityTagger.for_sentences(tagged_sentences, **arguments)

    return make


BERT_PIECES = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *"abcdefghijklmnopqrstuvwxyz.,!?'0123"]
BERT_PIECES += [f"##{letter}" for letter in "abcdefghijklmnopqrstuvwxyz"] + ["par", "##is", "ada", "..."]
GERMAN_AND_FRENCH = (
    "Angela Merkel besuchte München und Köln am 3. Mai. Émile Zola naquit à Paris et mourut là."
)


@pytest.fixture(scope="session")
def tiny_encoders(make_once):
    """Presets of KerasHub with random weights: `bert`, `roberta` and `xlmr`, of 24 positions."""
    hub = pytest.importorskip("keras_hub")
    from sentencepiece import SentencePieceTrainer

    def write(folder):
        set_random_seed(3)
        options = {"unk_id": 0, "bos_id": 1, "eos_id": 2, "minloglevel": 2, "vocab_size": 46}
        options["hard_vocab_limit"] = False
        proto = io.BytesIO()
        texts = iter([GERMAN_AND_FRENCH] * 20)
        SentencePieceTrainer.train(sentence_iterator=texts, model_writer=proto, **options)
        letters = ["<s>", "<pad>", "</s>", "<unk>", "<mask>", "Ġ", *map(chr, range(33, 127)), "Ġp", "Ġpa"]
        bytes_ = dict(vocabulary=dict(zip(letters, range(200), strict=False)), merges=["Ġ p", "Ġp a"])
        tokenizers = {
            "bert": hub.tokenizers.BertTokenizer(BERT_PIECES, lowercase=True),
            "roberta": hub.tokenizers.RobertaTokenizer(**bytes_),
            "xlmr": hub.tokenizers.XLMRobertaTokenizer(proto.getvalue()),
        }
        kinds = hub.models.BertBackbone, hub.models.RobertaBackbone, hub.models.XLMRobertaBackbone
        sizes = {"num_layers": 2, "num_heads": 2, "hidden_dim": 16, "intermediate_dim": 24}
        for kind, (name, tokenizer) in zip(kinds, tokenizers.items(), strict=True):
            place = folder / name
            kind(tokenizer.vocabulary_size(), **sizes, max_sequence_length=24).save_to_preset(str(place))
            tokenizer.save_to_preset(str(place))

    return make_once("tiny_encoders", write)


@pytest.fixture(scope="session")
def answerer_directory(make_once):
    """Where an untrained question answerer of a few words was saved."""
    from keraszoo import QuestionAnswerer
    from keraszoo.models import MemoryNetwork
    from keraszoo.text.vocabulary import Vocabulary

    def save(directory):
        set_random_seed(1)
        words = Vocabulary(["mary", "went", "home", "where", "is"])
        QuestionAnswerer(MemoryNetwork(len(words), width=4), words).save_to_preset(directory)

    return make_once("answerer", save)


@pytest.fixture(scope="session")
def tagger_directory(new_tagger, tagged_sentences, other_sentences, make_once):
    """Where a tagger was saved that gets nearly everything right; unknown words have vectors of n-grams."""
    from keraszoo.text.word_vectors import WordVectors

    def train(directory):
        fit = {"epochs": 6, "batch_tokens": 128, "optimizer": {"learning_rate": 0.02}}
        words = sorted({token for sentence in tagged_sentences for token in sentence.tokens})
        vectors = WordVectors(words, np.random.default_rng(4).normal(size=(len(words), 10)))
        new_tagger(scheme="BIOES", vectors=vectors, subword_buckets=499).fit(
            tagged_sentences, other_sentences, directory, **fit
        )

    return make_once("tagger", train)


@pytest.fixture(scope="session")
def trained_tagger(tagger_directory):
    """The tagger of that directory; tests leave it as it is."""
    from keraszoo import EntityTagger

    return EntityTagger.from_preset(tagger_directory)


@pytest.fixture(scope="session")
def exported_tagger(trained_tagger, make_once):
    """The SavedModel of the trained tagger."""
    return make_once("exported_tagger", trained_tagger.export)
