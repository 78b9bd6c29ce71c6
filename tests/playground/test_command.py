"""The command `keraszoo playground`; tests/playground/test_page.py runs it."""

import re
import sys


def test_it_prints_and_opens_the_address(run, monkeypatch):
    served, opened = [], []
    monkeypatch.setattr("keraszoo.serving.worker.Worker", lambda prepare: None)
    monkeypatch.setattr("keraszoo.playground.app.make_app", lambda models, worker: list(models.about))
    monkeypatch.setattr("keraszoo.serving.listen.run", lambda app, listener, patience: served.append(app))
    monkeypatch.setattr("webbrowser.open", opened.append)
    code, printed, message = run("playground", "tatoeba_en_de_luong", "--port", "0", "--open")
    assert (code, message) == (0, "") and re.fullmatch(r"http://127\.0\.0\.1:\d+/\n", printed)
    assert served == [["tatoeba_en_de_luong"]] and opened == [printed.strip()]


def test_without_its_packages(refusal, monkeypatch):
    for name in [name for name in sys.modules if name.startswith("keraszoo.playground")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "starlette.applications", None)
    assert "`keraszoo playground` needs pip install 'keraszoo[playground]'" in refusal("playground")
