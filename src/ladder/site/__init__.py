"""The page of results: one HTML file that shows the study's tables in a browser, without server or network.

`cases`, `checks`, `curves`, `ladders`, `sides`, `rooflines`, `sources`, `missing` and `findings` make its data from a
study; `page` joins them with the scripts of Vega-Lite and the files in `templates/`. The browser draws its views from
them.
"""
