"""How the HTML page looks: narrow and wide screens, light and dark."""

STYLE = """
:root { color-scheme: light dark; --ink: #1b1f24; --paper: #fff; --soft: #5b6570; --rule: #d5dae0; --link: #1f5fa8; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e4e7ea; --paper: #15181c; --soft: #9aa4ae; --rule: #363c44; --link: #7fb2ea; }
}
body { margin: 0 auto; max-width: 54rem; padding: 1rem; color: var(--ink); background: var(--paper);
  font: 1rem/1.5 system-ui, sans-serif; }
h1, h2, h3 { line-height: 1.2; margin: 2rem 0 .6rem; }
h2 { border-top: 1px solid var(--rule); padding-top: 1rem; }
a { color: var(--link); }
code, pre { font: .875em/1.5 ui-monospace, monospace; }
pre, .wide { overflow-x: auto; }
table { border-collapse: collapse; font-size: .875rem; font-variant-numeric: tabular-nums; }
caption { text-align: left; font-weight: 600; padding: .4rem 0; }
th, td { border-bottom: 1px solid var(--rule); padding: .25rem .6rem; text-align: left; white-space: nowrap; }
.number { text-align: right; }
dt { color: var(--soft); }
dd { margin: 0 0 .3rem; }
.note, .settings { color: var(--soft); font-size: .875rem; overflow-wrap: anywhere; }
figure { margin: 1rem 0; }
svg { width: 100%; height: auto; max-width: 40rem; background: #fff; border-radius: .4rem; }
svg * { stroke-linejoin: round; stroke-linecap: butt; }
"""
