"""The generated parts of docs/formats/: layout tables and annotated examples of every file."""
