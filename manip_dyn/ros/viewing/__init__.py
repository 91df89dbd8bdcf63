"""Parts of the viewer: what it hears, and what it says for the page."""
