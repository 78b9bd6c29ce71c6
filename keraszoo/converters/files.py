"""The files of a published model: which there are, what is in them, and what they say for its card."""

import json
from pathlib import Path

from keraszoo.errors import PresetError
from keraszoo.saving import yaml_text

MOST = 1 << 26  # bytes of a file without weights
HOW_TO_CONVERT = (
    "with PyTorch and safetensors installed, this converts it: "
    "python -c \"import torch, safetensors.torch as s; w = torch.load('{0}', weights_only=True); "
    "s.save_file({{k: v.clone() for k, v in w.items()}}, '{1}')\""
)


def check_files(folder, required):
    """Raises PresetError that names the first missing file, or the pickle that is there in its place."""
    for name in required:
        if (folder / name).is_file():
            continue
        pickled = folder / "pytorch_model.bin"
        if name.endswith(".safetensors") and pickled.is_file():
            how = HOW_TO_CONVERT.format(pickled, folder / name)
            raise PresetError(f"{pickled}: is a pickle, which may run code, and is not read; {how}")
        raise PresetError(f"{folder}: has no {name}")


def read_bytes(folder, name):
    """The content of a file of at most `MOST` bytes."""
    try:
        with open(folder / name, "rb") as file:
            content = file.read(MOST + 1)
    except OSError as error:
        raise PresetError(f"{folder / name}: {error.strerror}") from error
    if len(content) > MOST:
        raise PresetError(f"{folder / name}: has more than {MOST:,} bytes")
    return content


def read_json(folder, name, optional=False):
    """The dict in a JSON file; `{}` for an optional file that does not exist."""
    if optional and not (folder / name).is_file():
        return {}
    try:
        content = json.loads(read_bytes(folder, name))
    except (ValueError, RecursionError) as error:
        if isinstance(error, PresetError):
            raise
        raise PresetError(f"{folder / name}: not valid JSON: {error}") from None
    if not isinstance(content, dict):
        raise PresetError(f"{folder / name}: expected a dict, got {type(content).__name__}")
    return content


def card_facts(folder, source, tokenizer):
    """Facts about a converted model: its languages and licence, as published, and where it is from.

    Args:
        folder: the folder, whose `README.md` begins with entries for the Hub.
        source: the folder or the address of the model.
        tokenizer: the content of `tokenizer_config.json`.
    """
    front = _front_matter(folder)
    languages = front.get("language", [tokenizer.get("source_lang"), tokenizer.get("target_lang")])
    languages = [one for one in (languages if isinstance(languages, list) else [languages]) if one]
    name = source if str(source).startswith("hf://") else Path(source).resolve().name
    facts = {"languages": [*dict.fromkeys(map(str, languages))], "attribution": f"Converted from {name}."}
    if licence := front.get("license"):
        facts["licence"] = str(licence)
    return {key: value for key, value in facts.items() if value}


def _front_matter(folder):
    """The entries at the head of a card; `{}` if there are none that can be read."""
    if not (folder / "README.md").is_file():
        return {}
    parts = read_bytes(folder, "README.md").decode("utf-8", "replace").split("---\n", 2)
    if len(parts) < 3 or parts[0].strip():
        return {}
    try:
        front = yaml_text.parse(parts[1], folder / "README.md", PresetError)
    except PresetError:
        return {}
    return front if isinstance(front, dict) else {}
