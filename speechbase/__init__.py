"""What speech models in MLX share: tensors and their files, keys and values, audio, a device.

What belongs here is used by more than one model package and knows no network: `voxcpm2` and
`cosyvoice2` stand on it, and it imports neither.
"""
