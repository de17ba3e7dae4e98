"""Detect a text's language, numbers, names and denials by its words.

The judges, the check of quotes, falsification and splitting share these detectors. All are pure
functions that take linear time. The word lists are data files beside the modules.
"""
