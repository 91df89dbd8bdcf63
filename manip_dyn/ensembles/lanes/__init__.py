"""Time loops over many motions, with one motion per SIMD lane."""
