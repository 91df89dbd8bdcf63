"""Studies: tables and figures of papers, published and recomputed; one package per paper."""

from manip_dyn.studies.papers import PAPERS, paper, study

__all__ = ["PAPERS", "paper", "study"]
