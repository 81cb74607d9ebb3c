"""Writes digits-train.npz and digits-test.npz beside itself: the 1,797 digits of 8 by 8 pixels that come with scikit-learn.

scikit-learn does not say who wrote which digit: six blocks of its order stand for six made-up writers. Every sixth digit
is for testing. Needs numpy and scikit-learn.
"""

import pathlib

import numpy
import sklearn.datasets

WRITERS = 6
digits = sklearn.datasets.load_digits()
x = digits.images.astype(numpy.uint8)
y = digits.target.astype(numpy.uint8)
positions = numpy.arange(len(y))
device = numpy.array([f"writer-{at * WRITERS // len(y)}" for at in positions])
tested = positions % 6 == 5
folder = pathlib.Path(__file__).parent
numpy.savez_compressed(folder / "digits-train.npz", x=x[~tested], y=y[~tested], device=device[~tested])
numpy.savez_compressed(folder / "digits-test.npz", x=x[tested], y=y[tested])
