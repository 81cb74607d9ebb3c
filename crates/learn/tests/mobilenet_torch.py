"""Makes the numbers of mobilenet_torch.rs: the same network, start and batch in PyTorch, in f64.

python crates/learn/tests/mobilenet_torch.py
"""

import torch
from torch import nn

BLOCKS = [(64, 1), (128, 2), (128, 1), (256, 2), (256, 1), (512, 2)] + [(512, 1)] * 5 + [(1024, 2), (1024, 1)]
WIDTH, BATCH, STEPS, RATE = 0.25, 4, 6, 0.01


def channels(full):
    return max(1, round(full * WIDTH / 8)) * 8


def group_norm(channels):
    most = max(1, channels // 16)
    groups = next(groups for groups in range(most, 0, -1) if channels % groups == 0)
    return nn.GroupNorm(groups, channels)


class Block(nn.Module):
    def __init__(self, inputs, outputs, stride, norm):
        super().__init__()
        self.depthwise = nn.Conv2d(inputs, inputs, 3, stride, 1, groups=inputs, bias=False)
        self.depthwise_norm = norm(inputs)
        self.pointwise = nn.Conv2d(inputs, outputs, 1, bias=False)
        self.pointwise_norm = norm(outputs)

    def forward(self, x):
        x = torch.relu(self.depthwise_norm(self.depthwise(x)))
        return torch.relu(self.pointwise_norm(self.pointwise(x)))


class MobileNet(nn.Module):
    def __init__(self, norm):
        super().__init__()
        inputs = channels(32)
        self.stem = nn.Conv2d(3, inputs, 3, 1, 1, bias=False)
        self.stem_norm = norm(inputs)
        for number, (full, stride) in enumerate(BLOCKS, 1):
            setattr(self, f"block{number}", Block(inputs, channels(full), stride, norm))
            inputs = channels(full)
        self.classifier = nn.Linear(inputs, 10)

    def forward(self, x):
        x = torch.relu(self.stem_norm(self.stem(x)))
        for number in range(1, 14):
            x = getattr(self, f"block{number}")(x)
        return self.classifier(x.mean((2, 3)))


state = 1


def uniform():
    global state
    state = (state * 1664525 + 1013904223) & 0xFFFFFFFF
    return (state >> 8) / 8388608.0 - 1.0


def numbers(*shape):
    count = torch.Size(shape).numel()
    return torch.tensor([uniform() for _ in range(count)], dtype=torch.float64).view(shape)


for name, norm in [("GROUP", group_norm), ("BATCH", nn.BatchNorm2d)]:
    state = 1
    net = MobileNet(norm).double()
    for param_name, param in net.named_parameters():
        if "norm" not in param_name:
            fan_in = param[0].numel() if param.dim() > 1 else net.classifier.in_features
            param.data = numbers(*param.shape) * fan_in**-0.5
    x = numbers(BATCH, 32, 32, 3).permute(0, 3, 1, 2)
    y = torch.arange(BATCH) % 10
    sgd = torch.optim.SGD(net.parameters(), RATE)
    losses = []
    for _ in range(STEPS):
        sgd.zero_grad()
        loss = nn.functional.cross_entropy(net(x), y)
        loss.backward()
        sgd.step()
        losses.append(loss.item())
    arrays = [value for key, value in net.state_dict().items() if "num_batches" not in key]
    squares = sum((array**2).sum() for array in arrays).item()
    print(f"const {name}: ([f64; {STEPS}], f64) = ({losses}, {squares});")
