#!/usr/bin/python3
"""The options in the pages, from what the driver declares (`gdalinfo --format ShardedZarr`), which has them from driver/gdal/create/options.cpp.

  GDAL_DRIVER_PATH=build/gdalplugins python3 driver/doc/options.py      writes them anew into the pages

An entry is a heading `#### NAME`. What stands between it and the line `Example:` is written by this script, what stands behind it by hand.
autotest/gdrivers/test_documents.py fails where a page is not as this script makes it."""
import os
import re
import textwrap
import xml.etree.ElementTree

HERE = os.path.dirname(os.path.abspath(__file__))
PAGES = ["shardedzarr.md", "icechunk.md", "multidim.md"]
OPEN, CREATION = "DMD_OPENOPTIONLIST", "DMD_CREATIONOPTIONLIST"
ARRAY, STORE = "DMD_MULTIDIM_ARRAY_CREATIONOPTIONLIST", "DMD_MULTIDIM_DATASET_CREATIONOPTIONLIST"
ALIAS = "As other drivers of GDAL call it: "  # so begins what is said of another driver's name for an option


def declared(driver, item, aliases=False):
    """{name: its declaration, as XML}, of the options or of other drivers' names for them"""
    options = xml.etree.ElementTree.fromstring(driver.GetMetadataItem(item)).iter("Option")
    return {option.get("name"): option for option in options if option.get("description").startswith(ALIAS) == aliases}


def choices(option):
    """What it takes, in words"""
    values = [value.text for value in option.iter("Value")] or ["YES", "NO"] * (option.get("type") == "boolean")
    if values:
        return "Choices: " + ", ".join("`%s`" % value for value in values)
    if option.get("type") == "string":
        return "Value: text"
    kind = {"int": "a whole number", "float": "a number"}[option.get("type")]
    low, high = option.get("min"), option.get("max")
    return "Value: " + kind + (" from %s" % low if low else "") + (" to %s" % high if high and high != "2147483647" else "")


def as_code(text):
    """Names of options, and what they are set to, as code"""
    return re.sub(r"\b(?!GDAL\b)[A-Z][A-Z0-9_]{3,}(=\w+)?\b", r"`\g<0>`", text)


def entry(option):
    """The lines of an entry between its heading and its example"""
    help, _, usual = option.get("description").partition(" Default: ")
    usual = "; ".join(["`%s`" % option.get("default")] * ("default" in option.attrib) + [as_code(usual.rstrip("."))] * bool(usual))
    help = textwrap.fill(as_code(help.rstrip(".") + "."), 120, break_long_words=False, break_on_hyphens=False)
    return "\n- %s\n%s\n%s\n\n" % (choices(option), "- Default: %s\n" % usual if usual else "", help)


def names(driver, item):
    return ", ".join("`%s`" % name for name in declared(driver, item))


def table_of_aliases(driver, item):
    rows = ["| `%s` | %s |\n" % (name, as_code(option.get("description")[len(ALIAS):])) for name, option in declared(driver, item, True).items()]
    return "".join(rows)


def generated(page, driver):
    """A page's text with what this script writes in it"""
    sections = {"## Open options": declared(driver, OPEN), "## Creation options": declared(driver, CREATION)}

    def in_section(section):
        known = sections.get(section.splitlines()[0])
        if known is None:
            return section
        return re.sub(r"^(#### (\w+)\n).*?(?=^Example: )", lambda found: found[1] + entry(known[found[2]]), section, flags=re.M | re.S)

    page = "".join(in_section(section) for section in re.split(r"(?=^## )", page, flags=re.M))
    for heading, item in (("name of a creation option", CREATION), ("name of an open option", OPEN)):
        page = re.sub(r"^(\| %s \|.*\n\|[-|]+\n)(?:\|.*\n)*" % heading, lambda found: found[1] + table_of_aliases(driver, item), page, flags=re.M)
    for begin, item in (("Of an array: ", ARRAY), ("Of the store: ", STORE)):
        page = re.sub(r"^- %s.*$" % begin, lambda found: "- " + begin + names(driver, item), page, flags=re.M)
    return page


if __name__ == "__main__":
    from osgeo import gdal
    gdal.UseExceptions()
    for name in PAGES:
        path = os.path.join(HERE, name)
        with open(path) as file:
            before = file.read()
        after = generated(before, gdal.GetDriverByName("ShardedZarr"))
        if after != before:
            print("written anew: " + name)
            with open(path, "w") as file:
                file.write(after)
