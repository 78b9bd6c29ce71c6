"""The requests in docs/serving.md get answers of the form that the page shows."""

import json
import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

PAGE = (Path(__file__).parents[2] / "docs" / "serving.md").read_text("utf-8")
EXAMPLES = [
    (request.replace("\\\n", " "), answer)
    for block in re.findall(r"^```console\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    for request, answer in re.findall(r"^\$ (curl (?:.*\\\n)*.*)\n(.*)\n", block, re.MULTILINE)
]
MODELS = re.search(r"keraszoo serve ((?:\w+ )+\w+)\n", PAGE)[1].split()


def form(value):
    """The types of a value of JSON."""
    if isinstance(value, dict):
        return {key: form(part) for key, part in value.items()}
    return [form(part) for part in value] if isinstance(value, list) else type(value)


@pytest.mark.slow
def test_the_requests_of_the_page_are_answered(program):
    if not shutil.which("curl"):
        pytest.skip("needs curl")
    with program("serve", *MODELS, "--port", "0", text=True) as server:
        address = server.stdout.readline().strip(" /\n")
        for request, wanted in EXAMPLES:
            command = shlex.split(request.replace("localhost:5000", address))
            answer = subprocess.run([*command, "--silent"], capture_output=True, text=True).stdout
            print(request, answer, sep="\n")
            answer, wanted = json.loads(answer), json.loads(wanted)
            assert form(answer) == form(wanted)
            if "error" in wanted:
                assert answer == wanted
        server.terminate()
        assert server.wait(20) == -15
        assert server.stderr.read().count(", ready after") == len(MODELS) == 3
    assert len(EXAMPLES) == 5
