"""Compilation of straight-line programs to LLVM, for one state or in SIMD lanes."""
