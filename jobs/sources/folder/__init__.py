"""Files of a folder as a source: new ones are read as they come, by name."""
