"""Batches on several threads, compared with the same on one."""

import threading
import time

import pytest

from keraszoo import Translator
from keraszoo.tasks import batch_threads
from keraszoo.tasks.batch_threads import in_threads


def test_results_come_in_order_from_threads_that_run_together():
    together = threading.Barrier(2, timeout=20)  # breaks unless two calls are under way at once

    def slow_at_first(item):
        together.wait()
        time.sleep(0.05 if item == 0 else 0)
        return 10 * item, threading.current_thread().name

    results, names = zip(*in_threads(slow_at_first, range(6), threads=2), strict=True)
    assert results == (0, 10, 20, 30, 40, 50) and len(set(names)) == 2
    for items, threads in (([1, 2, 3], 1), ([1], 4)):
        used = {*in_threads(lambda _: threading.current_thread(), items, threads)}
        assert used == {threading.current_thread()}


def test_an_error_cancels_what_has_not_begun():
    begun = []

    def fail(item):
        begun.append(item)
        time.sleep(0.01)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        list(in_threads(fail, range(100), threads=2))
    assert len(begun) < 10


@pytest.mark.usefixtures("eagerly")
def test_translations_do_not_depend_on_the_number_of_threads(new_translator, test_pairs, monkeypatch):
    texts, translator = [*(source for source, _ in test_pairs[:20]), ""], new_translator()
    several, searched = [], translator.compiled_search

    def seen(*arguments):
        several.append(threading.current_thread().name)
        time.sleep(0.05)  # another thread gets its turn
        return searched(*arguments)

    seen.pad = searched.pad
    monkeypatch.setattr(Translator, "compiled_search", property(lambda _: seen))
    answers = []
    for threads in (1, 3):
        monkeypatch.setattr("keraszoo.translation.translator.batches_at_once", lambda n=threads: n)
        several.clear()
        answers.append(translator.translate_details(texts, batch_size=7, max_length=5))
        assert (len(set(several)) > 1) == (threads > 1)
    for one, other in zip(*answers, strict=True):
        assert one.text == other.text and one.tokens == other.tokens
        assert one.log_prob == pytest.approx(other.log_prob, abs=1e-5)


def test_tags_do_not_depend_on_the_number_of_threads(new_tagger, tagged_sentences, monkeypatch):
    texts, tagger = [sentence.tokens for sentence in tagged_sentences * 2], new_tagger()
    several, compiled = set(), tagger.sentence_tagger.tags

    def seen(features):
        several.add(threading.current_thread().name)
        time.sleep(0.05)  # another thread gets its turn
        return compiled(features)

    tagger.sentence_tagger.tags, answers = seen, []
    for threads in (1, 3):
        monkeypatch.setattr("keraszoo.tagging.sentence_tagger.batches_at_once", lambda n=threads: n)
        several.clear()
        answers.append(tagger.tag_tokens(texts))
        assert (len(several) > 1) == (threads > 1)
    assert answers[0] == answers[1]


def test_only_tensorflow_without_a_gpu_runs_several_batches_at_once(monkeypatch):
    monkeypatch.setattr("os.sched_getaffinity", lambda _: range(40), raising=False)
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    for backend, expected in (("tensorflow", batch_threads.MOST), ("jax", 1), ("torch", 1)):
        monkeypatch.setattr("keras.backend.backend", lambda name=backend: name)
        assert batch_threads.batches_at_once() == expected
    monkeypatch.setattr("keras.backend.backend", lambda: "tensorflow")
    for limit, expected in (("3", 3), ("2,1", 2), ("100", 8), ("0", 8), ("", 8), ("many", 8)):
        monkeypatch.setenv("OMP_NUM_THREADS", limit)
        assert batch_threads.batches_at_once() == expected
    monkeypatch.setattr("tensorflow.config.list_physical_devices", lambda kind: [kind])
    assert batch_threads.batches_at_once() == 1
