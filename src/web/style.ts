/** The style of the dashboard's page; light and dark. */
export const STYLE = `
:root { color-scheme: light dark; font: 15px/1.45 system-ui, sans-serif; }
body { margin: 0 auto; max-width: 76rem; padding: 1rem; }
h1 { font-size: 1.3rem; }
.simulated { background: #b45309; color: #fff; padding: 0.15rem 0.5rem; border-radius: 0.25rem; font-weight: 700; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
caption { text-align: left; padding: 0.3rem 0; opacity: 0.75; }
th, td { padding: 0.3rem 0.6rem; text-align: right; border-bottom: 1px solid #8884; white-space: nowrap; }
th:first-child, td:first-child, th.text, td.text { text-align: left; }
.up { color: #15803d; } .down { color: #b91c1c; }
@media (prefers-color-scheme: dark) { .up { color: #4ade80; } .down { color: #f87171; } }
`;
