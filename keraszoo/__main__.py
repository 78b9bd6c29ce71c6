"""`python -m keraszoo` is the command `keraszoo`."""

from keraszoo.cli.app import main

if __name__ == "__main__":
    main()
