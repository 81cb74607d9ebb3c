"""What deny.toml says of licences, banned crates and sources, checked against `cargo metadata`.

For machines without cargo-deny, whose install takes longer than most of the other steps together: the same file,
the same three checks. Where cargo-deny is there, it is used; it also knows advisories.
"""

import json
import re
import subprocess
import sys
import tomllib


def allows(expression, allowed):
    """Whether a licence expression can be met with what is allowed."""
    tokens = re.findall(r"\(|\)|[^\s()]+", expression.replace("/", " OR "))

    def either():
        fits = both()
        while tokens and tokens[0] == "OR":
            tokens.pop(0)
            # Read on in any case: `or` would not.
            fits = both() | fits
        return fits

    def both():
        fits = one()
        while tokens and tokens[0] == "AND":
            tokens.pop(0)
            fits = one() & fits
        return fits

    def one():
        token = tokens.pop(0)
        if token == "(":
            fits = either()
            tokens.pop(0)
            return fits
        if tokens and tokens[0] == "WITH":
            # An exception gives more than the licence itself.
            del tokens[:2]
        return token in allowed

    return either()


def problems(metadata, rules):
    members = set(metadata["workspace_members"])
    packages = {package["id"]: package for package in metadata["packages"]}
    allowed = set(rules["licenses"]["allow"])
    banned = {ban["crate"]: ban for ban in rules["bans"]["deny"]}
    sources = {package["source"] for package in packages.values() if package["source"] is not None}
    if len(sources) > 1 or not all(source.startswith("registry+") for source in sources):
        yield f"crates come from more than the one registry: {', '.join(sorted(sources))}"
    for package in packages.values():
        name = f"{package['name']} {package['version']}"
        if package["source"] is None:
            if package["id"] not in members:
                yield f"{name} comes from a path outside the workspace"
            continue
        licence = package["license"]
        if not licence or not allows(licence, allowed):
            yield f"{name}: its licence is {licence}"
    for node in metadata["resolve"]["nodes"]:
        asker = packages[node["id"]]["name"]
        for dependency in node["deps"]:
            # What only tests and build scripts of others ask for counts as well: cargo-deny sees it so.
            ban = banned.get(packages[dependency["pkg"]]["name"])
            if ban is not None and asker not in ban.get("wrappers", []):
                yield f"{asker} asks for {ban['crate']}: {ban['reason']}"


def main():
    with open("deny.toml", "rb") as file:
        rules = tomllib.load(file)
    command = ["cargo", "metadata", "--format-version", "1", "--all-features", "--locked"]
    metadata = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)
    found = sorted(set(problems(metadata, rules)))
    for problem in found:
        print(f"   {problem}", file=sys.stderr)
    count = len(metadata["packages"])
    print(f"   {count} packages: licences, banned crates and sources {'are not ' if found else ''}as deny.toml says")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
