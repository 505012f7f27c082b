"""Every byte at which a connection can be cut, and every order in which things can happen."""
