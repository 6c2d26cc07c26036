"""The product's settings, but with the tests' streaming job."""

import sys
from pathlib import Path

from backend.settings import *  # noqa: F403

MILLRACE_JOB_COMMAND = [sys.executable, str(Path(__file__).with_name("job_process.py"))]
MILLRACE_METHOD = "greedy"
