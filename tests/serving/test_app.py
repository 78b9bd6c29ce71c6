"""The JSON interface of `keraszoo serve`: answers, errors and limits, with models that only record calls."""

import re
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from starlette.testclient import TestClient

from keraszoo.serving import http
from keraszoo.serving.app import make_app
from keraszoo.serving.served import Pair, Served
from keraszoo.serving.worker import Worker
from keraszoo.tagging.results import Entity

HOME = "http://127.0.0.1:5000"


class Upper:
    """A translator into capitals, and hypotheses with 2, 3 ... marks; a word is a subword."""

    max_source_tokens = 6
    search = SimpleNamespace(beam_width=3)
    source_subwords = SimpleNamespace(encode=lambda texts: [text.split() for text in texts])

    def __init__(self):
        self.calls, self.started, self.go_on = [], threading.Event(), threading.Event()
        self.go_on.set()

    def n_best(self, sentences, beam_width, num_hypotheses, target_language):
        self.started.set()
        self.go_on.wait(10)
        self.calls.append(sentences)
        if "BUG" in sentences:
            raise TypeError("a bug")
        ending, marks = target_language or "", ["!" * k for k in range(num_hypotheses)]
        return [[SimpleNamespace(text=one.upper() + mark + ending) for mark in marks] for one in sentences]

    def translate_document(self, text, markup, language, beam_width, target_language):
        assert (markup, language) == ("html", "en")
        return re.sub("[^<>]+(?=<|$)", lambda words: words[0].upper(), text)


class Ada:
    """A tagger of one name."""

    vocabulary = SimpleNamespace(labels=("PER",))

    def tag(self, texts):
        places = [text.find("Ada") for text in texts]
        return [[Entity("Ada", "PER", at, at + 3, 0.5, None)] if at >= 0 else [] for at in places]


@pytest.fixture
def upper():
    return Upper()


@pytest.fixture
def worker():
    return Worker(waiting=40)


@pytest.fixture
def client(upper, worker):
    pairs = {("en", "de"): Pair("upper", upper, source="en"), ("en", "xx"): Pair("upper", upper, "?")}
    return TestClient(make_app(Served(pairs, {"ada": Ada()}), worker), base_url=HOME)


def until(condition):
    end = time.monotonic() + 10
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.005)


def ask(client, path="/translate", **body):
    response = client.post(path, json={"source": "en", "target": "de", **body} if "q" in body else body)
    return response.status_code, response.json()


def test_a_text_a_list_tags_and_a_form(client):
    answer = ask(client, q=["a <b>big</b> dog", "yes"], format="html", alternatives=1)
    assert answer == (200, {"translatedText": ["A <b>BIG</b> DOG", "YES"], "alternatives": [[], []]})
    assert ask(client, q="hi there") == (200, {"translatedText": "HI THERE"})
    assert ask(client, q=["a", "", "b c"]) == (200, {"translatedText": ["A", "", "B C"]})
    form = client.post("/translate", data={"q": "hü & hott", "source": "en", "target": "xx", "api_key": ""})
    assert form.json() == {"translatedText": "HÜ & HOTT?"}


def test_sentences_are_translated_one_by_one_and_everything_between_them_stays(client, upper):
    text = "\tHello!  How are you?\r\n\n---\n * I am fine.\n"
    status, answer = ask(client, q=text)
    assert (status, answer["translatedText"]) == (200, text.upper())
    assert upper.calls == [["Hello!", "How are you?", "* I am fine."]]
    assert ask(client, q=" \n?! ")[1] == {"translatedText": " \n?! "} and len(upper.calls) == 1


def test_alternatives_are_those_of_the_beam(client):
    two = {"translatedText": "AH. OH?", "alternatives": ["AH.! OH?!"]}
    assert ask(client, q="Ah. Oh?", alternatives=1) == (200, two)
    assert ask(client, q=["a"], alternatives=9)[1]["alternatives"] == [["A!", "A!!"]]
    form = {"q": "a", "source": "en", "target": "de", "alternatives": "2"}
    assert client.post("/translate", data=form).json()["alternatives"] == ["A!", "A!!"]


def test_auto_is_the_only_source_language(client):
    undetected = {"confidence": 0.0, "language": "en"}
    assert ask(client, q="a", source="auto")[1] == {"translatedText": "A", "detectedLanguage": undetected}
    assert ask(client, q=["a", "b"], source="auto")[1]["detectedLanguage"] == [undetected] * 2
    assert client.post("/detect", data={"q": "a"}).json() == [undetected]
    two = Served({("en", "de"): None, ("de", "en"): None}, {})
    other = TestClient(make_app(two, None), base_url=HOME)
    error = "source: 'auto' is not supported, expected one of de, en"
    assert ask(other, q="a", source="auto") == (400, {"error": error})
    assert other.post("/detect", data={"q": "a"}).json() == {"error": error}


def test_languages_and_health(client):
    assert client.get("/languages").json() == [
        {"code": "de", "name": "German", "targets": []},
        {"code": "en", "name": "English", "targets": ["de", "xx"]},
        {"code": "xx", "name": "xx", "targets": []},
    ]
    health = client.get("/health").json()
    assert health["status"] == "ok" and health["waiting"] == 0
    assert health["models"][0] == {"name": "upper", "task": "translation", "source": "en", "target": "de"}
    assert health["models"][-1] == {"name": "ada", "task": "tagging", "labels": ["PER"]}


def test_tag(client):
    ada = {"text": "Ada", "label": "PER", "start": 3, "end": 6, "probability": 0.5}
    assert ask(client, "/tag", text="👋 Ada") == (200, {"entities": [{**ada, "start": 2, "end": 5}]})
    assert ask(client, "/tag", text=["is Ada", ""], model="ada") == (200, {"entities": [[ada], []]})
    assert ask(client, "/tag", text=[]) == (200, {"entities": []})
    error = "model: there is no tagger 'bob', expected one of ada"
    assert ask(client, "/tag", text="", model="bob") == (400, {"error": error})


@pytest.mark.parametrize(
    ("body", "error"),
    [
        ({"q": ""}, "q: expected a text, got none"),
        ({"q": []}, "q: expected a text, got none"),
        ({"q": 5}, "q: expected a text or a list of texts, got 5"),
        ({"q": ["a", None]}, "q: expected a text or a list of texts, got ['a', None]"),
        ({"q": ["x" * 30_000] * 2}, "q: expected at most 50,000 characters, got 60,000"),
        ({"q": "1 2 3 4 5 6 7"}, "q: a sentence has 7 subwords, expected at most 6: '1 2 3 4 5 6 7'"),
        ({"q": "1 2 3 4 5 6", "target": "xx"}, "q: a sentence has 6 subwords, expected at most 5: '1 2 3 4"),
        ({"q": "a", "source": "fr"}, "source: 'fr' is not supported, expected one of en"),
        ({"q": "a", "target": "fr"}, "target: 'fr' is not supported for source 'en', expected one of de, xx"),
        ({"q": "a", "target": None}, "target: expected text, got None"),
        ({"q": "a", "format": "pdf"}, "format: expected 'text' or 'html', got 'pdf'"),
        ({"q": "a", "alternatives": -1}, "alternatives: expected greater than or equal to 0, got -1"),
        ({"q": "a", "alternative": 1}, "alternative: unknown key, did you mean alternatives?"),
        ({"target": "de", "source": "en"}, "q: missing, and there is no default"),
    ],
)
def test_bad_requests_get_one_line(client, upper, body, error):
    status, answer = ask(client, **body)
    assert status == 400 and answer["error"].startswith(error) and len(answer["error"]) < 300
    assert not upper.calls


def test_what_is_no_request(client):
    def post(content, kind="application/json", **headers):
        response = client.post("/translate", content=content, headers={"content-type": kind, **headers})
        return response.status_code, response.json()["error"]

    assert post("{")[1].startswith("Invalid JSON: ")
    assert post("[1]")[1].startswith("expected a section with some of q, source, target")
    assert post('{"q": "\\ud800"}')[0] == 400
    form = "application/x-www-form-urlencoded"
    assert post("q=%ff", form)[1].startswith("cannot read the form: 'utf-8' codec can't decode")
    assert post("q=1&" * 200, form) == (400, "cannot read the form: Max number of fields exceeded")
    twice = post("q=a&q=b&source=en&target=de", form)
    assert twice == (400, "'q': expected once in a form, got it more often; JSON takes a list of texts")
    wrong = "q=a&source=en&target=de&alternatives=x"
    assert post(wrong, form)[1].startswith("alternatives: expected a valid")
    assert post("a", "text/plain")[1].startswith("content-type: expected application/json or application/x-")
    assert post(" " * 1_000_001) == (400, "expected a request of at most 1,000,000 bytes, got more")
    assert post("{}", origin="http://example.org") == (403, "requests from other pages are refused")
    assert client.get("/").json() == {"error": "Not Found"}
    assert client.get("/translate").json() == {"error": "Method Not Allowed"}
    assert client.get("/health", headers={"host": "example.org"}).status_code == 400


def test_a_request_without_a_host_comes_from_no_page():
    assert not http.is_from_elsewhere(SimpleNamespace(headers={}))


def test_pages_of_an_allowed_origin_may_use_it(upper):
    served = Served({("en", "de"): Pair("upper", upper)}, {})
    app = make_app(served, Worker(), hosts=["*"], origins=["https://example.org"])
    client = TestClient(app, base_url="http://server.example.org")
    asked = {"access-control-request-method": "POST", "access-control-request-headers": "content-type"}
    body = {"q": "a", "source": "en", "target": "de"}
    for origin, status in (("https://example.org", 200), ("https://example.com", 403)):
        response = client.post("/translate", json=body, headers={"origin": origin})
        assert response.status_code == status
        assert (response.headers.get("access-control-allow-origin") == origin) == (status == 200)
        before = client.options("/translate", headers={"origin": origin, **asked})
        assert ("access-control-allow-origin" in before.headers) == (status == 200)


def test_small_requests_share_a_call_between_the_parts_of_a_large_one(client, upper, worker):
    worker.together = 8
    upper.go_on.clear()
    with ThreadPoolExecutor(3) as pool:
        large = pool.submit(ask, client, q=[f"large {i}" for i in range(20)])
        upper.started.wait(10)
        small = [pool.submit(ask, client, q=f"small {i}") for i in range(2)]
        until(lambda: worker.waiting == 2)
        upper.go_on.set()
        answers = [one.result()[1] for one in (*small, large)]
    assert answers[:2] == [{"translatedText": "SMALL 0"}, {"translatedText": "SMALL 1"}]
    assert answers[2] == {"translatedText": [f"LARGE {i}" for i in range(20)]}
    assert len(upper.calls[0]) == 8 and {*upper.calls[1]} == {"small 0", "small 1"}
    assert max(map(len, upper.calls)) <= 8


def test_a_full_queue_a_time_limit_and_a_bug(upper, capsys):
    worker = Worker(waiting=1, seconds=2)
    client = TestClient(make_app(Served({("en", "de"): Pair("u", upper)}, {}), worker), base_url=HOME)
    upper.go_on.clear()
    with ThreadPoolExecutor(2) as pool:
        asked = [pool.submit(ask, client, q="a")]
        upper.started.wait(10)
        asked.append(pool.submit(ask, client, q="b"))
        until(lambda: worker.waiting)
        full = client.post("/translate", json={"q": "c", "source": "en", "target": "de"})
        assert full.status_code == 503 and full.headers["retry-after"] == "1"
        assert full.json() == {"error": "1 requests are waiting already; try again later"}
        late = (503, {"error": "no answer within 2 seconds"})
        assert [one.result() for one in asked] == [late, late]
    upper.go_on.set()
    status, answer = ask(client, q="BUG")
    assert (status, answer["error"]) == (500, "internal error: TypeError; the terminal shows more")
    assert "a bug" in capsys.readouterr().err
    assert ask(client, q="d") == (200, {"translatedText": "D"})


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20) | st.sampled_from(["en", "de", "auto"]),
    lambda parts: st.lists(parts, max_size=4) | st.dictionaries(st.text(max_size=5), parts, max_size=3),
    max_leaves=8,
)
NAMES = ["q", "source", "target", "format", "alternatives", "api_key", "text", "model"]


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(path=st.sampled_from(["translate", "tag", "detect"]), data=st.data())
def test_any_request_is_answered_or_refused_in_one_line(client, path, data):
    body = data.draw(st.dictionaries(st.sampled_from(NAMES), VALUES) | VALUES)
    if isinstance(body, dict) and data.draw(st.booleans()):
        body = {"source": "en", "target": "de", "q": data.draw(st.text())} if path == "translate" else body
    response = client.post(f"/{path}", json=body)
    assert response.status_code in (200, 400)
    if response.status_code == 400:
        assert "\n" not in response.json()["error"] and len(response.json()["error"]) < 1000
    elif path == "translate" and isinstance(body.get("q"), str):
        assert response.json()["translatedText"].split() == body["q"].upper().split()
    form = client.post(f"/{path}", content=data.draw(st.binary()), headers={"content-type": http.FORM})
    assert form.status_code in (200, 400)
