"""Collects free English text for word vectors, the text of `english_words` and `biomedical_words`.

    python experiments/free_text.py DATA runs/words

Writes runs/words/general and runs/words/biomedical, which experiments/word_vectors.py reads. DATA has these
folders; the model cards name their sources:

- general text: text/ (100 novels of 1838 to 1930, and the archives masc_tagged.zip, state_union.zip,
  inaugural.zip and genesis.zip of NLTK's data), wikipedia/, openstax/ (16 textbooks), beige_book/, wikinews/,
  and tatoeba/ (the distinct English sentences of en-de.tsv.gz and en-fr.tsv.gz);
- biomedical text: pubmed_bmc/ (abstracts and articles), medquad/ (questions on health), craft/ (articles) and
  three textbooks. All of it is lower-cased, because most of it already is; `<dig>`, which stands for a number
  there, becomes 0, and `<cit>` is left out.
"""

import gzip
import itertools
import lzma
import shutil
import sys
import zipfile
from pathlib import Path

from keraszoo.errors import KerasZooError
from keraszoo.text.lines import write_lines
from keraszoo.text.parallel import read_pairs

ARCHIVES = {  # archive: the prefix of its files, and where they go
    "masc_tagged.zip": ("masc_tagged/", "masc/"),
    "state_union.zip": ("state_union/", "addresses/"),
    "inaugural.zip": ("inaugural/", "addresses/"),
    "genesis.zip": ("genesis/english-web.txt", "english-web.txt"),
}
GENERAL = ("wikipedia/*", "openstax/*", "beige_book/*", "wikinews/*")
BIOMEDICAL = (
    "pubmed_bmc/*",
    "medquad/*",
    "craft/*",
    "openstax/anatomy-physiology*",
    "openstax/microbiology*",
    "openstax/psychology*",
)


def main(data, output):
    """Writes the files."""
    general, biomedical = output / "general", output / "biomedical"
    for folder in (general, biomedical):
        folder.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(data / "text" / "english_novels_100.txt.gz", general / "novels.txt.gz")
    for archive, (beginning, place) in ARCHIVES.items():
        with zipfile.ZipFile(data / "text" / archive) as packed:
            for name in packed.namelist():
                if name.startswith(beginning) and name.endswith(".txt"):
                    file = general / (place + name.removeprefix(beginning))
                    file.parent.mkdir(parents=True, exist_ok=True)
                    write_lines(file, decoded(packed.read(name)).splitlines())
    files = [data / "tatoeba" / f"{languages}.tsv.gz" for languages in ("en-de", "en-fr")]
    pairs = itertools.chain.from_iterable(map(read_pairs, files))
    write_lines(general / "tatoeba.txt", dict.fromkeys(english for english, _ in pairs))
    for file in matching(data, GENERAL):
        write_lines(general / f"{file.name.split('.')[0]}.txt", lines(file))
    for file in matching(data, BIOMEDICAL):
        write_lines(biomedical / f"{file.name.split('.')[0]}.txt", map(lower_cased, lines(file)))
    for folder in (general, biomedical):
        print(f"{folder}: {len(list(folder.rglob('*.*')))} files")


def matching(data, patterns):
    """Yields the files that match, in a fixed order."""
    for pattern in patterns:
        files = sorted(data.glob(pattern))
        if not files:
            raise KerasZooError(f"{data}: expected files {pattern}, found none")
        yield from files


def lines(path):
    """Yields the lines of a file compressed by gzip or xz."""
    module = lzma if path.suffix == ".xz" else gzip
    with module.open(path, "rt", encoding="utf-8", newline="\n") as file:
        yield from (line.rstrip("\r\n") for line in file)


def lower_cased(line):
    """Returns a line in small letters, without marks of citations and with 0 for marks of numbers."""
    return line.lower().replace("<dig>", "0").replace("<cit>", "")


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
