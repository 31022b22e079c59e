"""What speech models in MLX share: files of tensors, the hub, audio, the device, errors.

What belongs here is used by more than one model package and knows no network: `voxcpm2` and
`cosyvoice2` stand on it, and it imports neither.
"""
