"""Plans that change while a replay runs: schedules, samples, decisions and their report."""
