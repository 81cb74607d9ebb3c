"""What PyTorch makes of every byte: torchvision's ToTensor and Normalize, as their sources have it.

    python crates/learn/tests/golden/normalise.py > crates/learn/tests/golden/normalise.json

Needs torch. For each channel: the MD5 sum of the 256 numbers as little-endian f32, and three of them.
"""

import hashlib
import json

import torch

CHANNELS = {
    "mnist": [(0.1307, 0.3081)],
    "fashion-mnist": [(0.2860, 0.3530)],
    "cifar10": [(0.4914, 0.2470), (0.4822, 0.2435), (0.4465, 0.2616)],
}


def main():
    answer = {}
    for name, channels in CHANNELS.items():
        pixels = torch.arange(256, dtype=torch.uint8).repeat(len(channels), 1)
        tensor = pixels.to(torch.float32).div(255)
        mean = torch.tensor([mean for mean, _ in channels]).view(-1, 1)
        std = torch.tensor([std for _, std in channels]).view(-1, 1)
        tensor.sub_(mean).div_(std)
        answer[name] = [
            {"md5": hashlib.md5(row.numpy().astype("<f4").tobytes()).hexdigest(), "some": row[[0, 128, 255]].tolist()}
            for row in tensor
        ]
    print(json.dumps(answer, indent=1))


main()
