"""free_text.py writes the training text of the word vectors from small archives."""

import gzip
import lzma
import zipfile

import free_text

ARCHIVES = {
    "masc_tagged": {"masc_tagged/spoken/a.txt": b"Yes_UH ._.\n", "masc_tagged/README": b"no text"},
    "state_union": {"state_union/1945-Truman.txt": "Friends – all.\n".encode("cp1252")},
    "inaugural": {"inaugural/1789-Washington.txt": "Citizens – all.\r\n".encode()},
    "genesis": {"genesis/english-web.txt": b"In the beginning\n", "genesis/finnish.txt": b"Alussa\n"},
}

COMPRESSED = {
    "wikipedia/articles2014.txt.xz": b"Chen Zhili\nBorn in 1942.\n",
    "openstax/anatomy-physiology.txt.gz": b"Blood Pressure\n",
    "openstax/microbiology.txt.gz": b"Cells\n",
    "openstax/psychology.txt.gz": b"Minds\n",
    "beige_book/beige_book.txt.gz": b"Sales rose.\n",
    "wikinews/wikinews_2019_2020.txt.gz": b"News\n",
    "pubmed_bmc/abstracts.txt.xz": b"BACKGROUND\nfound <dig> genes <cit>.\n",
    "medquad/medquad.txt.gz": b"What is ALL ?\n",
    "craft/craft.txt.gz": b"QTLs\n",
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
    for name, content in COMPRESSED.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes((lzma if name.endswith("xz") else gzip).compress(content))
    free_text.main(tmp_path, tmp_path / "words")
    general, biomedical = tmp_path / "words" / "general", tmp_path / "words" / "biomedical"
    assert {path.name: path.read_text() for path in biomedical.iterdir()} == {
        "abstracts.txt": "background\nfound 0 genes .\n",
        "anatomy-physiology.txt": "blood pressure\n",
        "craft.txt": "qtls\n",
        "medquad.txt": "what is all ?\n",
        "microbiology.txt": "cells\n",
        "psychology.txt": "minds\n",
    }
    out = {str(path.relative_to(general)): path for path in general.rglob("*.*")}
    assert out.pop("novels.txt.gz").read_bytes() == novels
    assert {name: path.read_text(encoding="utf-8") for name, path in out.items()} == {
        "masc/spoken/a.txt": "Yes_UH ._.\n",
        "addresses/1945-Truman.txt": "Friends – all.\n",
        "addresses/1789-Washington.txt": "Citizens – all.\n",
        "english-web.txt": "In the beginning\n",
        "tatoeba.txt": "Hi.\nGo.\n",
        "articles2014.txt": "Chen Zhili\nBorn in 1942.\n",
        "anatomy-physiology.txt": "Blood Pressure\n",
        "microbiology.txt": "Cells\n",
        "psychology.txt": "Minds\n",
        "beige_book.txt": "Sales rose.\n",
        "wikinews_2019_2020.txt": "News\n",
    }
    assert capsys.readouterr().out.splitlines() == [f"{general}: 12 files", f"{biomedical}: 6 files"]
