"""Reads the JSON of fastjson that the standard parser refuses.

`tolerant_reader` parses the text, `references` replaces references by their values.
"""
