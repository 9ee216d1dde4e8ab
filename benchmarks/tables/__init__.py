"""Tables and figures of the docs, from measured results."""
