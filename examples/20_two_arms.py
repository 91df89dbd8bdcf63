"""Two arms
========

Find the delay with which a second arm can follow a first one without a collision.
"""

import xml.etree.ElementTree as ElementTree

import matplotlib.pyplot as plt
import numpy as np
from scipy.interpolate import CubicHermiteSpline

import manip_dyn as md

# %%
# Two arms in one URDF, 0.9 m apart and facing each other, are a robot with two branches.
cell = ElementTree.fromstring('<robot name="cell"><link name="cell"/></robot>')
for side, x, yaw in (("left_", 0.0, 0.0), ("right_", 0.9, np.pi)):
    arm = ElementTree.fromstring(md.load_robot("ibm7535").urdf)
    for tag, key in (("joint", "name"), ("link", "name"), ("parent", "link"), ("child", "link")):
        for element in arm.iter(tag):
            element.set(key, side + element.get(key))
    mount = ElementTree.SubElement(cell, "joint", name=f"{side}mount", type="fixed")
    ElementTree.SubElement(mount, "parent", link="cell")
    ElementTree.SubElement(mount, "child", link=f"{side}base_link")
    ElementTree.SubElement(mount, "origin", xyz=f"{x} 0 0", rpy=f"0 0 {yaw}")
    cell.extend(arm.findall("link") + arm.findall("joint"))
robot = md.load_robot(ElementTree.tostring(cell, encoding="unicode"))

# %%
# Both arms sweep through the region between them; the right one starts later.
sweep = CubicHermiteSpline([0.0, 1.0], [[-1.2, 0.6], [1.2, 0.6]], np.zeros((2, 2)))


def motion(delay):
    times = np.unique([0.0, delay, 1.0, 1.0 + delay])
    local = [np.clip(times - begin, 0.0, 1.0) for begin in (0.0, delay)]
    q, v = (np.hstack([sweep(t, order) for t in local]) for order in (0, 1))
    return CubicHermiteSpline(times, q, v)


delays = np.linspace(0.0, 1.0, 41)
results = [md.check_motion(robot, motion(delay)) for delay in delays]
clear = [result.success for result in results]
print("without delay:", results[0].status, "- first clear delay:", delays[clear.index(True)], "s")
# -> without delay: collision - first clear delay: 0.625 s

figure, axes = plt.subplots(figsize=(6, 4), layout="constrained")
axes.plot(delays, [max(result.least, 0.0) for result in results], "o-", ms=4)
axes.set(title="proved distance of two arms", xlabel="delay of the second arm [s]", ylabel="[m]")
plt.show()
