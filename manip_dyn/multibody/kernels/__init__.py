"""Scalar functions of two bodies as compiled kernels; forces of users among them."""
