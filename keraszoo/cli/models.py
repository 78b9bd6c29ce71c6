"""The commands about models as files: which there are, getting one, writing its card anew."""

import json
from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from keraszoo.cli import console
from keraszoo.messages import one_line, say


def list_models(
    as_json: Annotated[bool, Option("--json", help="As one JSON array.")] = False,
):
    """List the models that have a name: what they do, how well, and whether they are on this machine."""
    from keraszoo.shipping.model_list import as_table, list_models

    models = list_models()
    with console.results() as write:
        lines = [json.dumps(models, ensure_ascii=False)] if as_json else as_table(models)
        write(map(one_line, lines))


def fetch(
    name: Annotated[str, Argument(metavar="NAME", help="As `keraszoo list` has it.")],
    source: Annotated[
        str, Option("--from", metavar="FOLDER", help="A folder or URL that has what pretrained/ has.")
    ],
    sha256: Annotated[
        str | None, Option("--sha256", help="Of a model that does not ship: its manifest's last entry.")
    ] = None,
):
    """Get a shipped model into the cache, going on where an earlier call stopped. No host is built in."""
    from keraszoo.shipping.fetching import fetch

    with console.results() as write:
        write([fetch(name, source, sha256=sha256, report=say)])


def card(
    directories: Annotated[list[str], Argument(metavar="DIRECTORIES...", help="Of models.")],
    facts: Annotated[
        str | None, Option("--facts", metavar="FILE", help="YAML: facts for models by name.")
    ] = None,
):
    """Write the card of a model directory anew, from its figures and from facts such as its licence."""
    from keraszoo.saving.model_facts import read_facts, rewrite

    told = read_facts(facts) if facts else {}
    with console.results() as write:
        for directory in directories:
            rewrite(directory, told.get(Path(directory).resolve().name))
            write([directory])


def task(model):
    """What the model of a directory does, as its `config.json` has it."""
    from keraszoo.saving import model_directory
    from keraszoo.shipping import shipped

    return model_directory.read_directory(shipped.find(model)).config.get("task")


def add_to(app):
    """Gives the commands to a `typer.Typer`."""
    app.command("list")(list_models)
    app.command()(fetch)
    app.command()(card)
