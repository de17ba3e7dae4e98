"""Detect a text's language, numbers, names and denials by its words.

The judges, the check of quotes, falsification and splitting share these detectors. All
detectors are pure functions in linear time. The words are data, in the files beside the modules.
"""
