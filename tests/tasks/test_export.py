"""Where exports may be written, and which formats a task has."""

import json
from types import SimpleNamespace

import pytest

from keraszoo.errors import KerasZooError
from keraszoo.tasks.export import check_export, exporter, format_of, megabytes, replace_export, write_mark


def test_only_an_earlier_export_is_overwritten(tmp_path):
    (tmp_path / "file").write_text("x")
    with pytest.raises(KerasZooError, match="expected a new directory or an earlier export"):
        check_export(tmp_path / "file")
    (tmp_path / "empty").mkdir()
    check_export(tmp_path / "empty")
    check_export(tmp_path / "new")
    export = tmp_path / "export"
    for _ in range(2):
        with replace_export(export) as place:
            (place / "assets").mkdir()
            (place / "assets/words.txt").write_text("")
            write_mark(place, {})
    entries = ["assets/words.txt", "keraszoo.json"]
    assert json.loads((export / "keraszoo.json").read_text()) == {"entries": entries}
    for mine in ("Dockerfile", "assets/mine.txt"):
        (export / mine).write_text("mine")
        with pytest.raises(KerasZooError, match=f"export: holds '{mine}', which is no part of the export"):
            with replace_export(export):
                pass
        (export / mine).unlink()
    for entries in ("5", "null", "[{}]"):
        (export / "keraszoo.json").write_text(f'{{"entries": {entries}}}')
        with pytest.raises(KerasZooError, match="expected a new directory or an earlier export"):
            check_export(export)


def test_formats_of_a_task():
    with pytest.raises(KerasZooError, match="^SimpleNamespace has no export$"):
        exporter(SimpleNamespace(export_formats={}), "savedmodel")
    task = SimpleNamespace(export_formats={"savedmodel": "keraszoo.tasks.export", "onnx": "", "other": ""})
    assert exporter(task, "savedmodel").exporter is exporter
    with pytest.raises(KerasZooError, match="^format: expected savedmodel, onnx or other, got 'pickle'$"):
        exporter(task, "pickle")


@pytest.mark.parametrize(
    ("files", "format"),
    [
        (["saved_model.pb", "keraszoo.json"], "savedmodel"),
        (["model.bin", "keraszoo.json"], "ctranslate2"),
        (["model.bin"], "savedmodel"),
        (["step.onnx", "keraszoo.json"], "onnx"),
    ],
)
def test_format_of(tmp_path, files, format):
    for name in files:
        (tmp_path / name).touch()
    assert format_of(tmp_path) == format
    assert format_of(tmp_path / "missing") == "savedmodel"


def test_the_size_of_an_export_is_that_of_all_its_files(tmp_path):
    (tmp_path / "ids").mkdir()
    (tmp_path / "model").write_bytes(bytes(1_500_000))
    (tmp_path / "ids" / "model").write_bytes(bytes(500_000))
    assert megabytes(tmp_path) == 2
