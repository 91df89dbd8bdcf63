"""``python -m manip_dyn``: the same as the command `manip_dyn`."""

import sys

from manip_dyn.cli import main

if __name__ == "__main__":
    sys.exit(main())
