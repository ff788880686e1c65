"""The command line, as the wheel carries it."""

import signal
import sys

from . import _native


def main() -> int:
    """Runs ``foldglass`` with the arguments of this process; returns its exit code."""
    # The program hears signals itself, as it does without Python.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    sys.stdout.flush()
    return _native.main(["foldglass", *sys.argv[1:]])
