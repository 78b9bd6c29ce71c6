"""Run the command `keraszoo` as `python -m keraszoo`."""

from keraszoo.cli.app import main

if __name__ == "__main__":
    main()
