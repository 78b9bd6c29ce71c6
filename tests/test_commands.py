"""Every command in the documentation has options and settings that exist."""

import argparse
import re
import runpy
import shlex
from pathlib import Path

import pytest
import typer

from keraszoo.cli.app import app
from keraszoo.recipes.file import VARIABLE
from keraszoo.recipes.runs import read_recipe

ROOT = Path(__file__).parent.parent
PLACES = ("*.md", "*/*.md", "docs/*/*.md", "pretrained/*.yaml", "experiments/*/*.sh")
PAGES = {str(page.relative_to(ROOT)): page for place in PLACES for page in ROOT.glob(place)}
COMMAND = re.compile(r"^(?: *|\$ )(?:\w+=\S+ )*(?:\.venv/bin/)?keraszoo ((?:.*\\\n)*.*)$", re.MULTILINE)
SCRIPT = re.compile(
    r"^(?: *|\$ )(?:\w+=\S+ )*python ((?:examples|experiments|benchmarks|results)/\w+\.py(?:.*\\\n)*.*)$",
    re.MULTILINE,
)
GROUP = typer.main.get_command(app)
ENDS = {"#", ">", ">>", "<", "|", "&&", "&", "2>&1", "..."}


def commands(page, pattern=COMMAND):
    """The arguments of each command of a page, up to a comment, a pipe or a redirection."""
    for match in pattern.finditer(page.read_text()):
        if pattern is COMMAND and match[1].split()[0] not in GROUP.commands:
            continue
        text = match[1].replace("\\\n", " ").partition("  #")[0]
        words = shlex.split(text[:-1] if text.count("'") % 2 else text)  # the end of a quoted command
        end = next((i for i, word in enumerate(words) if word in ENDS), len(words))
        yield [word for word in words[:end] if not re.fullmatch(r"\$\w+", word)]


def parsed(words):
    """The command that a command line names, and its values."""
    with GROUP.make_context("keraszoo", words[:1], resilient_parsing=True) as above:
        command = GROUP.get_command(above, words[0])
        while hasattr(command, "get_command"):
            words = words[1:]
            command = command.get_command(above, words[0])
        with command.make_context(words[0], words[1:], parent=above) as context:
            return command.name, context.params


@pytest.mark.parametrize("page", [name for name, page in PAGES.items() if any(commands(page))])
def test_the_commands_of_a_page(page, monkeypatch):
    monkeypatch.chdir(ROOT)
    for words in commands(PAGES[page]):
        try:
            name, values = parsed(words)
            recipe = Path(str(values.get("recipe")))
            if name in ("train", "distil") and recipe.is_file():
                for variable in VARIABLE.finditer(recipe.read_text()):
                    monkeypatch.setenv(variable["name"], "somewhere")
                read_recipe(recipe, values["set_"] or ()).model_class()
        except Exception as error:
            raise AssertionError(f"{page}: keraszoo {shlex.join(words)}: {error}") from error


class Parsed(Exception):
    """A script has read its arguments."""


@pytest.mark.parametrize("page", [name for name, page in PAGES.items() if any(commands(page, SCRIPT))])
def test_the_scripts_of_a_page(page, monkeypatch):
    parse = argparse.ArgumentParser.parse_args

    def stop(parser):
        parse(parser)
        raise Parsed

    monkeypatch.setattr(argparse.ArgumentParser, "parse_args", stop)
    monkeypatch.chdir(ROOT)
    for words in commands(PAGES[page], SCRIPT):
        script = Path(words[0])
        if "argparse" not in script.read_text() or "import ray" in script.read_text():
            continue
        monkeypatch.syspath_prepend(script.parent)
        monkeypatch.setattr("sys.argv", words)
        try:
            with pytest.raises(Parsed):
                runpy.run_path(words[0], run_name="__main__")
        except SystemExit as error:
            raise AssertionError(f"{page}: python {shlex.join(words)}") from error
