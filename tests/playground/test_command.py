"""The command `keraszoo playground`; tests/playground/test_page.py runs it."""

import sys

import pytest


def test_it_prints_and_opens_the_address(run, monkeypatch):
    served, opened = [], []

    def serve(models, port, prepare, started):
        served.append((list(models.about), port))
        started("http://127.0.0.1:1234/")

    monkeypatch.setattr("keraszoo.playground.serve.serve", serve)
    monkeypatch.setattr("webbrowser.open", opened.append)
    arguments = ["tatoeba_en_de_luong", "--port", "1234", "--open"]
    assert run("playground", *arguments) == (0, "http://127.0.0.1:1234/\n", "")
    assert served == [(["tatoeba_en_de_luong"], 1234)] and opened == ["http://127.0.0.1:1234/"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["no_such_model"], "error: no_such_model: no such directory"),
        (["english_words"], "error: english_words: expected a model for translation, tagging"),
        (["--port", "70000"], "error: Invalid value for '--port'"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(run, arguments, said):
    code, printed, message = run("playground", *arguments)
    assert (code, printed, message.count("\n")) == (2, "", 1) and said in message


def test_without_its_packages(run, monkeypatch):
    for name in [name for name in sys.modules if name.startswith("keraszoo.playground")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "starlette.applications", None)
    code, _, message = run("playground")
    assert code == 2 and "`keraszoo playground` needs pip install 'keraszoo[playground]'" in message
