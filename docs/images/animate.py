"""Join the screenshots of record.mjs into one animated GIF. It needs Pillow.

    python3 docs/images/animate.py FOLDER docs/images/dashboard.gif

The last frame is also saved as a PNG with the same name, for readers who prefer no motion.
"""

import sys
from pathlib import Path

from PIL import Image

WIDTH = 880
COLOURS = 64
FRAME_MILLIS = 110
LAST_FRAME_MILLIS = 3000


def main(folder: str, target: str) -> None:
    """Write the frames of a folder, without repetitions, as an animation that loops."""
    images = []
    for path in sorted(Path(folder).glob("*.png")):
        image = Image.open(path).convert("RGB")
        image = image.resize((WIDTH, image.height * WIDTH // image.width), Image.Resampling.LANCZOS)
        if not images or image.tobytes() != images[-1].tobytes():
            images.append(image)
    # One palette for all frames: unchanged parts stay the same bytes, and the file stays small.
    palette = images[-1].quantize(COLOURS)
    frames = [image.quantize(palette=palette, dither=Image.Dither.NONE) for image in images]
    millis = [FRAME_MILLIS] * (len(frames) - 1) + [LAST_FRAME_MILLIS]
    frames[0].save(target, save_all=True, append_images=frames[1:], duration=millis, loop=0, optimize=True)
    frames[-1].save(Path(target).with_suffix(".png"), optimize=True)
    print(f"{target}: {len(frames)} frames, {Path(target).stat().st_size / 1e6:.2f} MB")


if __name__ == "__main__":
    main(*sys.argv[1:])
