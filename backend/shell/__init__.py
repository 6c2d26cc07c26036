"""The pages' frame: layout, navigation and the front end's assets."""
