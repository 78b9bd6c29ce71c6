"""The server with small trained models: a client of LibreTranslate, and requests under way when it ends."""

import json
import re
import shutil
import signal
import socket
import threading
import time
import urllib.error
import urllib.request
from types import SimpleNamespace

import pytest
import uvicorn

from keraszoo.errors import KerasZooError
from keraszoo.serving.app import make_app
from keraszoo.serving.listen import bound
from keraszoo.serving.loading import load_models
from keraszoo.serving.worker import Worker
from keraszoo.shipping.shipped import list_models


@pytest.fixture(scope="module")
def served(trained_directory, tagger_directory):
    said = []
    served = load_models([f"{trained_directory}=en-de", str(tagger_directory)], report=said.append)
    names = [line.partition(", ready")[0] for line in said]
    assert names == ["translator translates en to de", "tagger tags LOC, PER"]
    assert set(served.pairs) == {("en", "de")} and set(served.taggers) == {"tagger"}
    return served


@pytest.fixture(scope="module")
def address(served):
    """The address of a running server."""
    with bound() as (listener, address):
        listener.listen()
        config = uvicorn.Config(make_app(served, Worker()), log_level="warning", lifespan="off")
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        yield address
        server.should_exit = True
        thread.join(20)


def post(address, path, **body):
    kind = {"content-type": "application/json"}
    request = urllib.request.Request(f"{address}{path}", json.dumps(body).encode(), kind)
    with urllib.request.urlopen(request) as response:
        return json.load(response)


def test_a_client_of_libretranslate_works(address, served):
    client = pytest.importorskip("libretranslatepy").LibreTranslateAPI(address, api_key="none")
    sentences = ["one two three four", "five six one two"]
    wanted = served.pairs["en", "de"].translator.translate(sentences)
    assert client.translate("one two three four", "en", "de") == wanted[0]
    text = "one two three four\n\n five six one two\n"
    assert client.translate(text, "en", "de") == f"{wanted[0]}\n\n {wanted[1]}\n"
    assert client.translate(sentences[0], "auto", "de") == wanted[0]
    assert client.languages()[1] == {"code": "en", "name": "English", "targets": ["de"]}
    assert client.detect("one") == [{"confidence": 0.0, "language": "en"}]
    with pytest.raises(urllib.error.HTTPError) as failed:
        client.translate("one", "en", "fr")
    error = "target: 'fr' is not supported for source 'en', expected one of de"
    assert failed.value.code == 400 and json.load(failed.value) == {"error": error}


def test_the_first_translation_is_that_of_the_translator_with_any_number_of_alternatives(served, test_pairs):
    pair = served.pairs["en", "de"]
    sources = [source for source, _ in test_pairs]
    found = pair.translate(sources)
    assert [some[0] for some in found] == pair.translator.translate(sources)
    assert {len(some) for some in found} == {3}


def test_html_is_translated_as_a_document_with_tags(address, served):
    pair, text = served.pairs["en", "de"], "<p>one <b>two</b> three</p>"
    (translated,) = post(address, "translate", q=text, source="en", target="de", format="html").values()
    assert translated == pair.translator.translate_document(text, "html", beam_width=pair.beam_width)
    assert translated.startswith("<p>") and re.search("<b>[^<]+</b>", translated)


class Quick:
    """Every model, without weights."""

    target_languages, search = [], SimpleNamespace(beam_width=1)
    vocabulary = SimpleNamespace(labels=())

    def __init__(self, directory, option):
        self.directory, self.option = directory, option

    def n_best(self, sentences, **options):
        return [[] for _ in sentences]

    def tag(self, texts):
        return [[] for _ in texts]


@pytest.fixture
def quick(monkeypatch):
    monkeypatch.setattr("keraszoo.serving.loading.load", lambda kind: SimpleNamespace(from_preset=Quick))


@pytest.mark.parametrize(
    ("endings", "said"),
    [
        ([""], "translator: expected the languages, such as translator=en-de, got none in its directory"),
        (["=german"], "translator: expected the languages, such as translator=en-de, got german"),
        (["=en-de", "=en-de"], "en-de: expected one translator, got translator and translator"),
    ],
)
def test_translators_of_unknown_languages_and_of_the_same(trained_directory, quick, endings, said):
    with pytest.raises(KerasZooError, match=said):
        load_models([f"{trained_directory}{ending}" for ending in endings], report=list)


def test_languages_with_regions_and_paths_with_equal_signs(trained_directory, tmp_path, quick):
    place = tmp_path / "rate=3"
    shutil.copytree(trained_directory, place)
    served = load_models([f"{place}=zh-Hans-pt-BR"], beam_width=1, report=list)
    assert set(served.pairs) == {("zh-Hans", "pt-BR")}
    assert served.pairs["zh-Hans", "pt-BR"].beam_width == 1
    with pytest.raises(KerasZooError, match="got none in its directory"):
        load_models([str(place)], report=list)


def test_the_best_translator_of_each_pair_is_served_by_default(quick):
    served = load_models(engine="ctranslate2", report=list)
    best = {}
    for model in sorted(list_models(), key=lambda model: (model["score"] or {"value": 0})["value"]):
        if model["task"] == "translation":
            best[tuple(model["languages"])] = model["name"]
    assert {pair: served.pairs[pair].name for pair in served.pairs} == best and len(best) == 4
    assert list(served.taggers) == ["english_entities", "biomedical_entities"]
    assert {pair.translator.option for pair in served.pairs.values()} == {"ctranslate2"}
    assert load_models(["english_entities=wnut17"], report=list).tagger().option == "wnut17"


def test_a_model_of_several_target_languages_has_a_pair_for_each(monkeypatch, quick, trained_directory):
    monkeypatch.setattr(Quick, "target_languages", ["deu", "nld"])
    pairs = load_models([f"{trained_directory}=en-de"], report=list).pairs
    assert {pair: pairs[pair].language for pair in pairs} == {("en", "deu"): "deu", ("en", "nld"): "nld"}


SLOW = """
import time
from types import SimpleNamespace
from keraszoo.serving.app import make_app
from keraszoo.serving.listen import bound, run
from keraszoo.serving.served import Pair, Served
from keraszoo.serving.worker import Worker

def n_best(sentences, **options):
    print("translating", flush=True)
    time.sleep(1)
    return [[SimpleNamespace(text=sentence.upper())] for sentence in sentences]

search, subwords = SimpleNamespace(beam_width=1), SimpleNamespace(encode=list)
translator = SimpleNamespace(n_best=n_best, search=search, source_subwords=subwords, max_source_tokens=99)
with bound() as (listener, address):
    listener.listen()
    print(address, flush=True)
    run(make_app(Served({("en", "de"): Pair("slow", translator)}, {}), Worker()), listener, patience=60)
"""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_lets_the_server_answer_what_is_under_way(program, number):
    with program(code=SLOW, text=True) as server:
        address = server.stdout.readline().strip()
        answers = []

        def ask():
            with urllib.request.urlopen(f"{address}translate", b"q=a&source=en&target=de") as response:
                answers.append(json.load(response))

        asking = threading.Thread(target=ask)
        asking.start()
        assert server.stdout.readline() == "translating\n"
        server.send_signal(number)
        asking.join(20)
        assert server.wait(20) == -number
    assert answers == [{"translatedText": "A"}]
    with pytest.raises(OSError):
        urllib.request.urlopen(f"{address}health")


def test_a_request_whose_client_has_gone_is_dropped(program):
    body = b"q=a&source=en&target=de"
    head = (
        b"POST /translate HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/x-www-form-urlencoded\r\n"
    )
    request = b"%scontent-length: %d\r\n\r\n%s" % (head, len(body), body)
    with program(code=SLOW, text=True) as server:
        address = server.stdout.readline().strip()
        place = "127.0.0.1", int(address.rsplit(":", 1)[1].strip("/"))
        with socket.create_connection(place) as first:
            first.sendall(request)
            assert server.stdout.readline() == "translating\n"
            with socket.create_connection(place) as second:
                second.sendall(request)
                until(lambda: waiting(address) == 1)
            until(lambda: waiting(address) == 0)
            assert first.recv(99).startswith(b"HTTP/1.1 200")
        server.kill()
        assert "translating" not in server.stdout.read()


def waiting(address):
    with urllib.request.urlopen(f"{address}health") as response:
        return json.load(response)["waiting"]


def until(condition):
    end = time.monotonic() + 10
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)
