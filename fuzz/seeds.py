"""Writes the seeds that are no text: run it after a change of a format (`python3 fuzz/seeds.py`).

Seeds are small and right, or wrong in one way; libFuzzer makes the rest. Those that are text stand beside, written by
hand. The proof of `coin` is of the key and the toss in `src/coin.rs`.
"""

import gzip
import io
import json
import pathlib
import struct
import tarfile
import zipfile
import zlib

CORPUS = pathlib.Path(__file__).parent / "corpus"

PUBLIC = "aaf82404e5f7bfa7352ce093e4aabe82435385d64aa870090a56d1aa36169800"
PROOF = (
    "845e5e01279b0c6757a98c1483ae62ae47dd31a99036d97a7fe67712b3681c0d2a1ebbfd5c8bff1e"
    "825b2daca34ae218f19a8b640490e372d264d0cb2e7d26fa484dcb1deb273a0c4f97e28be5ee0905"
)


def seed(target, name, content):
    folder = CORPUS / target
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_bytes(content)


def idx(*dims):
    count = 1
    for dim in dims:
        count *= dim
    sizes = b"".join(dim.to_bytes(4, "big") for dim in dims)
    return bytes([0, 0, 8, len(dims)]) + sizes + bytes(range(count))


def png(width, rows, color=2):
    def chunk(kind, content):
        return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))

    samples = {0: 1, 2: 3}[color]
    row = b"\0" + bytes(n * 7 % 251 for n in range(samples * width))
    head = struct.pack(">IIBBBBB", width, rows, 8, color, 0, 0, 0)
    data = zlib.compress(row * rows, 9)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", data) + chunk(b"IEND", b"")


def safetensors(arrays):
    head, data = {}, b""
    for name, dtype, shape, content in arrays:
        head[name] = {"dtype": dtype, "shape": shape, "data_offsets": [len(data), len(data) + len(content)]}
        data += content
    text = json.dumps(head, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text + data


def checkpoint(vectors, **more):
    head = {
        "fedflip_checkpoint": 1,
        "round": 7,
        "secs": 0.30000000000000004,
        "evaluated": [1.5, 0.25],
        "records": {"bytes": 99, "crc": 5},
        "lens": [len(vector) for vector in vectors],
        **more,
    }
    numbers = b"".join(struct.pack(f"<{len(vector)}f", *vector) for vector in vectors)
    return json.dumps(head, separators=(",", ":")).encode() + b"\n" + numbers


def tar(*files):
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.GNU_FORMAT) as archive:
        for name, content in files:
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    # Two empty blocks end it as well as twenty.
    text = packed.getvalue().rstrip(b"\0")
    return text + bytes(-len(text) % 512 + 1024)


def wheel(method, *files):
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", method) as archive:
        for name, content in files:
            archive.writestr(zipfile.ZipInfo(name), content, method)
    return packed.getvalue()


def varint(number):
    digits = []
    while number > 0x7F:
        digits.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*digits, number])


def message(**fields):
    """A message of the protocol: `f3=…` is its field 3."""
    text = b""
    for name, value in fields.items():
        tag = int(name[1:]) << 3
        if isinstance(value, bytes):
            text += varint(tag | 2) + varint(len(value)) + value
        elif isinstance(value, float):
            text += varint(tag | 1) + struct.pack("<d", value)
        else:
            text += varint(tag) + varint(value)
    return text


def main():
    floats = struct.pack("<6f", 1, -2.5, 0, 3e38, 1e-40, 7)
    right = ("fc.weight", "F32", [2, 3], floats), ("fc.bias", "F32", [2], floats[:8])
    seed("model_file", "right", safetensors(right))
    seed("model_file", "half", safetensors([("fc.weight", "F16", [2, 3], floats[:12]), right[1]]))
    seed("model_file", "empty", safetensors([]))

    plain = checkpoint([[1.0, -0.0, 3.5], [], [1e-40]])
    seed("checkpoint", "plain", plain)
    seed("checkpoint", "summed", plain + struct.pack("<I", zlib.crc32(plain)))
    seed("checkpoint", "fresh", checkpoint([[0.5]], evaluated=None, round=0, secs=0.0))

    seed("images", "labels.idx", idx(5))
    seed("images", "pixels.idx", idx(2, 3, 3))
    seed("images", "pixels.gz", gzip.compress(idx(2, 3, 3), mtime=0))
    seed("images", "cifar.bin", bytes([3]) + bytes(3072))
    seed("images", "batch.png", png(1024, 2))
    seed("images", "grey.png", png(4, 2, color=0))
    seed("images", "labels.json", b"[3, 9]")
    seed("images", "digits.csv", b"label,1x1,1x2,2x1,2x2\r\n7,0,255,3,4\r\n0,9,8,7,6\r\n")

    files = ("a.bin", b"a" * 20), ("deep/b.bin", b"b"), ("../c.bin", b"c"), ("d" * 120 + "/a.bin", b"long")
    seed("archives", "plain.tar", tar(*files[:2]))
    seed("archives", "long.tar", tar(*files))
    seed("archives", "packed.tgz", gzip.compress(tar(*files), mtime=0))
    seed("archives", "stored.zip", wheel(zipfile.ZIP_STORED, *files[:3]))
    seed("archives", "packed.zip", wheel(zipfile.ZIP_DEFLATED, *files[:3]))

    seed("coin", "proof", bytes.fromhex(PROOF))
    seed("coin", "key_and_proof", bytes.fromhex(PUBLIC + PROOF))

    # A block of 256 numbers and one of three, in each encoding.
    scales = struct.pack("<f", 0.25), struct.pack("<f", 1e-3)
    codes = bytes((n * 37) % 255 + 129 & 0xFF for n in range(256))
    halves = struct.pack("<259e", *((n - 128) / 64 for n in range(259)))
    seed("encoding", "f32", struct.pack("<259f", *((n - 128) / 300 for n in range(259))))
    seed("encoding", "f16", halves)
    seed("encoding", "f16_infinite", halves[:6] + struct.pack("<e", float("inf")) + halves[8:])
    seed("encoding", "int8", scales[0] + codes + scales[1] + codes[:3])
    seed("encoding", "int8_no_scale", struct.pack("<f", float("nan")) + codes + scales[1] + codes[:3])
    seed("encoding", "int4", scales[0] + bytes([0x97]) * 128 + scales[1] + bytes([0x7F, 0x01]))
    seed("encoding", "int4_not_whole", scales[0] + bytes([0x97]) * 128 + scales[1] + bytes([0x7F, 0x11]))

    digest, run = bytes(range(32)), bytes(range(16))
    # A task: name, parameters, digest, sharing, devices, seed.
    params = message(f1=b"hidden", f3=8), message(f1=b"model_spread", f4=0.5), message(f1=b"data_spread", f4=0.5)
    synthetic = message(f1=b"synthetic") + b"".join(message(f2=param) for param in params)
    synthetic += message(f3=digest, f6=message(f1=0.8, f2=32), f9=5, f10=1)
    # The learning rate is the one number of 32 bit.
    synthetic += bytes([11 << 3 | 5]) + struct.pack("<f", 0.01) + message(f12=32, f13=10)
    params = message(f1=b"width", f4=0.25), message(f1=b"norm", f5=b"batch")
    mobilenet = message(f1=b"cifar10-mobilenet") + b"".join(message(f2=param) for param in params)
    mobilenet += message(f7=b"", f9=100, f12=32, f13=10)
    seed("protocol", "task", synthetic)
    seed("protocol", "mobilenet", mobilenet)
    seed("protocol", "hello", message(f1=1, f2=synthetic, f3=3, f4=1, f5=610, f6=65536, f7=100.0, f8=1, f9=2))
    seed("protocol", "enrol", message(f1=300, f2=1.5, f3=3))
    seed("protocol", "answer", message(f1=message(f1=7, f2=bytes.fromhex(PROOF), f3=run)))
    seed("protocol", "opened", message(f1=message(f1=7, f2=digest, f3=0.5, f4=run, f5=1)))
    seed("protocol", "grant", message(f2=message(f1=7, f2=digest, f3=12.5, f4=60000, f5=1, f6=run)))
    seed("protocol", "refusal", message(f4=message(f1=7, f2="späť".encode())))
    seed("protocol", "superseded", message(f5=b""))
    seed("protocol", "upload_head", message(f1=message(f1=7, f2=digest, f3=digest, f4=2.3, f5=run)))
    seed("protocol", "upload_data", message(f2=digest))
    seed("protocol", "vector", bytes([13]) + bytes(range(13)) + bytes([0, 51]) + bytes(range(51)))


main()
