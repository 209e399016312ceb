"""Builds the container images of Gantry and loads them into the test cluster.

`python -m images` runs all steps; docs/reference/images.md describes the content of the images.
"""
