"""Model directories on the Hugging Face Hub, with addresses such as `hf://user/name`.

`huggingface_hub` (the extra `hub`) transfers files; it reads HF_ENDPOINT, HF_TOKEN and HF_HUB_OFFLINE.
"""

import contextlib
import re
import sys

from keraszoo.errors import PresetError
from keraszoo.saving import manifest as manifests
from keraszoo.saving import model_directory

PREFIX = "hf://"
ADDRESS = re.compile(rf"{PREFIX}([A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*)", re.ASCII)


def is_address(name):
    """Returns whether a name of a model is an address on the Hub."""
    return str(name).startswith(PREFIX)


def repository(address):
    """Returns `user/name` of `hf://user/name`; raises PresetError for any other address."""
    if match := ADDRESS.fullmatch(str(address)):
        return match[1]
    raise PresetError(f"{address}: expected {PREFIX}USER/NAME")


def download(address, name, folder, most):
    """Downloads a file of a repository into a folder; an interrupted download is continued.

    Returns whether the repository has the file. Raises PresetError if it is longer than `most` bytes, or as
    `_library`.
    """
    with _library(address) as hub:
        if hub.constants.HF_HUB_OFFLINE:
            raise PresetError(f"{address}: is not on this machine, and HF_HUB_OFFLINE is set")
        repo = repository(address)
        try:
            size = hub.get_hf_file_metadata(hub.hf_hub_url(repo, name)).size
            if size is not None and size > most:
                raise PresetError(f"{address}: {name} has more than the {most:,} bytes expected")
            hub.hf_hub_download(repo, name, local_dir=folder)
        except hub.errors.EntryNotFoundError:
            return False
        return True


def upload_preset(address, directory):
    """Uploads a model directory to the Hugging Face Hub. The repository is created if it does not exist.

    Args:
        address: `hf://user/name`.
        directory: path of a model directory, whose files are verified first.

    Returns:
        The URL of the commit.

    Raises:
        PresetError: a damaged directory, a Hub that cannot be reached or that refuses, or huggingface_hub is
            not installed.
    """
    name = repository(address)
    checked = model_directory.read_directory(directory)
    with _library(address) as hub:
        api = hub.HfApi()
        api.create_repo(name, exist_ok=True)
        commit = api.upload_folder(
            repo_id=name,
            folder_path=checked.path,
            allow_patterns=[*checked.names, manifests.MANIFEST],
            commit_message="Upload a model directory of keraszoo",
        )
    return commit.commit_url


@contextlib.contextmanager
def _library(address):
    """Yields the module huggingface_hub, and turns its errors into a PresetError in one line."""
    try:
        import huggingface_hub as hub
        from huggingface_hub.utils import disable_progress_bars
    except ImportError as error:
        raise PresetError(
            f"{address}: {error}; addresses on the Hub need pip install 'keraszoo[hub]'"
        ) from error
    if not sys.stderr.isatty():
        disable_progress_bars()
    try:
        yield hub
    except PresetError:
        raise
    except Exception as error:  # also those of its HTTP client, which differs between versions
        raise PresetError(f"{address}: {' '.join(str(error).split())}") from error
