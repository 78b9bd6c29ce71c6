"""A folder of checkpoints: each is written completely or not at all and verified when read; two are kept.

    <folder>/step-00000600/   config.json  state.json  model.npz  ...  manifest.json
    <folder>/step-00000800/
    <folder>/finished/        replaces them when the run is over

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
from keraszoo.training.checkpoint_files import TASK, Finished, is_arrays, read_checkpoint, writer

KEPT = 2  # checkpoints; one more while one is written
_STEP = re.compile(r"step-(\d{8,})")


class Checkpoints:
    """The checkpoints of one run; only one process at a time may have them open.

    Args:
        folder: where they are; made when opened, and deleted at the end if nothing was saved.
        identity: nested dict of JSON values that decide the run. A run of another identity is not resumed.
        files: name -> bytes of what the run must not make again, such as vocabularies.
        writes: `False` for a worker that only reads: nothing is locked, saved or deleted.

    Attributes:
        newest: the `Checkpoint` to resume from, or None; set by `open`.
        finished: the dict of `finish` if the run is over, else None.

    Example:

    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp()) / "run.checkpoints"
    >>> with Checkpoints(folder, {"seed": 1}).open() as checkpoints:
    ...     checkpoints.save(600, {"model": {"weights": [np.arange(3.0)], "best": 31.5}})
    >>> with Checkpoints(folder, {"seed": 1}).open() as checkpoints:
    ...     checkpoints.newest.step, checkpoints.newest.parts
    (600, {'model': {'best': 31.5, 'weights': [array([0., 1., 2.])]}})
    >>> with Checkpoints(folder, {"seed": 2}).open() as checkpoints:
    ...     pass
    Traceback (most recent call last):
    keraszoo.errors.RecipeError: ...run.checkpoints: the run in it differs: seed was 1, is 2; ...
    """

    def __init__(self, folder, identity, files=None, writes=True):
        self.folder = Path(folder)
        self.identity = json.loads(json.dumps(identity))
        self.files = dict(files or {})
        self.writes = writes
        self.newest = None
        self.finished = None

    @contextlib.contextmanager
    def open(self):
        """Locks the folder, deletes what killed writers left, and looks for a run to resume.

        Raises:
            PresetError: another process has the folder open, it cannot be written, or all checkpoints in it
                are damaged.
            RecipeError: the run in it began with another identity.
        """
        self.newest, self.finished = None, None
        with contextlib.ExitStack() as stack:
            if self.writes:
                try:
                    stack.enter_context(_only_one(self.folder))
                except OSError as error:
                    reason = error.strerror or error
                    raise PresetError(f"{self.folder}: cannot be written: {reason}") from error
            self._look()
            yield self

    def require(self, **identity):
        """Adds entries to the identity and compares them with the newest checkpoint.

        Raises:
            RecipeError: they differ.
        """
        self.identity = {**self.identity, **json.loads(json.dumps(identity))}
        if self.newest is not None:
            self.compare(self.newest.identity, self.identity)

    def compare(self, before, now):
        """Raises RecipeError if an entry of the dict `now` differs from that of the run in the folder."""
        changes = differences({key: before.get(key) for key in now}, now)
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

    def save(self, step, parts):
        """Writes a checkpoint, then deletes all but the last two.

        Args:
            step: number of steps made.
            parts: name -> state, a flat dict whose values are JSON values, NumPy numbers or
                arrays, which come back as lists, or lists of NumPy arrays.

        Raises:
            PresetError: it cannot be written; the existing checkpoints stay.
        """
        if not self.writes:
            return
        plain, arrays = {}, {}
        for name, state in parts.items():
            arrays[name] = {key: value for key, value in state.items() if is_arrays(value)}
            plain[name] = {key: value for key, value in state.items() if key not in arrays[name]}
        config = {"task": TASK, "step": step, "brought": sorted(self.files)}
        files = {
            "config.json": {**config, "identity": self.identity, "versions": _versions()},
            "state.json": json.dumps(plain, default=_as_plain),  # may hold an infinite perplexity
            **{f"{name}.npz": writer(lists) for name, lists in arrays.items() if lists},
            **self.files,
        }
        model_directory.write_directory(self.folder / f"step-{step:08}", files)
        for old in self._steps()[KEPT:]:
            self._delete(old)

    def finish(self, **figures):
        """Records that the run is over, and deletes its checkpoints."""
        if not self.writes:
            return
        config = {"task": TASK, "finished": figures, "identity": self.identity, "versions": _versions()}
        model_directory.write_directory(self.folder / "finished", {"config.json": config})
        self.finished = figures
        for old in self._steps():
            self._delete(old)

    def forget(self):
        """Deletes all checkpoints."""
        self.newest, self.finished = None, None
        if not self.writes:
            return
        for path in [*self._steps(), self.folder / "finished"]:
            self._delete(path)

    def _look(self):
        """Sets `newest` to the newest intact checkpoint, or `finished`."""
        over = self.folder / "finished"
        if over.exists():
            config = checked(Finished, model_directory.read_directory(over).config, f"{over}: config.json")
            self.finished = config.finished
            self.compare(config.identity, self.identity)
            return
        steps, damage = self._steps(), {}
        for path in steps:
            try:
                self.newest = read_checkpoint(path)
                break
            except PresetError as error:
                damage[path] = error
                warnings.warn(f"a damaged checkpoint is ignored: {error}", stacklevel=4)
        if self.newest is None and damage:
            said = f"all checkpoints are damaged; delete the folder to start again: {damage[steps[0]]}"
            raise PresetError(f"{self.folder}: {said}")
        if self.newest is not None:
            for path in damage if self.writes else ():  # the run will save these steps again
                self._delete(path)
            self.compare(self.newest.identity, self.identity)
            self.files = dict(self.newest.files)
            changed = differences(self.newest.versions, _versions())
            if changed:
                said = f"{self.folder}: the run resumes with other libraries: {'; '.join(changed)}"
                warnings.warn(f"{said}; its results may differ", stacklevel=4)

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
    """Lists the differences between two nested dicts, one line each.

    Example:

    >>> differences({"a": {"b": 1, "c": 2}, "d": 1}, {"a": {"b": 1, "c": 3}})
    ['a.c was 2, is 3', 'd was 1, is None']
    """
    lines = []
    for key in [*before, *(key for key in now if key not in before)]:
        old, new = before.get(key), now.get(key)
        if isinstance(old, dict) and isinstance(new, dict):
            lines += differences(old, new, f"{above}{key}.")
        elif old != new:
            lines.append(f"{above}{key} was {shown(old)}, is {shown(new)}")
    return lines


def _as_plain(value):
    """A number or an array of NumPy for JSON; an array comes back as a list."""
    if isinstance(value, (np.generic, np.ndarray)):
        return value.tolist()
    raise TypeError(f"a checkpoint cannot hold {type(value).__name__}: {value!r:.40}")


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
    """Creates a folder, holds the lock of its run, and deletes what dead writers left in it.

    At the end, deletes the folder if it is empty.

    On a file system without locks, a second run in the same folder is not noticed.

    Raises:
        PresetError: another process holds the lock.
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
