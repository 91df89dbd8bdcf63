"""Recordings of topics: written while nodes run, published again, checked by the simulator."""
