"""Sign-in by an OpenID Connect provider, and the teams that its groups say."""
