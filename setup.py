"""Adds two models of `pretrained/` to the package that is built; pyproject.toml describes everything else."""

import shutil
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

INCLUDED = ("english_entities", "tatoeba_en_de_student")


class BuildWithModels(build_py):
    """Copies the models into `keraszoo/pretrained/`; an editable install reads those of the clone."""

    def run(self):
        super().run()
        if not self.editable_mode:
            for name in INCLUDED:
                target = Path(self.build_lib, "keraszoo", "pretrained", name)
                shutil.copytree(Path("pretrained", name), target, dirs_exist_ok=True)


setup(cmdclass={"build_py": BuildWithModels})
