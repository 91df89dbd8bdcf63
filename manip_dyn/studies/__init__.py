"""Papers recomputed: their tables and figures, published beside computed; a folder for each."""

from manip_dyn.studies.papers import PAPERS, paper, study

__all__ = ["PAPERS", "paper", "study"]
