"""From a path to efforts: the joint motion that is asked for, and computed torque."""
