"""Who may do what, sign-in and the demo's set-up."""
