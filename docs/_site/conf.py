"""Sphinx's settings. It reads the sources that `stage.py` has written, this file among them."""

import logging
import os
import re
import sys
import tomllib
from datetime import date
from functools import partial
from pathlib import Path

import matplotlib_fontja  # noqa: F401 - enters IPAexGothic, which has Japanese letters, for the cards
import nbclient
from jupyter_cache.executors import utils as notebook_runs

ROOT = Path(os.environ["SITE_ROOT"])
sys.path.insert(0, str(ROOT / "src"))
_project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
_address = _project["urls"]["Repository"]
_owner, _name = _address.split("/")[-2:]

project = "asobiba"
author = _project["authors"][0]["name"]
copyright = f"{date.today().year}, {author}"
version = release = os.environ["SITE_VERSION"]
html_title = f"asobiba {version}"

extensions = ["myst_nb", "sphinx_design", "sphinx_copybutton", "sphinxext.opengraph"]
exclude_patterns = ["extra", "notebooks"]
nitpicky = False  # types of other packages have no pages here
myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 4
myst_fence_as_directive = []
suppress_warnings = ["config.cache"]
if os.environ.get("SITE_EXECUTE") == "off":
    suppress_warnings.append("myst-nb.lexer")  # the language of a cell is what its kernel says

# Tutorials are run while the site is built; one that fails, fails it. SITE_EXECUTE=off leaves their outputs out.
# Notebooks ask for colours (FORCE_COLOR), which have no place in the pages.
os.environ["TTY_COMPATIBLE"] = "0"
nb_execution_mode = os.environ.get("SITE_EXECUTE", "force")
nb_execution_timeout = 240
nb_execution_raise_on_error = True
nb_execution_in_temp = True
nb_merge_streams = False
nb_execution_show_tb = True
# nbclient joins the pieces of an output as they are; nb_merge_streams would begin a line after each, within a table's row.
notebook_runs.executenb = partial(nbclient.execute, coalesce_streams=True)

html_theme = "furo"
html_static_path = ["static"]
html_extra_path = ["extra"]
html_css_files = ["site.css"]
html_js_files = ["film.js", "play.js", "versions.js"]
html_show_sphinx = False
html_copy_source = False
html_theme_options = {"navigation_with_keys": True}

copybutton_exclude = ".linenos, .gp, .go"

ogp_site_url = os.environ.get("SITE_URL", f"https://{_owner}.github.io/{_name}/{version}/")
ogp_site_name = "asobiba"
ogp_description_length = 180
ogp_social_cards = {"line_color": "#d9822b", "font": "IPAexGothic", "image_mini": "media/card.png"}
logging.getLogger("matplotlib.font_manager").setLevel(logging.ERROR)  # that the font has no bold letters

linkcheck_anchors = False
linkcheck_timeout = 20
linkcheck_ignore = [f"{re.escape(_address)}/(blob|tree)/"]  # `stage.py` refuses those that lead to nothing
