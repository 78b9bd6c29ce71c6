"""The commands `list`, `fetch`, `upload` and `card`: models by name and their cards."""

import json
from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from keraszoo.cli import console
from keraszoo.cli.console import AsJson
from keraszoo.errors import KerasZooError
from keraszoo.messages import one_line, say, suggestion


def list_models(as_json: AsJson = False):
    """List the named models. Shows their scores and where they are on this machine."""
    from keraszoo.shipping.shipped import as_table, list_models

    models = list_models()
    lines = [json.dumps(models, ensure_ascii=False)] if as_json else as_table(models)
    with console.results() as write:
        write(lines if as_json else map(one_line, lines))


def fetch(
    name: Annotated[
        str,
        Argument(metavar="NAME", help="A name of `keraszoo list`, hf://USER/NAME, or a folder to convert."),
    ],
    source: Annotated[
        str | None, Option("--from", metavar="FOLDER", help="Such as pretrained/ of a clone.")
    ] = None,
    sha256: Annotated[
        str | None, Option("--sha256", help="For other models: the last entry of the model's manifest.json.")
    ] = None,
    output: Annotated[
        str | None, Option(metavar="DIRECTORY", help="Where to write a Marian model (OPUS-MT), converted.")
    ] = None,
):
    """Fetch a model into the cache, from a folder or the Hugging Face Hub. Verifies every file.

    A Marian model in the layout of the Hub, such as those of OPUS-MT, is converted.
    """
    from keraszoo.saving import model_directory
    from keraszoo.shipping import hub
    from keraszoo.shipping.fetching import fetch

    if output is not None and (source, sha256) != (None, None):
        raise KerasZooError("expected hf://USER/NAME or a folder with --output, without --from and --sha256")
    if output is not None or (hub.is_address(name) and source is None and sha256 is None):
        if _convert(name, output):
            return
    if (source is None) != hub.is_address(name):
        wanted = (
            "NAME --from FOLDER, where FOLDER is pretrained/ of a clone; or hf://USER/NAME without --from"
        )
        raise KerasZooError(f"expected {wanted}")
    with console.results() as write:
        place = fetch(name, source, sha256=sha256, report=say)
        write([place])
        console.hint_at_use(name, model_directory.read_description(place).config.get("task"))


def _convert(name, output):
    """Converts a published model into a directory, or into the cache; returns whether it is one."""
    from keraszoo.converters.download import published
    from keraszoo.saving import model_directory
    from keraszoo.shipping import cache

    if output is not None:
        console.check_output(output, model_directory.check_replaceable)
    with console.results() as write:
        with published(name) as folder:
            if folder is None and output is None:
                return False
            if folder is None:
                raise KerasZooError(f"{name}: --output converts Marian models, and this is no such model")
            console.import_keras()
            from keraszoo.translation.published import converted
            from keraszoo.translation.translator import Translator

            translator = converted(Translator, folder, name)
        place = output or cache.hub_place(name)
        translator.save_to_preset(place)
        write([place])
    console.hint_at_use(place if output else name, "translation")
    return True


def upload(
    directory: Annotated[str, Argument(metavar="MODEL", help="A model directory or the name of one.")],
    address: Annotated[str, Argument(metavar="ADDRESS", help="hf://USER/NAME, created if necessary.")],
):
    """Upload a model directory to the Hugging Face Hub. Log in first with `hf auth login`."""
    from keraszoo.shipping import hub, shipped

    with console.results() as write:
        write([hub.upload_preset(address, shipped.find(directory))])
    console.hint("keraszoo", "fetch", address)


def card(
    directories: Annotated[list[str], Argument(metavar="DIRECTORIES", help="Model directories.")],
    facts: Annotated[str | None, Option(metavar="FILE", help="A YAML file of facts by model name.")] = None,
):
    """Rewrite a model card. It states the model's metrics and facts such as its licence."""
    from keraszoo.saving.model_card import rewrite_card
    from keraszoo.saving.model_facts import read_facts

    names = {directory: Path(directory).resolve().name for directory in directories}
    facts_by_name = dict.fromkeys(names.values()) if facts is None else read_facts(facts)
    for name in names.values():
        if name not in facts_by_name:
            raise KerasZooError(f"{facts}: has no facts of {name}{suggestion(name, list(facts_by_name))}")
    with console.results() as write:
        for directory, name in names.items():
            rewrite_card(directory, facts_by_name[name])
            write([directory])
