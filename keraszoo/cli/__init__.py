"""The command `keraszoo`: a few calls of `keraszoo.tasks` and the other rooms a command."""
