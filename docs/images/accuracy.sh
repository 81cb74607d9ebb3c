#!/bin/sh
# Draws accuracy.svg of the README: MNIST under the preset `tuned`, with the authors' α and β. It takes some minutes on two cores.
# The background of the picture is made white afterwards, so that it can be read on a dark page.
set -eu
fedflip data get mnist
fedflip scenario new mnist-cnn > s.toml
fedflip compare s.toml --no-pilot --schemes auto,weighted,uniform,fixed=0.2 --reference weighted --seeds 3 --out some
fedflip compare s.toml --no-pilot --schemes full --reference full --seeds 1 --out full
fedflip report some full --format svg --out figures
