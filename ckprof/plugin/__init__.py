"""How plugins are declared, found, loaded and looked up."""
