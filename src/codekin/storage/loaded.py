"""A loaded classifier that predicts sparse rows without importing scikit-learn, and becomes an estimator when asked."""

from __future__ import annotations

from functools import partialmethod
from threading import RLock
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from codekin.code import FloatArray
from codekin.decoding.decoder import check_k

if TYPE_CHECKING:
    from codekin.storage import SavedModel

_LOCK = RLock()


class LoadedClassifier:
    """What ``load_model`` returns where nothing has imported scikit-learn yet, which takes two seconds and 130 MB.

    Sparse rows that the estimator would pass on unchecked are predicted by the model itself. With anything else that is
    asked of it, even its class, this object becomes the estimator that was saved.
    """

    def __init__(self, saved: SavedModel) -> None:
        self.__dict__["_saved"] = saved

    def predict(self, X: Any, **least: Any) -> NDArray[Any]:
        """As the estimator."""
        saved: Any = self._able_to_take(X)
        if saved is None or least or self._may_abstain(saved):
            return _became(self).predict(X, **least)  # type: ignore[no-any-return]
        return np.asarray(saved.parts.labels[saved.coded.predict(X)])

    def top_k(self, X: Any, k: int, method: str = "top_k") -> tuple[NDArray[Any], FloatArray]:
        """As the estimator."""
        saved: Any = self._able_to_take(X)
        if saved is None:
            return getattr(_became(self), method)(X, k)  # type: ignore[no-any-return]
        check_k(k, len(saved.parts.labels))
        classes, numbers = getattr(saved.coded, method)(X, k)
        return saved.parts.labels[classes], numbers

    @staticmethod
    def _may_abstain(saved: Any) -> bool:
        calibration = saved.parts.set_calibration
        return calibration is not None and calibration.min_probability > 0

    top_k_proba = partialmethod(top_k, method="top_k_proba")

    def _able_to_take(self, X: Any) -> SavedModel | None:
        saved: SavedModel | None = self.__dict__.get("_saved")
        return saved if saved is not None and saved.takes(X) else None

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        return type(_became(self))

    def __getattr__(self, name: str) -> Any:
        return getattr(_became(self), name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(_became(self), name, value)

    def __repr__(self) -> str:
        """That of the estimator."""
        return repr(_became(self))

    def __reduce_ex__(self, protocol: Any) -> Any:
        """To copy and pickle the estimator."""
        return _became(self).__reduce_ex__(protocol)


def _became(loaded: LoadedClassifier) -> Any:
    """The same object as an estimator."""
    with _LOCK:
        saved = loaded.__dict__.get("_saved")
        if saved is not None:
            estimator = saved.model
            loaded.__dict__.update(estimator.__dict__)
            object.__dict__["__class__"].__set__(loaded, type(estimator))
            del loaded.__dict__["_saved"]
    return loaded
