"""Distillation: a student trains on the translations of a teacher.

    <output>.distilled/   teacher.json   pairs.tsv

The teacher translates the training sources by beam search, and the student trains on its translations instead
of the references: they are more regular, so a small model learns them better. The folder keeps the
translations; a stopped run continues after the last one.

Reference: Kim and Rush: Sequence-Level Knowledge Distillation, 2016, https://aclanthology.org/D16-1139.
"""

import json
from pathlib import Path

from keraszoo.errors import RecipeError
from keraszoo.messages import say
from keraszoo.saving import manifest
from keraszoo.saving.atomic import replace_file
from keraszoo.saving.weights import WEIGHTS
from keraszoo.shipping import shipped
from keraszoo.text.lines import read_lines
from keraszoo.text.parallel import read_pairs
from keraszoo.translation.lines import in_chunks
from keraszoo.translation.run import files_of, make_model, new_subwords

CHUNK = 2048  # sentences that are translated before they are written


def distil(recipe, teacher, name, **search):
    """Translates the training sources of a recipe, each once.

    A translation is left out if it is blank, repeats its source, was cut at the maximum length, or if its
    source was cut.

    Args:
        recipe: the `Recipe` of the student.
        teacher: a `Translator` or a `CTranslate2Translator`.
        name: the name or the directory of the teacher; its files must be the same if a stopped run continues.
        **search: fields of `SearchOptions` that differ from the teacher's.

    Returns:
        The path of a file of pairs, `source TAB translation`; a line is blank if its pair is left out.

    Raises:
        RecipeError: the folder holds translations of other sources, or by another teacher or search; the
            output is that of another run or the teacher; an unusable model; or no translation is left.
        DataError: the data cannot be read.
    """
    recipe.model_class()  # an unknown override is an error before the data are read
    for held_out in filter(None, (recipe.data.validation, recipe.data.test)):
        list(read_pairs(*files_of(recipe, held_out)))  # hours are lost if they cannot be read afterwards
    if recipe.model.start_from is not None:
        shipped.find(recipe.preset(recipe.model.start_from))
    if recipe.subwords.model is not None or recipe.subwords.source_model is not None:
        make_model(recipe, *new_subwords(recipe))
    output = recipe.path(recipe.output)
    folder = Path(f"{output}.distilled")
    if Path(name).resolve() == Path(output).resolve():
        raise RecipeError(f"output: {output} is the teacher; choose another directory for the student")
    if Path(f"{output}.checkpoints").exists() and not folder.exists():
        raise RecipeError(f"output: {output} belongs to a run without a teacher; choose another")
    file, note = folder / "pairs.tsv", folder / "teacher.json"
    pairs = read_pairs(*files_of(recipe, recipe.data.train))
    sources = [*dict.fromkeys(" ".join(source.split()) for source, _ in pairs if source.strip())]
    if not sources:
        raise RecipeError("data.train: expected a source with a word in it, got none")
    search = teacher.search.replace(**search).as_dict()
    identity = {"teacher": name, "sha256": _digest(name), "search": search}
    done = _complete_lines(file)
    if done:
        try:
            same = json.loads(note.read_text()) == identity
        except (OSError, ValueError) as error:
            said = f"does not say which teacher translated {done:,} sources"
            raise RecipeError(f"{note}: {said} ({error}); delete {folder} to start again") from error
        before = zip(sources, read_lines(file), strict=False)
        if (
            not same
            or done > len(sources)
            or any(line and line.partition("\t")[0] != source for source, line in before)
        ):
            raise RecipeError(f"{folder}: its translations have another teacher, search or source; delete it")
    else:
        with replace_file(note, folders=True) as written:
            written.write(json.dumps(identity, indent=2).encode())
    for chunk in in_chunks(sources[done:], CHUNK):
        translations = teacher.translate_details(chunk, **search)
        lines = (f"{_pair(*both)}\n" for both in zip(chunk, translations, strict=True))
        with open(file, "ab") as written:
            written.write("".join(lines).encode())
        done += len(chunk)
        say(f"{done:,} of {len(sources):,} sources are translated")
    kept = sum(1 for line in read_lines(file) if line)
    if not kept:
        raise RecipeError(
            f"{file}: none of the {done:,} translations is usable: all are blank, copied or cut"
        )
    say(f"the student learns from {kept:,} translations; {len(sources) - kept:,} are left out")
    return str(file)


def _digest(name):
    """The digest of a teacher's manifest, or of the weights of a CTranslate2 export or a Marian model."""
    place = Path(shipped.find(name))
    files = place / manifest.MANIFEST, place / "model.bin", place / WEIGHTS
    return manifest.file_digest(next(file for file in files if file.exists()))


def _pair(source, translation):
    """The line of a translation, blank if the student should not learn it."""
    text = " ".join(translation.text.split())
    whole = translation.tokens[-1:] == ["</s>"] and not translation.truncated
    return f"{source}\t{text}" if text and text != source and whole else ""


def _complete_lines(file):
    """The number of complete lines of a file, 0 without one. An incomplete last line is cut off."""
    data = file.read_bytes() if file.exists() else b""
    whole = data[: data.rfind(b"\n") + 1]
    if whole != data:
        with replace_file(file) as written:
            written.write(whole)
    return whole.count(b"\n")
