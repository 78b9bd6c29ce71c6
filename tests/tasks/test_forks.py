"""A forked child of a process that has a model would never answer: it says so."""

import os

import pytest

from keraszoo import EntityTagger, QuestionAnswerer
from keraszoo.errors import KerasZooError
from keraszoo.tasks import forks

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
        "load": lambda: EntityTagger.from_preset("english_entities"),
        "answer": lambda: answerer.answer(["Mary went home."], "Where is Mary?"),
    }
    for name, call in calls.items():
        assert in_child(call).startswith("KerasZooError: this process was forked"), name


def test_a_child_that_was_forked_before_any_model_is_free(monkeypatch):
    monkeypatch.setattr(forks, "_process", None)
    forks.check_process()
    forks.check_process()
    monkeypatch.setattr(forks, "_process", os.getpid() + 1)
    with pytest.raises(KerasZooError, match=SAID):
        EntityTagger.from_preset("english_entities")
