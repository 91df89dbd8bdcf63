"""Papers recomputed: their tables and figures, published beside computed."""

from manip_dyn.studies.study import PAPERS, study

__all__ = ["PAPERS", "study"]
