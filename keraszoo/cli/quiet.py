"""Import this module before anything that needs TensorFlow to hide TensorFlow's log lines."""

from keraszoo.cli.console import import_keras

import_keras()
