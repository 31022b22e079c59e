"""Convolutions over time as products of short Fourier transforms, which need fewer multiplications.

A stretch of `length` samples gives `length - kernel + 1` samples of a convolution: the transforms
of stretch and kernel are multiplied, number by number, and transformed back. Complex numbers are
multiplied with three real products (Gauss), so that all of it is

    output = inverse @ ((kernels @ kernel) * (forward @ stretch))

with real matrices, and the product in the middle is, over all channels, a product of matrices for
each row of `forward`. Of 11 multiplications for a sample 2.1 are left.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, slots=True, eq=False)
class Transform:
    """Matrices in float64, of a stretch of `length` samples and kernels of `kernel`.

    forward (rows, length), kernels (rows, kernel), inverse (step, rows), rows = 3 length / 2 - 1.
    """

    forward: np.ndarray
    kernels: np.ndarray
    inverse: np.ndarray

    @property
    def rows(self) -> int:
        """Products for each stretch."""
        return len(self.forward)

    @property
    def length(self) -> int:
        """Samples of a stretch."""
        return self.forward.shape[1]

    @property
    def step(self) -> int:
        """Samples of the output for each stretch."""
        return len(self.inverse)


def make_transform(length: int, kernel: int) -> Transform:
    """Of an even length."""
    time, taps = np.arange(length), np.arange(kernel)
    forward, kernels, inverse = [], [], []
    for bin_ in range(length // 2 + 1):
        angle = 2 * np.pi * bin_ / length
        x_real, x_imag = np.cos(angle * time), -np.sin(angle * time)
        # Convolutions of networks are correlations: the kernel's transform is conjugated.
        w_real, w_imag = np.cos(angle * taps), np.sin(angle * taps)
        y_real, y_imag = x_real / length, x_imag / length  # of the real part, both halves
        if bin_ in (0, length // 2):
            forward.append(x_real), kernels.append(w_real), inverse.append(y_real)
            continue
        # a = w_real (x_real + x_imag), b = x_real (w_imag - w_real), c = x_imag (w_real + w_imag):
        # the product is (a - c) + i (a + b)
        forward += [x_real + x_imag, x_real, x_imag]
        kernels += [w_real, w_imag - w_real, w_real + w_imag]
        inverse += [2 * (y_real + y_imag), 2 * y_imag, -2 * y_real]
    step = length - kernel + 1
    return Transform(np.array(forward), np.array(kernels), np.array(inverse).T[:step])
