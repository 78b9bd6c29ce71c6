"""Runs setuptools for tools that need a setup.py; the package is described in pyproject.toml."""

from setuptools import setup

setup()
