"""The server of the playground, without a browser: its answers, its limits and what it refuses."""

import json
import re
from pathlib import Path

import numpy as np
import pytest
from starlette.testclient import TestClient

from keraszoo import EntityTagger, QuestionAnswerer, Translator
from keraszoo.errors import KerasZooError
from keraszoo.playground.app import make_app
from keraszoo.playground.models import Models
from keraszoo.saving.model_directory import write_directory
from keraszoo.serving.examples import SENTENCES, TEXTS, example_of
from keraszoo.serving.worker import Worker
from keraszoo.text.tagged_corpus import TaggedSentence

HOME = "http://127.0.0.1:8000"
TEXT = '👩‍🚀 <img src=x onerror="alert(1)"> Ada flew\n to New York. '


@pytest.fixture(scope="module")
def client(directories):
    return TestClient(make_app(Models(directories), Worker()), base_url=HOME)


@pytest.fixture(scope="module")
def ask_for(client):
    """Sends a request; returns its last event, after checking that the others report progress."""

    def ask(name, **body):
        response = client.post(f"/api/{name}", json=body)
        *before, last = map(json.loads, response.text.splitlines())
        assert response.status_code == 200 or "error" in last
        assert all(list(event) == ["progress"] for event in before)
        return last

    return ask


def test_page_and_models(client):
    page = client.get("/")
    assert "<title>keraszoo playground</title>" in page.text
    assert page.headers["content-security-policy"].startswith("default-src 'self';")
    for name in ("main.js", "style.css"):
        assert client.get(f"/{name}").status_code == 200
    assert client.get("/../app.py").status_code == client.get("/other").status_code == 404
    models = client.get("/api/models").json()
    tasks = {"transformer": "translation", "tagger": "tagging", "answerer": "question answering"}
    assert [(model["name"], model["task"]) for model in models] == list(tasks.items())


def test_every_included_model_has_an_example_and_the_best_general_one_comes_first():
    about = Models().about
    translators = [model for model in about.values() if model["task"] == "translation"]
    names = [model["name"] for model in translators]
    assert names[0] == "tatoeba_en_fr_transformer"  # BLEU 52.82
    assert names.index("tatoeba_en_de_transformer") < names.index("tatoeba_en_de_luong")
    starts = {"en": "My brother", "de": "Mein Bruder", "fr": "Mon frère"}
    assert all(model["example"].startswith(starts[model["languages"][0]]) for model in translators)
    taggers = {name: model for name, model in about.items() if model["task"] == "tagging"}
    assert [*taggers][0] == "english_entities, general"
    for name, model in taggers.items():
        assert ("Marie Curie" if name.startswith("english") else "Aspirin") in model["example"], name


def test_a_model_without_an_example_comes_last():
    for labels in (None, 5, [], [5, None], ["Plant"]):
        config = {"task": "tagging", "vocabulary": {"labels": labels}}
        assert example_of(config, []) == ("", len(TEXTS))
    assert example_of({"task": "translation"}, ["hsb"]) == ("", len(SENTENCES))


@pytest.mark.slow
def test_the_first_click_answers_well():
    """No word of an example is unknown to its model, and the answer is the right one."""
    models = Models()
    for languages, wanted in (
        ("en_fr", "Mon frère a acheté une nouvelle voiture hier."),
        ("de_en", "My brother bought a new car yesterday."),
        ("fr_en", "My brother bought a new car yesterday."),
    ):
        name = f"tatoeba_{languages}_transformer"
        translator = models.get(name, "translation", print)
        assert translator.translate([models.about[name]["example"]]) == [wanted]
    for name, found in (
        ("english_entities, general", {("Marie Curie", "PER"), ("Warsaw", "LOC"), ("Brussels", "LOC")}),
        ("biomedical_entities, bc5cdr", {("Aspirin", "Chemical"), ("asthma", "Disease")}),
    ):
        entities = models.get(name, "tagging", print).tag(models.about[name]["example"])
        assert found <= {(entity.text, entity.label) for entity in entities}, name


def test_translate(ask_for, directories, eagerly):
    translator = Translator.from_preset(directories[0])
    search = {"beam_width": 2, "length_penalty": 0.5}
    result = ask_for("translate", model="transformer", text="vier eins", **search)["result"]
    (wanted,) = translator.translate_details(["vier eins"], num_hypotheses=2, **search)
    assert result["text"] == wanted.text and result["probability"] == pytest.approx(np.exp(wanted.log_prob))
    assert [h["text"] for h in result["hypotheses"]] == [h.text for h in wanted.hypotheses]
    assert result["source"] == ["vier", "eins", "</s>"] and result["unknown"] == []
    weights = np.array(result["attention"])
    assert weights.shape == (2, 2, len(result["target"]), 3)
    np.testing.assert_allclose(weights.sum(axis=-1), 1, atol=1e-3)


def test_step(ask_for, eagerly):
    free = ask_for("step", model="transformer", text="vier eins")["result"]
    position = min(3, len(free["tokens"]) - 1)
    other = free["alternatives"][position][3][0]
    prefix = [*free["tokens"][:position], other]
    forced = ask_for("step", model="transformer", text="vier eins", prefix=prefix)["result"]
    assert forced["tokens"][: position + 1] == prefix and forced["forced"] == position + 1
    assert forced["alternatives"][:position] == free["alternatives"][:position]
    for result in (free, forced):
        assert len(result["alternatives"]) == len(result["tokens"]) == len(result["attention"][0][0])
        for row in result["alternatives"]:
            chances = [p for _, p in row]
            assert len(row) == 10 and chances == sorted(chances, reverse=True) and sum(chances) <= 1
    chosen = [dict(row)[token] for row, token in zip(free["alternatives"], free["tokens"], strict=True)]
    assert np.prod(chosen) == pytest.approx(free["probability"], rel=1e-3)


def test_tag(ask_for, directories, eagerly):
    tagger = EntityTagger.from_preset(directories[1])
    result = ask_for("tag", model="tagger", text=TEXT)["result"]
    assert "".join(word["before"] + word["text"] for word in result["words"]) + result["after"] == TEXT
    wanted = tagger.tag(TEXT)
    assert len(result["entities"]) == len(wanted) > 0
    for ours, entity in zip(result["entities"], wanted, strict=True):
        words = result["words"][ours["first"] : ours["last"] + 1]
        assert "".join(word["before"] + word["text"] for word in words).endswith(entity.text)
        assert words[0]["text"] == entity.text[: len(words[0]["text"])] and ours["label"] == entity.label
    assert all(word["tags"] and sum(p for _, p in word["tags"]) <= 1.001 for word in result["words"])
    assert len(result["attention"]) == len(result["words"])
    assert json.loads(result["json"])["entities"] == [entity.as_dict() for entity in wanted]
    words = [line.split("\t")[0] for line in result["columns"].splitlines() if line]
    assert words == [word["text"] for word in result["words"]]


def test_ask(ask_for, directories, eagerly):
    question = "Where is Mary?"
    result = ask_for("ask", model="answerer", story="Mary went home.\n\n", question=question)["result"]
    wanted = QuestionAnswerer.from_preset(directories[2]).answer(["Mary went home."], question)
    assert (result["answer"], result["sentences"]) == (wanted.text, ["Mary went home."])
    np.testing.assert_allclose(result["hops"], wanted.attention_weights, atol=1e-4)
    error = ask_for("ask", model="answerer", story="Mary went home.", question="Where is Bob?")["error"]
    assert error.startswith("'Where is Bob?'") and "\n" not in error


def test_kernel(ask_for):
    result = ask_for("kernel", bandwidth=0.5, query=4.0)["result"]
    x, y, grid = (np.array(result[name]) for name in ("x", "y", "grid"))
    kernel = np.exp(-((np.append(grid, 4.0)[:, None] - x) ** 2) / (2 * 0.5**2))
    weights = kernel / kernel.sum(axis=1, keepdims=True)
    np.testing.assert_allclose([*result["curve"], result["estimate"]], weights @ y, atol=1e-3)
    np.testing.assert_allclose(result["weights"], weights[-1], atol=1e-4)


@pytest.mark.parametrize("shift", [3, -40])
def test_positions(ask_for, shift):
    result = ask_for("positions", shift=shift)["result"]
    where = np.arange(40)[:, None] / 10_000 ** (np.arange(0, 32, 2) / 32)
    np.testing.assert_allclose(np.array(result["encoding"])[:, ::2], np.sin(where), atol=1e-4)
    np.testing.assert_allclose(np.array(result["encoding"])[:, 1::2], np.cos(where), atol=1e-4)
    shifted = where + shift / 10_000 ** (np.arange(0, 32, 2) / 32)
    moved = np.array(result["encoding"]) @ np.array(result["matrix"]).T
    np.testing.assert_allclose(moved[:, ::2], np.sin(shifted), atol=1e-4)
    assert result["error"] < 1e-4


def test_softmax(ask_for):
    result = ask_for("softmax", scores=[1.0, 2.0, 3.0], mask=[True, False, True])["result"]["weights"]
    np.testing.assert_allclose(result, [1 / (1 + np.e**2), 0, 1 / (1 + np.e**-2)], atol=1e-5)
    assert ask_for("softmax", scores=[1.0], mask=[False])["result"]["weights"] == [0]
    assert "less than or equal to 1000000" in ask_for("softmax", scores=[1e39], mask=[True])["error"]
    assert ask_for("softmax", scores=[1.0], mask=[])["error"].startswith("mask: List should have at least 1")


@pytest.mark.parametrize(
    ("name", "body", "said"),
    [
        ("translate", {"model": "tagger", "text": "x"}, "there is no model 'tagger' for translation here"),
        ("translate", {"model": "m", "text": "x" * 100_000}, "text: .* at most 500 .*, got 100,000 char"),
        ("translate", {"model": "m", "text": " \n"}, "text: .*pattern"),
        ("translate", {"model": "m", "text": "x", "beam_width": 99}, "beam_width: .*got 99"),
        ("translate", {"model": "m", "text": "x", "other": 1}, "other: unknown key, expected one of"),
        ("step", {"model": "transformer", "text": "x", "prefix": ["\n"]}, r"'\\n' is not a piece"),
        ("step", {"model": "transformer", "text": "x", "prefix": ["e"] * 9}, "prefix 1 has 9 subwords"),
        ("tag", {"model": "tagger", "text": " "}, "text: expected at least one word"),
        ("kernel", {"bandwidth": 0.0, "query": 1.0}, "bandwidth: "),
        ("nothing", {}, "there is no 'nothing', expected one of translate"),
    ],
)
def test_bad_requests_get_one_line(ask_for, name, body, said, eagerly):
    error = ask_for(name, **body)["error"]
    assert re.search(said, error), error
    assert "\n" not in error and len(error) < 300


def post(client, content, **headers):
    headers = {"content-type": "application/json", **headers}
    return client.post("/api/softmax", content=content, headers=headers)


def test_other_hosts_and_pages_are_refused(client):
    good = json.dumps({"scores": [1.0], "mask": [True]})
    assert post(client, good).status_code == post(client, good, origin=HOME).status_code == 200
    assert post(client, good, origin="http://example.org").status_code == 403
    assert post(client, good, **{"content-type": "text/plain"}).status_code == 400
    for host in ("example.org", "127.0.0.1.example.org"):  # a name that was resolved to this machine
        refused = client.get("/api/models", headers={"host": host})
        assert refused.status_code == 400 and "tatoeba" not in refused.text
    assert client.get("/", headers={"host": "localhost:8000"}).status_code == 200


def test_a_tagger_of_several_corpora_has_a_name_for_each(tmp_path):
    sentence = TaggedSentence(("Ada", "in", "Rome"), ("B-news.PER", "O", "B-posts.LOC"))
    tagger = EntityTagger.for_sentences([sentence], configuration="tiny")
    tagger.corpora = ("posts", "news")
    tagger.save_to_preset(tmp_path / "tagger")
    models = Models([str(tmp_path / "tagger")])
    assert list(models.about) == ["tagger, posts", "tagger, news"]
    assert models.get("tagger, posts", "tagging", print).vocabulary.labels == ("LOC",)
    assert models.get("tagger, news", "tagging", print).vocabulary.labels == ("PER",)


def test_models_that_cannot_be_used(tmp_path, monkeypatch):
    write_directory(tmp_path / "a", {"config.json": {"task": ["translation"]}})
    for name, said in (
        ("english_words", "english_words: expected a model for translation, tagging"),
        (str(tmp_path / "a"), "expected a model for"),
        (str(tmp_path / "missing"), "no such directory"),
    ):
        with pytest.raises(KerasZooError, match=said):
            Models([name])
    monkeypatch.setattr("keraszoo.shipping.shipped.places", dict)
    with pytest.raises(KerasZooError, match="no models on this machine"):
        Models()


def test_a_file_here_does_not_hide_an_included_model(directories, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    name = Path(directories[0]).name
    (tmp_path / name).mkdir()
    monkeypatch.setattr("keraszoo.shipping.shipped.places", lambda: {name: Path(directories[0])})
    assert list(Models().about) == [name]


def test_the_languages_of_strangers(tmp_path):
    odd = b'{"task": "translation", "about": {"languages": ["\\ud800"]}}'
    write_directory(tmp_path / "b", {"config.json": odd})
    client = TestClient(make_app(Models([str(tmp_path / "b")]), None), base_url=HOME)
    assert client.get("/api/models").json()[0]["name"] == "b"


def test_the_command_prints_and_opens_the_address(run, monkeypatch):
    served, opened = [], []
    monkeypatch.setattr("keraszoo.serving.worker.Worker", lambda prepare: None)
    monkeypatch.setattr("keraszoo.playground.app.make_app", lambda models, worker: list(models.about))
    monkeypatch.setattr("keraszoo.serving.listen.run", lambda app, listener, patience: served.append(app))
    monkeypatch.setattr("webbrowser.open", opened.append)
    code, printed, message = run("playground", "tatoeba_en_de_luong", "--port", "0", "--open")
    assert (code, message) == (0, "") and re.fullmatch(r"http://127\.0\.0\.1:\d+/\n", printed)
    assert served == [["tatoeba_en_de_luong"]] and opened == [printed.strip()]
