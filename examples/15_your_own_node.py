"""Your own node
=============

Control a simulator in lockstep from a ROS 2 node that publishes efforts.
"""

import os
import subprocess
import sys

import matplotlib.pyplot as plt
import numpy as np
import rclpy
from rclpy.node import Node
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

import manip_dyn as md


# The simulator repeats its state while it waits, so the node responds once per time stamp. A
# unique namespace separates this run from other nodes on the machine.
class Reach(Node):
    def __init__(self, goal):
        super().__init__("reach", namespace=f"reach_{os.getpid()}")
        self.goal, self.positions, self.stamp = np.array(goal), [], None
        self.kernels = md.customize(md.load_robot("rr"))
        self.publisher = self.create_publisher(Float64MultiArray, "simulator/commands", 10)
        self.create_subscription(JointState, "joint_states", self.control, 10)

    def control(self, state):
        if state.header.stamp == self.stamp or not self.publisher.get_subscription_count():
            return
        q, v, self.stamp = np.array(state.position), np.array(state.velocity), state.header.stamp
        self.positions.append(q)
        effort = self.kernels.inverse_dynamics(q, v, 9.0 * (self.goal - q) - 6.0 * v)
        self.publisher.publish(Float64MultiArray(data=effort.tolist()))


# %%
# In lockstep each command advances time by one period, so the result does not depend on timing.
rclpy.init()
node = Reach(goal=[1.0, 0.5])
words = f"-m manip_dyn.ros.start simulator --ros-args -r __ns:={node.get_namespace()}"
words += " -p robot:=rr -p mode:=lockstep -p control_period:=0.01"
with subprocess.Popen([sys.executable, *words.split()]) as simulator:
    while len(node.positions) < 300 and simulator.poll() is None:
        rclpy.spin_once(node, timeout_sec=1.0)
    rclpy.shutdown()
    simulator.terminate()
print("after 2.99 s:", node.positions[299].round(4))
# -> after 2.99 s: [0.9986 0.4998]

plt.plot(0.01 * np.arange(300), node.positions[:300], label=["joint 1", "joint 2"])
plt.gcf().set(size_inches=(7, 3.6), layout_engine="constrained")
plt.gca().set(title="motion to (1, 0.5) rad", xlabel="time [s]", ylabel="rad")
plt.legend()
plt.show()
