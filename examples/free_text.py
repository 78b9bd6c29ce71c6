"""Collects free English text for word vectors: the files that `english_words` is trained on.

    python examples/free_text.py DATA runs/entities

DATA has text/ with english_novels_100.txt.gz (100 novels of 1838 to 1930, from Project Gutenberg) and four
archives of NLTK's data: masc_tagged.zip, state_union.zip, inaugural.zip and genesis.zip; and tatoeba/ with
en-de.tsv.gz and en-fr.tsv.gz. Writes novels.txt.gz, masc/, addresses/, english-web.txt and tatoeba.txt (the
distinct English sentences of both Tatoeba files). `keraszoo vectors train` reads these files.
"""

import itertools
import shutil
import sys
import zipfile
from pathlib import Path

from keraszoo.errors import KerasZooError
from keraszoo.text.lines import write_lines
from keraszoo.text.parallel import read_pairs

PLACES = {  # archive: the prefix of its files, and where they go
    "masc_tagged.zip": ("masc_tagged/", "masc/"),
    "state_union.zip": ("state_union/", "addresses/"),
    "inaugural.zip": ("inaugural/", "addresses/"),
    "genesis.zip": ("genesis/english-web.txt", "english-web.txt"),
}


def main(data, output):
    """Writes the files."""
    output.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(data / "text" / "english_novels_100.txt.gz", output / "novels.txt.gz")
    for archive, (beginning, place) in PLACES.items():
        with zipfile.ZipFile(data / "text" / archive) as packed:
            for name in packed.namelist():
                if name.startswith(beginning) and name.endswith(".txt"):
                    file = output / (place + name.removeprefix(beginning))
                    file.parent.mkdir(parents=True, exist_ok=True)
                    write_lines(file, decoded(packed.read(name)).splitlines())
    files = [data / "tatoeba" / f"{languages}.tsv.gz" for languages in ("en-de", "en-fr")]
    pairs = itertools.chain.from_iterable(map(read_pairs, files))
    sentences = dict.fromkeys(english for english, _ in pairs)
    write_lines(output / "tatoeba.txt", sentences)
    count = len(list(output.rglob("*.txt")))
    print(f"{output}: {len(sentences):,} sentences of Tatoeba, {count:,} files of text")


def decoded(content):
    """Decodes a file as UTF-8, or as cp1252: a few of the addresses are not UTF-8."""
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError:
        return content.decode("cp1252")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        raise SystemExit(__doc__)
    try:
        main(*map(Path, sys.argv[1:]))
    except (KerasZooError, OSError) as error:
        raise SystemExit(str(error)) from None
