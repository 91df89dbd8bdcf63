"""What all studies share: settings, claims, tables, charts, findings and how they are written.

Nothing here knows a paper.
"""
