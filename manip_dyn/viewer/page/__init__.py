"""The page in the browser; the only folder that imports viser."""
