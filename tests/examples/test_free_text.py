"""free_text.py writes the training text of the word vectors from small archives."""

import gzip
import importlib.util
import zipfile
from pathlib import Path

PLACE = Path(__file__).parents[2] / "examples" / "free_text.py"
spec = importlib.util.spec_from_file_location("free_text", PLACE)
free_text = importlib.util.module_from_spec(spec)
spec.loader.exec_module(free_text)

ARCHIVES = {
    "masc_tagged": {"masc_tagged/spoken/a.txt": b"Yes_UH ._.\n", "masc_tagged/README": b"no text"},
    "state_union": {"state_union/1945-Truman.txt": "Friends – all.\n".encode("cp1252")},
    "inaugural": {"inaugural/1789-Washington.txt": "Citizens – all.\r\n".encode()},
    "genesis": {"genesis/english-web.txt": b"In the beginning\n", "genesis/finnish.txt": b"Alussa\n"},
}


def test_all_texts_lie_where_the_training_looks_for_them(tmp_path, capsys):
    (tmp_path / "text").mkdir()
    (tmp_path / "tatoeba").mkdir()
    novels = gzip.compress(b"It was a dark night.\n")
    (tmp_path / "text" / "english_novels_100.txt.gz").write_bytes(novels)
    for name, files in ARCHIVES.items():
        with zipfile.ZipFile(tmp_path / "text" / f"{name}.zip", "w") as archive:
            for file, content in files.items():
                archive.writestr(file, content)
    for name, lines in {"en-de": "Hi.\tHallo.\nHi.\tServus.\n", "en-fr": "Go.\tVa !\nHi.\tSalut !\n"}.items():
        (tmp_path / "tatoeba" / f"{name}.tsv.gz").write_bytes(gzip.compress(lines.encode()))
    free_text.main(tmp_path, tmp_path / "out")
    out = {str(path.relative_to(tmp_path / "out")): path for path in (tmp_path / "out").rglob("*.*")}
    assert out.pop("novels.txt.gz").read_bytes() == novels
    assert {name: path.read_text(encoding="utf-8") for name, path in out.items()} == {
        "masc/spoken/a.txt": "Yes_UH ._.\n",
        "addresses/1945-Truman.txt": "Friends – all.\n",
        "addresses/1789-Washington.txt": "Citizens – all.\n",
        "english-web.txt": "In the beginning\n",
        "tatoeba.txt": "Hi.\nGo.\n",
    }
    assert "2 sentences of Tatoeba, 5 files of text" in capsys.readouterr().out
