"""What speech models in MLX share: tensors and their files, keys and values, audio, a device.

What belongs here is used by more than one model package and knows no network: `voxcpm2`,
`cosyvoice2` and `kokoro82m` stand on it, and it imports none of them.
"""
