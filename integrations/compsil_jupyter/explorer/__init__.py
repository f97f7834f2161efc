"""The explorer: a session that computes in the background, and the widgets that control and show it.

It imports compsil_kit's public modules and ``compsil_jupyter.data``; only controls, view and explorer know ipywidgets.
"""
