"""The CLIK law: settings, inverses of the Jacobian, null space, joint velocities within limits."""
