"""Out-of-core and distributed tables: files larger than memory, partitions on many machines.

Everything that learns from such a table is a sum over its chunks (the statistics of an EM
step, the normal equations of a ridge regression, the gradient of a loss), so a table need only be
able to do one thing: :meth:`Stream.map_sum`. The estimators are the same as for a table in
memory; they ask :func:`absentia.tables.open_rows` what they were given.
"""

from absentia.tables.streams.base import Chunk, Stream
from absentia.tables.streams.chunks import Chunks
from absentia.tables.streams.memory import MemoryStream

__all__ = ["Chunk", "Chunks", "MemoryStream", "Stream"]
