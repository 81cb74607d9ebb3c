"""``python -m fedflip``: the command line."""

from fedflip._cli import main

main()
