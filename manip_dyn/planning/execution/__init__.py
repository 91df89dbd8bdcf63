"""Execution of any plan in closed loop: feedback, switching by measured state, new motions."""
