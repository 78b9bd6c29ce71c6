"""Published models on the Hugging Face Hub."""

import contextlib
from pathlib import Path

from keraszoo.converters import family_of, is_published
from keraszoo.converters.files import MOST, read_json
from keraszoo.errors import PresetError
from keraszoo.saving import atomic
from keraszoo.saving.manifest import MOST_BYTES
from keraszoo.shipping import cache, hub

NO_WEIGHTS = (
    "has no model.safetensors, and pickles are not read, because they may run code; with Transformers and "
    "PyTorch installed, this writes a folder {1} that can be read: "
    'python -c "from transformers import MarianMTModel as M, MarianTokenizer as T; '
    "[c.from_pretrained('{0}').save_pretrained('{1}') for c in (M, T)]\""
)


@contextlib.contextmanager
def published(source):
    """Yields the `Path` of the folder of a published model; `None` if the source is something else.

    Args:
        source: a folder, or `hf://user/name`, which is downloaded into a temporary folder.

    Raises:
        PresetError: a model that is not converted, no weights in safetensors, or the connection failed.
    """
    if hub.is_address(source):
        with downloaded(source) as folder:
            yield folder
    else:
        yield Path(source) if isinstance(source, (str, Path)) and is_published(source) else None


@contextlib.contextmanager
def downloaded(address):
    """Yields the `Path` of a temporary folder with a published model; `None` if the Hub has another there.

    An interrupted download is kept, and the next call continues it.
    """
    place = cache.hub_place(address).absolute()
    folder = place.parent / f".{place.name}.published"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with atomic.locked(folder.with_name(f"{folder.name}.lock")):
            found = _bring(folder, address)
            try:
                yield folder if found else None
            finally:
                atomic.remove(folder)
    except PresetError:
        atomic.remove(folder)
        raise
    except OSError as error:
        raise PresetError(f"{address}: {error.strerror or error}") from error


def _bring(folder, address):
    """Downloads the files of a published model; returns whether there is one."""
    there = hub.download(address, "config.json", folder, MOST)
    if not there or "model_type" not in read_json(folder, "config.json"):
        return False
    try:
        family = family_of(folder)
    except PresetError as error:
        raise PresetError(str(error).replace(str(folder), address)) from None
    for name in (*family.REQUIRED, *family.OPTIONAL):
        weights = name == family.WEIGHTS
        there = hub.download(address, name, folder, MOST_BYTES if weights else MOST)
        if there or name in family.OPTIONAL:
            continue
        name_of = hub.repository(address)
        how = NO_WEIGHTS.format(name_of, name_of.rpartition("/")[2])
        raise PresetError(f"{address}: {how if weights else f'has no {name}'}")
    return True
