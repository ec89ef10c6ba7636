"""Names for array types, and labels whose classes are known."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

CodingMatrix = NDArray[np.int8 | np.float64]
IntArray = NDArray[np.intp]
FloatArray = NDArray[np.float64]
Margins = NDArray[np.floating[Any]]


@dataclass(frozen=True, eq=False)
class EncodedLabels:
    """Labels as class indices: 8 bytes per sample, however long the labels are.

    Estimators accept it instead of an array of labels, and NumPy converts it to one. ``classes`` are the distinct
    labels in sorted order, some perhaps without samples; ``classes[class_index[i]]`` is the label of sample ``i``.

    >>> labels = EncodedLabels(np.array(["cat", "dog"]), np.array([1, 0, 1]))
    >>> np.asarray(labels)
    array(['dog', 'cat', 'dog'], dtype='<U3')
    """

    classes: NDArray[Any]
    class_index: IntArray = field(repr=False)

    def __len__(self) -> int:
        """The number of samples."""
        return len(self.class_index)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        """The labels one by one."""
        return np.asarray(self.classes[self.class_index], dtype=dtype)
