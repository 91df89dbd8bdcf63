"""The time loops over many motions, one motion per SIMD lane."""
