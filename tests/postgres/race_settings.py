"""The product's settings, but with a job that notices a second one beside it."""

import sys
from pathlib import Path

from backend.settings import *  # noqa: F403

MILLRACE_JOB_COMMAND = [sys.executable, str(Path(__file__).with_name("lonely_job.py"))]
MILLRACE_METHOD = "greedy"
