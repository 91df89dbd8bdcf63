"""From lines of arithmetic to LLVM: straight-line programs, for one state or in SIMD lanes."""
