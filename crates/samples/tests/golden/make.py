"""Files of samples as other people's programs write them: NumPy, safetensors, pandas and DuckDB.

The same six samples of two by three features in every format; run it with a python that has these libraries:

    python make.py
"""

import os

import duckdb
import numpy as np
import pandas as pd
from safetensors.numpy import save_file

os.chdir(os.path.dirname(os.path.abspath(__file__)))

x = (np.arange(36).reshape(6, 2, 3) * 7 % 256).astype("uint8")
y = np.array([0, 1, 2, 1, 0, 2])
device = np.array(["ward-b", "ward-a", "ward-b", "ward-a", "ward-c", "ward-c"])

np.savez("bytes.npz", x=x, y=y, device=device)
np.savez_compressed("floats.npz", x=x.astype("float32") / 255, y=y.astype("uint8"), device=np.array([10, 2, 10, 2, 3, 3]))
np.savez("regression.npz", x=x.astype("float32"), y=np.linspace(-1, 1, 6))
np.savez("ascii.npz", x=x, y=y, device=device.astype("S"))
np.savez("objects.npz", x=x, y=y, device=np.array([{"a": 1}] * 6, dtype=object))
np.savez("fortran.npz", x=np.asfortranarray(x), y=y)
np.savez("doubles.npz", x=x.astype("float64"), y=y)
np.savez("half.npz", x=x.astype("float16"), y=y)
np.savez("big-endian.npz", x=x.astype(">f4"), y=y)
np.savez("other-names.npz", images=x, labels=y)
save_file({"x": x, "y": y, "device": np.array([10, 2, 10, 2, 3, 3])}, "bytes.safetensors")

table = pd.DataFrame(x.reshape(6, 6).astype("float32"), columns=[f"f{i}" for i in range(6)])
table["label"] = y
table["device"] = device
table.to_csv("table.csv", index=False)
for codec in [None, "snappy", "zstd", "gzip", "lz4", "brotli"]:
    table.to_parquet(f"{codec or 'plain'}.parquet", index=False, compression=codec, row_group_size=4)
duckdb.sql("COPY (SELECT * FROM 'table.csv') TO 'duckdb.parquet' (FORMAT parquet)")
duckdb.sql("COPY (SELECT f0, NULLIF(f1, 133) AS f1, label FROM 'table.csv') TO 'null.parquet' (FORMAT parquet)")
duckdb.sql("COPY (SELECT [f0, f1] AS image, label FROM 'table.csv') TO 'lists.parquet' (FORMAT parquet)")
duckdb.sql("COPY (SELECT f0, TIMESTAMP '2026-01-01' AS at, label FROM 'table.csv') TO 'times.parquet' (FORMAT parquet)")
