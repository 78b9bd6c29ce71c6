"""Checks that the loader rejects damaged copies of model directories.

    python benchmarks/damaged_copies.py                       # 2,000 of each model in pretrained/
    python benchmarks/damaged_copies.py --count 500 runs/some_model

Each copy differs from the original in one way: a bit is flipped; a file is truncated, extended, partly
zeroed, missing, extra, or taken from another model; two files exchanged their names; or a number in a JSON
file is changed. The loader must raise `PresetError` for each copy; loading it or raising anything else is a
failure.
"""

import argparse
import random
import re
import shutil
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from keraszoo.errors import PresetError
from keraszoo.saving import model_directory

FOLDER = Path(__file__).resolve().parents[1] / "pretrained"


def main():
    """Prints one line per model; exits with status 1 if a copy was loaded."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("directories", nargs="*", type=Path)
    parser.add_argument("--count", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    directories = options.directories or sorted(place.parent for place in FOLDER.glob("*/manifest.json"))
    failed = 0
    for directory in directories:
        others = [place for place in directories if place != directory] or directories
        started = time.perf_counter()
        kinds, wrong = judge(directory, others, options.count, options.seed)
        seconds = time.perf_counter() - started
        told = ", ".join(f"{count} {kind}" for kind, count in sorted(kinds.items()))
        print(
            f"{directory.name}: {sum(kinds.values()):,} copies ({told}), {len(wrong)} read, {seconds:.1f} s"
        )
        for line in wrong[:10]:
            print(f"  {line}")
        failed += len(wrong)
    sys.exit(failed > 0)


def judge(directory, others, count, seed=1, load=model_directory.read_directory):
    """Damages copies of a directory `count` times and loads each.

    Args:
        directory: the original; it is not changed.
        others: model directories to take foreign files from.
        count: number of copies.
        seed: random seed.
        load: called with the path of each copy; it must raise PresetError.

    Returns:
        (kinds, wrong): a `Counter` of the kinds of damage, and a line for each copy that was not rejected.
    """
    draw, kinds, wrong = random.Random(seed), Counter(), []
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder, directory.name)
        shutil.copytree(directory, copy)
        load(copy)  # the undamaged copy loads
        whole = {path: (path.read_bytes(), _stamp(path)) for path in _files(copy)}
        while sum(kinds.values()) < count:
            _restore(copy, whole)
            kind = draw.choice([*DAMAGES])
            if not DAMAGES[kind](copy, draw, draw.choice(others)):
                continue
            kinds[kind] += 1
            try:
                load(copy)
                wrong.append(f"copy {sum(kinds.values())} ({kind}) was read")
            except PresetError:
                pass
            except Exception as error:
                wrong.append(f"copy {sum(kinds.values())} ({kind}): {type(error).__name__}: {error}")
    return kinds, wrong


def _restore(copy, whole):
    """Restores the copy; `whole` has content and stamp of each file."""
    for path in _files(copy):
        if path not in whole:
            path.unlink()
    for path, (content, stamp) in whole.items():
        if not path.exists() or _stamp(path) != stamp:
            path.write_bytes(content)
            whole[path] = content, _stamp(path)


def _stamp(path):
    status = path.stat()
    return status.st_ino, status.st_size, status.st_mtime_ns


def flip(copy, draw, other):
    """Flips one bit."""
    path = _any(copy, draw)
    content = bytearray(path.read_bytes())
    content[draw.randrange(len(content))] ^= 1 << draw.randrange(8)
    path.write_bytes(content)
    return True


def cut(copy, draw, other):
    """Truncates a file, possibly to nothing."""
    path = _any(copy, draw)
    content = path.read_bytes()
    path.write_bytes(content[: draw.choice([0, draw.randrange(len(content)), len(content) - 1])])
    return True


def lengthen(copy, draw, other):
    """Appends bytes to a file."""
    path = _any(copy, draw)
    path.write_bytes(path.read_bytes() + draw.randbytes(draw.choice([1, 512])))
    return True


def blank(copy, draw, other):
    """Zeroes a block, as a lost disk page does."""
    path = _any(copy, draw)
    content = bytearray(path.read_bytes())
    start = draw.randrange(len(content))
    before = content[start : start + 512]
    content[start : start + 512] = bytes(len(before))
    path.write_bytes(content)
    return any(before)


def lose(copy, draw, other):
    """Removes a file."""
    _any(copy, draw).unlink()
    return True


def add(copy, draw, other):
    """Adds a file."""
    copy.joinpath(draw.choice(["notes.txt", ".hidden", "model.pkl", "model.weights.h5.tmp"])).write_bytes(
        b"x"
    )
    return True


def swap(copy, draw, other):
    """Replaces a file by that of another model."""
    path = _any(copy, draw)
    foreign = other / path.relative_to(copy)
    if not foreign.exists() or foreign.read_bytes() == path.read_bytes():
        return False
    shutil.copyfile(foreign, path)
    return True


def exchange(copy, draw, other):
    """Exchanges the contents of two files."""
    first, second = draw.sample(_files(copy), 2)
    contents = first.read_bytes(), second.read_bytes()
    second.write_bytes(contents[0])
    first.write_bytes(contents[1])
    return contents[0] != contents[1]


def edit(copy, draw, other):
    """Changes a number in a JSON file."""
    path = draw.choice([path for path in _files(copy) if path.suffix == ".json"])
    text = path.read_text(encoding="utf-8")
    numbers = list(re.finditer(r"(?<=[ \[])\d+", text))
    if not numbers:
        return False
    number = draw.choice(numbers)
    path.write_text(f"{text[: number.start()]}{int(number[0]) + 1}{text[number.end() :]}", encoding="utf-8")
    return True


def _any(copy, draw):
    return draw.choice(_files(copy))


def _files(copy):
    return sorted(path for path in copy.rglob("*") if path.is_file())


DAMAGES = {
    function.__name__: function for function in (flip, cut, lengthen, blank, lose, add, swap, exchange, edit)
}


if __name__ == "__main__":
    main()
