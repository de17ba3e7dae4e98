"""What words say of a text: its language, numbers, names and denials.

One detector each, for the judges, the check of quotes, falsification and splitting alike. All of
them are pure, and linear in the text. The words are data, in the files beside the modules.
"""
