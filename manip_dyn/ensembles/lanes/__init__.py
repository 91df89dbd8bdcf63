"""The time loop over many motions side by side, a motion in each SIMD lane."""
