"""The page of the playground in Chromium, with included models. Screenshots go to build/screenshots."""

import base64
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytestmark = pytest.mark.browser
pytest.importorskip("selenium")

from selenium.webdriver.common.action_chains import ActionChains  # noqa: E402
from selenium.webdriver.common.by import By  # noqa: E402
from selenium.webdriver.common.keys import Keys  # noqa: E402
from selenium.webdriver.support.ui import Select, WebDriverWait  # noqa: E402

ROOT = Path(__file__).parents[2]
SHOTS = ROOT / "build" / "screenshots"
TRANSFORMER, RNNSEARCH, LUONG = (f"tatoeba_en_de_{name}" for name in ("transformer", "rnnsearch", "luong"))
SHIPPED = [TRANSFORMER, RNNSEARCH, LUONG, "english_entities", "babi_memory_network"]
SECONDS = 280  # for an answer, on a busy machine
HTML = '<img src="/x" onerror="document.title=\'run\'"><script>document.title="run"</script> dog'
WINDOWS = {"wide": {}, "narrow": {"width": 400}, "dark": {"dark": True}}


@pytest.fixture(scope="module")
def address(tagger_directory):
    """The address of a running playground."""
    started = time.monotonic()
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": "1"}
    command = [sys.executable, "-m", "keraszoo", "playground", *SHIPPED, str(tagger_directory)]
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as server:
        yield server.stdout.readline().strip()
        server.send_signal(signal.SIGINT)
        assert server.wait(60) == 130
    print(f"the server ran {time.monotonic() - started:.0f} s")


class Page:
    """A tab of the playground that is open in the browser."""

    def __init__(self, browser, address):
        self.browser = browser
        self.address = address

    def open(self, tab, width=1280, dark=False):
        """Loads the page afresh."""
        command = self.browser.execute_cdp_cmd
        metrics = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
        command("Emulation.setDeviceMetricsOverride", metrics)
        scheme = [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]
        command("Emulation.setEmulatedMedia", {"features": scheme})
        self.browser.get("about:blank")
        self.browser.get(f"{self.address}#{tab}")
        self.tab = tab
        self.until(lambda: self.browser.execute_script("return document.body.dataset.ready"))
        return self

    def until(self, condition, seconds=SECONDS):
        return WebDriverWait(self.browser, seconds, 0.2).until(lambda _: condition())

    def all(self, selector):
        return self.browser.find_elements(By.CSS_SELECTOR, f"#{self.tab} {selector}")

    def one(self, selector):
        self.until(lambda: self.all(selector), 20)
        return self.all(selector)[0]

    def fill(self, name, text):
        field = self.one(f"[name={name}]")
        self.browser.execute_script("arguments[0].value = arguments[1]", field, text)

    def choose(self, name, value):
        Select(self.one(f"[name={name}]")).select_by_value(value)

    def submit(self):
        """Presses the button of the form; returns the error, or "" once there is a result."""
        script = "document.querySelector(arguments[0]).replaceChildren()"
        self.browser.execute_script(script, f"#{self.tab} .results")
        self.one("form button").click()
        return self.answer()

    def answer(self):
        self.until(lambda: self.all(".status.error") or self.all(".results article"))
        return "".join(error.text for error in self.all(".status.error"))

    def shoot(self, name):
        """Takes a picture of the page; checks that nothing is wider than the window."""
        script = "return [document.documentElement.scrollWidth, innerWidth]"
        wide, window = self.browser.execute_script(script)
        assert wide <= window, f"{name}: {wide} pixels wide in a window of {window}"
        options = {"captureBeyondViewport": True, "format": "png"}
        picture = self.browser.execute_cdp_cmd("Page.captureScreenshot", options)["data"]
        SHOTS.mkdir(parents=True, exist_ok=True)
        (SHOTS / f"{name}.png").write_bytes(base64.b64decode(picture))


@pytest.fixture
def page(browser, address):
    """A page; afterwards nothing may have been loaded from elsewhere or refused by the policy."""
    browser.get_log("browser")
    page = Page(browser, address)
    yield page
    loaded = browser.execute_script("return performance.getEntries().map(entry => entry.name)")
    assert all(name.startswith(address) for name in loaded if "://" in name)
    messages = [entry["message"] for entry in browser.get_log("browser")]
    assert not [message for message in messages if "400" not in message], messages


def test_type_and_see_the_translation(page):
    page.open("translate")
    started = time.monotonic()
    field = page.one("[name=text]")
    field.clear()
    field.send_keys("Where did you park the car?")
    page.choose("model", TRANSFORMER)
    field.send_keys(Keys.CONTROL, Keys.ENTER)
    assert page.answer() == ""
    print(f"{time.monotonic() - started:.1f} s to the first translation in the page")
    assert page.one(".translation").text == "Wo hast du das Auto geparkt?"
    assert len(page.all("table caption")) == 1 and len(page.all("tbody tr")) == 5  # hypotheses
    assert [len(Select(page.one(f"[name={name}]")).options) for name in ("layer", "head")] == [4, 5]
    cells = len(page.all(".map .cell"))
    Select(page.one("[name=head]")).select_by_value("0")
    page.until(lambda: len(page.all(".map .cell")) != cells)


@pytest.mark.parametrize("window", WINDOWS)
@pytest.mark.parametrize("tab", ["translate", "step", "tag", "ask"])
def test_an_answer_fits_in_its_window(page, tab, window):
    page.open(tab, **WINDOWS[window])
    assert page.submit() == ""
    page.shoot(f"{tab}-{window}")


def test_hover_and_see_the_line(page):
    page.open("translate")
    page.fill("text", "Where did you park the car?")
    page.choose("model", RNNSEARCH)
    assert page.submit() == ""
    word = next(word for word in page.all(".lines .word[data-target]") if word.text == "Auto")
    ActionChains(page.browser).move_to_element(word).perform()
    lit = page.all(".lines .link.on")
    assert lit and all(line.get_attribute("data-target") == word.get_attribute("data-target") for line in lit)
    strongest = max(lit, key=lambda line: float(line.get_attribute("stroke-opacity")))
    source = page.one(f".lines .word[data-source='{strongest.get_attribute('data-source')}']")
    assert source.text == "car?" and page.one(".reading").text.startswith("“Auto” attends to car?")
    others = [line for line in page.all(".lines .link") if line not in lit]
    assert {line.value_of_css_property("stroke-opacity") for line in others} == {"0.04"}
    page.browser.execute_script("arguments[0].focus()", source)  # the keyboard does the same
    page.until(lambda: "is attended to by" in page.one(".reading").text)


def test_two_models_next_to_each_other_and_another_model(page):
    page.open("translate")
    page.choose("model", RNNSEARCH)
    page.choose("other", TRANSFORMER)
    assert page.submit() == ""
    assert [title.text for title in page.all("article h2")] == [RNNSEARCH, TRANSFORMER]
    page.shoot("translate-two-models")
    page.choose("model", LUONG)
    page.choose("other", "")
    assert page.submit() == ""
    assert [title.text for title in page.all("article h2")] == [LUONG]


def test_step_by_step(page):
    page.open("step")
    page.choose("model", TRANSFORMER)
    assert page.submit() == ""
    free = page.one(".translation").text
    page.all(".piece")[2].click()
    page.all(".choice")[1].click()
    page.until(lambda: page.all(".piece.forced"))
    assert page.one(".translation").text != free and len(page.all(".piece.forced")) == 3
    page.shoot("step-forced")
    page.one("button.plain").click()
    page.until(lambda: not page.all(".piece.forced"))
    assert page.one(".translation").text == free


def test_tag_upload_a_file_and_download(page, tmp_path):
    page.open("tag")
    page.choose("model", "english_entities, wikigold")
    file = tmp_path / "text.txt"
    file.write_text("👩‍🚀 Angela Merkel visited Microsoft in Seattle.", encoding="utf-8")
    page.one("[name=file]").send_keys(str(file))
    assert page.answer() == ""
    marks = [" ".join(mark.text.split()) for mark in page.all("mark")]
    assert marks[0].startswith("Angela Merkel PER ") and marks[-1].startswith("Seattle LOC ")
    word = next(word for word in page.all(".token") if word.text == "Angela")
    ActionChains(page.browser).move_to_element(word).perform()
    page.until(lambda: "B-PER" in page.one(".reading").text)
    page.one(".tagged").send_keys(Keys.ARROW_RIGHT)
    page.until(lambda: page.one(".reading").text.startswith("“Merkel”"))
    for button in page.all("button.plain"):
        button.click()
    wanted = {page.browser.downloads / name for name in ("entities.json", "entities.conll")}
    page.until(lambda: set(page.browser.downloads.iterdir()) == wanted)
    assert '"Angela Merkel"' in (page.browser.downloads / "entities.json").read_text()
    assert "Angela\tB-PER\nMerkel\tI-PER" in (page.browser.downloads / "entities.conll").read_text()
    file.write_bytes(b"\xff\xfe not UTF-8")
    page.one("[name=file]").send_keys(str(file))
    page.until(lambda: page.all(".status.error"))
    assert page.one(".status").text == "text.txt: expected text in UTF-8"


def test_the_attention_tagger_shows_weights_under_the_words(page, tagger_directory):
    page.open("tag")
    page.choose("model", tagger_directory.name)
    page.fill("text", "Ada Lovelace flew from Paris to New York .")
    assert page.submit() == ""
    widths = [bar.size["width"] for bar in page.all(".token .weight")]
    assert len(widths) == len(page.all(".token")) == 9 and max(widths) > 0
    page.shoot("tag-attention")


def test_ask(page):
    page.open("ask")
    assert page.submit() == ""
    assert page.one(".answer").text == "hallway" and len(page.all("td.shade")) == 12
    page.fill("question", "Where is Bob?")
    assert "bob" in page.submit()


def test_layers(page):
    for name, options in WINDOWS.items():
        page.open("layers", **options)
        page.until(lambda: page.all("polyline.curve") and page.all("rect.cell"))
        page.until(lambda: page.one("#softmax .meter div").size["width"])
        page.shoot(f"layers-{name}")
    points = "return document.querySelector('polyline.curve').getAttribute('points')"
    curve = page.browser.execute_script(points)
    page.one("#kernel [name=bandwidth]").send_keys(Keys.ARROW_RIGHT)
    page.until(lambda: page.browser.execute_script(points) != curve)
    page.one("#softmax input[type=checkbox]").click()
    page.until(lambda: page.one("#softmax .faint .value").text == "0.000")


def test_pasted_html_is_shown_and_not_run(page):
    page.open("tag")
    page.choose("model", "english_entities, wikigold")
    page.fill("text", HTML)
    assert page.submit() == ""
    assert "".join(page.one(".tagged").text.split()).startswith("<imgsrc=")
    page.open("translate")
    page.fill("text", HTML)
    assert page.submit() == ""
    assert page.browser.title == "keraszoo playground" and not page.all("img, article script")


def test_tabs_by_keyboard(page):
    page.open("translate")
    page.browser.find_element(By.ID, "tab-translate").send_keys(Keys.ARROW_RIGHT)
    assert page.browser.switch_to.active_element.get_attribute("id") == "tab-step"
    shown = page.browser.find_elements(By.CSS_SELECTOR, "[role=tabpanel]:not([hidden])")
    assert [panel.get_attribute("id") for panel in shown] == ["step"]
    unlabelled = """return [...document.querySelectorAll("input, select, textarea")].filter(
        field => !field.labels.length && !field.ariaLabel).length"""
    assert page.browser.execute_script(unlabelled) == 0
