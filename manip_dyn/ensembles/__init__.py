"""Many motions side by side: in SIMD lanes, on all cores, and as sweeps."""
