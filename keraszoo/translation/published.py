"""Translators of models that other projects publish, such as OPUS-MT: converted when they are read."""

from keraszoo import converters
from keraszoo.converters.download import published
from keraszoo.errors import PresetError
from keraszoo.saving import atomic
from keraszoo.shipping import cache, hub


def from_published(cls, name):
    """Makes a `Translator` of a published model; returns `None` for a model directory of keraszoo.

    A model on the Hub is converted once; later calls read it from the cache. `name` is a folder or
    `hf://user/name`; anything else is no published model.
    """
    place = cache.hub_place(name) if hub.is_address(name) else None
    if place is not None and atomic.locate(place):
        return None
    with published(name) as folder:
        translator = None if folder is None else converted(cls, folder, name)
    if translator is not None and place is not None:
        translator.save_to_preset(place)
    return translator


def converted(cls, folder, source):
    """The translator of a folder that `published` yields for a source."""
    try:
        *arguments, facts = converters.read(folder, source)
        translator = cls(*arguments)
    except PresetError as error:
        raise PresetError(str(error).replace(str(folder), str(source))) from error
    translator.about = facts
    return translator
