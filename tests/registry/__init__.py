"""Schema registries: a stand-in in this process, and Apicurio's, which Maven fetches."""
