"""Strings to ids and back: readers of parallel text, subwords, and the corpus they make."""

from keraszoo.text.corpus import ParallelCorpus, SpecialIds
from keraszoo.text.lines import read_lines
from keraszoo.text.parallel import read_pairs
from keraszoo.text.subwords import Subwords

__all__ = ["ParallelCorpus", "SpecialIds", "Subwords", "read_lines", "read_pairs"]
