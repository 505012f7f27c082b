"""How the page of a story looks, by day and by night."""

from __future__ import annotations

STYLE = """
:root{--ink:#1c2430;--dim:#7b8694;--page:#fff;--line:#d4dae1;--box:#f1f4f7;--blue:#1f5fbf;--red:#c0262d;
--amber:#b36b00;
--green:#1c7c4a;color-scheme:light dark}
@media(prefers-color-scheme:dark){:root{--ink:#dfe5ec;--dim:#8a94a1;--page:#14181d;--line:#343c46;
--box:#20262d;--blue:#7db0ff;
--red:#ff7b7b;--amber:#f0b357;--green:#6fd3a0}
}
body{margin:0;background:var(--page);color:var(--ink);font:15px/1.45 system-ui,sans-serif}
header{padding:18px 24px 10px;border-bottom:1px solid var(--line)}
h1{font-size:20px;margin:0 0 4px}
p{margin:2px 0}
.bad{color:var(--red);font-weight:600}
.dim{color:var(--dim)}
code,pre,svg{font-family:ui-monospace,Menlo,Consolas,monospace}
main{display:flex;align-items:flex-start}
main>.drawing{flex:0 1 auto;min-width:0;overflow-x:auto}
svg{display:block;font-size:13px}
svg text{fill:var(--ink)}
svg a{cursor:pointer;text-decoration:none}
svg a:hover text,svg a:focus text{text-decoration:underline}
.lane{stroke:var(--line);stroke-width:2}
.name{font-weight:700;font-size:15px}
.time{fill:var(--dim);font-size:11px}
.message line,.message path{stroke:var(--blue);stroke-width:1.6;fill:none}
.message .tip{fill:var(--blue);stroke:none}
.lost line,.lost path{stroke:var(--red);stroke-dasharray:5 4}
.lost text{fill:var(--red)}
.box{fill:var(--box);stroke:var(--line)}
.report text{fill:var(--ink)}
.command .box{stroke:var(--green)}
.command text{fill:var(--green)}
.fault .box{stroke:var(--amber)}
.fault text{fill:var(--amber)}
.connection text{fill:var(--dim)}
.phase text{fill:var(--dim);font-style:italic}
.phase line{stroke:var(--dim);stroke-dasharray:2 4}
.verdict .box{stroke:var(--red);stroke-width:2}
.verdict text{fill:var(--red);font-weight:700}
.cause .box{stroke:var(--red);stroke-width:2}
.cause line{stroke:var(--red);stroke-width:3}
aside{position:sticky;top:0;flex:1;min-width:340px;max-height:100vh;overflow:auto;box-sizing:border-box;
padding:14px 20px;
border-left:1px solid var(--line)}
aside section{display:none}
aside section:target{display:block}
aside p{overflow-wrap:anywhere}
aside:has(section:target) .hint{display:none}
pre{white-space:pre-wrap;overflow-wrap:anywhere;background:var(--box);padding:10px;
border-radius:6px;font-size:12.5px}
h2{font-size:15px;margin:0 0 6px}
a{color:var(--blue)}
"""
