"""How the page looks, in light and in dark."""

STYLE = """
:root{color-scheme:light dark;--page:#fff;--ink:#1d2733;--quiet:#5d6b7a;--rule:#dde3ea;
--panel:#f5f7fa;--train:#6f83a0;--val:#c8324b;--rate:#12876f;--accent:#2563c9;--bad:#c8324b;--ochre:#b07a10;--plum:#8a3fa8}
@media (prefers-color-scheme:dark){:root{--page:#12161c;--ink:#e6ebf1;--quiet:#9aa8b8;
--rule:#2b343f;--panel:#1a2028;--train:#8ea4c4;--val:#ff7a8f;--rate:#3cc7a6;--accent:#6ea8ff;
--bad:#ff7a8f;--ochre:#e0ad4c;--plum:#c88be0}}
*{box-sizing:border-box}
body{margin:0 auto;padding:2rem 1.2rem 4rem;max-width:70rem;background:var(--page);
color:var(--ink);font:15px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,sans-serif}
h1{font-size:1.7rem;line-height:1.2;margin:0 0 .3rem;overflow-wrap:anywhere}
h2{font-size:1.15rem;margin:2.4rem 0 .6rem;padding-top:.8rem;border-top:1px solid var(--rule)}
h3{font-size:1rem;margin:1.2rem 0 .5rem}
p{margin:.4rem 0;max-width:52rem}
p.name{max-width:none}
.quiet{color:var(--quiet)}
.facts{display:flex;flex-wrap:wrap;gap:.8rem;margin:1.2rem 0 0;padding:0}
.facts div{background:var(--panel);border-radius:8px;padding:.6rem .9rem;min-width:9rem}
.facts dt{color:var(--quiet);font-size:.8rem}
.facts dd{margin:0;font-size:1.25rem;font-weight:600}
.facts small{display:block;color:var(--quiet);font-size:.78rem;font-weight:400}
.row{display:flex;flex-wrap:wrap;gap:1.2rem;align-items:flex-start}
figure{margin:0;flex:1 1 18rem;max-width:26rem}
figcaption{font-size:.85rem}
.legend{color:var(--quiet);margin-right:.7rem;display:inline-block;overflow-wrap:anywhere}
.key{display:inline-block;width:.8em;height:.8em;border-radius:2px;margin-right:.35em;
background:currentColor;vertical-align:-.05em}
.chart{width:100%;height:auto;display:block}
.chart text{fill:var(--quiet);font-size:10px}
.chart .left{text-anchor:end}.chart .below{text-anchor:middle}
.grid{stroke:var(--rule);stroke-width:1}.tick{stroke:var(--quiet);stroke-width:1}
.line{fill:none;stroke-width:1.8;stroke-linejoin:round}
.train{stroke:var(--train);color:var(--train)}.val{stroke:var(--val);color:var(--val)}
.rate{stroke:var(--rate);color:var(--rate)}.faint{stroke:var(--train);opacity:.35}
.dot{stroke:none}.dot.train{fill:var(--train)}.dot.val{fill:var(--val)}
.run0{stroke:var(--accent);color:var(--accent)}.run1{stroke:var(--val);color:var(--val)}
.run2{stroke:var(--rate);color:var(--rate)}.run3{stroke:var(--train);color:var(--train)}
.run4{stroke:var(--ochre);color:var(--ochre)}.run5{stroke:var(--plum);color:var(--plum)}
.dot.run0{fill:var(--accent)}.dot.run1{fill:var(--val)}.dot.run2{fill:var(--rate)}
.dot.run3{fill:var(--train)}.dot.run4{fill:var(--ochre)}.dot.run5{fill:var(--plum)}
.mark{fill:none;stroke:var(--rate);stroke-width:2.2}.kept{color:var(--rate)}
.ideal{stroke:var(--quiet);stroke-dasharray:4 4;color:var(--quiet)}
.count{fill:var(--train);opacity:.3;color:var(--train)}.hit{fill:var(--val);opacity:.18}
table{border-collapse:collapse;font-variant-numeric:tabular-nums;font-size:.9rem}
th{text-align:left;font-weight:600;color:var(--quiet)}
th,td{padding:.22rem .7rem .22rem 0;vertical-align:middle}
tbody tr{border-top:1px solid var(--rule)}
td.n,th.n{text-align:right}
td.name,.name{overflow-wrap:anywhere;max-width:22rem}
.range{color:var(--quiet);font-size:.8rem;white-space:nowrap}
.interval{width:6rem;height:.65rem;vertical-align:middle}
.interval line{stroke:var(--accent);stroke-width:3;stroke-linecap:round}
.interval .track{stroke:var(--rule);stroke-width:1}
.interval circle{fill:var(--accent)}
.scroll{overflow-x:auto}
.confusion td{text-align:center;min-width:2.3rem;height:2rem;padding:.1rem .3rem;
border:1px solid var(--page);
background:color-mix(in srgb,var(--hue) calc(var(--v)*1%),var(--panel))}
.confusion tbody tr{border:0}
.confusion td.zero{color:transparent}
.confusion td.deep{color:var(--page)}
.confusion .hitcell{--hue:var(--accent)}.confusion .misscell{--hue:var(--bad)}
.confusion thead th{writing-mode:vertical-rl;transform:rotate(180deg);padding:.3rem .2rem;
max-height:9rem;overflow:hidden;text-overflow:ellipsis;white-space:nowrap}
.confusion thead th:first-child{writing-mode:initial;transform:none}
.confusion tbody th{max-width:12rem;overflow:hidden;text-overflow:ellipsis;white-space:nowrap;
text-align:right}
.heat{width:min(100%,36rem);image-rendering:pixelated;border:1px solid var(--rule);
background:var(--panel)}
.cards{display:grid;grid-template-columns:repeat(auto-fill,minmax(17rem,1fr));gap:.9rem}
.card{background:var(--panel);border-radius:8px;padding:.6rem;font-size:.85rem;overflow:hidden}
.card .pair{display:flex;gap:.4rem;margin-bottom:.4rem}
.card img{width:50%;border-radius:5px;display:block;min-width:0;flex:1}
.card .path{color:var(--quiet);font-size:.75rem;overflow-wrap:anywhere}
.said{font-weight:600}.wrong{color:var(--bad)}
.bar{display:inline-block;height:.7rem;border-radius:2px;vertical-align:middle}
.bar.train{background:var(--train)}.bar.val{background:var(--val)}
details{margin:.6rem 0}summary{cursor:pointer;color:var(--accent)}
code,pre{font:.85rem/1.45 ui-monospace,SFMono-Regular,Menlo,Consolas,monospace}
code{overflow-wrap:anywhere}
pre{background:var(--panel);padding:.8rem;border-radius:8px;white-space:pre-wrap;
overflow-wrap:anywhere;margin:.4rem 0}
.own{font-weight:700}
.samples{display:grid;grid-template-columns:repeat(auto-fit,minmax(17rem,1fr));gap:1.2rem}
.samples figure{max-width:none;min-width:0}
.sample{font-family:inherit;font-size:.9rem}
.prompt{color:var(--quiet)}
@media print{details{display:block}.card{break-inside:avoid}}
"""
