"""What the official VoxCPM2 read of these files is what they hold."""

from tests.voxcpm2.conftest import checkpoint, golden, save_torch

__all__ = ["checkpoint", "golden", "save_torch"]
