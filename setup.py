"""Everything about the package stands in pyproject.toml; this file is for tools that still look for it."""

from setuptools import setup

setup()
