"""Builds the container images of Gantry and loads them into the test cluster.

`python -m images` does it all; docs/reference/images.md says what is in the images and why.
"""
