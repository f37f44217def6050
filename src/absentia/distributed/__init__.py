"""Tables that are in many places: files larger than memory, partitions on many machines.

Everything that learns from such a table is a sum over its blocks of rows (the statistics of an EM
step, the normal equations of a ridge regression, the gradient of a loss), so a table need only be
able to do one thing: :meth:`RowBlocks.map_sum`. The estimators are the same as for a table in
memory; they ask :func:`as_row_blocks` what they were given.
"""

from absentia.distributed.arrays import ArrayBlocks
from absentia.distributed.blocks import Block, RowBlocks, as_row_blocks
from absentia.distributed.chunks import Chunks

__all__ = ["ArrayBlocks", "Block", "Chunks", "RowBlocks", "as_row_blocks"]
