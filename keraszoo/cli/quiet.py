"""Imported before all that needs TensorFlow, this module keeps TensorFlow's log lines off the terminal."""

from keraszoo.cli.console import import_tensorflow

import_tensorflow()
