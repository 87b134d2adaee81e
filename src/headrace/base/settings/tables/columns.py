"""Short names for what fills the columns of the settings tables."""

from headrace.base.settings.definition import REQUIRED, Importance, UpdateMode
from headrace.base.settings.validators import ListOf
from headrace.base.settings.values import SettingType

__all__ = [
    "ANY_LIST",
    "BOOLEAN",
    "CLASS",
    "CLUSTER_WIDE",
    "DOUBLE",
    "DOUBLE_MAX",
    "HIGH",
    "INT",
    "INT32_MAX",
    "INT64_MAX",
    "LIST",
    "LONG",
    "LOW",
    "MEDIUM",
    "NON_EMPTY_LIST",
    "PASSWORD",
    "PER_BROKER",
    "REQUIRED",
    "SHORT",
    "STRING",
]

BOOLEAN = SettingType.BOOLEAN
CLASS = SettingType.CLASS
DOUBLE = SettingType.DOUBLE
INT = SettingType.INT
LIST = SettingType.LIST
LONG = SettingType.LONG
PASSWORD = SettingType.PASSWORD
SHORT = SettingType.SHORT
STRING = SettingType.STRING

HIGH = Importance.HIGH
MEDIUM = Importance.MEDIUM
LOW = Importance.LOW

PER_BROKER = UpdateMode.PER_BROKER
CLUSTER_WIDE = UpdateMode.CLUSTER_WIDE

ANY_LIST = ListOf(allow_empty=True)
NON_EMPTY_LIST = ListOf(allow_empty=False)

INT32_MAX = (1 << 31) - 1
INT64_MAX = (1 << 63) - 1
DOUBLE_MAX = 1.7976931348623157e308
