"""``python -m manip_dyn.cli``: the same as the command `manip_dyn`."""

import sys

from manip_dyn.cli import main

sys.exit(main())
