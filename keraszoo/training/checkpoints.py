"""A folder of checkpoints: each is written completely or not at all and verified when read; two are kept.

    <folder>/step-00000600/   config.json  state.json  arrays.npz  manifest.json
    <folder>/step-00000800/
    <folder>/finished/        says that the run is over; the newest checkpoint stays

`keraszoo.saving.model_directory` writes each directory: it fills it under a hidden name, flushes it, and
renames it into place with the SHA-256 of every file. Numbers are `.npy` arrays and JSON; nothing is code.
"""

import contextlib
import importlib.metadata
import json
import os
import re
import warnings
from pathlib import Path

import numpy as np

from keraszoo import __version__
from keraszoo.errors import PresetError, RecipeError
from keraszoo.messages import shown
from keraszoo.saving import atomic, model_directory
from keraszoo.saving.entries import checked
from keraszoo.training.checkpoint_files import TASK, Checkpoint, Finished, read_checkpoint, write_checkpoint

KEPT = 2  # checkpoints; one more while one is written
_STEP = re.compile(r"step-(\d{8,})")


class Checkpoints:
    """The checkpoints of one run; only one process at a time may have them open.

    What decides the run is one nested dict, `decides`. It is saved with each checkpoint. A run resumes only
    if every entry that both sides have is equal: a setting that only the newer version of the program has
    has its default and changes nothing.

    Args:
        folder: where they are; made when opened, and deleted at the end if nothing was saved.
        writes: `False` for a worker that only reads: nothing is locked, saved or deleted.

    Attributes:
        decides: nested dict of JSON values; see `require`.
        files: name -> bytes of what the run must not make again, such as vocabularies. Settable.
        finished: the dict of `finish` if the run is over, else None; set by `open`.

    Example:

    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp()) / "run.checkpoints"
    >>> with Checkpoints(folder).open() as checkpoints:
    ...     checkpoints.require(seed=1)
    ...     checkpoints.save(600, {"weights": np.arange(3.0)}, {"best": 31.5})
    >>> with Checkpoints(folder).open() as checkpoints:
    ...     checkpoints.newest().step, checkpoints.newest().arrays, checkpoints.newest().plain
    (600, {'weights': array([0., 1., 2.])}, {'best': 31.5})
    >>> with Checkpoints(folder).open() as checkpoints:
    ...     checkpoints.require(seed=2)
    Traceback (most recent call last):
    keraszoo.errors.RecipeError: ...run.checkpoints: the run in it differs: seed was 1, is 2; ...
    """

    def __init__(self, folder, writes=True):
        self.folder = Path(folder)
        self.writes = writes
        self.decides = {}
        self.files = {}
        self.finished = None
        self._note = None
        self._newest = None

    @contextlib.contextmanager
    def open(self):
        """Locks the folder, deletes what killed writers left, and looks whether the run is finished.

        Raises:
            PresetError: another process has the folder open, or it cannot be written.
        """
        self.finished = self._note = self._newest = None
        with contextlib.ExitStack() as stack:
            if self.writes:
                try:
                    stack.enter_context(_only_one(self.folder))
                except OSError as error:
                    reason = error.strerror or error
                    raise PresetError(f"{self.folder}: cannot be written: {reason}") from error
            over = self.folder / "finished"
            if over.exists():
                self._note = checked(
                    Finished, model_directory.read_directory(over).config, f"{over}: config.json"
                )
                self.finished = self._note.finished
            yield self

    def newest(self):
        """Returns the newest intact `Checkpoint`, or None. Damaged ones are ignored with a warning.

        Raises:
            PresetError: all checkpoints in the folder are damaged.
        """
        if self._newest is None:
            self._newest = self._read()
        return self._newest

    def require(self, **entries):
        """Adds entries to `decides` and compares them with those of the run in the folder.

        Raises:
            RecipeError: they differ.
        """
        self.decides |= json.loads(json.dumps(entries))
        run = self._note or self.newest()
        if run is not None:
            self.compare(run.decides, self.decides)

    def compare(self, before, now):
        """Raises RecipeError if an entry differs that both dicts have."""
        changes = differences(before, now)
        if changes:
            raise RecipeError(
                f"{self.folder}: the run in it differs: {'; '.join(changes)}; use the same settings, choose "
                "another output, or delete the folder to start again"
            )

    def check_room(self, size):
        """Raises DataError unless the folder has room for checkpoints whose largest file has `size` bytes."""
        if self.writes:
            new = KEPT + 1 - len(self._steps())
            atomic.check_room(self.folder / "step-00000000", size, new * size)

    def save(self, step, arrays, plain):
        """Writes a checkpoint of so many steps, then deletes all but the last two.

        Args:
            arrays: name -> NumPy array of numbers.
            plain: dict of JSON values.

        Raises:
            PresetError: it cannot be written; the existing checkpoints stay.
        """
        if not self.writes:
            return
        checkpoint = Checkpoint(step, arrays, plain, self.files, self.decides, _versions())
        write_checkpoint(self.folder / f"step-{step:08}", checkpoint)
        if self.finished is not None:  # a longer run than before
            self.finished = self._note = None
            self._delete(self.folder / "finished")
        for old in self._steps()[KEPT:]:
            self._delete(old)

    def finish(self, **figures):
        """Records that the run is over. The newest checkpoint stays, from which a longer run goes on."""
        if not self.writes:
            return
        config = {"task": TASK, "finished": figures, "decides": self.decides, "versions": _versions()}
        model_directory.write_directory(self.folder / "finished", {"config.json": config})
        self.finished = figures
        for old in self._steps()[1:]:
            self._delete(old)

    def forget(self):
        """Deletes all checkpoints."""
        self.finished = self._note = self._newest = None
        if not self.writes:
            return
        for path in [*self._steps(), self.folder / "finished"]:
            self._delete(path)

    def _read(self):
        """The newest intact checkpoint, or None."""
        newest, damage = None, {}
        for path in self._steps():
            try:
                newest = read_checkpoint(path)
                break
            except PresetError as error:
                damage[path] = error
                warnings.warn(f"a damaged checkpoint is ignored: {error}", stacklevel=4)
        if newest is None and damage:
            said = "all checkpoints are damaged; delete the folder to start again"
            raise PresetError(f"{self.folder}: {said}: {next(iter(damage.values()))}")
        for path in damage if self.writes else ():  # the run will save these steps again
            self._delete(path)
        if newest is not None:
            self.files = dict(newest.files)
            changed = differences(newest.versions, _versions())
            if changed:
                said = f"{self.folder}: the run resumes with other libraries: {'; '.join(changed)}"
                warnings.warn(f"{said}; its results may differ", stacklevel=4)
        return newest

    def _steps(self):
        """The paths of the checkpoints, the newest first."""
        names = os.listdir(self.folder) if self.folder.is_dir() else []
        steps = [(int(match[1]), match[0]) for match in map(_STEP.fullmatch, names) if match]
        return [self.folder / name for _, name in sorted(steps, reverse=True)]

    def _delete(self, path):
        """Renames a directory, so that half of one is not taken for damage, and deletes it."""
        rubbish = path.with_name(f".{path.name}.old")
        with contextlib.suppress(OSError):  # the next start deletes what remains
            os.rename(path, rubbish)
            atomic.remove(rubbish)


def differences(before, now, above=""):
    """Lists the differences between two nested dicts in the entries that both have, one line each.

    Example:

    >>> differences({"a": {"b": 1, "c": 2}, "d": 1}, {"a": {"b": 1, "c": 3}, "e": 0})
    ['a.c was 2, is 3']
    """
    lines = []
    for key in [key for key in before if key in now]:
        old, new = before[key], now[key]
        if isinstance(old, dict) and isinstance(new, dict):
            lines += differences(old, new, f"{above}{key}.")
        elif old != new:
            lines.append(f"{above}{key} was {shown(old)}, is {shown(new)}")
    return lines


def _versions():
    import keras

    backend = keras.backend.backend()
    versions = {"keraszoo": __version__, "keras": keras.__version__, "numpy": np.__version__}
    versions["backend"] = backend
    with contextlib.suppress(importlib.metadata.PackageNotFoundError):
        versions[backend] = importlib.metadata.version(backend)
    return versions


@contextlib.contextmanager
def _only_one(folder):
    """Creates and locks a folder, and deletes what dead writers left in it; at the end, if empty, it goes.

    On a file system without locks, a second run in the same folder is not noticed.
    """
    missing = [parent for parent in folder.parents if not parent.exists()]
    with contextlib.ExitStack() as held:
        held.callback(_remove_empty, [folder, *missing])
        folder.mkdir(parents=True, exist_ok=True)
        try:
            held.enter_context(atomic.locked(folder / ".lock", wait=False))
        except TimeoutError:
            raise PresetError(f"{folder}: another process is training with these checkpoints") from None
        for item in list(folder.iterdir()):
            if re.fullmatch(r"\.(step-\d+|finished)\..+", item.name):
                atomic.remove(item)
        yield


def _remove_empty(folders):
    with contextlib.suppress(OSError):
        for folder in folders:
            folder.rmdir()
