"""The page of examples/browser in Chromium: its translations and entities are those of Python."""

import functools
import http.server
import os
import shutil
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from keraszoo import EntityTagger, Translator
from keraszoo.text.tokens import split_sentences

pytestmark = pytest.mark.browser
ROOT = Path(__file__).parents[2]
MODELS = {"translator": "tatoeba_en_de_student", "tagger": "english_entities"}
ODD = [
    *("", "  ", "-", "👩‍🚀 flew to São Paulo.", "He said: “I don’t know!”", "İstanbul isn't Constantinople…"),
    *("http://a.org/x?y=1 and ada@example.org", "soft­hyphen and zero​width", "\tTabs\tand  blanks ", "ΣΟΦΟΣ"),
    *("I'd've said 'twas 3.5% in the U.S., Dr. No.", "数 123 ①②", "a" * 300, "word " * 700),
]
ASK = """
const [name, texts, done] = arguments;
import("/keraszoo.js").then(async (module) => {
    const model = await module[name].load(name.toLowerCase());
    const answers = [];
    for (const text of texts) answers.push(await (model.translate ? model.translate(text) : model.tag(text)));
    done(answers);
}).catch((error) => done(String(error)));
"""


@pytest.fixture(scope="module")
def address():
    """The address of the page, made by its script in build/browser."""
    if not shutil.which("npm"):
        pytest.skip("needs npm")
    places = [str(Path(sys.executable).parent), os.environ["PATH"]]
    environment = {**os.environ, "PATH": os.pathsep.join(places), "PYTHONPATH": str(ROOT)}
    subprocess.run(["bash", ROOT / "examples" / "browser" / "build.sh"], env=environment, check=True)
    folder = ROOT / "build" / "browser"
    handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=folder)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.fixture(scope="module")
def sentences():
    """Fifty sentences of the guides, and odd ones."""
    pages = (page.read_text("utf-8") for page in sorted((ROOT / "docs").glob("*.md")))
    found = [sentence.text.replace("\n", " ") for page in pages for sentence in split_sentences(page)]
    return [text for text in found if 20 < len(text) < 120][::10][:50] + ODD


def test_translations_equal_those_of_python(browser, address, sentences):
    browser.set_script_timeout(500)
    browser.get(address)
    answers = browser.execute_async_script(ASK, "Translator", sentences)
    with pytest.warns(UserWarning, match="cut|characters|address"):
        wanted = Translator.from_preset(MODELS["translator"]).translate(sentences, beam_width=1)
    assert answers == wanted


def test_entities_equal_those_of_python(browser, address, sentences):
    browser.get(address)
    texts = [*sentences, "Ada Lovelace met Kurt Gödel 👋 in Paris. He lived in New York!\n\nSo did IBM."]
    answers = browser.execute_async_script(ASK, "Tagger", texts)
    wanted = EntityTagger.from_preset(MODELS["tagger"]).tag(texts)
    assert sum(map(len, wanted)) > 10
    for text, ours, theirs in zip(texts, answers, wanted, strict=True):
        units = [len(text[: entity.start].encode("utf-16-le")) // 2 for entity in theirs]
        found = [(entity.text, entity.label, start) for entity, start in zip(theirs, units, strict=True)]
        assert [(e["text"], e["label"], e["start"]) for e in ours] == found, text
        probabilities = [entity.probability for entity in theirs]
        assert [e["probability"] for e in ours] == pytest.approx(probabilities, abs=1e-4)


def test_the_page_translates_and_tags_without_asking_anybody_else(browser, address):
    from selenium.webdriver.common.by import By
    from selenium.webdriver.support.ui import WebDriverWait

    browser.get_log("browser")
    browser.get(address)
    wait = WebDriverWait(browser, 200, 0.2)
    wait.until(lambda _: browser.execute_script("return document.body.dataset.ready"))
    for form in ("translate", "tag"):
        browser.find_element(By.CSS_SELECTOR, f"#{form} button").click()
        output = browser.find_element(By.CSS_SELECTOR, f"#{form} output")
        wait.until(lambda _, output=output: output.text)
    assert "Auto" in browser.find_element(By.CSS_SELECTOR, "#translate output").text
    marks = [mark.text for mark in browser.find_elements(By.CSS_SELECTOR, "#tag mark")]
    assert marks[0].startswith("Marie Curie") and "PER" in marks[0]
    loaded = browser.execute_script("return performance.getEntriesByType('resource').map(one => one.name)")
    assert loaded and all(name.startswith((address, "data:")) for name in loaded)
    assert browser.get_log("browser") == []
    (ROOT / "build" / "screenshots").mkdir(parents=True, exist_ok=True)
    browser.save_screenshot(str(ROOT / "build" / "screenshots" / "browser.png"))
