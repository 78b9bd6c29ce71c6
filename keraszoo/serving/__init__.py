"""Servers: what `keraszoo serve` and the playground share, and the JSON interface of `keraszoo serve`."""
