"""Where the state of the process would give other answers, or none, a task says so."""

import os

import keras
import pytest

from keraszoo import EntityTagger, QuestionAnswerer
from keraszoo.errors import KerasZooError
from keraszoo.tasks import process

SAID = "this process was forked from one that has a model.*spawn.*--preload.*n_process=1"


def in_child(call):
    """What a call raises in a forked child, or "answered"; "hung" after 20 seconds."""
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        import signal

        signal.signal(signal.SIGALRM, lambda *_: (os.write(writing, b"hung"), os._exit(0)))
        signal.alarm(20)
        try:
            call()
            os.write(writing, b"answered")
        except Exception as error:
            os.write(writing, f"{type(error).__name__}: {error}".encode())
        finally:
            os._exit(0)
    os.close(writing)
    os.waitpid(child, 0)
    with open(reading, "rb") as file:
        return file.read().decode()


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*fork")
def test_a_forked_child_says_why_it_does_not_answer(new_translator, new_tagger):
    translator, tagger = new_translator(), new_tagger()
    answerer = QuestionAnswerer.from_preset("babi_memory_network")
    calls = {
        "translate": lambda: translator.translate(["one two"]),
        "score": lambda: translator.score(["one"], ["eins"]),
        "align": lambda: translator.align(["one"], ["eins"]),
        "fit": lambda: translator.fit([("one", "eins")]),
        "tag": lambda: tagger.tag("Rome"),
        "tag_tokens": lambda: tagger.tag_tokens([["Rome"]]),
        "tag_probabilities": lambda: tagger.tag_probabilities([["Rome"]]),
        "calibrate": lambda: tagger.calibrate([]),
        "export": lambda: tagger.export("tagger"),
        "save": lambda: translator.save_to_preset("translator"),
        "quantize": lambda: translator.model.quantize("int8"),
        "load": lambda: EntityTagger.from_preset("english_entities"),
        "answer": lambda: answerer.answer(["Mary went home."], "Where is Mary?"),
    }
    for name, call in calls.items():
        assert in_child(call).startswith("KerasZooError: this process was forked"), name


def test_a_child_that_was_forked_before_any_model_is_free(monkeypatch):
    monkeypatch.setattr(process, "_process", None)
    process.check_process()
    process.check_process()
    monkeypatch.setattr(process, "_process", os.getpid() + 1)
    with pytest.raises(KerasZooError, match=SAID):
        EntityTagger.from_preset("english_entities")


def test_another_floatx_is_refused(new_translator, new_tagger):
    translator, tagger = new_translator(), new_tagger()
    calls = {
        "translate": lambda: translator.translate(["one two"]),
        "score": lambda: translator.score(["one"], ["eins"]),
        "tag": lambda: tagger.tag("Rome"),
        "load": lambda: QuestionAnswerer.from_preset("babi_memory_network"),
    }
    for floatx in ("float16", "float64"):
        keras.config.set_floatx(floatx)
        try:
            for call in calls.values():
                with pytest.raises(KerasZooError, match=rf"floatx\(\) is {floatx}, expected float32"):
                    call()
        finally:
            keras.config.set_floatx("float32")


def test_a_model_is_not_loaded_where_its_weights_would_be_dropped():
    with keras.StatelessScope():
        with pytest.raises(KerasZooError, match="load models outside of keras.StatelessScope"):
            QuestionAnswerer.from_preset("babi_memory_network")
    answerer = QuestionAnswerer.from_preset("babi_memory_network")
    with keras.StatelessScope():
        assert answerer.answer(["John went to the kitchen."], "Where is John?").text == "kitchen"
