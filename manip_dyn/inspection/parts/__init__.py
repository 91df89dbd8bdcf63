"""What the rest of the inspection is made of: findings, and what a URDF states."""
