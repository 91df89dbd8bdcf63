"""Integration methods: families, coefficients, compiled steps, and the registry."""
