"""Translators of models that other projects publish, such as OPUS-MT: converted when they are read."""

from pathlib import Path

from keraszoo import converters
from keraszoo.converters.download import downloaded
from keraszoo.errors import PresetError
from keraszoo.saving import atomic
from keraszoo.shipping import hub, shipped


def from_published(cls, name):
    """Makes a translator of a published model; returns `None` for a model directory of keraszoo.

    A model on the Hub is converted once; later calls read it from the cache.

    Args:
        cls: the class `Translator`.
        name: a folder or `hf://user/name`; of anything else it is no published model.
    """
    if not hub.is_address(name):
        local = isinstance(name, (str, Path)) and converters.is_published(name)
        return _made(cls, name) if local else None
    place = shipped.hub_place(name)
    return None if atomic.locate(place) else convert(cls, name, place)


def convert(cls, source, directory):
    """Writes a published model as a model directory; returns its translator.

    Args:
        cls: the class `Translator`.
        source: a folder, or `hf://user/name`.
        directory: a new one, or one of an earlier model, which is replaced.

    Returns:
        A translator; `None` if the source is something else, and nothing is written.

    Raises:
        PresetError: the model cannot be converted, and nothing is written.
    """
    if not hub.is_address(source):
        translator = from_published(cls, source)
    else:
        with downloaded(source) as folder:
            try:
                translator = None if folder is None else _made(cls, folder, source)
            except PresetError as error:
                raise PresetError(str(error).replace(str(folder), source)) from error
    if translator is not None:
        translator.save_to_preset(directory)
    return translator


def _made(cls, folder, source=None):
    *arguments, facts = converters.read(folder, source)
    translator = cls(*arguments)
    translator.about = facts
    return translator
