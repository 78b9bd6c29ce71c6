"""The playground: a page on this machine to try models and look into them."""
