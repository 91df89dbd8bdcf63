"""The CLIK law: poses and errors, settings, inverses of the Jacobian, joint velocities."""
