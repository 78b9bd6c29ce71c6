"""Strings to ids and back: readers, vocabularies, tag schemes, word vectors."""
