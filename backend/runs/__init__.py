"""Jobs as processes: launched, watched, ended, and their events recorded."""
