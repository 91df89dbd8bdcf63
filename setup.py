"""Package metadata for pip install, pip install -e and colcon build."""

import sys
from glob import glob
from pathlib import Path

from setuptools import find_packages, setup

NAME = "manip_dyn"
URL = "https://manip-dyn.org"
# colcon installs entry points into lib/manip_dyn, where ros2 run finds them, and PATH has bin/.
# pip installs entry points into bin/ itself.
FOR_PIP = {"bdist_wheel", "editable_wheel"} & set(sys.argv)

setup(
    name=NAME,
    version="0.3.0",
    description="Dynamics, kinematics and time-optimal control of robot manipulators",
    long_description=Path(__file__).resolve().with_name("README.md").read_text(encoding="utf-8"),
    long_description_content_type="text/markdown",
    license="Apache-2.0",
    url=URL,
    author="manip_dyn maintainers",
    author_email="maintainers@manip-dyn.org",
    maintainer="manip_dyn maintainers",
    maintainer_email="maintainers@manip-dyn.org",
    packages=find_packages(include=[NAME, f"{NAME}.*"]),
    package_data={
        "": ["*.pyi"],
        NAME: ["py.typed", "integration/methods/*.json", "studies/*/*.json"],
    },
    data_files=[
        ("share/ament_index/resource_index/packages", [f"resource/{NAME}"]),
        (f"share/{NAME}", ["package.xml"]),
        (f"share/{NAME}/urdf", glob("urdf/*")),
        (f"share/{NAME}/config", glob("config/*.*")),
        (f"share/{NAME}/config/mechanisms", glob("config/mechanisms/*.yaml")),
        (f"share/{NAME}/config/ros2_control", glob("config/ros2_control/*")),
        (f"share/{NAME}/config/scenes", glob("config/scenes/*.yaml")),
        (f"share/{NAME}/config/sros2", glob("config/sros2/*.xml")),
        (f"share/{NAME}/config/sweeps", glob("config/sweeps/*.yaml")),
        (f"share/{NAME}/launch", glob("launch/*.launch.py")),
        *([] if FOR_PIP else [("bin", [f"bin/{NAME}"])]),
    ],
    python_requires=">=3.10",
    # Lower bounds: versions of Ubuntu 24.04 (test/oldest.txt); ROS 2 Jazzy ships pinocchio 4.1.
    install_requires=[
        "numpy>=1.26",  # arrays
        "scipy>=1.11",  # dense ODE solutions, root finding, rotations
        "numba>=0.58.1,<0.69",  # compiles; the first for numpy 1.26, the last that is tested
        "llvmlite>=0.41",  # LLVM for straight-line code that is emitted without numba
        "pin>=3.3",  # pinocchio: URDF parser and reference algorithms; coal: distances
        "pyyaml>=6",  # robot extras, scenarios, studies
        "rich>=13",  # tables and progress bars on a terminal; loaded only there
        "argcomplete>=3",  # shell completion; loaded only for that
    ],
    extras_require={
        # ROS 2 Jazzy from wheels, for machines without a ROS installation
        "ros": [
            "ros-jazzy-rclpy>=7.1",
            "ros-jazzy-rmw-fastrtps-cpp>=8.4",
            "ros-jazzy-common-interfaces>=5.3",
            "xacro>=2.1",  # robots described by xacro files, as in many ROS packages
        ],
        # peers that `manip_dyn bench` compares this package with, and robots to time
        "bench": [
            *("casadi>=3.6", "mujoco>=3", "drake>=1.30"),  # dynamics
            *("pin-pink>=4", "mink>=1", "daqp>=0.8"),  # inverse kinematics and its QP solver
            "scikit-sundae>=1.0",  # CVODE, for stiff motions
            "exudyn>=1.9",  # chains of rigid bodies
            "toppra>=0.6",  # timing of paths
            "example-robot-data>=4.1",
        ],
        # torch_function and jax_function: kernels as differentiable functions of these libraries
        "torch": ["torch>=2.4"],  # the oldest tested: gradcheck forward and backward, torch.func
        "jax": ["jax>=0.5"],  # jax.ffi: XLA calls our machine code
        # peers that `manip_dyn check` compares with if they are installed
        "check": ["mujoco>=3", "drake>=1.30"],
        # recordings: the MCAP format; ROS message definitions and CDR without ROS
        "record": ["mcap>=1.6", "rosbags>=0.11"],
        "xarray": ["xarray>=2023.1"],  # `Ensemble.to_xarray`: ensembles with named axes
        "pandas": ["pandas>=2.1"],  # `to_dataframe` of results
        "plot": ["matplotlib>=3.7"],  # manip_dyn plan --plot, study --out
        # sweeps
        "sweep": [
            "pyarrow>=14",  # results as Parquet files; sufficient on one machine
            *("dask>=2024.1", "distributed>=2024.1"),  # scheduler and workers of a cluster
        ],
        # the site, `make docs`
        "docs": [
            "sphinx>=7.4",  # pages, reference from docstrings, search
            "myst-parser>=4",  # pages in Markdown
            "furo>=2024.8",  # the theme
            "sphinx-gallery>=0.18",  # runs examples/ and renders pages, pictures and notebooks
            "sphinx-argparse>=0.5",  # command reference from the parsers
            "sphinx-copybutton>=0.5",
            "sphinx-design>=0.6",  # cards
            "matplotlib>=3.7",  # pictures of the examples
        ],
        "view": [
            "viser>=1.0",  # manip_dyn view: the page in the browser
            "trimesh>=4",  # meshes of URDFs
            "pycollada>=0.7",  # COLLADA meshes
            "pillow>=10",  # the README's animation
        ],
        # parallel tests, property tests, robots from other authors, lint, types
        "test": [
            "pytest>=7.4",
            "pytest-xdist>=3.5",
            "hypothesis>=6.90",
            "example-robot-data>=6",
            "matplotlib>=3.7",
            "xacro>=2.1",
            *("mcap>=1.6", "rosbags>=0.11"),
            "mcap-ros2-support>=0.5",  # reads recordings with an independent decoder
            "ruff>=0.6",
            "mypy>=1.8",
            "pandas>=2.1",  # data frames of results
            "ipykernel>=6.29",  # runs the examples as notebooks
            "types-PyYAML",
        ],
    },
    zip_safe=False,
    entry_points={
        "console_scripts": [
            f"{NAME} = {NAME}.cli:main",
            f"simulator_node = {NAME}.ros.start:simulator",
            f"clik_tracker_node = {NAME}.ros.start:clik_tracker",
            f"bang_bang_planner_node = {NAME}.ros.start:bang_bang_planner",
            f"mechanism_node = {NAME}.ros.start:mechanism",
            f"mechanism_monitor_node = {NAME}.ros.start:mechanism_monitor",
            f"monitor_node = {NAME}.ros.start:monitor",
            f"viewer_node = {NAME}.ros.start:viewer",
        ],
    },
)
