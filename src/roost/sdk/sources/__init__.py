"""Where weights come from: one file a source, each read into a directory of its own for the upload."""
