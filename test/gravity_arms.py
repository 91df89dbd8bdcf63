"""Arms with gravity and tight position limits, along which many motions run."""

HANGING = """<robot name="hanging"><link name="base"/>
<joint name="upper" type="revolute"><parent link="base"/><child link="link_1"/>
  <axis xyz="0 -1 0"/><limit lower="-1.8" upper="1.8" velocity="40" effort="60"/>
  <dynamics damping="0.8"/></joint>
<link name="link_1"><inertial><origin xyz="0.2 0 0"/><mass value="5"/>
  <inertia ixx="0" ixy="0" ixz="0" iyy="0.07" iyz="0" izz="0.07"/></inertial></link>
<joint name="lower" type="revolute"><parent link="link_1"/><child link="link_2"/>
  <origin xyz="0.4 0 0"/><axis xyz="0 -1 0"/>
  <limit lower="-1.2" upper="1.2" velocity="40" effort="18"/><dynamics damping="0.3"/></joint>
<link name="link_2"><inertial><origin xyz="0.17 0 0"/><mass value="3"/>
  <inertia ixx="0" ixy="0" ixz="0" iyy="0.03" iyz="0" izz="0.03"/></inertial></link>
</robot>"""

EXTENDING = """<robot name="extending"><link name="base"/>
<joint name="turn" type="revolute"><parent link="base"/><child link="link_1"/>
  <axis xyz="0 -1 0"/><limit lower="-2.5" upper="2.5" velocity="30" effort="40"/></joint>
<link name="link_1"><inertial><origin xyz="0.2 0 0"/><mass value="4"/>
  <inertia ixx="0" ixy="0" ixz="0" iyy="0.1" iyz="0" izz="0.1"/></inertial></link>
<joint name="slide" type="prismatic"><parent link="link_1"/><child link="link_2"/>
  <origin xyz="0.3 0 0"/><axis xyz="1 0 0"/>
  <limit lower="0" upper="0.5" velocity="10" effort="60"/></joint>
<link name="link_2"><inertial><origin xyz="0.1 0 0"/><mass value="3"/>
  <inertia ixx="0" ixy="0" ixz="0" iyy="0.02" iyz="0" izz="0.02"/></inertial></link>
</robot>"""
