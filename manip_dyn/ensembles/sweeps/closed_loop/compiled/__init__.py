"""The closed loop in compiled code: arm, feedback, reference, switches, and the periods."""
